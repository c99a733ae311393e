"""What can be asked about a tensor's storage and a chain of operations on it, and what comes back."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result, Spec, check_ranges
from engine.storage.dtypes import Dtype, is_differentiable
from engine.storage.operations import LARGEST_ENTRIES, Step
from engine.timing.spec import Comparison

Fill = Literal["arange", "zeros", "ones", "normal"]
MemoryFormat = Literal["contiguous", "channels_last", "channels_last_3d"]
Write = Literal["none", "add_", "mul_", "zero_"]

LARGEST_SAVED_BYTES = 1 << 24
"""Storages above it are not saved on the side: the file and what is loaded take as much again, twice."""
MAXIMUM_DIMS = 6
MAXIMUM_STEPS = 12
MAXIMUM_SIZE = 1_000_000
MAXIMUM_ELEMENTS = 2**26
"""Of the tensor built; what its copies will need is priced before the chain is carried out."""
FORMAT_DIMS = {"channels_last": 4, "channels_last_3d": 5}


class Layout(Result, frozen=True, kw_only=True):
    """Where a tensor's elements lie, each field read from the attribute or method of its name.

    Strides and `storage_offset` in elements. Fields are None where PyTorch refuses to say, and `unavailable` has its
    words (sparse tensors have no storage). `base` is the number of the step whose tensor is `_base`, None without one.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...] | None
    storage_offset: int | None
    dtype: str
    device: str
    layout: str
    itemsize: int
    numel: int
    view_bytes: int
    storage_bytes: int | None
    storage_id: int | None
    """Numbers distinct storages of one trace in order of appearance."""
    data_ptr_offset_bytes: int | None
    """`tensor.data_ptr() - tensor.untyped_storage().data_ptr()`; None where either is 0: no element, no memory."""
    is_contiguous: bool
    is_channels_last: bool
    is_channels_last_3d: bool
    is_non_overlapping_and_dense: bool
    is_leaf: bool
    requires_grad: bool
    grad_fn: str | None
    version: int | None
    is_view: bool
    base: int | None
    is_conj: bool
    is_neg: bool
    unavailable: str = ""


class StepOutcome(msgspec.Struct, frozen=True):
    """What a step did: gave a view of the same storage, copied, returned the very same tensor, or was refused."""

    kind: Literal["view", "copy", "same", "error"]
    copied_bytes: int = 0
    warnings: tuple[str, ...] = ()
    error: PyTorchSaid | None = None


class StorageContents(msgspec.Struct, frozen=True):
    """One storage of a trace: its bytes, and its elements as text in the dtype of the first tensor that showed it.

    `values` is empty above `LayoutSpec.shown_elements` elements.
    """

    storage_id: int
    storage_bytes: int
    dtype: str
    itemsize: int
    values: tuple[str, ...]


class ViewAttempt(msgspec.Struct, frozen=True):
    """`tensor.view(shape)` and `tensor.reshape(shape)` really tried on the end of the chain."""

    shape: tuple[int, ...]
    view: Layout | None
    view_error: PyTorchSaid | None
    reshape: Layout | None
    reshape_error: PyTorchSaid | None
    reshape_copied_bytes: int


class NameAfterWrite(msgspec.Struct, frozen=True):
    """One tensor of the chain around the write: did its values change, its version, its grad_fn."""

    step: int
    changed: bool
    version_before: int | None
    version_after: int | None
    grad_fn_before: str | None
    grad_fn_after: str | None


class WriteReport(msgspec.Struct, frozen=True):
    """An in-place operation through the tensor of one step: what PyTorch said, and what it did to every name."""

    step: int
    operation: str
    error: PyTorchSaid | None
    names: tuple[NameAfterWrite, ...]
    warnings: tuple[str, ...] = ()
    backward_error: PyTorchSaid | None = None
    """What `backward` from the end of the chain says after the write, where anything requires grad."""
    overlapping: int | None = 0
    """Places of the storage that more than one index of the tensor written through reads; None when too many to count.

    PyTorch refuses the write only where a stride is 0; other overlaps are written several times, in no certain order.
    """


class SavedFile(msgspec.Struct, frozen=True):
    """`torch.save` of the end of the chain: bytes of the file, and offset and storage of what `torch.load` gives."""

    file_bytes: int
    loaded_offset: int
    loaded_storage_bytes: int


class LayoutTrace(Result, frozen=True, kw_only=True):
    """The chain as PyTorch carried it out: `layouts[0]` is the tensor built, `layouts[i]` what step i gave.

    Shorter than the chain when a step was refused; that step's outcome has the error.
    """

    layouts: tuple[Layout, ...]
    outcomes: tuple[StepOutcome, ...]
    storages: tuple[StorageContents, ...]
    view: ViewAttempt | None = None
    write: WriteReport | None = None
    build_error: PyTorchSaid | None = None
    saved: SavedFile | None = None
    """None when the chain was refused or its storage is too large to be saved on the side."""


