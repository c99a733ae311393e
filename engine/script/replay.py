"""The script of the backward replay page."""

from __future__ import annotations

from engine.models.spec import describe
from engine.replay.spec import GradientHook, ReplaySpec
from engine.script.graph import NORMS
from engine.script.model import ModelScript, model_script, outputs_of
from engine.script.text import indented, literal

WATCH = '''\
def norm(gradient: torch.Tensor | None) -> float | None:
    """2-norm of the finite elements, in double precision."""
    if gradient is None:
        return None
    stored = gradient.coalesce().values() if gradient.is_sparse else gradient
    wide = stored.abs().double()
    return wide[wide.isfinite()].norm().item()


def show(name: str, gradients: tuple) -> None:
    """The hook that runs before a node: its name and the norms of the gradients that came in."""
    print(name, *map(norm, gradients))


def watch(watched: set, *tensors: torch.Tensor) -> None:
    """Hook every node behind the tensors, each once."""
    waiting = [tensor.grad_fn for tensor in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in watched:
            watched.add(node)
            node.register_prehook(partial(show, node.name()))
            waiting += [following for following, _ in node.next_functions]'''

DRAWN = '''\
def seed_of(root: torch.Tensor, draws: torch.Generator) -> torch.Tensor:
    """A random gradient for a root, drawn on the CPU in a dtype that has random numbers."""
    dtype = torch.promote_types(root.dtype, torch.float32)
    return torch.randn(root.shape, dtype=dtype, generator=draws).to(root)'''

CHANGED = '''\
def change_all(module: torch.nn.Module, gradients: tuple, *_) -> tuple:
    """The hook of a module: the same for every gradient that came."""
    return tuple(None if gradient is None else change(gradient) for gradient in gradients)'''

CHANGES = {
    "observe": "gradient",
    "scale": "gradient * {amount}",
    "clip by value": "gradient.clamp(-{size}, {size})",
    "zero": "torch.zeros_like(gradient)",
    "replace by ones": "torch.ones_like(gradient)",
    "returns nan": "torch.full_like(gradient, torch.nan)",
}


def script(spec: ReplaySpec) -> str:
    """Print every node in the order the engine runs it, with the norms of what it receives, then every leaf's."""
    parts = model_script(spec.model)
    parts.definitions.append(WATCH)
    if spec.grad_outputs == "random":
        parts.definitions.append(DRAWN)
    if spec.hook.kind != "none":
        _place_hook(parts, spec.hook)
    parts.imports.add(("functools", "partial", ""))
    parts.recipe += ["", "watched = set()", *_backward(spec)]
    if spec.passes > 1:
        parts.recipe += ["", f"for _ in range({spec.passes - 1}):", *indented(_again(spec))]
    parts.recipe += ["", NORMS]
    return parts.text(f"{describe(spec.model.architecture)}: backward in the order autograd runs it, in plain torch.")


def _backward(spec: ReplaySpec) -> list[str]:
    roots = {
        "loss": "[loss]",
        "outputs": f"[{outputs_of(spec.model)}]",
        "loss and outputs": f"[loss, {outputs_of(spec.model)}]",
    }[spec.roots]
    how = "".join(f", {name}=True" for name in ("retain_graph", "create_graph") if getattr(spec, name))
    lines = [f"roots = {roots}", *_seeds(spec), f"watch(watched, loss, {outputs_of(spec.model)})"]
    return [*lines, f"torch.autograd.backward(roots, seeds{how})"]


def _again(spec: ReplaySpec) -> list[str]:
    """The lines of one more pass: the forward's too where each pass has its own."""
    how = "".join(f", {name}=True" for name in ("retain_graph", "create_graph") if getattr(spec, name))
    if not spec.new_forward:
        return [f"torch.autograd.backward(roots, seeds{how})"]
    recipe = model_script(spec.model).recipe
    last_seed = len(recipe) - 1 - recipe[::-1].index(f"torch.manual_seed({spec.model.seed})")
    return [*recipe[last_seed:], *_backward(spec)]


def _seeds(spec: ReplaySpec) -> list[str]:
    if spec.grad_outputs == "default":
        return ["seeds = [None for root in roots]"]
    if spec.grad_outputs == "random":
        return [
            f"draws = torch.Generator().manual_seed({spec.model.seed})",
            "seeds = [seed_of(r, draws) for r in roots]",
        ]
    value = {"ones": "1.0", "zeros": "0.0", "minus ones": "-1.0"}[spec.grad_outputs]
    return [f"seeds = [torch.full_like(root.detach(), {value}) for root in roots]"]


def _place_hook(parts: ModelScript, hook: GradientHook) -> None:
    """Before the forward, whose nodes a module's hook changes."""
    change = CHANGES[hook.kind].format(amount=hook.amount, size=abs(hook.amount))
    parts.definitions.append(f"def change(gradient: torch.Tensor) -> torch.Tensor:\n    return {change}")
    if hook.at:
        parts.definitions.append(CHANGED)
    seed = next(line for line in reversed(parts.recipe) if line.startswith("torch.manual_seed("))
    place = len(parts.recipe) - 1 - parts.recipe[::-1].index(seed)
    parts.recipe[place:place] = [*_placed(hook), ""]


def _placed(hook: GradientHook) -> list[str]:
    if not hook.at:
        return ["for x in inputs.values():", "    if x.requires_grad:", "        x.register_hook(change)"]
    registered = "full_backward_pre_hook" if hook.side == "outputs" else "full_backward_hook"
    return [
        f"at = {literal(hook.at)}",
        "leaves = {**dict(model.named_parameters()), **inputs}",
        "if at in leaves:",
        "    leaves[at].register_hook(change)",
        "else:",
        f"    model.get_submodule(at).register_{registered}(change_all)",
    ]
