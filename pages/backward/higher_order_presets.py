"""Questions of the page on higher derivatives; what each notice claims is tested."""

from __future__ import annotations

from engine.higher_order.spec import (
    ArticleSpec,
    CurvatureSpec,
    DerivativeSpec,
    MatrixSpec,
    ProductSpec,
    RulingSpec,
)
from pages.backward.higher_order_controls import AnySpec, values_of
from pages.shared.presets import Preset

SPECS: dict[str, AnySpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, settings=values_of(spec))


PRESETS = (
    _asks(
        "What is the second derivative of x**3?",
        "At x = 2, by hand: 3x² and then 6x. Predict both numbers, and whether the graph of the second is larger.",
        "12 and 12: 3 · 2² and 6 · 2. `create_graph=True` gave the first derivative a graph of its own, and both "
        "derivatives have the same 4 nodes: the derivative of a power is again a power times a number. Set order to 4: "
        "f‴ is 6, and f⁗ is 0 and still has a value.",
        DerivativeSpec(function="x**3", x=2.0, order=2),
    ),
    _asks(
        "Why does the second derivative of something linear raise?",
        "f = a * x with a = 0.3. Its derivative is a, the second is 0. Predict what autograd.grad returns for it.",
        "It raises: the derivative is `a`, whose graph does not lead to x, and *no path* is not the number 0. Turn on "
        "*allow_unused* and it is None, turn on *materialize_grads* and it is 0. Choose 0.3 * x: the derivative "
        'is then a plain number without a graph, and the message is another one, "does not require grad", which no '
        "argument can mend.",
        DerivativeSpec(function="a * x", x=1.5, order=2, dtype="float32"),
    ),
    _asks(
        "Why is the Hessian of a ReLU layer zero?",
        "f = relu(W x).sum() at x = (0.5, -1, 2). Predict the nine entries of its Hessian; then those with tanh.",
        "All nine are exactly 0: relu is made of straight lines, and what is left of its curvature sits at the kinks, "
        "where autograd does not look. Every way agrees. With *tanh layer* their magnitudes sum to 1.12. A ReLU "
        "network's *loss* is curved all the same, by its square and between its layers: choose *ReLU network loss*.",
        MatrixSpec(function="ReLU layer", n=3, point=(0.5, -1.0, 2.0), seed=3),
    ),
    _asks(
        "How many graph nodes does each order cost?",
        "exp(-x**2) has 4 nodes. Predict how many the graph of its fourth derivative has.",
        "82: the orders take 4, 9, 22, 45 and 82 nodes, since the derivative of a product has two terms and every "
        "backward formula is itself recorded. See *Recorded graph*. x**4 stays at 4 nodes.",
        DerivativeSpec(function="exp(-x**2)", x=0.7, order=4),
    ),
    _asks(
        "Is the Hessian of a product right with two zeros?",
        "f = 2 · 3 · 0 · 0. Predict which second derivatives are not 0.",
        "Two entries of sixteen: 6 = 2 · 3 between the two zeros, once on each side of the diagonal. The gradient is 0 "
        "everywhere, so one might think there is nothing to see. Dividing the product by x[i] would have given NaN; "
        "PyTorch's formula does not divide, and agrees with the one by hand.",
        MatrixSpec(function="product", n=4, point=(2.0, 3.0, 0.0, 0.0)),
    ),
    _asks(
        "What does a Hessian-vector product save?",
        "An article says: 90 % less memory, 3 to 5 times as fast. Predict both for 200 parameters, and for 25.",
        "See *The article's claim*: both numbers grow with n, because the full Hessian takes n products and n · n "
        "numbers. At 25 parameters less than 90 % is saved, at 199 about 90 %; the time is far beyond 5 times already. "
        "The exponents under *Growth with n* say it: about 1 against about 2 for the bytes.",
        ProductSpec(function="tanh network loss", n=200),
    ),
    _asks(
        "What if the Hessian is too large?",
        "200 000 numbers in float64. Predict the bytes of the Hessian of their logsumexp, and of one product.",
        "320 GB (298 GiB): it is refused before it is made. A product needs a few vectors of 1.6 MB each and runs in "
        "milliseconds; the growth of its bytes is about n to the power of 1.",
        ProductSpec(function="logsumexp", n=200_000),
    ),
    _asks(
        "The article's hvp: where does it fail?",
        "Four lines, quoted word for word. v is given as `torch.autograd.grad` gives gradients: one tensor per "
        "parameter. Predict whether it runs.",
        "It raises: `flat_grad` is one tensor, so v must be flat as well. With a flat v it is right. *Every situation* "
        "shows six more in which it raises: unused and frozen parameters, a bias the loss is linear in, channels_last "
        "gradients that `view` cannot flatten, a linear loss, a graph that backward has freed. The corrected one is "
        "right in all eight.",
        ArticleSpec(situation="v as a list, one tensor per parameter"),
    ),
    _asks(
        "Does create_graph leak?",
        "`y.backward(create_graph=True)`, then x and y go out of scope. Predict whether x is freed, at once or by "
        "`gc.collect()`.",
        "Neither: x holds `x.grad`, whose graph holds x, and Python's collector cannot see through C++. PyTorch warns "
        "of it. Setting `x.grad = None` cuts the cycle, and `autograd.grad` never makes one.",
        RulingSpec(topic="create_graph leaks"),
    ),
    _asks(
        "How curved is my loss?",
        "A tanh network with 97 parameters. Predict how many Hessian-vector products find its largest eigenvalue to "
        "three digits: 5, 50, or all 97.",
        "Well below 97 for three digits, although the residual has not reached its tolerance after 60: the second "
        "largest eigenvalue is close (the dotted line falls slowly), which spoils the vector more than the number. "
        "`eigvalsh` of the full Hessian agrees.",
        CurvatureSpec(function="tanh network loss", n=100, steps=60),
    ),
)
