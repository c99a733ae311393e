"""What a format trace says in sentences: where channels_last went, and what would keep it."""

from __future__ import annotations

from math import prod
from typing import Literal

from engine.figures.format_inside import sentences_inside
from engine.figures.units import format_bytes, format_shape
from engine.memory_format.spec import FormatSpec, FormatTrace, KernelCopy, Operation, TensorFormat, dims_of

Tone = Literal["lost", "kept", "contiguous", "gained"]

COPIES = frozenset({"aten::clone", "aten::_reshape_copy"})
MIXED = (
    "Its operands came in different formats, and the first one decided. Write the channels_last one first, or make the "
    "other with `torch.ones_like(x)` or `.to(memory_format=torch.channels_last)`."
)
GRADIENT = "Keep the format in the forward of this line, and the gradient comes back in it."
GRADIENT_SUM = (
    "Autograd adds the gradients of a tensor that was used twice. They came in different formats, and the first one "
    "decided; the contiguous one comes from an operation nearer to the loss."
)
INSTANCE_NORM = (
    "Instance norm always copies into contiguous; group norm with as many groups as channels computes the same and "
    "keeps channels_last."
)
RESHAPE = (
    "A reshape after a transpose has to copy, in contiguous order. Shuffle the channels while they are the last "
    "dimension (`x.permute(0, 2, 3, 1)` first, permute back after), or call `torch.nn.functional.channel_shuffle`."
)
CONTIGUOUS = (
    "`.contiguous()` means contiguous format. Leave it out, or write "
    "`.contiguous(memory_format=torch.channels_last)`, which copies nothing here."
)
SOFTMAX = (
    "Softmax over a dimension that is not the last writes contiguous. Over the last dimension of the permuted image it "
    "keeps the order: `softmax(x.permute(0, 2, 3, 1), -1).permute(0, 3, 1, 2)`."
)
WORDS = {"channels_last": "channels_last", "contiguous": "contiguous", "both": "both at once", "other": "other strides"}


def headline(spec: FormatSpec, trace: FormatTrace) -> tuple[Tone, str]:
    """The one sentence of the picture, in Markdown: where channels_last went in the forward."""
    operations = trace.operations
    if spec.model.memory_format == "contiguous":
        return _of_contiguous(trace)
    if trace.lost_at is not None:
        lost = operations[trace.lost_at]
        return "lost", f"**channels_last is lost {at_place(lost)}**: {what_happened(lost)}"
    if not any(op.order == "channels_last" for op in operations):
        return "contiguous", "No operation writes an image in channels_last order, so there is none to lose."
    return "kept", " ".join([_kept_from(trace), *sentences_inside(spec, trace, "forward")])


def _kept_from(trace: FormatTrace) -> str:
    """Where channels_last begins: with the first image, or at the operation that gains it."""
    share = f"{trace.channels_last_operations} of {trace.image_operations} operations on images write it"
    share += ", backward included."
    first = next((op for op in trace.operations if op.event in ("keeps", "gains")), None)
    if first is not None and first.event == "gains":
        return (
            f"**The images come in contiguous; channels_last begins with `{first.name}` in `{first.module}`**, and the "
            f"forward does not lose it from there on; {share}"
        )
    others = [op for op in trace.operations if op.phase == "forward" and op.order in ("contiguous", "other")]
    if others:
        return f"**The forward does not lose channels_last**: what reads an image in it writes it in it; {share}"
    return f"**The forward keeps channels_last** from the first image to the last; {share}"


def _of_contiguous(trace: FormatTrace) -> tuple[Tone, str]:
    gained = first_gain(trace)
    if gained is None:
        return "contiguous", "The model is contiguous and stays so: set *memory_format* to channels_last to compare."
    return (
        "gained",
        f"**Nobody asked for channels_last, yet it appears {at_place(gained)}**: {what_happened(gained)}",
    )


def first_gain(trace: FormatTrace) -> Operation | None:
    """Where channels_last appears: the operation that gains it, or a view that shows it of memory no image was in."""
    return next((op for op in trace.operations if op.event == "gains" or op.order == "channels_last"), None)


