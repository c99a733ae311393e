"""The scripts of the page on higher derivatives."""

from __future__ import annotations

from typing import Any

from engine.expression.language import Tree
from engine.expression.written import names_in, python_of
from engine.higher_order.spec import (
    LARGEST_FULL_BYTES,
    ArticleSpec,
    CurvatureSpec,
    DerivativeSpec,
    MatrixSpec,
    ProductSpec,
    RulingSpec,
)
from engine.runner.contract import Spec
from engine.script.higher_order_article import article_script
from engine.script.higher_order_rulings import ruling_script


def script(spec: Spec[Any]) -> str:
    """Plain PyTorch that prints the numbers of the section that `spec` belongs to."""
    if isinstance(spec, DerivativeSpec):
        return _derivatives(spec)
    if isinstance(spec, MatrixSpec):
        return _matrix(spec)
    if isinstance(spec, ProductSpec):
        return _products(spec)
    if isinstance(spec, CurvatureSpec):
        return _curvature(spec)
    if isinstance(spec, ArticleSpec):
        return article_script(spec)
    assert isinstance(spec, RulingSpec)
    return ruling_script(spec)


def _imports(code: str) -> list[str]:
    wanted = ["import math"] if "math." in code else []
    wanted += [""] if wanted else []
    wanted += ["import torch"]
    return wanted + (["from torch.nn import functional as F"] if "F." in code else [])


def _tensor(tree: Tree, like: str) -> str:
    """The code of an expression; one without a name is a number, which autograd is given as a tensor."""
    written = python_of(tree)
    return written if names_in(tree) else f"torch.as_tensor({written}, dtype={like}.dtype)"


def _derivatives(spec: DerivativeSpec) -> str:
    code = _tensor(spec.tree, "x")
    given = "".join(
        f", {name}=True" for name in ("create_graph", "allow_unused", "materialize_grads") if getattr(spec, name)
    )
    lines = [
        *_imports(code),
        "",
        f"x = torch.tensor({spec.x!r}, dtype=torch.{spec.dtype}, requires_grad=True)",
        *(
            [f"a = torch.tensor({spec.a!r}, dtype=torch.{spec.dtype}, requires_grad=True)"]
            if "a" in _names(spec)
            else []
        ),
        f"d = ({code}).to(x.dtype)",
        "",
        "",
        "def nodes(tensor: torch.Tensor) -> int:",
        "    seen, waiting = set(), [tensor.grad_fn]",
        "    while waiting:",
        "        node = waiting.pop()",
        "        if node is not None and node not in seen:",
        "            seen.add(node)",
        "            waiting += [following for following, _ in node.next_functions]",
        "    return len(seen)",
        "",
        "",
        f"for order in range({spec.order + 1}):",
        '    print(f"order {order}: {d if d is None else d.item()}, {0 if d is None else nodes(d)} nodes")',
        f"    if d is None or order == {spec.order}:",
        "        break",
        f"    d = torch.autograd.grad(d, x{given})[0]",
    ]
    return "\n".join(lines) + "\n"


def _names(spec: DerivativeSpec) -> dict[str, None]:
    return names_in(spec.tree)


def _drawn(name: str, seed: int, size: str, dtype: str) -> str:
    cast = "" if dtype == "float64" else f".to(torch.{dtype})"
    generator = f"generator=torch.Generator().manual_seed({seed})"
    return f"{name} = torch.randn({size}, dtype=torch.float64, {generator}){cast}"


def problem_lines(spec: MatrixSpec | ProductSpec | CurvatureSpec) -> list[str]:
    """Lines that define the function f and its point x."""
    if "network" in spec.function:
        return _network_lines(spec)
    point = spec.point if isinstance(spec, MatrixSpec) else ()
    size = len(point) or spec.n
    first = (
        f"x = torch.tensor({list(point)}, dtype=torch.{spec.dtype})"
        if point
        else _drawn("x", spec.seed + 1, str(size), spec.dtype)
    )
    return [first, *_function_lines(spec, size)]


def _function_lines(spec: MatrixSpec | ProductSpec | CurvatureSpec, size: int) -> list[str]:
    is_jacobian = isinstance(spec, MatrixSpec) and spec.matrix == "Jacobian"
    if isinstance(spec, MatrixSpec) and spec.function == "typed":
        return [*_defined(f"return {_tensor(spec.tree, 'x')}")]
    if spec.function == "quadratic form":
        return [
            f"d = torch.linspace(-1, 3, {size}, dtype=x.dtype)",
            _drawn("u", spec.seed, str(size), spec.dtype) + f" / {size}**0.5",
            *_defined("return 0.5 * ((d * x * x).sum() + torch.dot(u, x) ** 2)"),
        ]
    if spec.function.endswith("layer"):
        act = "torch.relu" if spec.function.startswith("ReLU") else "torch.tanh"
        called = f"{act}(w @ x)" + ("" if is_jacobian else ".sum()")
        return [_drawn("w", spec.seed, f"4, {size}", spec.dtype), *_defined(f"return {called}")]
    written = {
        "Rosenbrock": "(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()",
        "product": "torch.prod(x)",
        "logsumexp": "torch.logsumexp(x, 0)",
        "softmax": "torch.softmax(x, 0)",
    }
    return _defined(f"return {written[spec.function]}")


