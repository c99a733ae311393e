"""The operators one can time: one row each, without torch.

To add one: a function of that name in engine/timing/operators.py (or an operator of engine.operators), and a row here.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Operands = Literal[
    "x",
    "x, y",
    "x, row",
    "x, residual, row, row",
    "x, row, residual",
    "a @ b",
    "a @ square",
    "logits, target",
    "images",
    "images, weight",
]
"""Which tensors an operator takes: their shapes stand in `operand_shapes`."""

COMPILED = "atlas_"
"""Before the name of a compiled operator, torch.ops.atlas.*, which needs no function in engine/timing/operators.py."""
EVAL = "_eval"
"""Behind the name of a row that runs an operator as in evaluation."""
IMAGE_SIDE = 32
SQUARE_KERNEL = 3


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what it takes, how one writes it, and what it can do.

    `title` is what a control shows; `code` is how it reads in Python. `out` names the argument that a result can be
    written into ("" without one). `like` is the row whose float64 result is the reference, by default its own.
    """

    name: str
    title: str
    code: str
    operands: Operands = "x"
    out: bool = False
    differentiable: bool = True
    like: str = ""
    keywords: tuple[tuple[str, bool | float], ...] = ()
    """Arguments beside the operands that a compiled operator is called with."""
    draws: bool = False
    """Whether it draws at random, so that results of two calls or kernels differ by more than rounding."""
    halves_columns: bool = False
    extra_floats: int = 1
    """Tensors of the result's size it may hold at once, the result included."""

    @property
    def reference(self) -> str:
        return self.like or self.name

    @property
    def compiled(self) -> str:
        """The name in engine.operators of one of our own, which is there once it is built; "" for PyTorch's."""
        return self.name.removeprefix(COMPILED).removesuffix(EVAL) if self.name.startswith(COMPILED) else ""

    @property
    def takes_images(self) -> bool:
        return self.operands.startswith("images")


_ROWS = (
    Operator(name="gelu_tanh", title="GELU, tanh", code='F.gelu(x, approximate="tanh")', out=True),
    Operator(name="gelu_erf", title="GELU, erf", code="F.gelu(x)", out=True),
    Operator(
        name="gelu_composed",
        title="GELU, composed",
        code="0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**3)))",
        like="gelu_tanh",
        extra_floats=7,
    ),
    Operator(name="add_number", title="add a number", code="x + 1.0", out=True),
    Operator(name="add", title="add a tensor", code="x + y", operands="x, y", out=True),
    Operator(name="mul", title="multiply", code="x * y", operands="x, y", out=True),
    Operator(name="mul_in_place", title="multiply, in place", code="x.mul_(1.0)", differentiable=False),
    Operator(name="relu", title="ReLU", code="torch.relu(x)"),
    Operator(name="sigmoid", title="sigmoid", code="torch.sigmoid(x)", out=True),
    Operator(name="tanh", title="tanh", code="torch.tanh(x)", out=True),
    Operator(name="exp", title="exp", code="torch.exp(x)", out=True),
    Operator(name="copy", title="copy", code="x.clone(memory_format=torch.contiguous_format)"),
    Operator(name="softmax", title="softmax of rows", code="torch.softmax(x, dim=1)", out=True),
    Operator(
        name="softmax_composed",
        title="softmax, composed",
        code="e = torch.exp(x - x.amax(1, keepdim=True)); e / e.sum(1, keepdim=True)",
        like="softmax",
        extra_floats=3,
    ),
    Operator(name="row_sum", title="sum of each row", code="x.sum(dim=1)"),
    Operator(name="column_sum", title="sum of each column", code="x.sum(dim=0)"),
    Operator(name="sort", title="sort rows", code="torch.sort(x, dim=1).values", extra_floats=4),
    Operator(name="bias_gelu", title="bias + GELU", code="F.gelu(x + row)", operands="x, row", extra_floats=2),
    Operator(
        name="weighted_row_sum",
        title="weighted row sum",
        code="(x * row).sum(dim=1)",
        operands="x, row",
        extra_floats=2,
    ),
    Operator(
        name="weighted_row_sum_matmul",
        title="row sum by matmul",
        code="x @ row",
        operands="x, row",
        like="weighted_row_sum",
    ),
    Operator(
        name="geglu",
        title="GEGLU of halves",
        code='a, b = x.chunk(2, dim=1); a * F.gelu(b, approximate="tanh")',
        halves_columns=True,
        extra_floats=3,
    ),
    Operator(
        name="layer_norm_residual",
        title="LayerNorm + residual",
        code="F.layer_norm(x + residual, (columns,), weight, bias)",
        operands="x, residual, row, row",
        extra_floats=3,
    ),
    Operator(
        name="gelu_block",
        title="GELU block",
        code='residual + F.dropout(F.gelu(x + row, approximate="tanh"), 0.1)',
        operands="x, row, residual",
        draws=True,
        extra_floats=4,
    ),
    Operator(
        name="gelu_block_eval",
        title="GELU block, eval",
        code='residual + F.dropout(F.gelu(x + row, approximate="tanh"), 0.1, training=False)',
        operands="x, row, residual",
        extra_floats=3,
    ),
    Operator(name="matmul", title="matmul", code="a @ b", operands="a @ b", out=True),
    Operator(
        name="einsum", title="matmul by einsum", code='torch.einsum("ij,jk->ik", a, b)', operands="a @ b", like="matmul"
    ),
    Operator(name="linear", title="linear layer", code="F.linear(x, weight)", operands="a @ square"),
    Operator(
        name="cross_entropy",
        title="cross entropy",
        code="F.cross_entropy(logits, target)",
        operands="logits, target",
        extra_floats=2,
    ),
    Operator(name="relu_images", title="ReLU of images", code="torch.relu(images)", operands="images"),
    Operator(
        name="conv2d",
        title="convolution 3×3",
        code="F.conv2d(images, weight, padding=1)",
        operands="images, weight",
        extra_floats=3,
    ),
    Operator(name="max_pool2d", title="max pooling of images", code="F.max_pool2d(images, 2)", operands="images"),
    Operator(
        name="batch_norm",
        title="batch norm of images",
        code="F.batch_norm(images, None, None, training=True)",
        operands="images",
    ),
)

