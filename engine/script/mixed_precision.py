"""The scripts of the mixed precision page."""

from __future__ import annotations

import msgspec

from engine.mixed_precision.spec import AnySpec, AutocastListsSpec, AutocastSpec, AutocastTimingSpec
from engine.models.spec import ModelSpec, describe
from engine.script.model import ModelScript, model_script
from engine.script.text import indented

CASTS = '''\
class Casts(TorchDispatchMode):
    """Counts the copies into another dtype, which is where autocast's casts show."""

    def __init__(self) -> None:
        super().__init__()
        self.found = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if function in CASTING and result.dtype != args[0].dtype:
            self.found[f"{args[0].dtype} -> {result.dtype}"] += 1
        return result'''
CASTING = (
    "aten = torch.ops.aten\n"
    "CASTING = {aten._to_copy.default, aten.to.dtype, aten.to.dtype_layout, aten.to.device, aten.to.other}"
)
SAVED = '''\
def pack(tensor: torch.Tensor) -> torch.Tensor:
    """Called for every tensor that autograd saves."""
    storage = tensor.untyped_storage()
    saved[storage.data_ptr()] = storage.nbytes()
    return tensor'''
APART = '''\
def apart(a: torch.Tensor, b: torch.Tensor) -> float:
    """||b - a|| / ||a|| in float64."""
    a, b = a.detach().to_dense().double(), b.detach().to_dense().double()
    return ((b - a).norm() / a.norm()).item()'''
POLICY = '''\
class CastsOnly(TorchDispatchMode):
    """Notes casts and stops at anything else, so no kernel runs on made-up arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is not torch.ops.aten._to_copy.default:
            raise RuntimeError("computing")
        result = function(*args, **(kwargs or {}))
        self.found.append((args[0].dtype, result.dtype))
        return result'''


def script(spec: AnySpec) -> str:
    """Plain torch that prints what the page shows of `spec`."""
    if isinstance(spec, AutocastListsSpec):
        return _lists(spec)
    return _map(spec) if isinstance(spec, AutocastSpec) else _timing(spec)


def _autocast(model: ModelSpec, dtype: str, cache: bool = True) -> str:
    off = "" if cache else ", cache_enabled=False"
    return f'torch.autocast("{model.device}", dtype=torch.{dtype}{off})'


def _plain_script(model: ModelSpec) -> tuple[ModelScript, list[str]]:
    """The model's script up to its forward, and the lines of that forward and loss."""
    parts = model_script(msgspec.structs.replace(model, autocast="off"))
    seed = len(parts.recipe) - 1 - parts.recipe[::-1].index(f"torch.manual_seed({model.seed})")
    parts.recipe, forward = parts.recipe[:seed], parts.recipe[seed:]
    return parts, forward


def _map(spec: AutocastSpec) -> str:
    parts, forward = _plain_script(spec.model)
    parts.imports |= {("collections", "Counter", ""), ("contextlib", "nullcontext", "")}
    parts.imports |= {("torch.utils._python_dispatch", "TorchDispatchMode", "")}
    parts.imports |= {("torch.autograd.graph", "saved_tensors_hooks", "")}
    parts.definitions += [CASTS, SAVED, APART]
    parts.recipe += [
        CASTING,
        "found = {}",
        f'for name, autocast in {{"plain": nullcontext(), "autocast": {_context(spec)}}}.items():',
        *indented(
            [
                "saved, casts = {}, Casts()",
                "with casts, saved_tensors_hooks(pack, lambda tensor: tensor), autocast:",
                *indented(forward),
                'print(name, "casts in forward", dict(casts.found))',
                'print(name, "saved bytes", sum(saved.values()))',
                'print(name, "loss", loss.dtype, loss.item())',
                "model.zero_grad()",
                "if loss.requires_grad:",
                "    loss.backward()",
                "found[name] = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}",
            ]
        ),
        'for name, grad in found["plain"].items():',
        '    print("gradient", name, apart(grad, found["autocast"][name]))',
    ]
    return parts.text(f"{describe(spec.model.architecture)}: what autocast casts and keeps, in plain torch.")


def _context(spec: AutocastSpec) -> str:
    return _autocast(spec.model, spec.dtype, spec.cache_enabled)


def _timing(spec: AutocastTimingSpec) -> str:
    parts, forward = _plain_script(spec.model)
    parts.imports |= {("contextlib", "nullcontext", ""), ("statistics", "median", ""), ("time", "", "")}
    contexts = f'{{"plain": nullcontext(), "autocast {spec.dtype}": {_autocast(spec.model, spec.dtype)}}}'
    parts.recipe += [
        "torch.set_num_threads(1)",
        f"contexts = {contexts}",
        "samples = {name: [] for name in contexts}",
        f"for number in range({spec.rounds} + 1):  # the first round warms up",
        "    for name, autocast in contexts.items():",
        "        start = time.thread_time()",
        "        with autocast:",
        *indented(indented(indented(forward))),
        "        loss.backward()",
        "        samples[name].append(time.thread_time() - start)",
        "        model.zero_grad()",
        "for name, times in samples.items():",
        '    print(name, "median seconds", median(times[1:]))',
    ]
    return parts.text(f"{describe(spec.model.architecture)}: time of a step plain and under autocast.")


def _lists(spec: AutocastListsSpec) -> str:
    parts = ModelScript()
    parts.imports |= {("torch.utils._python_dispatch", "TorchDispatchMode", "")}
    key = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "mps": "AutocastMPS"}[spec.device]
    parts.definitions += [POLICY]
    parts.recipe += [
        f'names = sorted(torch._C._dispatch_get_registrations_for_dispatch_key("{key}"))',
        'print("operators with an autocast kernel", len(names))',
        f'x, low = torch.ones(2, 2, device="{spec.device}"), torch.{spec.dtype}',
        'for name in ("mm", "mse_loss", "cat"):  # the rest in the same way, with the arguments of their schemas',
        "    for first, second in ((x, x), (x.to(low), x.to(low)), (x.to(low), x)):",
        '        arguments = ([first, second],) if name == "cat" else (first, second)',
        f'        with torch.autocast("{spec.device}", dtype=low, cache_enabled=False), CastsOnly() as casts:',
        "            try:",
        "                getattr(torch.ops.aten, name).default(*arguments)",
        "            except RuntimeError:",
        "                pass",
        "        print(name, first.dtype, second.dtype, casts.found)",
    ]
    return parts.text(f"What autocast does on {spec.device}: its kernels, and their casts.")
