"""Programs that differ in one statement, to be run side by side: no torch, only their text."""

from __future__ import annotations

import msgspec


class Member(msgspec.Struct, frozen=True):
    """One program of a family: its statement in question, and the whole text."""

    title: str
    program: str


class Family(msgspec.Struct, frozen=True):
    """What is compared, the tensors whose end is told, the programs, and their source."""

    question: str
    told: tuple[str, ...]
    members: tuple[Member, ...]


def _members(before: str, after: str, *statements: str) -> tuple[Member, ...]:
    return tuple(
        Member(one.replace("\n    ", " ").replace("\n", "; "), "\n".join(part for part in (before, one, after) if part))
        for one in statements
    )


_LEAF = "w = ones(2, 2, requires_grad=True)\n(w * 3).sum().backward()"
_ROOT = "root = ones(4, 2, requires_grad=True)\nx = root * 1"
_SQUARE = "x = tensor([1.0, 2.0, 3.0], requires_grad=True)\nh = x * 2\ny = h * h"
_POINT = "x = tensor([0.5, 1.0, 2.0], requires_grad=True)\ny = "
_OPERATIONS = (
    "sigmoid(x)", "tanh(x)", "exp(x)", "relu(x)", "sqrt(x)", "reciprocal(x)", "x + 1", "x * 3", "sin(x)", "log(x)",
    "x**2", "softplus(x)",
)  # fmt: skip

FAMILIES: dict[str, Family] = {
    "update of a leaf": Family(
        "Which update of a leaf that requires grad is allowed, and is it a leaf afterwards?",
        ("w",),
        _members(
            _LEAF,
            "",
            "w -= 0.1 * w.grad",
            "w[0] = 0",
            "w.view(4).mul_(2)",
            "with no_grad():\n    w -= 0.1 * w.grad",
            "w = w - 0.1 * w.grad",
            "with no_grad():\n    w = w - 0.1 * w.grad",
            "w.data -= 0.1 * w.grad",
            "w.data = w - 0.1 * w.grad",
            "w.detach().sub_(0.1 * w.grad)",
        ),
    ),
    "views": Family(
        "Which view may be written through, and what becomes of the grad_fn of its base?",
        ("x", "v"),
        _members(
            _ROOT,
            "x.sum().backward()",
            "v = x[:2]\nv.add_(1)",
            "v = x.select(0, 1)\nv.add_(1)",
            "v = x.view(8)\nv.add_(1)",
            "v = x.t()\nv.mul_(2)",
            "v = x.narrow(0, 1, 2)\nv.zero_()",
            "v, b = x.chunk(2)\nv.add_(1)",
            "v, b = x.split(2)\nv.add_(1)",
            "v, b, c, d = x.unbind()\nv.add_(1)",
        )
        + _members(
            _ROOT,
            "v.sum().backward()",
            "v = x[0]\nx.mul_(2)",
            "v, b, c, d = x.unbind()\nx.mul_(2)",
            "v, b = x.chunk(2)\nx.mul_(2)",
            "v = x.expand(3, 4, 2)\nv.add_(1)",
        ),
    ),
    "no_grad, detach, data": Family(
        "h is doubled in place after y = h * h saved it: who notices, and which gradient comes out?",
        ("h",),
        _members(
            _SQUARE,
            "y.sum().backward()",
            "h.mul_(2)",
            "with no_grad():\n    h.mul_(2)",
            "h.detach().mul_(2)",
            "h.data.mul_(2)",
            "h = h * 2",
        ),
    ),
    "what operations save": Family(
        "y is written after it was computed: which operations had saved it?",
        ("y",),
        (
            *(Member(f"y = {one}; y.add_(1)", f"{_POINT}{one}\ny.add_(1)\ny.sum().backward()") for one in _OPERATIONS),
            Member(
                "y = h * h; h.add_(1)  (the input)",
                "x = tensor([0.5, 1.0, 2.0], requires_grad=True)\nh = x + 0\ny = h * h\nh.add_(1)\ny.sum().backward()",
            ),
        ),
    ),
    "modules": Family(
        "When may an activation write over what the layer before it returned?",
        ("h",),
        (
            Member(
                "conv2d, then relu_",
                "x = randn(1, 1, 4, 4)\nw = randn(1, 1, 3, 3, requires_grad=True)\nh = conv2d(x, w)\nh.relu_()\n"
                "h.sum().backward()",
            ),
            Member(
                "linear, then relu_",
                "x = randn(1, 2)\nw = randn(2, 2, requires_grad=True)\nh = linear(x, w)\nh.relu_()\nh.sum().backward()",
            ),
            Member(
                "sigmoid, then relu_",
                "x = randn(1, 2, requires_grad=True)\nh = sigmoid(x)\nh.relu_()\nh.sum().backward()",
            ),
            Member(
                "full backward hook, then relu_",
                "x = randn(1, 2)\nw = randn(2, 2, requires_grad=True)\nh = hooked(linear(x, w))\nh.relu_()\n"
                "h.sum().backward()",
            ),
            Member(
                "full backward hook, then relu",
                "x = randn(1, 2)\nw = randn(2, 2, requires_grad=True)\nh = hooked(linear(x, w))\nh = relu(h)\n"
                "h.sum().backward()",
            ),
            Member(
                "residual: x + relu(x, inplace=True)",
                "w = randn(1, 2, requires_grad=True)\nx = w * w\nh = x * x\nh = h + relu(x, inplace=True)\n"
                "h.sum().backward()",
            ),
        ),
    ),
    "inference mode": Family(
        "What may be done with a tensor that was made under inference_mode?",
        ("a", "w"),
        _members(
            "w = ones(2, requires_grad=True)\nwith inference_mode():\n    a = ones(2)",
            "",
            "with inference_mode():\n    a.add_(1)",
            "a.add_(1)",
            "y = w + a",
            "y = w * a",
            "a = a.clone()\na.add_(1)\n(w * a).sum().backward()",
            "with inference_mode():\n    w.add_(1)",
        ),
    ),
}
