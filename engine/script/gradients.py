"""The scripts of the gradient values page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from engine.gradients.spec import (
    AccumulationSpec,
    ClippingSpec,
    DifferenceSpec,
    FiniteDifferenceSpec,
    GradientsSpec,
    ZeroGradSpec,
)
from engine.models.spec import Expression, ModelSpec, describe
from engine.script.model import ModelScript, model_script
from engine.script.text import indented

AnySpec = GradientsSpec | DifferenceSpec | FiniteDifferenceSpec | AccumulationSpec | ClippingSpec | ZeroGradSpec

LEAVES = "leaves = {**dict(model.named_parameters()), **inputs}"
WIDE = '''\
def wide(tensor: torch.Tensor) -> torch.Tensor:
    """All values as one float64 vector; of complex ones both parts, of sparse ones dense."""
    dense = tensor.detach().to_dense()
    return (torch.view_as_real(dense.resolve_conj()) if dense.is_complex() else dense).double().flatten()'''


def script(spec: AnySpec) -> str:
    """Plain torch that prints, per leaf, what the section shows."""
    return _WRITERS[type(spec)](spec)


def _text(parts: ModelScript, model: ModelSpec, what: str) -> str:
    return parts.text(f"{describe(model.architecture)}: {what}")


def _values(spec: GradientsSpec) -> str:
    parts = model_script(spec.model)
    parts.definitions.append(WIDE)
    parts.recipe += [
        "loss.backward()",
        LEAVES,
        "for name, leaf in leaves.items():",
        "    if leaf.grad is None:",
        "        print(name, None)",
        "    else:",
        "        grad, weight = wide(leaf.grad).norm(), wide(leaf).norm()",
        f"        print(name, grad.item(), (grad / weight).item(), ({spec.learning_rate!r} * grad).item())",
    ]
    return _text(parts, spec.model, "norm of every gradient, its share of the weight, lr times it.")


def _as_function(model: ModelSpec, name: str) -> tuple[ModelScript, list[str]]:
    """The model's script with its recipe as a function that returns the gradients by leaf."""
    parts = model_script(model)
    body = [
        *"\n".join(parts.recipe).split("\n"),
        "loss.backward()",
        LEAVES,
        "return {name: leaf.grad for name, leaf in leaves.items()}",
    ]
    parts.recipe = []
    while "" in body:
        body.remove("")
    return parts, [f"def {name}() -> dict:", *indented(body), ""]


def _two_runs(spec: DifferenceSpec) -> str:
    a, b = spec.pair
    parts, first = _as_function(a, "run_a")
    other, second = _as_function(b, "run_b")
    parts.imports |= other.imports
    parts.definitions += [one for one in other.definitions if one not in parts.definitions]
    parts.definitions += [WIDE, "\n".join(first).rstrip(), "\n".join(second).rstrip()]
    parts.recipe = [
        "a, b = run_a(), run_b()",
        "for name in a:",
        "    if a[name] is not None and b.get(name) is not None and a[name].shape == b[name].shape:",
        "        one, other = wide(a[name]), wide(b[name])",
        "        cosine = torch.dot(one, other) / one.norm() / other.norm()",
        "        apart = other - one",
        "        print(name, cosine.item(), (apart.norm() / one.norm()).item(), apart.abs().max().item())",
    ]
    return _text(parts, a, "cosine, relative and largest difference of the gradients of two runs.")


def _checks(spec: FiniteDifferenceSpec) -> str:
    exact = msgspec.structs.replace(spec.model, dtype="float64", autocast="off", checkpoint="off")
    parts = model_script(exact)
    again = _loss_again(exact, parts)
    parts.recipe += [
        "loss.backward()",
        LEAVES,
        f"eps = 1e{spec.log10_eps}",
        "for name, leaf in leaves.items():",
        "    if leaf.grad is None:",
        "        continue",
        "    grad = leaf.grad.to_dense()",
        "    place = torch.unravel_index(grad.abs().argmax(), grad.shape)  # the entry with the largest gradient",
        "    for step in (1, 1j) if leaf.is_complex() else (1,):  # a complex one along both its axes",
        "        losses = []",
        "        for sign in (1, -1):",
        "            before = leaf.detach()[place].clone()",
        "            leaf.detach()[place] = before + sign * eps * step",
        "            losses.append(loss_again())",
        "            leaf.detach()[place] = before",
        "        exact = (grad[place] * step.conjugate()).real if leaf.is_complex() else grad[place]",
        "        print(name, exact.item(), (losses[0] - losses[1]) / (2 * eps))",
    ]
    parts.definitions += again
    return _text(parts, spec.model, "largest entry of every gradient against central differences.")


def _loss_again(model: ModelSpec, parts: ModelScript) -> list[str]:
    """The part of the recipe after the last seed, as a function."""
    lines = "\n".join(parts.recipe).split("\n")
    start = max(number for number, line in enumerate(lines) if line.startswith("torch.manual_seed"))
    body = [*lines[start:], "return loss.item()"]
    # An expression may ask autograd for a gradient in its own forward.
    quiet = [] if isinstance(model.architecture, Expression) else ["@torch.no_grad()"]
    return ["\n".join([*quiet, "def loss_again() -> float:", *indented(body)])]


