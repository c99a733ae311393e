"""trace_einsum: carry an equation out, and record which ATen operators it became."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal

import torch

from engine.broadcasting.costs import left_to_right, naive_cost
from engine.broadcasting.equation import (
    ELLIPSIS,
    Equation,
    EquationError,
    guessed_inputs,
    operand_shape,
    parse_equation,
)
from engine.broadcasting.results import Dispatched, Einsum
from engine.broadcasting.spec import EinsumSpec
from engine.pytorch_said import PyTorchSaid, attempt
from engine.recorded import DispatchMode, storage_of
from engine.runner.contract import Price, ProgressSink

COMPUTED_FLOPS = 200_000_000
COMPUTED_ELEMENTS = 1 << 22
LOOPED_STEPS = 20_000
"""The loop nest in Python is run up to so many steps."""


def is_computed(spec: EinsumSpec) -> bool:
    """Whether values are made; else shapes and operators are read from the meta device."""
    equation = spec.parsed
    if equation is None:
        return False
    elements = sum(math.prod(map(spec.length_of, letters)) for letters in (*equation.inputs, equation.output))
    return naive_cost(equation, spec.length_of).flops <= COMPUTED_FLOPS and elements <= COMPUTED_ELEMENTS


def price_einsum(spec: EinsumSpec) -> Price:
    """The naive loop's steps bound every intermediate result."""
    if not is_computed(spec):
        return Price(predicted_bytes=0, what="shapes on the meta device")
    equation = parse_equation(spec.equation)
    elements = sum(math.prod(map(spec.length_of, letters)) for letters in (*equation.inputs, equation.output))
    steps = math.prod(map(spec.length_of, equation.letters))
    return Price(predicted_bytes=16 * (3 * elements + steps), what="operands, intermediate results and output")


class _Recorder(DispatchMode):  # type: ignore[no-untyped-call]
    """Every ATen call below it: shapes, arithmetic, and bytes allocated beyond the storages of the operands."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Dispatched] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        inputs = [value for value in args if isinstance(value, torch.Tensor)]
        if isinstance(result, torch.Tensor):
            is_view = any(_shares(result, value) for value in inputs)
            self.calls.append(
                Dispatched(
                    name=str(func),
                    inputs=tuple(tuple(value.shape) for value in inputs),
                    output=tuple(result.shape),
                    is_view=is_view,
                    flops=flops_of(func.overloadpacket.__name__, inputs, result),
                    allocated_bytes=0 if is_view else result.untyped_storage().nbytes(),
                )
            )
        return result


def _shares(result: torch.Tensor, value: torch.Tensor) -> bool:
    return storage_of(result)[0] == storage_of(value)[0]


def flops_of(name: str, inputs: Sequence[torch.Tensor], result: torch.Tensor) -> int:
    """Multiplications and additions in one call of the operators einsum is made of; 0 for those that only move."""
    if name == "bmm":
        batch, rows, inner = inputs[0].shape
        columns = inputs[1].shape[2]
        return 2 * batch * rows * inner * columns
    if name == "mul":
        return result.numel()
    return inputs[0].numel() if name == "sum" else 0


def trace_einsum(spec: EinsumSpec, progress: ProgressSink) -> Einsum:
    """The output, the operators that were called, and how far it is from the loop nest."""
    progress("einsum", 0.0)
    try:
        equation = parse_equation(spec.equation)
    except EquationError as complaint:
        return _refused(spec, str(complaint))
    computed = is_computed(spec)
    operands = _operands(spec, equation, "cpu" if computed else "meta")
    with _Recorder() as recorder:
        result, error = attempt(lambda: torch.einsum(spec.equation, *operands))
    shapes = tuple(tuple(operand.shape) for operand in operands)
    size = sum(operand.untyped_storage().nbytes() for operand in operands)
    if result is None:
        return Einsum(operand_shapes=shapes, operand_bytes=size, computed=computed, error=error)
    progress("loop nest", 0.6)
    return _traced(spec, equation, operands, result, recorder.calls)


def _traced(
    spec: EinsumSpec,
    equation: Equation,
    operands: Sequence[torch.Tensor],
    result: torch.Tensor,
    calls: list[Dispatched],
) -> Einsum:
    is_view = any(_shares(result, operand) for operand in operands)
    output_bytes = result.numel() * result.element_size()
    own = 0 if is_view else result.untyped_storage().nbytes()
    path, state = contraction_path(equation, operands)
    computed = result.device.type == "cpu"
    return Einsum(
        operand_shapes=tuple(tuple(operand.shape) for operand in operands),
        operand_bytes=sum(operand.untyped_storage().nbytes() for operand in operands),
        computed=computed,
        shape=tuple(result.shape),
        stride=tuple(result.stride()),
        output_bytes=output_bytes,
        output_is_view=is_view,
        dispatched=tuple(calls),
        flops=sum(call.flops for call in calls),
        intermediate_bytes=max(sum(call.allocated_bytes for call in calls) - own, 0),
        path=path,
        opt_einsum=state,
        loop_max_abs_error=loop_error(spec, equation, operands, result) if computed else None,
    )


def _operands(spec: EinsumSpec, equation: Equation, device: str) -> list[torch.Tensor]:
    dtype: torch.dtype = getattr(torch, spec.dtype)
    generator = torch.Generator().manual_seed(spec.seed)
    shapes = [operand_shape(letters, spec.size_of, spec.ellipsis) for letters in equation.inputs]
    if device == "meta":
        return [torch.empty(shape, dtype=dtype, device="meta") for shape in shapes]
    return [torch.randint(-3, 4, shape, generator=generator).to(dtype) for shape in shapes]


def contraction_path(
    equation: Equation, operands: Sequence[torch.Tensor]
) -> tuple[tuple[tuple[int, ...], ...], Literal["not installed", "switched off", "used"]]:
    """The order in which torch.einsum contracts: opt_einsum's with three operands or more, else from the left."""
    optimizer = torch.backends.opt_einsum
    if not optimizer.is_available():
        return left_to_right(equation), "not installed"
    if not optimizer.enabled:
        return left_to_right(equation), "switched off"
    if len(operands) < 3:
        return left_to_right(equation), "used"
    path = optimizer.get_opt_einsum().contract_path(equation.text, *operands, optimize=optimizer.strategy)[0]
    return tuple(tuple(pair) for pair in path), "used"


