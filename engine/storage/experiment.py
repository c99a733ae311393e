"""trace_layout: build a tensor, carry its chain out, read every layout, try a view, write through a step."""

from __future__ import annotations

from engine.runner.contract import Price, ProgressSink
from engine.storage.build import build_tensor, price_layout
from engine.storage.cost import measure_cost, price_cost
from engine.storage.saved_file import save_and_load
from engine.storage.spec import CostSpec, LayoutSpec, LayoutTrace
from engine.storage.trace import Chain, try_view
from engine.storage.write import trace_write

__all__ = ["measure_cost", "price", "trace_layout"]


def price(spec: LayoutSpec | CostSpec) -> Price:
    """What the chain will need at its peak; an upper estimate."""
    return price_layout(spec) if isinstance(spec, LayoutSpec) else price_cost(spec)


def trace_layout(spec: LayoutSpec, progress: ProgressSink) -> LayoutTrace:
    """Every layout of the chain as PyTorch carried it out; a step it refuses ends the trace with its words.

    ValueError when the device is not there.
    """
    progress("building the tensor", 0.0)
    chain = Chain([build_tensor(spec)])
    for number, step in enumerate(spec.steps, 1):
        progress(f"step {number}: {step.operation}", 0.7 * number / (len(spec.steps) + 1))
        if not chain.take(step):
            break
    contents = chain.contents(spec.shown_elements)
    view = None
    if spec.view_shape is not None and chain.is_whole:
        view = try_view(chain, spec.view_shape)
    done = len(chain.tensors) - 1
    return LayoutTrace(
        layouts=tuple(chain.layouts),
        outcomes=tuple(chain.outcomes),
        storages=contents,
        view=view,
        saved=save_and_load(chain.end) if chain.is_whole else None,
        write=trace_write(spec, done, progress) if spec.write != "none" else None,
    )
