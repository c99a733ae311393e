"""Questions of the storage page."""

from __future__ import annotations

from typing import Any

from engine.storage.chain import parse_chain
from engine.storage.spec import LayoutSpec
from pages.shared.presets import Preset
from pages.tensors.storage_controls import values_of


def _asks(question: str, prediction: str, notice: str, chain: str = "", **fields: Any) -> Preset:
    return Preset(question, prediction, notice, settings=values_of(LayoutSpec(steps=parse_chain(chain), **fields)))


PRESETS = (
    _asks(
        "Why does this `.view` fail?",
        "`x.t().view(24)`: x is 4 by 6. Predict which two neighbouring dimensions cannot be joined, and what `reshape` "
        "would do instead.",
        "Open *Will .view() work?*. Dimensions 0 and 1 join only if one step along 0 leads as far as all of dimension "
        "1: `stride[0]` is 1, needed are 4 * 6 = 24. `reshape` copies all 96 bytes; `x.view(24)` itself copies none.",
        ".transpose(0, 1)",
        view_shape=(24,),
    ),
    _asks(
        "How many bytes did reshape copy?",
        "2 x 3 x 4 floats, permuted to 4 x 2 x 3, then reshaped to 2 x 12. Predict: view or copy, of how many bytes?",
        "The badge says *copy 96 B*: a row of 12 would run on from dimension 1 into dimension 0, whose stride is 1 "
        "instead of 24. Edit the step to `.reshape(4, 6)`: a view, since dimensions 1 and 2 do join (12 = 3 * 4).",
        ".permute(2, 0, 1).reshape(2, 12)",
        shape=(2, 3, 4),
    ),
    _asks(
        "What does `expand` cost?",
        "`x` is 4 by 1, `x.expand(4, 100)` has 400 elements. Predict the bytes of its storage.",
        "16 bytes, as before: dimension 1 has stride 0, so a hundred indices read one cell. Point at a storage cell. "
        "Writing through it is refused; `repeat(1, 100)` would copy 1,600 bytes.",
        ".expand(4, 100)",
        shape=(4, 1),
    ),
    _asks(
        "Why is the file of a ten-element slice so large?",
        "`x[2500:2510]` of 10,000 floats. Predict what `torch.save` writes: 40 bytes or 40,000?",
        "A view keeps its whole storage alive, and `torch.save` writes the storage: *Saved file* has 40,000 bytes and "
        "the container's own for 40 in use (pytorch/pytorch#40157). Add `.clone()`: a storage and a file of its own.",
        "[2500:2510]",
        shape=(10000,),
    ),
    _asks(
        "Where does `as_strided` overlap?",
        "Windows of 3 over 8 numbers by strides alone. Predict how often the cell of x[3] is read.",
        "Three times: once in each window that covers it, and no byte was copied. `x.unfold(0, 3, 1)` gives the same "
        "view. Write through it with `mul_`: PyTorch refuses only overlap by stride 0, so shared cells are hit again.",
        ".as_strided((6, 3), (1, 1))",
        shape=(8,),
    ),
    _asks(
        "Is flip a view, as in numpy?",
        "`x.flip(0)`: predict whether it shares memory with x.",
        "It copies: PyTorch has no negative strides. `x[::-1]` is refused with the reason, and `x[::3].flip(0)` is not "
        "numpy's `x[::-3]` — flip first, then step (pytorch/pytorch#59786).",
        ".flip(0)[::3]",
        shape=(11,),
    ),
    _asks(
        "When is a permuted tensor channels_last?",
        "An NHWC image permuted to NCHW. Predict `is_contiguous()` and `is_contiguous(memory_format=channels_last)`.",
        "No and yes, without a copy: channels_last is only a rule on strides, and the permute of a contiguous NHWC "
        "tensor keeps it (pytorch/pytorch#43195).",
        ".permute(0, 3, 1, 2)",
        shape=(1, 3, 4, 5),
    ),
    _asks(
        "Who changes when I write through a view?",
        "`t1` is a clone of x, `t2 = t1[1:]`, `t3` its transpose; t2 is multiplied by 2 in place. Predict whose values "
        "and whose `_version` change.",
        "Open *Write through a view*: t1, t2 and t3 read one storage and share one version counter, so all three "
        "count; x is left alone. With autograd t1's `grad_fn` becomes `CopySlices`. Name tensor 0 instead: a leaf that "
        "requires grad refuses.",
        ".clone()[1:].transpose(0, 1)",
        requires_grad=True,
        write="mul_",
        write_step=2,
    ),
    _asks(
        "What do complex numbers share with their real part?",
        "`x.real` of 3 complex numbers. Predict its stride.",
        "2: real and imaginary parts alternate in memory, and `.real` is a view that skips every second one. `.conj()` "
        "copies nothing either, it only sets a bit (`is_conj()`).",
        ".real",
        shape=(3,),
        dtype="complex64",
    ),
)
