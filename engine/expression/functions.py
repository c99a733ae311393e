"""What an expression may call: names with their signatures, and no more."""

from __future__ import annotations

import msgspec


class Function(msgspec.Struct, frozen=True):
    """A function of the language; the first `tensors` arguments are expressions, the rest numbers given by name."""

    name: str
    tensors: int = 1
    options: tuple[str, ...] = ()
    call: str = ""
    """As Python writes it, where that is not `torch.<name>`."""

    @property
    def code(self) -> str:
        return self.call or f"torch.{self.name}"


_ELEMENTWISE = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp expm1 floor lgamma log log1p log2 log10 neg "
    "reciprocal round rsqrt sigmoid sign sin sinc sinh sqrt square tan tanh trunc"
)
_FUNCTIONAL = "relu gelu silu mish softplus softsign logsigmoid hardtanh hardsigmoid hardswish tanhshrink elu selu"

FUNCTIONS: dict[str, Function] = {
    one.name: one
    for one in (
        *(Function(name) for name in _ELEMENTWISE.split()),
        *(Function(name, call=f"F.{name}") for name in _FUNCTIONAL.split()),
        *(Function(name, 2) for name in ("maximum", "minimum", "atan2", "pow", "dot", "matmul", "mv")),
        *(Function(name, options=("dim",)) for name in ("sum", "mean", "prod", "cumsum", "logsumexp", "softmax")),
        *(Function(name) for name in ("amax", "amin", "var", "std", "det", "logdet", "trace")),
        Function("norm", call="torch.linalg.vector_norm"),
        Function("log_softmax", options=("dim",)),
        Function("leaky_relu", options=("negative_slope",), call="F.leaky_relu"),
        Function("clamp", options=("min", "max")),
        Function("where", 3),
        Function("detach", call="torch.Tensor.detach"),
        Function("ones_like"),
        Function("zeros_like"),
        Function("heaviside", 2),
    )
}
CONSTANTS = {"pi": "math.pi", "e": "math.e", "inf": "math.inf", "nan": "math.nan"}
