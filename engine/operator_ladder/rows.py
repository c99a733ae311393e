"""One row per operator, in the order of csrc/operators.cpp."""

from __future__ import annotations

from engine.operator_ladder.row import BUILT_IN, COMPOSED, OPTIMIZER, Cost, Row, Way, atlas_ways

_EACH = "rows * columns"
_GELU = "x / (1 + exp(x * (a + b * (x * x))))"
_GELU_SLOPE = "q = x * x; e = exp(x * (a + b * q)); s = 1 / (1 + e); grad * s * (1 + x * (c + d * q) * (e * s))"

_ACTIVATIONS = (
    Row(
        operator="gelu_tanh",
        title="GELU, tanh form",
        computes="0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
        ways=(
            Way(COMPOSED, "0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**3)))", "composed"),
            Way(BUILT_IN, 'F.gelu(x, approximate="tanh")', "built_in"),
            *atlas_ways("gelu_tanh(x)"),
        ),
        forward=Cost("2 * rows * columns * item", ((_EACH, _GELU),)),
        backward=Cost("3 * rows * columns * item", ((_EACH, _GELU_SLOPE),)),
    ),
    Row(
        operator="gelu_sigmoid",
        title="GELU, tanh forward and sigmoid backward",
        computes="gelu_tanh(x), whose backward is the slope of x σ(1.702 x)",
        ways=(
            Way(COMPOSED, "a torch.autograd.Function with that backward", "composed"),
            Way(BUILT_IN, 'F.gelu(x, approximate="tanh"), with its true derivative', "built_in"),
            *atlas_ways("gelu_sigmoid(x)"),
        ),
        forward=Cost("2 * rows * columns * item", ((_EACH, _GELU),)),
        backward=Cost(
            "3 * rows * columns * item",
            ((_EACH, "e = exp(k * x); s = 1 / (1 + e); grad * s * (1 + c * x * (e * s))"),),
        ),
        lesson="Its backward is not the derivative of its forward: gradcheck says so, and the gradient error shows it.",
    ),
    Row(
        operator="clipped_sigmoid",
        title="sigmoid with a clipped slope",
        computes="σ(β x), whose backward is the slope clipped to ±clip",
        ways=(
            Way(COMPOSED, "a torch.autograd.Function with torch.clamp in its backward", "composed"),
            *atlas_ways("clipped_sigmoid(x, beta=1.0, clip=0.1)"),
        ),
        forward=Cost("2 * rows * columns * item", ((_EACH, "1 / (1 + exp(beta * x))"),)),
        backward=Cost(
            "3 * rows * columns * item",
            ((_EACH, "e = exp(beta * x); t = 1 + e; grad * clamp(beta * (e / (t * t)))"),),
        ),
        reference="composed",
        lesson="Where the slope is steeper than clip, backward is not the derivative of forward, on purpose.",
    ),
    Row(
        operator="geglu",
        title="GEGLU",
        computes="value · gelu_tanh(gate), the halves of each row of x",
        ways=(
            Way(COMPOSED, 'value, gate = x.chunk(2, -1); value * F.gelu(gate, approximate="tanh")', "composed"),
            *atlas_ways("geglu(x)"),
        ),
        sizes=("rows", "columns of the result", ""),
        default=(4096, 512, 1),
        forward=Cost("3 * rows * columns * item", ((_EACH, f"value * ({_GELU})"),)),
        backward=Cost(
            "5 * rows * columns * item",
            (
                (
                    _EACH,
                    "q = x * x; e = exp(x * (a + b * q)); s = 1 / (1 + e); grad * (x * s); "
                    "grad * value * s * (1 + x * (c + d * q) * (e * s))",
                ),
            ),
        ),
        reference="composed",
    ),
    Row(
        operator="bias_gelu_dropout_residual",
        title="bias + GELU + dropout + residual",
        computes="residual + dropout(gelu_tanh(x + bias), p=0.1)",
        ways=(
            Way(COMPOSED, 'residual + F.dropout(F.gelu(x + bias, "tanh"), 0.1)', "composed", has_own_mask=True),
            *atlas_ways("bias_gelu_dropout_residual(x, bias, residual, p=0.1, seed=...)"),
        ),
        default=(4096, 1024, 1),
        forward=Cost(
            "3 * rows * columns * item + columns * item",
            ((_EACH, "x = x + bias; residual + keep * (x / (1 + exp(x * (a + b * (x * x)))))"),),
        ),
        backward=Cost(
            "3 * rows * columns * item + 2 * columns * item",
            ((_EACH, f"x = x + bias; {_GELU_SLOPE} * keep; sum + grad"),),
        ),
        reference="same_mask",
    ),
)

