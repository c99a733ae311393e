"""Why a node passed on nothing but zeros: asked of the node itself, with other gradients, while it has its inputs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import torch

from engine import recorded
from engine.diagnostics.births import is_finite
from engine.recorded_diagnostics import saved_tensor_hook, saved_value

NOT_TOLD = "why is not told: its inputs cannot be looked at without running somebody's hook or code"
UNKNOWN = "why is not told: what it saved does not show it"
_BUILT_IN = re.compile(r"Backward\d+$")
"""Nodes of PyTorch's own formulas, which can be asked twice; no custom Function's name ends in a digit."""
_NOT_ASKED = re.compile("Cudnn|Miopen|Rnn|Copy")
"""Those that keep a workspace which their backward writes."""
_DOUBLINGS = 1000

Found = Literal["underflow", "always", "here", "cancels"]
"""Zero for the gradient scaled to 1 as well? for every gradient? for every gradient that is 0 where this one is?"""

_OTHER: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("MulBackward", ("other", "self")),
    ("(Mm|Bmm)Backward", ("mat2", "self")),
    ("AddmmBackward", ("", "mat2", "mat1")),
    ("BaddbmmBackward", ("", "batch2", "batch1")),
    ("LinearBackward", ("weight", "input")),
    ("Convolution(Overrideable)?Backward", ("weight", "input")),
    ("DotBackward", ("tensor", "self")),
    ("MvBackward", ("vec", "self")),
)
"""By kind of node, for each of its gradients: the saved factor that multiplies it ("": none)."""

_ALWAYS: tuple[tuple[str, str], ...] = (
    ("Round|Floor|Ceil|Trunc|Sign|Sgn|Heaviside", "a step function: its slope is 0 everywhere, by definition"),
    ("Relu|Threshold", "its input is 0 or below everywhere: a closed ReLU has slope 0"),
    ("LeakyRelu|Elu|Gelu|Silu|Softplus|Mish|LogSigmoid", "its slope is exactly 0 at all of these inputs"),
    ("Sigmoid|Tanh|Softmax|LogSoftmax", "it is saturated: its slope is exactly 0 at all of these outputs"),
    ("Clamp|Hardtanh|Hardsigmoid", "its input lies outside of the bounds everywhere: the slope there is 0"),
    ("NativeDropout|MaskedFill|Where", "the mask chose no element of it"),
    ("Abs|Norm|LinalgVectorNorm", "its slope at 0 is taken as 0"),
    ("Embedding", "none of its rows were looked up"),
)
_HERE: tuple[tuple[str, str], ...] = (
    ("Relu|Threshold", "its input is 0 or below wherever a gradient arrives: a closed ReLU has slope 0"),
    ("LeakyRelu|Elu|Gelu|Silu|Softplus|Mish|LogSigmoid", "its slope is exactly 0 wherever a gradient arrives"),
    ("Sigmoid|Tanh", "it is saturated wherever a gradient arrives: its slope rounds to 0 there"),
    ("Softmax|LogSoftmax", "it is saturated in every row where a gradient arrives: its slope rounds to 0 there"),
    ("Clamp|Hardtanh|Hardsigmoid", "its input lies outside of the bounds wherever a gradient arrives"),
    ("NativeDropout|MaskedFill|Where", "the mask chose other elements than those where a gradient arrives"),
    ("MaxPool|Max|Min|Amax|Amin|Index|Select|Slice|Gather", "it passes a gradient to the chosen elements only"),
)
_CANCELS: tuple[tuple[str, str], ...] = (
    ("NativeBatchNorm|NativeLayerNorm|NativeGroupNorm", "normalising takes out what is the same in every sample"),
    ("Softmax|LogSoftmax", "what arrives cancels out in every row"),
)


def why_zero(node: Any, arrived: Sequence[torch.Tensor | None], slot: int) -> str:
    """The reason in words why `node` made gradient number `slot` zero of what `arrived`; asks it up to three times.

    Derivative formulas are linear in what arrives, so other gradients show whether it is the gradient, what multiplies
    it, or that both never meet. Ask in a hook after the node, before it drops what it saved.
    """
    if not _can_be_asked(node):
        return NOT_TOLD
    try:
        with torch.no_grad():
            found, passed = _ask(node, arrived, slot)
            if found is None:
                return UNKNOWN
            return _words(node, arrived, slot, found, passed)
    except (RuntimeError, NotImplementedError, TypeError):
        return UNKNOWN


def _can_be_asked(node: Any) -> bool:
    name = str(node.name())
    layout = recorded.layout_of(node)
    if layout.custom or not _BUILT_IN.search(name) or _NOT_ASKED.search(name) or recorded.is_closed(node):
        return False
    try:
        raw = layout.read_slots(node)
    except RuntimeError:
        return False
    flat = [one for slots in (raw if isinstance(raw, tuple | list) else (raw,)) for one in _flat(slots)]
    return not any(hasattr(one, "unpack_hook") and saved_tensor_hook(one) is not None for one in flat)


def _flat(slots: Any) -> Sequence[Any]:
    return slots if isinstance(slots, tuple | list) else (slots,)


def _ask(node: Any, arrived: Sequence[torch.Tensor | None], slot: int) -> tuple[Found | None, float]:
    """What was found, and for an underflow the largest that the gradient scaled to 1 gives."""
    doublings = _doublings(arrived)
    if doublings > 0 and (passed := _largest(node, [_scaled(one, doublings) for one in arrived], slot)) != 0:
        return (None if passed is None else "underflow"), passed or 0.0
    generator = torch.Generator().manual_seed(0)
    anything = [None if one is None else _random(one, generator) for one in arrived]
    if (passed := _largest(node, anything, slot)) is None:
        return None, 0.0
    if passed == 0:
        return "always", 0.0
    inside = [None if one is None else new * (one != 0) for one, new in zip(arrived, anything, strict=True)]  # type: ignore[operator]
    passed = _largest(node, inside, slot)
    return (None if passed is None else "here" if passed == 0 else "cancels"), 0.0


def _largest(node: Any, gradients: list[torch.Tensor | None], slot: int) -> float | None:
    """Largest magnitude the node passes on for other gradients; None where that cannot be said."""
    given = node(*gradients)
    out = given[slot] if isinstance(given, tuple) else given
    if out is None or out.layout is not torch.strided or not is_finite(out):
        return None
    return float(out.abs().max()) if out.numel() else 0.0


def _magnitude(arrived: Sequence[torch.Tensor | None]) -> float:
    return max((float(one.abs().max()) for one in arrived if one is not None and one.numel()), default=0.0)


def _doublings(arrived: Sequence[torch.Tensor | None]) -> int:
    """How often to double what arrives until it is about 1: a power of 2 changes no digit."""
    largest = _magnitude(arrived)
    return min(_DOUBLINGS, -math.frexp(largest)[1]) if 0 < largest < 0.5 else 0


def _scaled(tensor: torch.Tensor | None, doublings: int) -> torch.Tensor | None:
    if tensor is None:
        return None
    wide = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
    return (wide * 2.0**doublings).to(tensor.dtype)


def _random(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Numbers between 1 and 2, of both signs, from a generator of our own."""
    signs = torch.randint(0, 2, like.shape, generator=generator) * 2 - 1
    size = (torch.rand(like.shape, generator=generator) + 1) * signs
    return size.to(like.device, like.dtype)