def _defined(body: str) -> list[str]:
    return ["", "", "def f(x: torch.Tensor) -> torch.Tensor:", f"    {body}", "", ""]


def _network_lines(spec: MatrixSpec | ProductSpec | CurvatureSpec) -> list[str]:
    hidden = max(1, (spec.n - 1) // 6)
    act = "torch.relu" if spec.function.startswith("ReLU") else "torch.tanh"
    error = (
        "torch.nn.functional.mse_loss(outputs, targets)"
        if spec.function.endswith("mse_loss")
        else "((outputs - targets) ** 2).mean()"
    )
    return [
        f"hidden, count = {hidden}, {6 * hidden + 1}",
        _drawn("inputs", spec.seed, "32, 4", spec.dtype),
        _drawn("targets", spec.seed + 3, "32, 1", spec.dtype),
        _drawn("x", spec.seed + 1, "count", spec.dtype),
        "x[: 4 * hidden] *= 4**-0.5",
        "x[4 * hidden : -1] *= hidden**-0.5",
        "",
        "",
        "def f(x: torch.Tensor) -> torch.Tensor:",
        "    w, b, w2, b2 = x.split([4 * hidden, hidden, hidden, 1])",
        f"    outputs = {act}(inputs @ w.view(hidden, 4).T + b) @ w2.view(1, hidden).T + b2",
        f"    return {error}",
        "",
        "",
    ]


def _matrix(spec: MatrixSpec) -> str:
    lines = problem_lines(spec)
    name = spec.matrix.lower()
    body = [
        *lines,
        f"matrix = torch.autograd.functional.{name}(f, x)",
        "matrix = matrix.reshape(-1, x.numel())",
        'print("shape", tuple(matrix.shape), "zeros", int((matrix == 0).sum()))',
        'print("sum of magnitudes", matrix.abs().sum().item())',
    ]
    if spec.matrix == "Hessian":
        body += [
            'print("torch.func.hessian off by", (torch.func.hessian(f)(x) - matrix).abs().max().item())',
            'print("eigenvalues", torch.linalg.eigvalsh(matrix)[[0, -1]].tolist())',
        ]
    else:
        body += [
            "again = torch.func.jacrev(f)(x).reshape(-1, x.numel())",
            'print("torch.func.jacrev off by", (again - matrix).abs().max().item())',
        ]
    return "\n".join([*_imports("\n".join(body)), "", *body]) + "\n"


def _products(spec: ProductSpec) -> str:
    body = [
        *problem_lines(spec),
        _drawn("v", spec.seed + 2, "x.numel()", spec.dtype),
        "leaf = x.clone().requires_grad_()",
        "(g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)",
        "(hv,) = torch.autograd.grad(g, leaf, grad_outputs=v, materialize_grads=True)",
        'print("n", x.numel(), "norm of Hv", hv.norm().item())',
        'print("forward over reverse off by", end=" ")',
        "print((torch.func.jvp(torch.func.grad(f), (x,), (v,))[1] - hv).abs().max().item())",
    ]
    if spec.function == "tanh network, mse_loss":
        body[-2:] = [
            'print("reverse over forward off by", end=" ")',
            "jvp = torch.func.jvp",
            "print((torch.func.grad(lambda x: jvp(f, (x,), (v,))[1])(x) - hv).abs().max().item())",
        ]
    if spec.hessian_bytes <= LARGEST_FULL_BYTES:
        body.append(
            'print("full Hessian off by", (torch.autograd.functional.hessian(f, x) @ v - hv).abs().max().item())'
        )
    return "\n".join([*_imports(""), "", *body]) + "\n"


def _curvature(spec: CurvatureSpec) -> str:
    body = [
        *problem_lines(spec),
        _drawn("v", spec.seed + 2, "x.numel()", spec.dtype),
        "v /= v.norm()",
        "leaf = x.clone().requires_grad_()",
        "(g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)",
        f"for step in range({spec.steps}):",
        "    (hv,) = torch.autograd.grad(g, leaf, v, retain_graph=True, materialize_grads=True)",
        "    eigenvalue = torch.dot(v, hv).item()",
        "    residual = (hv - eigenvalue * v).norm().item()",
        f"    if hv.norm() == 0 or residual <= {spec.tolerance!r} * abs(eigenvalue):",
        "        break",
        "    v = hv / hv.norm()",
        'print("products", step + 1, "eigenvalue", eigenvalue, "residual", residual)',
    ]
    return "\n".join([*_imports(""), "", *body]) + "\n"
