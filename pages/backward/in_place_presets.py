"""Questions of the page on in-place operations."""

from __future__ import annotations

from engine.in_place.spec import DEFAULT_PROGRAM, FamilySpec, ProgramSpec, UpdateSpec
from pages.backward.in_place_controls import AnySpec, values_of
from pages.shared.presets import Preset

LEAF = """\
x = ones(3, 4, requires_grad=True)
y = x * 2
x.add_(1)
"""
COPY_SLICES = """\
root = tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
x = root * 1
v = x[:2]
v.mul_(10)
x.sum().backward()
"""
DATA = """\
x = tensor([1.0, 2.0, 3.0], requires_grad=True)
h = x * 2
y = h * h
d = h.data
d.mul_(2)
y.sum().backward()
"""
HOOKED = """\
x = randn(1, 2)
w = randn(2, 2, requires_grad=True)
h = hooked(linear(x, w))
h.relu_()
h.sum().backward()
"""
STEP_FIRST = """\
w = tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
with no_grad():
    w.sub_(0.1)
loss.backward()
"""
UNBIND = """\
root = ones(3, 2, requires_grad=True)
x = root * 1
a, b, c = x.unbind()
x.mul_(2)
(a + b).sum().backward()
"""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec) -> Preset:
    return Preset(question, prediction, notice, settings=values_of(spec))


PRESETS = (
    _asks(
        "Two writes in place: which one breaks backward?",
        "`s = sigmoid(x)` and `t = x + 1`, then `t.mul_(5)` and `s.add_(1)`. Both counters go from 0 to 1. Predict: "
        "which node objects?",
        "Sigmoid's derivative is s * (1 - s), so the node saved its *output*, at version 0; the write made it stale. "
        "`x + 1` saved nothing: its write is free (pytorch/pytorch#18523). The corrected program ran: `s = s.add(1)`.",
        ProgramSpec(program=DEFAULT_PROGRAM),
    ),
    _asks(
        "Why may x.add_(1) not touch a leaf?",
        "The article's line: `x = ones(3, 4, requires_grad=True)`, then `x.add_(1)`. Predict: error, or x becomes a "
        "non-leaf?",
        "An error, and the version stays 0: nothing was written. Under `no_grad()` the same call runs, x stays a leaf "
        "that requires grad, and its version is 1. The corrected program beside the error was run.",
        ProgramSpec(program=LEAF),
    ),
    _asks(
        "May a leaf be updated, and is it one afterwards?",
        "Nine writes to w, most of them w - 0.1 * w.grad. Predict which raise, which keep w a leaf, and which raise "
        "its version.",
        "A leaf and a view of it are refused with different words (pytorch/examples#779). `no_grad` keeps the leaf and "
        "counts 1; `w = w - …` rebinds to a non-leaf; `.data` writes without a count.",
        FamilySpec(name="update of a leaf"),
    ),
    _asks(
        "What becomes of a base when its view is written?",
        "`v = x[:2]`, then `v.mul_(10)`. Predict x.grad_fn afterwards, and root.grad.",
        "Open *Graph before and after* at line 4: x goes from MulBackward0 to **CopySlices**, and v gets a new grad_fn "
        "made from its base. One counter for both: x and v are at version 1. root.grad is 10, 10, 1, 1.",
        ProgramSpec(program=COPY_SLICES),
    ),
    _asks(
        "Why is writing a slice allowed and a chunk not?",
        "Slice, select, view, t, narrow, chunk, split, unbind, expand. Predict which writes PyTorch refuses.",
        "A view with a node of its own can be rebased to CopySlices. `chunk`, `split` and `unbind` give several "
        "outputs "
        "of one node: refused, and writing their *base* makes them unusable too (pytorch/pytorch#48149).",
        FamilySpec(name="views"),
    ),
    _asks(
        "Does .data hide the damage?",
        "y = h * h saved h; then `h.data` is doubled in place. The true gradient is 8x = 8, 16, 24. Predict what "
        "backward says.",
        "Nothing: `.data` has a version counter of its own, so versions agree and x.grad is 16, 32, 48. Write "
        "`h.detach()` "
        "instead of `h.data`: it shares the counter and backward raises. The corrected program gives 8, 16, 24.",
        ProgramSpec(program=DATA),
    ),
    _asks(
        "no_grad, detach, data: who notices a write?",
        "h is doubled in place after `y = h * h`, in five ways. Predict: which raise, and which is wrong without a "
        "word?",
        "`no_grad()` stops recording, not counting: it raises like the plain write, and so does `detach()`, which "
        "shares "
        "memory and counter. Only `.data` slips through, with twice the gradient.",
        FamilySpec(name="no_grad, detach, data"),
    ),
    _asks(
        "Which results may be written over?",
        "`y.add_(1)` after thirteen operations. Predict which had saved y itself.",
        "sigmoid, tanh, exp, relu, sqrt and reciprocal keep their *output*: stale. sin, log and x**2 keep their "
        "*input*, "
        "`x + 1` and `x * 3` no tensor: writing y is free.",
        FamilySpec(name="what operations save"),
    ),
    _asks(
        "Why does a backward hook forbid inplace=True?",
        "`relu_` after a linear layer runs. Now the layer has a full backward hook. Predict what changes.",
        "The hook passes the output on through **BackwardHookFunction**, as a view; writing into it would bypass the "
        "hook (pytorch/pytorch#61519). Out of place (`inplace=False`) it runs.",
        ProgramSpec(program=HOOKED),
    ),
    _asks(
        "What if the step comes before backward?",
        "w is updated under no_grad between forward and `loss.backward()`. No graph is recorded for the update: "
        "predict "
        "whether backward runs.",
        "It raises: `w * w` saved w at version 0, and `no_grad` does not stop the counter. Backward first, then the "
        "step: "
        "w.grad is 2w = 2, 4.",
        ProgramSpec(program=STEP_FIRST),
    ),
    _asks(
        "What breaks when the base of unbind is written?",
        "`a, b, c = x.unbind()`, then `x.mul_(2)`: x itself may be written. Predict when the error comes.",
        "Not at the write, but when `a` is next used: its grad_fn cannot be made anew from the base. The corrected "
        "program "
        "takes the rows by `select`, and root.grad is 2 in the rows that were used.",
        ProgramSpec(program=UNBIND),
    ),
    _asks(
        "What does updating in place save?",
        "One SGD step over 4 parameters of 16 KiB, in place and as `p.data = p.data - lr * p.grad`. Predict new "
        "storages.",
        "None against 8: the product and the new values, per parameter. `p -= lr * p.grad` still makes the product; "
        "`add_(grad, alpha=-lr)`, as in the article and in torch.optim.SGD, does not.",
        UpdateSpec(),
    ),
)
