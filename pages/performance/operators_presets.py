"""Questions of the operators page; what each notice claims in exact numbers is tested."""

from __future__ import annotations

from engine.operator_ladder.catalogue import offered
from engine.operator_ladder.spec import OperatorLadderSpec
from pages.performance.operators_controls import values_of
from pages.shared.presets import Preset

SPECS: dict[str, OperatorLadderSpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: OperatorLadderSpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


_ALL = (
    _asks(
        "Why is a fused GELU faster: arithmetic or memory?",
        "The composed formula and the fused operator do the same arithmetic. Predict how far left of the fused one "
        "the composed one stands on the roofline: how many times more bytes does it move?",
        "46 tensors' worth of bytes against 5: nine times. Most of the gap is traffic. The rest is seen between "
        "*atlas baseline set* and *atlas avx512*, which move the same bytes: there it is arithmetic.",
        OperatorLadderSpec(),
    ),
    _asks(
        "Does fusing save memory?",
        "Forward and backward of GELU. Predict how many tensors of the size of x the composed formula saves for "
        "backward, and how many it holds at its peak.",
        "See *Memory*: the composed formula saves 4 and peaks at 7 times x; fused, 1 is saved (x itself, which was "
        "there anyway) and the peak is 2, the result and the gradient. These are counts, the same on any machine.",
        OperatorLadderSpec(rows=512, columns=512),
    ),
    _asks(
        "What does AVX-512 give?",
        "Forward only, small enough for the second-level cache. Predict the step from the baseline set's 16 bytes "
        "per register to AVX2's 32 and AVX-512's 64: twice each time?",
        "Compare the three atlas rungs. Where the loop waits for arithmetic, wider registers help almost in "
        "proportion; make it 4096 x 4096 and all three meet the same memory. A processor without one of them says so.",
        OperatorLadderSpec(rows=256, columns=256, work="forward"),
    ),
    _asks(
        "Is the article's GELU backward a derivative?",
        "Its forward is the tanh form, its backward the slope of x σ(1.702 x), another approximation. Predict whether "
        "gradcheck accepts it, and what its error is in eps.",
        "Press *Run the checks* in *Checks*: gradcheck fails, and the furthest entry stands below with both values. In "
        "*Error* the results agree with float64 while the gradients are off by five digits, for *composed* and *atlas* "
        "alike; *built-in* has the true derivative. It is fast, and it is another function's gradient.",
        OperatorLadderSpec(operator="gelu_sigmoid", rows=512, columns=512),
    ),
    _asks(
        "How close is our gemm to the machine's peak?",
        "Every element is used hundreds of times, so memory is not the limit. Predict how far three plain loops are "
        "from the flat roof, and how far packed panels with a register tile are.",
        "The rungs stand above each other: the same operations per byte, one to two orders of magnitude apart. Each "
        "atlas rung stops below the roof of its own instruction set (the thin lines). *% of peak* is the rest.",
        OperatorLadderSpec(operator="gemm", rows=1024, columns=256, inner=512, work="forward", rounds=9),
    ),
    _asks(
        "Why is cross entropy worth fusing?",
        "256 rows of 32 000 classes: 31 MiB of logits. Predict how many times ATen's forward and backward read or "
        "write that much, and how many times are needed.",
        "See *bytes moved* in *Memory*: ATen writes log-probabilities as large as the logits and saves them; the "
        "compiled operator saves one number per row, and reads the logits once more in backward.",
        OperatorLadderSpec(operator="cross_entropy", rows=256, columns=32000, rounds=7),
    ),
    _asks(
        "GEGLU: does the number of operators decide?",
        "Two views, a GELU and a product against one pass. Predict the speedup with backward.",
        "Forward the composed way writes the gate's GELU and reads it again; backward it writes two halves and joins "
        "them. *Bytes moved* counts both. The GELU itself costs the same in both.",
        OperatorLadderSpec(operator="geglu", rows=2048, columns=512),
    ),
    _asks(
        "What does dropout's mask cost?",
        "bias, GELU, dropout and residual, 4096 x 1024. PyTorch keeps the mask for backward. Predict how many tensors "
        "are saved, and how many when the mask is drawn again from its seed.",
        "See *saved tensors*: the fused operator saves x, bias and a seed. The mask is a pure function of seed and "
        "position (Philox), so backward draws it again instead of reading it.",
        OperatorLadderSpec(operator="bias_gelu_dropout_residual", rows=4096, columns=1024, rounds=9),
    ),
    _asks(
        "300 small tensors: what does one AdamW pass save?",
        "300 parameters of 1 024 elements. The arithmetic is the same in every rung. Predict the factor between a loop "
        "over parameters, `foreach`, `fused=True` and one pass over all lists.",
        "The elements take microseconds; the rest is calls. The loop makes a dozen operator calls per parameter, "
        "foreach a dozen in all, fused one call whose work per tensor is still large. Give it 4 tensors of 65 536 "
        "elements and the rungs meet at memory.",
        OperatorLadderSpec(operator="adamw_step_", rows=300, columns=1024, work="forward"),
    ),
    _asks(
        "Layer norm: what is left to win?",
        "x + residual, then a layer norm, 4096 x 1024. ATen's layer norm is one operator already. Predict the speedup "
        "of fusing the sum into it.",
        "Only the sum can be saved: one tensor less is written and read. See *moved* in *Memory*; the composed formula "
        "shows what ATen has fused already.",
        OperatorLadderSpec(operator="layer_norm_residual", rows=4096, columns=1024, rounds=9),
    ),
    _asks(
        "How wrong is bfloat16?",
        "The same GELU in bfloat16: half the bytes. Predict the error of the result in eps of bfloat16, composed and "
        "fused, and whether it is twice as fast.",
        "Fused, the arithmetic is in float32 and rounded once: half an eps, the best there is. Composed, each of the "
        "eight operators rounds, and the errors add up. Bytes halve; the conversions take arithmetic instead.",
        OperatorLadderSpec(dtype="bfloat16"),
    ),
)

PRESETS = tuple(preset for preset in _ALL if SPECS[preset.question].operator in offered())
