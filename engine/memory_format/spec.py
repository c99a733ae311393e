"""What can be asked about memory formats through a model, and what comes back."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.spec import PyTorchError, Source
from engine.models.spec import ConvNet, ModelSpec
from engine.runner.contract import Limits, Result, Spec
from engine.timing.spec import Comparison

Format = Literal["contiguous", "channels_last", "both", "other", "not_4d"]
"""How a tensor lies: `both` when sizes of 1 make the two formats the same memory, `other` for any other strides."""
Order = Literal["channels_last", "contiguous", "other", ""]
"""Order of an image's values in memory, followed through views that rename dimensions; "" where there is no image."""
Phase = Literal["forward", "loss", "backward", "recompute"]
Event = Literal["keeps", "loses", "gains", "converts", ""]
CopyKind = Literal["reorder", "cast", "same order"]
Converted = Literal["model and inputs", "model only", "inputs only"]


def dims_of(shape: tuple[int, ...], stride: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions larger than 1 from the largest stride to the smallest: from outermost in memory to innermost."""
    return tuple(sorted((d for d, size in enumerate(shape) if size > 1), key=lambda d: (-stride[d], d)))


class _Row(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A record that occurs once per operation or tensor: packed as an array on the wire."""


class TensorFormat(_Row, frozen=True, array_like=True, gc=False):
    """One tensor that went into or came out of an operation; strides and offset in elements.

    `aliases` is the position of the input whose storage an output shares, -1 for new memory. `is_parameter` is true for
    parameters, buffers and their gradients, which are no images.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    storage_offset: int
    dtype: str
    format: Format
    is_parameter: bool = False
    aliases: int = -1


class KernelCopy(_Row, frozen=True, array_like=True, gc=False):
    """One `aten::copy_` below an operation, from the sizes, strides and dtypes its source and target had.

    A `reorder` wrote its dimensions in another order than it read them, whatever became of the dtype; a `cast` changed
    the dtype alone; `same order` neither, as when an expanded tensor is written out. `input` is the position among the
    operation's inputs of the tensor that was read, -1 when it is none of them.
    """

    kind: CopyKind
    copied_bytes: int
    source_dtype: str
    target_dtype: str
    input: int = -1


class Operation(_Row, frozen=True, array_like=True, gc=False):
    """One operation as PyTorch's dispatcher ran it, below autograd; `id` is its index in `FormatTrace.operations`.

    `module` is the innermost module whose forward called it, in backward the one whose forward made the autograd node
    `node`. `event` speaks of channels_last: `loses` also when the loss shows only later, in the view that turns the
    result into an image again; `converts` is a copy that wrote another order than it read, with neither end
    channels_last. `copied_bytes` were written by the operation itself when it is a copy; `inside` are the copies inside
    its kernel, which strides in and out do not show, and `hidden_copies` the reorders among them.
    """

    id: int
    name: str
    phase: Phase
    module: str
    source: Source | None
    inputs: tuple[TensorFormat, ...]
    outputs: tuple[TensorFormat, ...]
    order: Order
    event: Event
    copied_bytes: int
    hidden_copies: int
    hidden_bytes: int
    node: str = ""
    variable: str = ""
    inside: tuple[KernelCopy, ...] = ()

    @property
    def cast_bytes(self) -> int:
        """Written inside the kernel by casts to another dtype."""
        return sum(copy.copied_bytes for copy in self.inside if copy.kind == "cast")


class ParameterFormat(_Row, frozen=True, array_like=True, gc=False):
    """Strides of a parameter and of its gradient; gradient fields are None without one.

    `strides_differ` is what DistributedDataParallel warns of ("Grad strides do not match bucket view strides");
    `order_differs` only when more than dimensions of size 1 are meant.
    """

    name: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    format: Format
    grad_stride: tuple[int, ...] | None
    grad_format: Format | None
    strides_differ: bool = False
    order_differs: bool = False


class FormatTrace(Result, frozen=True, kw_only=True):
    """Every operation of one forward, its loss and its backward, with strides and formats in and out.

    `image_operations` write a new image, `channels_last_operations` of them write it in channels_last order.
    `lost_at` is the first operation of the forward that loses it, `lost_in_backward` the first of the backward.
    """

    operations: tuple[Operation, ...]
    parameters: tuple[ParameterFormat, ...]
    image_operations: int
    channels_last_operations: int
    lost_at: int | None
    lost_in_backward: int | None
    copies: int
    copied_bytes: int
    hidden_copies: int
    hidden_bytes: int
    hidden_unavailable: str = ""
    """Why copies inside kernels could not be counted; "" when they were."""
    error: PyTorchError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def strides_differ(self) -> int:
        """Parameters whose gradient has other strides."""
        return sum(parameter.strides_differ for parameter in self.parameters)


class FormatSpec(Spec[FormatTrace], frozen=True, kw_only=True):
    """Follow memory formats through `model`; with `backward` also through its backward.

    `converted` says what `memory_format="channels_last"` is applied to; forgetting one of the two is a common mistake.
    """

    verb: ClassVar[str] = "trace_model_formats"
    result: ClassVar[type[Result]] = FormatTrace
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec = ModelSpec(architecture=ConvNet(), memory_format="channels_last")
    backward: bool = True
    converted: Converted = "model and inputs"


class ConvolutionTiming(_Row, frozen=True, array_like=True, gc=False):
    """One distinct convolution of the model, timed alone: its arguments, how often it runs, the comparison."""

    module: str
    """The first module that runs it."""
    times: int
    input_shape: tuple[int, ...]
    weight_shape: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    groups: int
    flops: int
    comparison: Comparison | None
    not_timed: str = ""


class FormatTiming(Result, frozen=True, kw_only=True):
    """Contiguous against channels_last: the whole model forward, forward with backward, and each convolution alone.

    A comparison is None where it was not timed; `not_timed` says why, by name.
    """

    forward: Comparison | None
    forward_and_backward: Comparison | None
    convolutions: tuple[ConvolutionTiming, ...]
    not_timed: tuple[tuple[str, str], ...] = ()
    threads: int = 1


class FormatTimingSpec(Spec[FormatTiming], frozen=True, kw_only=True):
    """Time `model` in both memory formats, whatever its own `memory_format` says."""

    verb: ClassVar[str] = "measure_formats"
    result: ClassVar[type[Result]] = FormatTiming
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=120)

    model: ModelSpec = ModelSpec(architecture=ConvNet(), memory_format="channels_last")
    rounds: Annotated[int, Meta(ge=5, le=101, description="paired rounds of every comparison")] = 15
    convolutions: Annotated[int, Meta(ge=0, le=64, description="distinct convolutions timed alone, largest first")] = 8
    budget_s: Annotated[
        float, Meta(ge=1.0, le=60.0, description="no further comparison is started after so many seconds")
    ] = 20.0