def backward_sentence(trace: FormatTrace) -> str:
    """Where the backward loses channels_last; "" where it does not, or did not run."""
    if trace.lost_in_backward is None:
        return ""
    lost = trace.operations[trace.lost_in_backward]
    return f"The backward loses it {at_place(lost)}: {what_happened(lost)}"


def at_place(operation: Operation) -> str:
    """ "in `blocks.0`, at conv_net.py:90 `return x.reshape(n, c, h, w)`"."""
    module = f"in `{operation.module}`" if operation.module else "outside of modules"
    source = operation.source
    return f"{module}, at {source.file}:{source.line} `{source.text}`" if source else module


def what_happened(operation: Operation) -> str:
    """The operation with the strides it read and wrote, and the bytes it copied."""
    read = next((t for t in operation.inputs if not t.is_parameter), None)
    if read is None or not operation.outputs:
        return f"`{operation.name}`."
    inputs = [t for t in operation.inputs if not t.is_parameter and t.format == "channels_last"] or [read]
    copied = f", copying {format_bytes(operation.copied_bytes)}" if operation.copied_bytes else ""
    written = operation.outputs[0]
    renamed = operation.order == "channels_last" and written.format == "contiguous"
    meant = f"{copied}; with the channels as last dimension, that is channels_last of the image" if renamed else copied
    between = _read_off(inputs[0], written) if operation.event == "loses" and inputs[0].format == "not_4d" else ""
    return f"`{operation.name}` reads {laid_out(inputs[0])} and writes {laid_out(written)}{meant}.{between}"


def _read_off(before: TensorFormat, after: TensorFormat) -> str:
    """How an order is told where the dimensions are not (N, C, H, W)."""
    return (
        f" From the largest stride to the smallest its dimensions are {dims_by_stride(before)} before, which is "
        f"channels_last of the image it is a view of, and {dims_by_stride(after)} after, which is not."
    )


def dims_by_stride(tensor: TensorFormat) -> str:
    """Dimensions from the largest stride to the smallest, "0, 2, 3, 1"; those of size 1 are left out."""
    return ", ".join(map(str, dims_of(tensor.shape, tensor.stride))) if tensor.stride else ""


def laid_out(tensor: TensorFormat) -> str:
    """ "4x32x16x16 channels_last (8192, 1, 512, 32)"."""
    named = "" if tensor.format == "not_4d" else f" {WORDS[tensor.format]}"
    return f"{format_shape(tensor.shape)}{named} `{tensor.stride}`"


def copy_words(copy: KernelCopy) -> str:
    """ "2 KiB of input 0 cast from int64 to float32"."""
    read = f" of input {copy.input}" if copy.input >= 0 else ""
    done = {
        "reorder": "reordered",
        "cast": f"cast from {copy.source_dtype} to {copy.target_dtype}",
        "same order": "copied in the order they had",
    }
    return f"{format_bytes(copy.copied_bytes)}{read} {done[copy.kind]}"


def remedy(operation: Operation) -> str:
    """What would keep channels_last at an operation that loses it."""
    text = operation.source.text if operation.source else ""
    if operation.phase == "backward":
        return GRADIENT_SUM if _has_mixed_operands(operation) else GRADIENT
    if operation.name == "aten::cat":
        return "`torch.cat` keeps channels_last only when every input is: convert the odd one."
    if _has_mixed_operands(operation):
        return MIXED
    if "instance_norm" in text or operation.module.endswith("instance_norm"):
        return INSTANCE_NORM
    if operation.name in COPIES:
        return RESHAPE if operation.inputs[0].format == "not_4d" else CONTIGUOUS
    if operation.name == "aten::_softmax":
        return SOFTMAX
    size = format_bytes(4 * prod(operation.outputs[0].shape)) if operation.outputs else "0 B"
    return (
        f"This kernel writes contiguous whatever it reads. Convert afterwards with "
        f"`.to(memory_format=torch.channels_last)` (one more copy, {size} at float32), or choose an operation that "
        f"keeps it."
    )


def _has_mixed_operands(operation: Operation) -> bool:
    """Whether images of the result's shape came in both formats, none of which an own kernel decides over."""
    shape = operation.outputs[0].shape if operation.outputs else ()
    formats = {t.format for t in operation.inputs if t.shape == shape and not t.is_parameter}
    return {"channels_last", "contiguous"} <= formats and "backward" not in operation.name