class LayoutSpec(Spec[LayoutTrace], frozen=True, kw_only=True):
    """Build a tensor, apply the steps one after the other and read every tensor's layout."""

    verb: ClassVar[str] = "trace_layout"
    result: ClassVar[type[Result]] = LayoutTrace

    shape: tuple[int, ...] = (4, 6)
    dtype: Dtype = "float32"
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    fill: Fill = "arange"
    requires_grad: bool = False
    memory_format: MemoryFormat = "contiguous"
    steps: tuple[Step, ...] = ()
    view_shape: tuple[int, ...] | None = None
    """Asked of the end of the chain: will `.view(view_shape)` work? One entry may be -1."""
    write: Write = "none"
    write_step: Annotated[int, Meta(ge=0, le=MAXIMUM_STEPS, description="write through the tensor of this step")] = 0
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    shown_elements: Annotated[int, Meta(ge=0, le=16384)] = 4096

    def __post_init__(self) -> None:
        """Raise ValueError: what is wrong, the limit, what was received, how to mend it."""
        check_ranges(self)
        check_shape(self.shape)
        needed = FORMAT_DIMS.get(self.memory_format, len(self.shape))
        if len(self.shape) != needed:
            raise ValueError(
                f"LayoutSpec.memory_format {self.memory_format} needs {needed} dimensions; received shape {self.shape} "
                f"with {len(self.shape)}. Use such a shape, or memory_format contiguous."
            )
        if self.requires_grad and not is_differentiable(self.dtype):
            raise ValueError(
                f"LayoutSpec.requires_grad needs a floating point or complex dtype; received {self.dtype}. "
                f"Choose such a dtype, or leave requires_grad off."
            )
        if len(self.steps) > MAXIMUM_STEPS:
            raise ValueError(
                f"LayoutSpec.steps may have at most {MAXIMUM_STEPS} steps; received {len(self.steps)}. Remove some."
            )
        if self.view_shape is not None:
            check_view_shape(self.view_shape)
        if self.write != "none" and self.write_step > len(self.steps):
            raise ValueError(
                f"LayoutSpec.write_step must be within the chain, 0 to {len(self.steps)}; received {self.write_step}. "
                f"Choose 0 for the tensor built, or the number of a step."
            )


def check_shape(shape: tuple[int, ...]) -> None:
    """Raise ValueError for a shape that is no shape, or too large to build."""
    _check_entries("shape", shape, low=0, high=MAXIMUM_SIZE)
    if len(shape) > MAXIMUM_DIMS:
        raise ValueError(
            f"LayoutSpec.shape may have at most {MAXIMUM_DIMS} dimensions; received {len(shape)}. Use fewer."
        )
    if (elements := math.prod(shape)) > MAXIMUM_ELEMENTS:
        raise ValueError(
            f"LayoutSpec.shape may hold at most {MAXIMUM_ELEMENTS} elements; received {shape} with {elements}. "
            f"Make a dimension smaller."
        )


def check_view_shape(shape: tuple[int, ...]) -> None:
    """Raise ValueError where a shape could not be asked of `.view` at all; whether it fits is PyTorch's to say."""
    _check_entries("view_shape", shape, low=-1, high=MAXIMUM_ELEMENTS)
    if len(shape) > LARGEST_ENTRIES:
        raise ValueError(
            f"LayoutSpec.view_shape may have at most {LARGEST_ENTRIES} dimensions; received {len(shape)}. Use fewer."
        )
    if shape.count(-1) > 1:
        raise ValueError(
            f"LayoutSpec.view_shape may have one -1, the size to infer; received {shape}. Write the other sizes out."
        )


def _check_entries(name: str, shape: tuple[int, ...], low: int, high: int) -> None:
    for position, size in enumerate(shape):
        if isinstance(size, bool) or not isinstance(size, int) or not low <= size <= high:
            raise ValueError(
                f"LayoutSpec.{name} entry {position} must be a whole number between {low} and {high}; "
                f"received {size!r}. Choose a size inside the range."
            )


CostOperation = Literal["add", "relu", "sum_rows", "sum_columns", "softmax", "matmul", "copy", "conv2d"]
OutputFormat = Literal["contiguous", "channels_last", "channels_last_3d", "like the view", "other"]


class Cost(Result, frozen=True, kw_only=True):
    """The same operation on the end of the chain and on its contiguous copy, and what making that copy costs.

    Seconds per call, median. `break_even_calls` is how many calls pay back one `.contiguous()`: contiguous_s / (view_s
    - dense_s); None when the view is not slower beyond doubt.

    `read_bytes` are numel * itemsize of the view, what the operation reads of it. `output_is_mapped` says that the
    output is so large that the allocator asks the system for fresh pages on every call.
    """

    operation: str
    comparison: Comparison | None
    """Names "contiguous copy", "view" and ".contiguous()", so that `ratio` is view / contiguous copy.

    None when the view is contiguous, or the operation was refused.
    """
    break_even_calls: float | None
    is_contiguous: bool
    error: PyTorchSaid | None = None
    read_bytes: int = 0
    output_bytes: int = 0
    output_shape: tuple[int, ...] = ()
    output_stride: tuple[int, ...] = ()
    output_format: OutputFormat | None = None
    output_is_mapped: bool = False
    notes: tuple[str, ...] = ()


class CostSpec(Spec[Cost], frozen=True, kw_only=True):
    """Measure what non-contiguity costs: `operation` on the end of the chain against its contiguous copy."""

    verb: ClassVar[str] = "measure_cost"
    result: ClassVar[type[Result]] = Cost
    measured: ClassVar[bool] = True

    layout: LayoutSpec = LayoutSpec(shape=(2048, 2048), steps=(Step("transpose", (0, 1)),))
    operation: CostOperation = "add"
    rounds: Annotated[int, Meta(ge=5, le=101)] = 15
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
