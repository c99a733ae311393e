"""Questions of the timing page."""

from __future__ import annotations

from engine.models.architecture import Gpt
from engine.models.spec import ModelSpec
from engine.timing.spec import AllocationSpec, TimingSpec
from engine.timing.variant import OperatorVariant, StepVariant
from pages.performance.timing_controls import AnySpec, values_of
from pages.performance.timing_steps import AS_SET, CHANGES, TINY, WIDE, step_values
from pages.shared.presets import Preset

SPECS: dict[str, AnySpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


def _operators(a: OperatorVariant, b: OperatorVariant) -> TimingSpec:
    return TimingSpec(a=a, b=b)


def _asks_steps(
    question: str, prediction: str, notice: str, model: ModelSpec, change: str, work: str = "training step"
) -> Preset:
    a = StepVariant(model=model, work=work)  # type: ignore[arg-type]
    b = StepVariant(model=CHANGES[change](model), work=work)  # type: ignore[arg-type]
    spec = TimingSpec(a=a, b=b)
    SPECS[question] = spec
    settings = values_of(spec) | step_values(spec, {"a": AS_SET, "b": change})
    return Preset(question, prediction, notice, model=model, settings=settings)


GELU = OperatorVariant(operator="gelu_tanh")
LARGE = OperatorVariant(operator="gelu_tanh", rows=4096, columns=4096)
ADD = OperatorVariant(operator="add", rows=2048, columns=2048)
LINEAR = OperatorVariant(operator="linear", rows=256, columns=512, mode="grad", work="forward and backward")
MATMUL = OperatorVariant(operator="matmul", rows=512, columns=512)
CONV = OperatorVariant(operator="conv2d", rows=8, columns=32)

PRESETS = (
    _asks(
        "A against A: does the tool lie?",
        "Both sides run the very same code on the very same operands. Predict the verdict, and how far the band "
        "reaches.",
        "*No difference shown*, with a band around 1. Measured one after the other, the same code often seems more "
        "than 10 % apart on a busy machine. Press a few keys elsewhere and measure again with another seed.",
        _operators(GELU, GELU),
    ),
    _asks(
        "Is GELU slow, or is it malloc?",
        "F.gelu of a 64 MiB matrix: A makes a fresh output, B writes into one that is there. Predict how much of A's "
        "time is arithmetic.",
        "See *A page faults*: above 32 MiB glibc gives every output fresh pages, 16 384 of 4 KiB here, and the "
        "kernel's work counts as yours. B has none. *Fresh or reused output* shows where it begins.",
        _operators(LARGE, OperatorVariant(operator="gelu_tanh", rows=4096, columns=4096, output="reused")),
    ),
    _asks(
        "What does a composed GELU cost?",
        "The formula written out makes eight operators of one. Predict the factor, and whether results differ.",
        "Several passes over memory instead of one. The results agree up to rounding, and both are as far from "
        "float64. *Size sweep*: for tiny tensors the cost is calling eight operators, for large ones it is memory.",
        _operators(GELU, OperatorVariant(operator="gelu_composed")),
    ),
    _asks(
        "When does a transposed operand cost?",
        "x + y with 2048 by 2048, B with x transposed. Predict the factor; then choose ReLU on both sides.",
        "Adding reads x across its rows, a cache line for every element. ReLU of a transposed x costs nothing: its "
        "output takes the same order. It is not transposing that costs, it is *disagreeing*.",
        _operators(ADD, OperatorVariant(operator="add", rows=2048, columns=2048, layout="transposed")),
    ),
    _asks(
        "Is autocast bfloat16 faster on this CPU?",
        "A linear layer, forward and backward, in float32 and under autocast. Predict who wins, and the error.",
        "It depends on bfloat16 units (AVX-512 BF16, AMX): without them every product is converted, and B is several "
        "times slower. The error against float64 is that of 8 bits of mantissa on either machine.",
        _operators(
            LINEAR,
            OperatorVariant(
                operator="linear", rows=256, columns=512, mode="autocast bfloat16", work="forward and backward"
            ),
        ),
    ),
    _asks(
        "Do two threads help?",
        "A matmul of 512 by 512 on one thread and on two. Predict the factor on wall time, and the CPU time.",
        "At best half the wall time for the same CPU time: *Where the time went* shows the work of the other thread. "
        "On a busy machine the second thread waits for a processor, and the band says so.",
        _operators(MATMUL, OperatorVariant(operator="matmul", rows=512, columns=512, threads=2)),
    ),
    _asks(
        "Does channels_last speed up a convolution?",
        "Eight images of 32 channels, 3×3. B has them in channels_last. Predict the factor.",
        "oneDNN reorders inside its kernel either way, so forward gains are small: look whether the band leaves 1 out. "
        "Set the work to forward and backward on both sides.",
        _operators(CONV, OperatorVariant(operator="conv2d", rows=8, columns=32, layout="channels_last")),
    ),
    _asks(
        "Is einsum slower than matmul?",
        "The same product, once by name and once by equation. Predict the factor at 512 by 512 and at 8 by 8.",
        "No difference shown, or little: einsum ends in the same kernel. At tiny sizes parsing and reshaping show: "
        "*Size sweep*.",
        _operators(MATMUL, OperatorVariant(operator="einsum", rows=512, columns=512)),
    ),
    _asks_steps(
        "Does inference_mode help a tiny model?",
        "Forward of an MLP 16 wide, with autograd recording and under inference_mode. Predict the factor.",
        "Recording costs a fixed time per operator, and in a tiny model there is little else. The result is the same "
        "bit for bit.",
        TINY,
        "inference_mode",
        "forward",
    ),
    _asks_steps(
        "Does inference_mode help a wide model?",
        "The same MLP, 1024 wide and with a batch of 64. Predict the factor again.",
        "The matrix products take over, and recording disappears beside them: often no difference is shown. What "
        "inference_mode still saves is the memory of saved tensors.",
        WIDE,
        "inference_mode",
        "forward",
    ),
    _asks_steps(
        "What time does checkpointing cost?",
        "GPT blocks, B recomputes every block in the backward. Predict the factor of the whole training step.",
        "At least a third more: one forward on top of a forward and a backward that is twice as long. Blocks as small "
        "as these pay for the machinery of each checkpoint too; make them wider. The gradients agree bit for bit, as "
        "the same operators run on the same numbers.",
        ModelSpec(architecture=Gpt(layers=4, width=64, heads=4, sequence=32, vocabulary=500)),
        "checkpoint each block",
    ),
    _asks(
        "Where does memory get expensive?",
        "x + 1.0 with outputs of 4 to 64 MiB, fresh and reused. Predict from which size a fresh one is slower.",
        "Just above 32 MiB with glibc and a settled heap: 31 and 33 MiB are measured on purpose. Faults per call jump "
        "from none to one per page, and the bandwidth falls to a fraction. Other allocators have other thresholds, or "
        "none.",
        AllocationSpec(),
    ),
)
