"""What non-contiguity costs, measured: one operation on a view, on its contiguous copy, and the making of that copy."""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch

from engine.devices import require_device
from engine.pytorch_said import said
from engine.runner.contract import MEBIBYTE, Price, ProgressSink
from engine.runner.faults import size
from engine.storage.build import build_chain, meta_chain, price_layout, view_bytes
from engine.storage.spec import Cost, CostOperation, CostSpec, OutputFormat
from engine.timing import compare
from engine.timing.spec import Comparison

Unary = Callable[[torch.Tensor], torch.Tensor]

CONTIGUOUS, VIEW, MAKING = "contiguous copy", "view", ".contiguous()"
MMAP_THRESHOLD_BYTES = 32 * MEBIBYTE
"""glibc's largest on 64 bits (DEFAULT_MMAP_THRESHOLD_MAX, malloc(3)): larger blocks are mapped anew every time."""
ALIGNMENT_BYTES = 64
HUGE_PAGE_BYTES = 2 * MEBIBYTE
MATMUL_COLUMNS = 256
KERNEL_SIZE = 3
BUDGET_S = 20.0
REFUSALS = (RuntimeError, IndexError, TypeError, ValueError)


def operation_on(x: torch.Tensor, operation: CostOperation) -> Unary:
    """`operation` as a function of one tensor like `x`; what else it needs is contiguous and made beforehand."""
    if operation == "add":
        other = x.contiguous().clone()
        return lambda tensor: tensor + other
    if operation == "matmul":
        columns = min(x.size(-1), MATMUL_COLUMNS) if x.dim() else 1
        right = x.new_ones(x.size(-1) if x.dim() else 1, columns)
        return lambda tensor: tensor @ right
    if operation == "conv2d":
        channels = x.size(-3) if x.dim() >= 3 else 1
        weight = x.new_ones(channels, channels, KERNEL_SIZE, KERNEL_SIZE)
        return lambda tensor: torch.nn.functional.conv2d(tensor, weight, padding=1)
    return _ALONE[operation]


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format).copy_(tensor)


_ALONE: dict[str, Unary] = {
    "relu": torch.relu,
    "sum_rows": lambda tensor: tensor.sum(-1),
    "sum_columns": lambda tensor: tensor.sum(0),
    "softmax": lambda tensor: torch.softmax(tensor, -1),
    "copy": _copy,
}


def measure_cost(spec: CostSpec, progress: ProgressSink) -> Cost:
    """The operation on the end of the chain and on its contiguous copy, in the same rounds as `.contiguous()` itself.

    What PyTorch refuses, in the chain or the operation, is the result's error. ValueError when the device is not there.
    """
    require_device(spec.layout.device, "LayoutSpec.device")
    with torch.no_grad():
        try:
            view = build_chain(spec.layout, lambda stage, fraction: progress(stage, 0.1 * fraction)).detach()
            operate = operation_on(view, spec.operation)
            output = operate(view)
        except REFUSALS as error:
            return Cost(
                operation=spec.operation, comparison=None, break_even_calls=None, is_contiguous=False, error=said(error)
            )
        comparison = None if view.is_contiguous() else _compared(spec, view, operate, progress)
    return _described(spec, view, output, comparison)


def _compared(spec: CostSpec, view: torch.Tensor, operate: Unary, progress: ProgressSink) -> Comparison:
    view, dense = placed_alike(view)
    return compare(
        {CONTIGUOUS: lambda: operate(dense), VIEW: lambda: operate(view), MAKING: view.contiguous},
        rounds=spec.rounds,
        threads=spec.threads,
        budget_s=BUDGET_S,
        on_progress=lambda stage, fraction: progress(stage, 0.1 + 0.9 * fraction),
    )


def placed_alike(view: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """`view` with its strides and its contiguous copy, in one fresh block and aligned as they were.

    Where memory comes from (heap or mapping, which pages) made up to 20 % of difference between equal tensors.
    """
    if view.is_conj() or view.is_neg() or not view.numel():
        return view, view.contiguous()
    span = 1 + sum((length - 1) * step for length, step in zip(view.shape, view.stride(), strict=True))
    ahead = view.storage_offset() % (ALIGNMENT_BYTES // view.itemsize)
    apart = -(-(ahead + span) * view.itemsize // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES // view.itemsize
    block = torch.empty(apart + view.numel(), dtype=view.dtype, device=view.device)
    block[ahead : ahead + span] = view.as_strided((span,), (1,), view.storage_offset())
    dense = block[apart:].view(view.shape).copy_(view)
    return block.as_strided(view.shape, view.stride(), ahead), dense


def _described(spec: CostSpec, view: torch.Tensor, output: torch.Tensor, comparison: Comparison | None) -> Cost:
    mapped = sys.platform == "linux" and output.device.type == "cpu" and output.nbytes > MMAP_THRESHOLD_BYTES
    return Cost(
        operation=spec.operation,
        comparison=comparison,
        break_even_calls=break_even_calls(comparison) if comparison else None,
        is_contiguous=view.is_contiguous(),
        read_bytes=view_bytes(view),
        output_bytes=output.nbytes,
        output_shape=tuple(output.shape),
        output_stride=output.stride(),
        output_format=format_of(output, view),
        output_is_mapped=mapped,
        notes=_notes(spec, view, output, mapped, comparison),
    )


def break_even_calls(comparison: Comparison) -> float | None:
    """Calls that pay back one `.contiguous()`; None when the view is not slower beyond doubt."""
    slower = comparison.ratios[0]
    if not slower.shows_a_difference or slower.ratio <= 1:
        return None
    saved_s = comparison.seconds_of(VIEW) - comparison.seconds_of(CONTIGUOUS)
    return comparison.seconds_of(MAKING) / saved_s if saved_s > 0 else None


def format_of(output: torch.Tensor, view: torch.Tensor) -> OutputFormat:
    """How the output lies in memory; "like the view" when it took over the order of the view's strides."""
    if output.is_contiguous():
        return "contiguous"
    if output.dim() == 4 and output.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if output.dim() == 5 and output.is_contiguous(memory_format=torch.channels_last_3d):
        return "channels_last_3d"
    return "like the view" if output.shape == view.shape and _order(output) == _order(view) else "other"


def _order(tensor: torch.Tensor) -> list[int]:
    strides = tensor.stride()
    return sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim))


def _notes(
    spec: CostSpec, view: torch.Tensor, output: torch.Tensor, mapped: bool, comparison: Comparison | None
) -> tuple[str, ...]:
    notes = []
    if comparison is None:
        notes.append("Already contiguous: .contiguous() returns the same tensor, so there is nothing to compare.")
    elif format_of(output, view) == "like the view":
        other = "; the second operand is read across it" if spec.operation == "add" else ", so both run in memory order"
        notes.append(f"The output keeps the order of the view's strides{other}.")
    if mapped:
        notes.append(
            f"The output, {size(output.nbytes)}, is above {size(MMAP_THRESHOLD_BYTES)}: glibc maps fresh memory for "
            f"every call, and the page faults are part of each time, which makes the ratio smaller."
        )
    return (*notes, *(comparison.notes if comparison else ()))


def price_cost(spec: CostSpec) -> Price:
    """The chain and the view again, the contiguous copy, a second operand and two outputs; an upper estimate."""
    chain = price_layout(spec.layout)
    dense = view_bytes(meta_chain(spec.layout)[-1])
    compared = 5 * dense + 2 * HUGE_PAGE_BYTES
    return Price(
        predicted_bytes=2 * chain.predicted_bytes + compared,
        what=f"{chain.what}; the view again, contiguous copy, operand and outputs {size(compared)}",
    )