def _accumulated(spec: AccumulationSpec, part: list[str], call: str) -> list[str]:
    """The function that adds up the gradients of some micro-batches."""
    return [
        "def accumulated(sizes: list, scale) -> dict:",
        "    model.zero_grad()",
        "    for x in inputs.values():",
        "        x.grad = None",
        "    for name, buffer in model.named_buffers():",
        "        buffer.copy_(start[name])",
        f"    torch.manual_seed({spec.model.seed})",
        "    first = 0",
        "    for size in sizes:",
        "        end = first + size",
        *indented(indented(part)),
        f"        ({call} * scale(size)).backward()",
        "        first = end",
        "    leaves = {**dict(model.named_parameters()), **inputs}",
        "    return {name: leaf.grad.clone() for name, leaf in leaves.items() if leaf.grad is not None}",
    ]


def _compared(spec: AccumulationSpec) -> list[str]:
    """The large batch against every way of scaling."""
    return [
        f"batch, k = {spec.model.batch}, {spec.micro_batches}",
        "sizes = [len(part) for part in torch.arange(batch).tensor_split(k)]",
        "large = accumulated([batch], lambda size: 1.0)",
        'ways = {"loss as it is": lambda n: 1.0, "loss / k": lambda n: 1 / k, "loss × its share": lambda n: n / batch}',
        "for way, scale in ways.items():",
        "    small = accumulated(sizes, scale)",
        "    for name in large:",
        "        one, other = wide(large[name]), wide(small[name])",
        "        print(way, name, (other.norm() / one.norm()).item(), ((other - one).norm() / one.norm()).item())",
    ]


def _accumulation(spec: AccumulationSpec) -> str:
    parts = model_script(spec.model)
    lines = "\n".join(parts.recipe).split("\n")
    start = max(number for number, line in enumerate(lines) if line.startswith("torch.manual_seed"))
    target = ", target" if spec.model.loss == "cross_entropy" else ""
    parts.definitions.append(WIDE)
    body = [*(line for line in lines[start + 1 :]), "return loss"]
    part = ["one = {name: x[first:end] for name, x in inputs.items()}"]
    part += ["some = target[first:end]"] if target else []
    call = "loss_of(one, some)" if target else "loss_of(one)"
    parts.recipe = [
        *lines[:start],
        "",
        "",
        f"def loss_of(inputs{target}):",
        *indented(body),
        "",
        "",
        "start = {name: buffer.clone() for name, buffer in model.named_buffers()}",
        "",
        "",
        *_accumulated(spec, part, call),
        "",
        "",
        *_compared(spec),
    ]
    return _text(parts, spec.model, f"one batch of {spec.model.batch} against {spec.micro_batches} micro-batches.")


def _clipping(spec: ClippingSpec) -> str:
    parts = model_script(spec.model)
    parts.imports |= {("torch.nn.utils", "clip_grad_norm_", ""), ("torch.nn.utils", "clip_grad_value_", "")}
    parts.definitions.append(WIDE)
    poison = [f'next(iter(grads.values())).view(-1)[0] = float("{spec.poison}")'] if spec.poison != "nothing" else []
    parts.recipe += [
        f"(loss * {spec.loss_scale!r}).backward()",
        LEAVES if isinstance(spec.model.architecture, Expression) else "leaves = dict(model.named_parameters())",
        "grads = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}",
        *poison,
        "kept = {name: grad.clone() for name, grad in grads.items()}",
        "holders = [leaf for leaf in leaves.values() if leaf.grad is not None]",
        f'total = clip_grad_norm_(holders, {spec.max_norm!r}, norm_type=float("{spec.norm_type}"), '
        f"error_if_nonfinite={spec.error_if_nonfinite})",
        'print("total", total.item())',
        "by_norm = {name: wide(grad).norm().item() for name, grad in grads.items()}",
        "for name, grad in grads.items():",
        "    grad.copy_(kept[name])",
        f"clip_grad_value_(holders, {spec.clip_value!r})",
        "for name, grad in grads.items():",
        "    print(name, wide(kept[name]).norm().item(), by_norm[name], wide(grad).norm().item())",
    ]
    return _text(parts, spec.model, "norms before and after clipping by norm and by value.")


def _zero_grad(spec: ZeroGradSpec) -> str:
    parts = model_script(spec.model)
    lines = "\n".join(parts.recipe).split("\n")
    start = max(number for number, line in enumerate(lines) if line.startswith("torch.manual_seed"))
    run = [*lines[start:], "loss.backward()"]
    momentum = f", momentum={spec.momentum!r}" if spec.optimizer in ("SGD", "RMSprop") else ""
    arguments = f"lr={spec.learning_rate!r}, weight_decay={spec.weight_decay!r}{momentum}"
    stepped = LEAVES if isinstance(spec.model.architecture, Expression) else "leaves = dict(model.named_parameters())"
    body = [
        *(line for line in lines[:start] if line),
        stepped,
        f"optimizer = torch.optim.{spec.optimizer}(leaves.values(), {arguments})",
        *run,
        "optimizer.step()",
        'if way != "not called":',
        '    optimizer.zero_grad(set_to_none=way == "set_to_none=True")',
        *(run if spec.backward_again else []),
        "before = {name: leaf.detach().clone() for name, leaf in leaves.items()}",
        "optimizer.step()",
        "for name, leaf in leaves.items():",
        "    print(way, name, (wide(leaf) - wide(before[name])).norm().item())",
    ]
    parts.definitions.append(WIDE)
    parts.recipe = ['for way in ("set_to_none=True", "set_to_none=False", "not called"):', *indented(body)]
    return _text(parts, spec.model, "the step after zero_grad, by how .grad was cleared.")


_WRITERS: dict[type[Any], Callable[[Any], str]] = {
    GradientsSpec: _values,
    DifferenceSpec: _two_runs,
    FiniteDifferenceSpec: _checks,
    AccumulationSpec: _accumulation,
    ClippingSpec: _clipping,
    ZeroGradSpec: _zero_grad,
}