def _words(node: Any, arrived: Sequence[torch.Tensor | None], slot: int, found: Found, passed: float) -> str:
    name = str(node.name())
    if found == "underflow":
        return _underflow(arrived, passed)
    if found == "always":
        if (factor := other_factor(node, slot)) is not None:
            return "the other factor is all zeros" if not bool(factor.any()) else UNKNOWN
        return _match(_ALWAYS, name) or "it passes on 0 whatever arrives: its derivative is 0 at these inputs"
    if found == "here":
        if other_factor(node, slot) is not None:
            return "the other factor is 0 wherever it would meet what arrives"
        return _match(_HERE, name) or "its derivative is 0 wherever a gradient arrives"
    if "Softmax" in name and _same_over_rows(node, arrived[0]):
        return "what arrives is the same over each row, and a softmax passes on differences within a row only"
    return _match(_CANCELS, name) or "what arrives cancels out in it"


def _match(table: tuple[tuple[str, str], ...], name: str) -> str:
    return next((words for kinds, words in table if re.match(rf"(?:{kinds})\w*Backward", name)), "")


def other_factor(node: Any, slot: int) -> torch.Tensor | None:
    """The saved tensor that multiplies the gradient numbered `slot` of a product; None for what is no product."""
    names = next((names for kinds, names in _OTHER if re.match(kinds, str(node.name()))), ())
    found = saved_value(node, names[slot]) if slot < len(names) and names[slot] else None
    return found if isinstance(found, torch.Tensor) else None


def _same_over_rows(node: Any, gradient: torch.Tensor | None) -> bool:
    dimension = saved_value(node, "dim")
    if gradient is None or not isinstance(dimension, int):
        return False
    if dimension >= 1 << 63:  # PyTorch hands -1 out as an unsigned number
        dimension -= 1 << 64
    return bool((gradient == gradient.narrow(dimension, 0, 1)).all()) if gradient.dim() else True


def _underflow(arrived: Sequence[torch.Tensor | None], passed: float) -> str:
    largest, doublings = _magnitude(arrived), _doublings(arrived)
    dtype = next(one.dtype for one in arrived if one is not None)
    kind, smallest = str(dtype).removeprefix("torch."), _smallest(dtype)
    factor = passed / (largest * 2.0**doublings)
    words = (
        f"it underflows: the gradient that arrives is at most {largest:.2g}, and of 1 the node would make {factor:.2g}"
    )
    if math.log2(passed) - doublings < math.log2(smallest):
        return f"{words}; the product is below {kind}'s smallest number, {smallest:.2g}"
    return f"{words}; in {kind} its products round to 0 one by one (smallest number {smallest:.2g})"


def _smallest(dtype: torch.dtype) -> float:
    """The smallest number above 0, a subnormal one."""
    info = torch.finfo(dtype)
    return float(info.smallest_normal) * float(info.eps)
