"""A typed forward and backward as the class a person would write."""

from __future__ import annotations

from engine.custom_function.spec import CustomFunctionSpec
from engine.expression.language import Call, Index, Name, Operation, Tree
from engine.expression.written import names_in, python_of

COMPARISONS = ("<", "<=", ">", ">=", "==")


def own_forward(spec: CustomFunctionSpec) -> str:
    """The forward as an expression that autograd differentiates."""
    return _value(spec.trees["forward"])


def typed_class(spec: CustomFunctionSpec) -> tuple[set[tuple[str, str, str]], str]:
    """The imports that the texts need, and the class; "" where autograd differentiates forward."""
    trees = spec.trees
    text = "\n".join(_class_lines(trees, spec.names_z)) if "backward" in trees else ""
    written = text or own_forward(spec)
    imports = {("math", "", "")} if "math." in written else set()
    return imports | ({("torch.nn", "functional", "F")} if "F." in written else set()), text


def _class_lines(trees: dict[str, Tree], with_z: bool) -> list[str]:
    wanted = {name for text in ("backward", "backward_z") if text in trees for name in names_in(trees[text])}
    saved = ["x", *(name for name in ("y", "z") if name in wanted and (name != "z" or with_z))]
    forward = trees["forward"]
    value = f"{forward.name}.clone()" if isinstance(forward, Name) and forward.name in ("x", "z") else _value(forward)
    for_x = _value(trees["backward"])
    for_z = _value(trees["backward_z"]) if "backward_z" in trees else "None"
    return [
        "class MyFunction(torch.autograd.Function):",
        "    @staticmethod",
        f"    def forward(ctx, x{', z' if with_z else ''}):",
        f"        y = {value}",
        f"        ctx.save_for_backward({', '.join(saved)})",
        "        return y",
        "",
        "    @staticmethod",
        "    def backward(ctx, g):",
        f"        {', '.join(saved)}{',' if len(saved) == 1 else ''} = ctx.saved_tensors",
        f"        return {f'{for_x}, {for_z}' if with_z else for_x}",
    ]


def _value(tree: Tree) -> str:
    """A tensor of x's dtype, also for plain numbers and comparisons."""
    text = python_of(tree)
    if not names_in(tree):
        return f"torch.full_like(x, {text})"
    return f"({text}).to(x.dtype)" if _compares(tree) else text


def _compares(tree: Tree) -> bool:
    match tree:
        case Operation(sign, left, right):
            return sign in COMPARISONS or _compares(right) or (left is not None and _compares(left))
        case Call(_, tensors):
            return any(map(_compares, tensors))
        case Index(of):
            return _compares(of)
    return False