_COMPILED = (
    Operator(name="atlas_gelu_tanh", title="atlas GELU, tanh", code="torch.ops.atlas.gelu_tanh(x)", like="gelu_tanh"),
    Operator(
        name="atlas_gelu_sigmoid", title="atlas GELU, sigmoid", code="torch.ops.atlas.gelu_sigmoid(x)", like="gelu_tanh"
    ),
    Operator(
        name="atlas_clipped_sigmoid",
        title="atlas clipped sigmoid",
        code="torch.ops.atlas.clipped_sigmoid(x)",
        like="sigmoid",
    ),
    Operator(
        name="atlas_geglu",
        title="atlas GEGLU",
        code="torch.ops.atlas.geglu(x)",
        like="geglu",
        halves_columns=True,
    ),
    Operator(
        name="atlas_layer_norm_residual",
        title="atlas LayerNorm + res.",
        code="layer_norm_residual(x, residual, weight, bias, return_sum=False)",
        operands="x, residual, row, row",
        like="layer_norm_residual",
        keywords=(("return_sum", False),),
        extra_floats=3,
    ),
    Operator(
        name="atlas_weighted_row_sum",
        title="atlas weighted row sum",
        code="torch.ops.atlas.weighted_row_sum(x, row)",
        operands="x, row",
        like="weighted_row_sum",
    ),
    Operator(
        name="atlas_bias_gelu_dropout_residual",
        title="atlas GELU block",
        code="bias_gelu_dropout_residual(x, row, residual, 0.1)",
        operands="x, row, residual",
        like="gelu_block",
        keywords=(("p", 0.1),),
        draws=True,
    ),
    Operator(
        name="atlas_bias_gelu_dropout_residual_eval",
        title="atlas GELU block, eval",
        code="bias_gelu_dropout_residual(x, row, residual, 0.1, training=False)",
        operands="x, row, residual",
        like="gelu_block_eval",
        keywords=(("p", 0.1), ("training", False)),
    ),
    Operator(
        name="atlas_gemm",
        title="atlas matmul",
        code="torch.ops.atlas.gemm(a, b)",
        operands="a @ b",
        like="matmul",
    ),
    Operator(
        name="atlas_cross_entropy",
        title="atlas cross entropy",
        code="torch.ops.atlas.cross_entropy(logits, target)",
        operands="logits, target",
        like="cross_entropy",
    ),
)
"""Each is called as engine.operators offers it, with the operands and `keywords`."""

CATALOGUE: dict[str, Operator] = {row.name: row for row in (*_ROWS, *_COMPILED)}
TITLES: dict[str, str] = {row.title: row.name for row in (*_ROWS, *_COMPILED)}


class Operand(msgspec.Struct, frozen=True):
    """One tensor an operator takes; `is_laid_out` where the layout that was asked for applies."""

    name: str
    shape: tuple[int, ...]
    is_laid_out: bool = False
    is_index: bool = False
    """Whole numbers below the second size of the first operand."""


def operands_of(kind: Operands, rows: int, columns: int) -> tuple[Operand, ...]:
    """The tensors of a kind of operator for `rows` and `columns`: of images these are their number and channels."""
    x = Operand("x", (rows, columns), is_laid_out=True)
    row = Operand("row", (columns,))
    kernel = Operand("weight", (columns, columns, SQUARE_KERNEL, SQUARE_KERNEL))
    logits, target = Operand("logits", (rows, columns), is_laid_out=True), Operand("target", (rows,), is_index=True)
    images = Operand("images", (rows, columns, IMAGE_SIDE, IMAGE_SIDE), is_laid_out=True)
    found: dict[Operands, tuple[Operand, ...]] = {
        "x": (x,),
        "x, y": (x, Operand("y", (rows, columns))),
        "x, row": (x, row),
        "x, residual, row, row": (x, Operand("residual", (rows, columns)), row, Operand("bias", (columns,))),
        "x, row, residual": (x, row, Operand("residual", (rows, columns))),
        "a @ b": (Operand("a", (rows, columns), is_laid_out=True), Operand("b", (columns, rows))),
        "a @ square": (x, Operand("weight", (columns, columns))),
        "logits, target": (logits, target),
        "images": (images,),
        "images, weight": (images, kernel),
    }
    return found[kind]


def multiplications(kind: Operands, rows: int, columns: int) -> int:
    """Of the products that grow faster than their operands; 0 for the rest."""
    if kind == "a @ b":
        return rows * rows * columns
    if kind == "a @ square":
        return rows * columns * columns
    return rows * columns * columns * (IMAGE_SIDE * SQUARE_KERNEL) ** 2 if kind == "images, weight" else 0


def result_elements(kind: Operands, rows: int, columns: int) -> int:
    """The most elements a result of this kind can have."""
    if kind == "a @ b":
        return rows * rows
    return rows * columns * (IMAGE_SIDE**2 if kind.startswith("images") else 1)
