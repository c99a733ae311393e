"""Questions of the broadcasting page; what each notice claims is tested."""

from __future__ import annotations

from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, IndexSize, Operand
from engine.vectorisation.spec import LadderSpec
from pages.shared.presets import Preset
from pages.tensors.broadcasting_controls import AnySpec, values_of

SPECS: dict[str, AnySpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


def _sizes(**sizes: int) -> tuple[IndexSize, ...]:
    return tuple(IndexSize(letter, size) for letter, size in sizes.items())


PRESETS = (
    _asks(
        "Which dimension is at fault?",
        "A bias of 3 channels is added to images (2, 3, 4, 4). Predict which of the four sizes the 3 meets.",
        "The last one: shapes are aligned from the right, so 3 channels meet 4 pixels. `b[:, None, None]` gives the "
        "channel dimension two of size 1 to its right; PyTorch accepts it and the result stays as large as the images.",
        BroadcastSpec(operands=(Operand((2, 3, 4, 4)), Operand((3,)))),
    ),
    _asks(
        "Why is this loss wrong without an error?",
        "The model gives (4, 1), the targets are (4,), and every prediction equals its target. Predict the loss.",
        "2.5 instead of 0: both are stretched to (4, 4), and every prediction is compared with every target. PyTorch "
        "only warns. With the target reshaped to (4, 1) the loss is 0.",
        BroadcastSpec(operation="mse_loss", operands=(Operand((4, 1)), Operand((4,)))),
    ),
    _asks(
        "Two vectors of 100 000: how large is their difference?",
        "`a` is (100000, 1), `b` is (100000,), 400 kB each. Predict the bytes of `a - b`.",
        "40 GB (37.3 GiB): an outer difference. Neither operand is copied, both keep their 400 kB with a stride of 0, "
        "but the *result* has every element. It is not made here: sizes are read from the meta device.",
        BroadcastSpec(operation="sub", operands=(Operand((100_000, 1)), Operand((100_000,)))),
    ),
    _asks(
        "Does `x - x.mean(1)` centre the rows?",
        "x is (4, 4), so `x.mean(1)` is (4,). Predict which element of the mean the first row meets.",
        "Point at the first row of the result: it reads b[0], b[1], b[2], b[3], one per *column*. The row means are "
        "subtracted from the columns, and a square x hides it; `mean(1, keepdim=True)` is (4, 1) and meets the rows. "
        "Set x to 4, 5 and PyTorch refuses.",
        BroadcastSpec(operation="sub", operands=(Operand((4, 4)), Operand((4,)))),
    ),
    _asks(
        "What does a float64 scalar do to float16?",
        "A float16 matrix times a 0-dim float64 tensor. Predict the result's dtype.",
        "float16: a 0-dim tensor changes the dtype only with a higher category, and both are floating point. Give b "
        "the shape 1 (see *dtype*): now it has a dimension, and the result is float64, four times the bytes.",
        BroadcastSpec(operation="mul", operands=(Operand((3, 4), "float16"), Operand((), "float64"))),
    ),
    _asks(
        "What is the gradient of a bias?",
        "(32, 10) plus a bias (10,). Predict the shape of `bias.grad`, and where the 32 rows went.",
        "(10,): the gradient of a stretched or new dimension is the sum over it, here over dim 0. Every operand gets "
        "back its own shape, never the result's.",
        BroadcastSpec(operands=(Operand((32, 10)), Operand((10,)))),
    ),
    _asks(
        "May `a.add_(b)` grow a?",
        "a is (4,), b is (3, 4): `a + b` is (3, 4). Predict `a.add_(b)`, and then `b.add_(a)`.",
        '`a.add_(b)` is refused: "output with shape [4] doesn\'t match the broadcast shape [3, 4]". `b.add_(a)` is '
        "carried out. Writing one element of `a.expand(3, 4)` is carried out too, and changes 3.",
        BroadcastSpec(operands=(Operand((4,)), Operand((3, 4)))),
    ),
    _asks(
        "What broadcasts in a batched matrix product?",
        "(2, 1, 3, 4) @ (5, 4, 6). Predict the result's shape, and which dims had to be equal.",
        "(2, 5, 3, 6): the batch dims 2, 1 and 5 broadcast, the matrix dims do not. The two 4s must be equal, since "
        "they are summed over; there a size of 1 would not stretch.",
        BroadcastSpec(operation="matmul", operands=(Operand((2, 1, 3, 4)), Operand((5, 4, 6)))),
    ),
    _asks(
        "einsum: where did the batch go?",
        "`bij,bjk` without an arrow, b=8. Predict the output's shape.",
        "(3, 5): without `->` only letters that appear once are kept, so b is summed away like j. To do it in one "
        "matrix product einsum first copies an operand (`clone` among the operators). `bij,bjk->bik` keeps the batch.",
        EinsumSpec(equation="bij,bjk", sizes=_sizes(b=8, i=3, j=4, k=5)),
    ),
    _asks(
        "einsum: does the order of a chain matter?",
        "A (1000, 1000) times B (1000, 1000) times a vector. Predict which product to take first.",
        "B times the vector: 4 million operations instead of 2 billion, see *Order of contraction*. Without opt_einsum "
        "`torch.einsum` contracts from the left, and A times B is also held in between: 4 MB.",
        EinsumSpec(equation="ij,jk,k->i", sizes=_sizes(i=1000, j=1000, k=1000)),
    ),
    _asks(
        "einsum: which indices does attention sum?",
        "Queries times keys, `bhqd,bhkd->bhqk`. Predict which index is gone, and which are batch dims.",
        "d is summed; b and h are in both operands and in the output, so each of their values is a product of its "
        "own: one `bmm` of b*h = 6 matrices, and no copy.",
        EinsumSpec(equation="bhqd,bhkd->bhqk", sizes=_sizes(b=2, h=3, q=4, k=4, d=5)),
    ),
    _asks(
        "einsum: what does a repeated letter read?",
        "`ii->i` of a 5 by 5 matrix. Predict how many cells are read and how many bytes are copied.",
        "5 cells of 25, and no byte: the output is a view of the diagonal with a stride of 6. Make it `ii->` and the "
        "diagonal is summed: the trace.",
        EinsumSpec(equation="ii->i", sizes=_sizes(i=5)),
    ),
    _asks(
        "How far is a Python loop behind einsum?",
        "Each row of a (1000, 200) matrix times weights, summed. Predict the factor of a loop over rows, and of a loop "
        "over elements.",
        "The loop pays an operator call per step: 1 000 for the rows, 200 000 for the elements. The errors of all ways "
        "are of the same order: only the order of summation differs. Make the rows longer, and the row loop "
        "catches up.",
        LadderSpec(),
    ),
    _asks(
        "Why is the backward of a loop slow?",
        "The squared diagonal of a 100 by 100 matrix, summed: a loop, or one expression. Predict the autograd nodes.",
        "The element loop records several nodes per step, a few hundred in all; the other ways a handful. Backward "
        "visits each of them (THUDM/GATNE#115).",
        LadderSpec(problem="squared_diagonal", rows=100),
    ),
)
