"""A birth in numbers: the operands, the elements that went wrong, and the arithmetic that made them so."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from engine.diagnostics.results import Birth, Element, Operand, Phase
from engine.graph.rows import Source
from engine.recorded_diagnostics import argument_names
from engine.summarise import summarise
from engine.summary import FEW_ELEMENTS

MOST_ELEMENTS = 5
LARGEST = {torch.float16: 65504.0, torch.bfloat16: 3.39e38, torch.float32: 3.40e38, torch.float64: 1.80e308}
BINARY = {"div": "/", "mul": "*", "sub": "-", "add": "+"}
UNARY = {"sqrt", "rsqrt", "log", "log2", "log10", "log1p", "exp", "expm1", "exp2", "reciprocal", "acos", "asin", "tan"}
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "convolution", "convolution_backward", "dot", "mv", "linear"}
OF_ELEMENTS = {"sum", "mean", "cumsum", "logsumexp"}


class Running(NamedTuple):
    """What ran when a birth was seen; `is_given`: an operand held it already and came from outside of the forward."""

    phase: Phase
    operator: Any
    called: str
    node: str
    module: str
    source: Source | None
    is_given: bool


def describe_given(name: str, tensor: torch.Tensor) -> Birth:
    """A leaf, parameter or buffer that is not finite before anything has run."""
    summary = summarise(tensor, detail=tensor.numel() <= FEW_ELEMENTS)
    return Birth(
        phase="given",
        operation=name,
        called="",
        node="",
        module=name.rpartition(".")[0],
        source=None,
        nans=summary.nans,
        infinities=summary.infinities,
        numel=summary.numel,
        result=summary,
        operands=(),
        elements=tuple(_elements(tensor, {}, "")),
        on_purpose=False,
        explanation=f"{name} holds it before the forward starts: no operation made it.",
    )


def describe_birth(running: Running, args: Any, kwargs: Any, out: torch.Tensor) -> Birth:
    """The birth of the non-finite elements of `out`."""
    operands = dict(_operands(running.operator, args, kwargs))
    tensors = {name: one for name, one in operands.items() if isinstance(one, torch.Tensor)}
    stem = str(running.operator).split(".")[1].rstrip("_").removeprefix("_")
    summary = summarise(out, detail=out.numel() <= FEW_ELEMENTS)
    elements = tuple(_elements(out, operands, stem))
    on_purpose = running.is_given or _is_constant(operands, tensors)
    return Birth(
        phase=running.phase,
        operation=str(running.operator),
        called=running.called,
        node=running.node,
        module=running.module,
        source=running.source,
        nans=summary.nans,
        infinities=summary.infinities,
        numel=summary.numel,
        result=summary,
        operands=tuple(_operand(name, one) for name, one in operands.items()),
        elements=elements,
        on_purpose=on_purpose,
        explanation=_explain(stem, out, summary.nans, tensors, elements, on_purpose),
    )


def _operands(operator: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    names = argument_names(operator)
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if isinstance(value, torch.Tensor | bool | int | float | str | torch.dtype):
            yield name, value
        elif isinstance(value, tuple | list):
            for number, one in enumerate(value):
                if isinstance(one, torch.Tensor):
                    yield f"{name}[{number}]", one


def _operand(name: str, value: Any) -> Operand:
    if isinstance(value, torch.Tensor):
        return Operand(name, summarise(value, detail=value.numel() <= FEW_ELEMENTS))
    return Operand(name, None, str(value))


def _is_constant(operands: dict[str, Any], tensors: dict[str, torch.Tensor]) -> bool:
    """Nothing was computed wrong: the number was written down, as -inf in masked_fill."""
    written = any(isinstance(one, float) and not math.isfinite(one) for one in operands.values())
    return written or not any(one.is_floating_point() or one.is_complex() for one in tensors.values())


def _elements(out: torch.Tensor, operands: dict[str, Any], stem: str) -> Iterator[Element]:
    """The first few non-finite elements, with what operands of a shape that broadcasts held there."""
    if out.layout is not torch.strided or out.is_complex():
        return
    beside: dict[str, Any] = {}
    for name, one in operands.items():
        if isinstance(one, torch.Tensor) and one.layout is torch.strided and not one.is_complex():
            try:
                beside[name] = one.detach().expand(out.shape)
            except RuntimeError:
                continue
        elif isinstance(one, int | float) and not isinstance(one, bool) and name in ("other", "self", "exponent"):
            beside[name] = float(one)
    for row in torch.nonzero(~torch.isfinite(out))[:MOST_ELEMENTS].tolist():
        at = tuple(row)
        held = tuple((name, float(one[at]) if isinstance(one, torch.Tensor) else one) for name, one in beside.items())
        result = float(out.detach()[at])
        yield Element(at, result, held, _arithmetic(stem, dict(held), result))


def _arithmetic(stem: str, held: dict[str, float], result: float) -> str:
    words = {name: f"{value:g}" for name, value in held.items()}
    if stem in BINARY and {"self", "other"} <= held.keys():
        return f"{words['self']} {BINARY[stem]} {words['other']} = {result:g}"
    if stem == "pow" and {"self", "exponent"} <= held.keys():
        return f"{words['self']} ** {words['exponent']} = {result:g}"
    if stem in UNARY and "self" in held:
        return f"{stem}({words['self']}) = {result:g}"
    if stem == "to_copy" and "self" in held:
        return f"{words['self']} becomes {result:g}"
    return ""


def _explain(
    stem: str,
    out: torch.Tensor,
    nans: int,
    tensors: dict[str, torch.Tensor],
    elements: tuple[Element, ...],
    on_purpose: bool,
) -> str:
    largest = LARGEST.get(out.dtype, math.inf)
    dtype = str(out.dtype).removeprefix("torch.")
    if on_purpose:
        return "Written down, not computed: a constant that is not finite, as the -inf of a mask."
    fitting = [one for one in elements if one.arithmetic and math.isnan(one.result) == (nans > 0)]
    shown = f" Here {fitting[0].arithmetic}." if fitting else ""
    if nans:
        return _of_nan(stem, elements) + shown
    if stem == "div" or stem == "reciprocal":
        return f"The divisor is 0.{shown}"
    if stem in ("log", "log2", "log10"):
        return f"The logarithm of 0 is -inf.{shown}"
    if stem in ("exp", "expm1", "exp2"):
        return f"exp overflows: above {math.log(largest):.1f} the result is larger than {dtype}'s {largest:.3g}.{shown}"
    if stem == "to_copy":
        return f"Cast to {dtype}, whose largest number is {largest:.3g}.{shown}"
    if stem in ("rsqrt", "pow") and any(bool((one == 0).any()) for one in tensors.values()):
        return f"A negative power of 0 is infinite.{shown}"
    if stem in PRODUCTS:
        return f"The sum of products is larger than {dtype}'s {largest:.3g}: it overflows."
    if stem in OF_ELEMENTS:
        return f"The {stem} of finite elements is larger than {dtype}'s {largest:.3g}: it overflows."
    if "norm" in stem:
        return f"A sum or a quotient inside of {stem} is larger than {dtype}'s {largest:.3g}."
    return f"The result is larger than {dtype}'s largest number, {largest:.3g}, or a division by 0.{shown}"


def _of_nan(stem: str, elements: tuple[Element, ...]) -> str:
    if stem == "sqrt" or stem.startswith("log"):
        return f"The {stem} of a negative number is NaN."
    if stem == "mul":
        return "0 times infinity is NaN."
    if stem == "div":
        values = [abs(value) for one in elements if math.isnan(one.result) for _, value in one.operands]
        return "Infinity / infinity is NaN." if values and min(values) > 0 else "0 / 0 is NaN."
    if stem in ("sub", "add"):
        return "Infinity minus infinity is NaN."
    if "softmax" in stem:
        return "A whole row of -inf (or an inf) leaves softmax nothing to divide by: NaN."
    return "Infinities of both signs, or 0 times infinity, meet inside of this operation: NaN."