def loop_error(
    spec: EinsumSpec, equation: Equation, operands: Sequence[torch.Tensor], result: torch.Tensor
) -> float | None:
    """Distance of the output to the loop nest run in Python; None above LOOPED_STEPS."""
    lengths = {letter: spec.length_of(letter) for letter in equation.letters}
    if math.prod(lengths.values()) > LOOPED_STEPS or (ELLIPSIS in lengths and len(spec.ellipsis) != 1):
        return None
    flat = [operand.reshape(-1).tolist() for operand in operands]
    strides = [_strides([lengths[letter] for letter in letters]) for letters in equation.inputs]
    out_strides = _strides([lengths[letter] for letter in equation.output])
    out = [0 * flat[0][0] if flat[0] else 0] * math.prod(lengths[letter] for letter in equation.output)
    for values in itertools.product(*(range(length) for length in lengths.values())):
        at = dict(zip(lengths, values, strict=True))
        product = math.prod(
            entries[sum(at[letter] * step for letter, step in zip(letters, steps, strict=True))]
            for entries, letters, steps in zip(flat, equation.inputs, strides, strict=True)
        )
        out[sum(at[letter] * step for letter, step in zip(equation.output, out_strides, strict=True))] += product
    pairs = zip(result.reshape(-1).tolist(), out, strict=True)
    return float(max((abs(ours - theirs) for ours, theirs in pairs), default=0.0))


def _strides(sizes: Sequence[int]) -> list[int]:
    return [math.prod(sizes[place + 1 :]) for place in range(len(sizes))]


def _refused(spec: EinsumSpec, complaint: str) -> Einsum:
    """PyTorch's own words about an equation that cannot be read, on operands as near to it as it allows."""
    shapes = [operand_shape(own, spec.size_of, ()) for own in guessed_inputs(spec.equation)]
    operands = [torch.empty(shape, device="meta") for shape in shapes]
    _, error = attempt(lambda: torch.einsum(spec.equation, *operands))
    return Einsum(
        operand_shapes=tuple(tuple(operand.shape) for operand in operands),
        operand_bytes=0,
        computed=False,
        complaint=complaint,
        error=error or PyTorchSaid("", ""),
    )
