"""Below the picture: Jacobians, why, orders, what ctx keeps and the slots, the Function's code."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.custom_function.catalogue import TYPED
from engine.custom_function.results import CheckedFunction, Lifetime
from engine.custom_function.spec import CustomFunctionSpec
from engine.figures.units import format_bytes, format_significant
from engine.script import script_for
from pages.backward.custom_functions_picture import draw_jacobians, literal
from pages.shared.pytorch_words import draw_said

TABS = ("Jacobians", "Why", "Orders 1 to 4", "ctx and slots", "The Function", "How to read this")
HOW_TO_READ = (
    "gradcheck builds the Jacobian twice: *analytical*, one backward for each element of the output, and *numerical*, "
    "(f(x + eps) − f(x − eps)) / (2 eps) for each element of the input. It passes when every entry is within "
    "atol + rtol · |numerical|. It speaks of the points it is given and of gradients of 0 and 1 only. The curves hold "
    "backward against three derivatives that do not use it: autograd of the same formula in plain operations, a "
    "central difference of forward, and, where the formula has a complex derivative, the complex step "
    "Im f(x + ih) / h, which subtracts nothing and is exact to rounding. Shaded: where backward is not the derivative."
)


def draw_details(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    """Tabs, of which only the open one is drawn."""
    tabs = st.tabs(TABS, key="function.details", on_change="rerun")
    for tab, draw in zip(tabs, (_jacobians, _why, _orders, _ctx, _code, _explanation), strict=True):
        if tab.open:
            with tab:
                draw(spec, found)


def _jacobians(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    if found.check.pairs and found.check.entries:
        if found.curves:
            draw_jacobians(spec, found, "tab")
        else:
            st.caption("They are the picture above.")
    else:
        st.caption("No Jacobian: backward did not run, nothing is tracked, or the input has no elements.")
    for warning in found.check.warnings:
        st.caption(literal(f"PyTorch warns: {warning}"))
    if found.check.error is not None:
        st.markdown("**What `torch.autograd.gradcheck` raises**")
        st.code(f"{found.check.error.type}: {found.check.error.message}", language=None, wrap_lines=True)


def _why(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    st.dataframe(trace_table(found), hide_index=True, width="stretch")
    st.caption("Asked from the top; the last answer decided. Each is a test that was run, not a rule of thumb.")
    error = found.call.forward_error or found.call.backward_error
    if error is not None:
        draw_said("PyTorch refuses", error)


def trace_table(found: CheckedFunction) -> pd.DataFrame:
    """The decision trace: test, outcome, whether it decided."""
    steps = found.verdict.steps
    return pd.DataFrame(
        {
            "test": [step.test for step in steps],
            "outcome": [step.outcome for step in steps],
            "decided": [found.verdict.kind if step.decided else "" for step in steps],
        }
    )


def _orders(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    if not found.orders:
        st.caption("Not asked: backward does not run.")
        return
    st.dataframe(order_table(found), hide_index=True, width="stretch")
    st.caption(
        "Order 1 is `gradcheck`; order n is `gradgradcheck` of the derivative before it. Beyond order 1 it holds "
        "backward against *itself* moved by eps, not against forward: a wrong backward that is differentiable passes "
        "from order 2 on. *off the formula* is the distance to the same derivative of the forward formula."
    )


def order_table(found: CheckedFunction) -> pd.DataFrame:
    """Orders, outcomes and distances from the formula's derivative."""
    return pd.DataFrame(
        {
            "order": [one.order for one in found.orders],
            "passes": ["yes" if one.passed else "no" for one in found.orders],
            "what PyTorch said": [one.words for one in found.orders],
            "off the formula": [
                "–" if one.off_formula is None else format_significant(one.off_formula) for one in found.orders
            ],
        }
    )


def _ctx(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    call = found.call
    st.markdown("**What ctx keeps until backward**")
    st.dataframe(kept_table(found), hide_index=True, width="stretch")
    st.markdown("\n".join(f"- {line}" for line in lifetime_words(found.lifetime)))
    st.markdown("**Arguments of forward, returns of backward**")
    st.dataframe(slot_table(found), hide_index=True, width="stretch")
    if call.returned_count is not None:
        st.markdown(
            f"forward was given {len(call.arguments)}, backward returned {call.returned_count}; `next_functions` has "
            f"{len(call.next_functions)}: only tensors have an entry, yet backward owes one value per argument."
        )
    if len(call.arrives) > 1:
        st.markdown(f"With only the first output used, backward received {literal(' and '.join(call.arrives))}.")
    st.caption(literal(f"Graph of one call: {' → '.join(call.nodes) or 'none, nothing is tracked'}"))


def kept_table(found: CheckedFunction) -> pd.DataFrame:
    """Saved tensors and attributes of ctx."""
    kept = found.call.kept
    return pd.DataFrame(
        {
            "name": [one.name for one in kept],
            "by": [one.where for one in kept],
            "what": [one.what for one in kept],
            "storage": [format_bytes(one.storage_bytes) if one.storage_bytes else "–" for one in kept],
            "memory of": [one.same_as or "its own" if one.storage_bytes else "–" for one in kept],
        }
    )


def slot_table(found: CheckedFunction) -> pd.DataFrame:
    """One row per argument of forward."""
    arguments = found.call.arguments
    return pd.DataFrame(
        {
            "argument": [one.name for one in arguments],
            "forward was given": [one.given for one in arguments],
            "backward returned": [one.returned for one in arguments],
            "next_functions": ["no entry" if one.next_node is None else one.next_node for one in arguments],
        }
    )


def lifetime_words(seen: Lifetime) -> list[str]:
    """What was observed about memory and about writes into a saved input."""
    lines = []
    if seen.freed_at_once is not None:
        after = "only by gc.collect()" if seen.freed_by_gc else "not even by gc.collect()"
        words = "at once" if seen.freed_at_once else f"{after}: ctx and output keep each other alive"
        lines.append(f"The output is freed {words}.")
    if seen.write_error is not None:
        lines.append(f"`x.add_(1)` before backward is noticed: {literal(seen.write_error.message.split(':')[0])}.")
    elif seen.gradient_changed:
        moved = format_significant(seen.gradient_changed)
        lines.append(f"`x.add_(1)` before backward goes **unnoticed**, and the gradient is off by {moved}.")
    elif seen.gradient_changed is not None:
        lines.append("`x.add_(1)` before backward changes nothing: backward does not read x.")
    return lines


def _code(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    text = script_for(spec)
    start = text.find("class ") if "class " in text else 0
    st.code(text[start : text.find("torch.manual_seed")].rstrip(), language="python")
    if spec.function != TYPED and spec.plain:
        st.caption("Forward as plain operations, which autograd differentiates for comparison:")
        st.code("\n".join(spec.plain), language=None)


def _explanation(spec: CustomFunctionSpec, found: CheckedFunction) -> None:
    st.markdown(HOW_TO_READ)
