"""Questions of the number format page; what each notice claims is tested."""

from __future__ import annotations

from engine.number_format.spec import NumberFormatSpec, RunningSumSpec
from pages.memory.number_formats_controls import AnySpec, values_of
from pages.shared.presets import Preset

SPECS: dict[str, AnySpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


PRESETS = (
    _asks(
        "Does a scale of 65536 save 1e-8?",
        "1e-8 in float16, and 1e-8 * 65536 in float16, divided again. Predict both.",
        "0, and 9.997e-09 (*In every dtype*, last column). The smallest float16 is 5.96e-8, and 1e-8 is less than half "
        "of it. bfloat16 holds it without help, off by 0.12 % (pytorch/pytorch#99640).",
        NumberFormatSpec(text="1e-8"),
    ),
    _asks(
        "Why is 2049 gone?",
        "2049 in float16, 257 in bfloat16. Predict what is stored.",
        "2048 and 256. From 2048 on float16 has a number only every 2, and 2049 lies exactly halfway: the tie goes to "
        "the even mantissa. 2051 becomes 2052. *Lost additions*: 2048 + 1 = 2048.",
        NumberFormatSpec(text="2049, 257, 2051", scale=1.0),
    ),
    _asks(
        "Why does a sum of 0.1 stop growing in fp16?",
        "0 + 0.1 + 0.1 and so on, 10 000 times. Predict where float16 and bfloat16 end.",
        "float16 at 256 from addition 2 208 on, bfloat16 at 32 from 277 on, instead of 1000. At 256 neighbours are "
        "0.25 apart, and 0.1 is less than half of it. `torch.sum` gives 1000: it adds in float32 and converts once.",
        RunningSumSpec(),
    ),
    _asks(
        "Which is closer to 0.1: fp16 or bf16?",
        "Both have 16 bits. Predict whose 0.1 is better, and by what factor.",
        "float16: off by 0.024 %, bfloat16 by 0.098 %. Here a factor of 4; three more mantissa bits make 8 on average. "
        "bfloat16 spends those bits on range: see the right chart.",
        NumberFormatSpec(text="0.1"),
    ),
    _asks(
        "What is beyond the largest number?",
        "1000 is more than any e4m3 can hold. Predict inf, nan, or the largest number, for each of the four float8.",
        "e4m3fn saturates at 448, even inf becomes 448; e4m3fnuz gives nan. e5m2 has room and rounds to 1024, as does "
        "e5m2fnuz. See *Beyond the limits*.",
        NumberFormatSpec(text="1000, inf", scale=1.0),
    ),
    _asks(
        "Is nearest really nearest?",
        "1 + 2**-11 + 2**-40 lies a little above the middle of 1 and the next float16. Predict which one is stored.",
        "1, the one further away. torch converts float64 by way of float32: there 2**-40 is rounded away first, what "
        "is left is a tie, and ties go to even. *rounding* says `by way of float32`.",
        NumberFormatSpec(text="1+2**-11+2**-40", scale=1.0),
    ),
    _asks(
        "Which formats have a minus sign, a zero?",
        "-3 and 0 in `float8_e8m0fnu`, the format of block scales. Predict both.",
        "4 and 5.88e-39: it holds powers of two alone, no sign and no zero. -3 loses its sign, and halfway between 2 "
        "and 4 it goes up. The fnuz formats have a zero, but no negative one: its bits are nan.",
        NumberFormatSpec(text="-3, 0, -0.0", scale=1.0),
    ),
    _asks(
        "Is torch.finfo right?",
        "eps is the distance from 1 to the next number. With two mantissa bits, predict eps of `float8_e5m2fnuz`.",
        "0.25 by the bits: after 1 comes 1.25. torch.finfo says 0.125 (*Limits*, marked ≠; torch 2.13). All other "
        "limits agree with the layout of the bits.",
        NumberFormatSpec(text="1.125, 1.25", scale=1.0),
    ),
    _asks(
        "How many ones fit into a float8?",
        "0 + 1 + 1 and so on, 300 times. Predict the totals of e5m2, e4m3, bfloat16 and float16.",
        "8, 16, 256 and 300: each stops at 2^(mantissa bits + 1), float16 not before 2048. torch refuses to add "
        "float8: shown is the sum in float32, converted after every addition.",
        RunningSumSpec(addend="1", count=300),
    ),
)
