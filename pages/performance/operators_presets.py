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
        "*atlas baseline* and *atlas avx512*, which move the same bytes: there it is arithmetic.",
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
        "Forward only, small enough for the second-level cache. Predict the step from the baseline's 16 bytes per "
        "register to AVX2's 32 and AVX-512's 64: twice each time?",
        "Compare the three atlas rungs. Where the loop waits for arithmetic, wider registers help almost in "
        "proportion; make it 4096 x 4096 and all three meet the same memory.",
        OperatorLadderSpec(rows=256, columns=256, work="forward"),
    ),
)

PRESETS = tuple(preset for preset in _ALL if SPECS[preset.question].operator in offered())