_MATRIX = (
    Row(
        operator="gemm",
        title="matrix product",
        computes="a (rows, inner) times b (inner, columns)",
        ways=(
            Way("naive", 'gemm(a, b, kernel="naive")', "naive", is_slow=True),
            Way("ikj", 'gemm(a, b, kernel="ikj")', "ikj", is_slow=True),
            Way("tiled", 'gemm(a, b, kernel="tiled")', "tiled", is_slow=True),
            Way(BUILT_IN, "torch.matmul(a, b)", "built_in"),
            *atlas_ways('gemm(a, b, kernel="packed")'),
        ),
        sizes=("rows of a", "columns of b", "inner"),
        default=(1024, 256, 512),
        forward=Cost(
            "rows * inner * item + inner * columns * item + rows * columns * item",
            (("rows * columns * inner", "sum + a * b"),),
        ),
        backward=Cost(
            "2 * rows * columns * item + 2 * rows * inner * item + 2 * inner * columns * item",
            (("rows * columns * inner", "sum + grad * b; sum + a * grad"),),
        ),
        compiled_from=BUILT_IN,
    ),
)

_ROWWISE = (
    Row(
        operator="cross_entropy",
        title="cross entropy",
        computes="mean over rows of log Σ exp(logits) − logits[target]",
        ways=(
            Way(COMPOSED, "(logits.logsumexp(1) - logits.gather(1, target)).mean()", "composed"),
            Way(BUILT_IN, "F.cross_entropy(logits, target)", "built_in"),
            *atlas_ways("cross_entropy(logits, target)"),
        ),
        sizes=("rows", "classes", ""),
        default=(256, 32000, 1),
        forward=Cost(
            "rows * columns * item + 8 * rows",
            ((_EACH, "sum + exp(logit - largest)"), ("rows", "total + (log(sum) + largest - at_target)")),
        ),
        backward=Cost(
            "2 * rows * columns * item + 8 * rows", ((_EACH, "scale * exp(logit - logsumexp)"), ("rows", "g - scale"))
        ),
    ),
)

_NORMS_AND_SUMS = (
    Row(
        operator="layer_norm_residual",
        title="layer norm of x + residual",
        computes="layer_norm(x + residual) · weight + bias",
        ways=(
            Way(
                COMPOSED,
                "s = x + residual; (s - s.mean(-1)) * rstd(s) * weight + bias",
                "composed",
            ),
            Way(BUILT_IN, "F.layer_norm(x + residual, (columns,), weight, bias)", "built_in"),
            *atlas_ways("layer_norm_residual(x, residual, weight, bias)"),
        ),
        default=(4096, 1024, 1),
        forward=Cost(
            "3 * rows * columns * item + 2 * columns * item",
            ((_EACH, "x = x + residual; sum + x; d = x - mean; square + d * d; d * rstd * weight + bias"),),
        ),
        backward=Cost(
            "3 * rows * columns * item + 3 * columns * item",
            (
                (
                    _EACH,
                    "normal = (x - mean) * rstd; to_weight + grad * normal; to_bias + grad; g = grad * weight; "
                    "first + g; second + g * normal; rstd * (g - mean_first - normal * mean_second)",
                ),
            ),
        ),
    ),
    Row(
        operator="weighted_row_sum",
        title="weighted sum of each row",
        computes="(x · weights) summed over columns",
        ways=(
            Way("row loop", "torch.stack([(row * weights).sum() for row in x])", "row_loop", is_slow=True),
            Way(COMPOSED, "(x * weights).sum(1)", "composed"),
            Way(BUILT_IN, "x @ weights", "built_in"),
            *atlas_ways("weighted_row_sum(x, weights)"),
        ),
        default=(1000, 200, 1),
        forward=Cost("rows * columns * item + columns * item + rows * item", ((_EACH, "sum + x * weight"),)),
        backward=Cost(
            "2 * rows * columns * item + 2 * columns * item + rows * item",
            ((_EACH, "grad * weight; to_weight + grad * x"),),
        ),
    ),
)


def _steps(name: str, optimizer: str, statements: str, tensors: int) -> Row:
    """An optimizer step over lists; `tensors` of a parameter's size are read or written."""
    return Row(
        operator=name,
        title=f"one step of {optimizer}",
        computes=f"torch.optim.{optimizer}, one step over a list of parameters",
        ways=(
            Way(COMPOSED, f"{optimizer}(params, foreach=False).step()", "composed"),
            Way("foreach", f"{optimizer}(params, foreach=True).step()", "foreach"),
            Way(BUILT_IN, f"{optimizer}(params, fused=True).step()", "built_in"),
            *atlas_ways(f"{name}(params, grads, ...)"),
            Way(OPTIMIZER, f"engine.operators.optimizers.{optimizer}(params).step()", "optimizer"),
        ),
        sizes=("tensors", "elements of each", ""),
        default=(300, 1024, 1),
        forward=Cost(f"{tensors} * rows * columns * item", ((_EACH, statements),)),
        backward=None,
        reference="composed",
        is_step=True,
    )


_STEPS = (
    _steps(
        "sgd_step_",
        "SGD",
        "buffer = momentum * buffer + grad; p - lr * buffer",
        5,
    ),
    _steps(
        "adamw_step_",
        "AdamW",
        "p = p * decay; m = m + w * (grad - m); v = b * v + c * grad * grad; p - step * m / (sqrt(v) / r + eps)",
        7,
    ),
)

ROWS: tuple[Row, ...] = (*_ACTIVATIONS, *_MATRIX, *_ROWWISE, *_NORMS_AND_SUMS, *_STEPS)
