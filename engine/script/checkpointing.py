"""The scripts of the checkpointing page."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec, PolicyTimingSpec, SearchSpec
from engine.checkpointing.standard import equal_groups
from engine.models.spec import ModelSpec, block_count, describe
from engine.runner.contract import Spec
from engine.script.checkpointing_policies import stepping
from engine.script.graph import WALK
from engine.script.model import ModelScript
from engine.script.text import indented

MOST_TRIED = 16
HELD = '''\
held, moved = {}, []
there = [*model.parameters(), *model.buffers(), *inputs.values()]
resident = {x.untyped_storage().data_ptr() for x in there}


def note(*tensors: torch.Tensor) -> None:
    """Count their storages as kept for backward, each once."""
    for storage in (x.untyped_storage() for x in tensors):
        if storage.data_ptr() not in resident:
            held[storage.data_ptr()] = storage.nbytes()'''
STEP = '''\
def step(run_blocks, hooks) -> tuple:
    """(loss, gradients, bytes held, FLOPs) of one forward and backward."""
    def pack(x: torch.Tensor):
        packed = hooks.pack_hook(x) if hooks else x
        note(*(y for y in (packed if isinstance(packed, tuple) else (packed,)) if isinstance(y, torch.Tensor)))
        return packed

    held.clear()
    moved.clear()
    model.__dict__.pop("run_blocks", None)
    if run_blocks:
        model.run_blocks = run_blocks
    leaves = {name: x for name, x in [*model.named_parameters(), *inputs.items()] if x.requires_grad}
    for x in leaves.values():
        x.grad = None
    with FlopCounterMode(display=False) as counter:
        with torch.autograd.graph.saved_tensors_hooks(pack, hooks.unpack_hook if hooks else lambda x: x):
            outputs, loss = forward()
        kept = sum(held.values())
        loss.backward()
    return loss, {name: x.grad for name, x in leaves.items()}, kept, counter.get_total_flops()'''
COMPARE = """\
def is_same(a: torch.Tensor | None, b: torch.Tensor | None) -> bool:
    return a is b if a is None or b is None else torch.equal(a, b)


print("policy | bytes held, bytes moved, FLOPs more than off, gradients those of off")
for label, (run_blocks, hooks) in policies.items():
    try:
        loss, grads, kept, flops = step(run_blocks, hooks)
    except Exception as error:
        print(label, "|", type(error).__name__, error)
        continue
    if label == "off":
        off, off_flops = grads, flops
    differing = [name for name, grad in grads.items() if not is_same(grad, off[name])]
    print(label, "|", kept, sum(moved), flops - off_flops, not differing)"""
TIME = """\
def seconds(run_blocks, hooks) -> float:
    model.__dict__.pop("run_blocks", None)
    if run_blocks:
        model.run_blocks = run_blocks
    start = time.thread_time()
    with hooks or nullcontext():
        outputs, loss = forward()
    loss.backward()
    for x in there:
        x.grad = None
    return time.thread_time() - start


torch.set_num_threads(1)
samples = {}
for number in range(ROUNDS + 1):  # the first warms up
    for label, way in policies.items():
        try:
            samples.setdefault(label, []).append(seconds(*way))
        except Exception as error:
            samples[label] = [float("nan")]
for label, times in samples.items():
    pairs = zip(times[1:], samples["off"][1:])
    print(label, "|", median([a / b for a, b in pairs] or [float("nan")]))"""
TRACE = """\
run_blocks, hooks = policies[LABEL]
try:
    loss, grads, kept, flops = step(run_blocks, hooks)
    print("kept bytes", kept)
    print("recomputed flops", flops - step(None, None)[3])
except Exception as error:
    print(type(error).__name__, error)
if run_blocks:
    model.run_blocks = run_blocks
with hooks or nullcontext():
    outputs, loss = forward()
nodes = walk(loss)
slots = [getattr(node, name) for node in nodes for name in dir(node) if name.startswith("_raw_saved_")]
slots = [x for slot in slots for x in (slot if isinstance(slot, (list, tuple)) else [slot])]
dropped = [slot for slot in slots if getattr(slot.unpack_hook, "__module__", "") == "torch.utils.checkpoint"]
print("nodes", len(nodes))
print("dropped slots", len(dropped))"""
FORECAST = """\
for label, (run_blocks, hooks) in policies.items():
    try:
        loss, grads, kept, flops = step(run_blocks, None)
    except Exception as error:
        print(label, "|", type(error).__name__, error)
        continue
    off_flops = flops if label == "off" else off_flops
    print(label, "|", 0 if hooks and label != "save_on_cpu" else kept, flops - off_flops)"""
ON_META = """\
made = {}


def pretend(x: torch.Tensor) -> torch.Tensor:
    empty = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    new = torch.nn.Parameter(empty, x.requires_grad) if isinstance(x, torch.nn.Parameter) else empty
    return made.setdefault(id(x), new if new.requires_grad else new.requires_grad_(x.requires_grad))


for module in model.modules():
    for members in (module._parameters, module._buffers):
        members.update({name: pretend(x) for name, x in members.items() if x is not None})
    if isinstance(module, torch.nn.RNNBase):
        module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
inputs = {name: pretend(x) for name, x in inputs.items()}"""
PEAK = '''\
def peak_bytes(run_blocks, hooks) -> int:
    """The most the allocator had given out at once, above what was there before."""
    step(run_blocks, hooks)
    for x in there:
        x.grad = None
    gc.collect()
    gc.disable()  # what an earlier step left is not freed during this one
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        with hooks or nullcontext():
            outputs, loss = forward()
        loss.backward()
    gc.enable()
    events = [e for e in recorded.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return max(accumulate((event.nbytes() for event in events), initial=0))'''
SEARCH = """\
found, off_flops = {}, step(None, None)[3]
for label, (run_blocks, hooks) in policies.items():
    try:
        kept, flops = step(run_blocks, hooks)[2:]
        found[label] = BYTES, flops - off_flops
    except Exception as error:
        print(label, "|", type(error).__name__, error)
for label, (kept, again) in found.items():
    print(label, "|", kept, again, "fits" if kept <= BUDGET else "too much")
fitting = [label for label, (kept, again) in found.items() if kept <= BUDGET]
# unequal groups and single operations kept inside of a checkpoint are not tried here: a search may find such a one
print("least recomputation of these:", min(fitting, key=lambda label: found[label][1], default="none of these fits"))"""


def script(spec: Spec[Any]) -> str:
    """Print for every policy the bytes it holds and moves, FLOPs run again, and whether gradients are those of off."""
    if isinstance(spec, PolicyTimingSpec):
        return _timing(spec)
    if isinstance(spec, PolicyGraphSpec):
        return _trace(spec)
    if isinstance(spec, SearchSpec):
        return _search(spec)
    if isinstance(spec, ForecastSpec):
        return _forecast(spec)
    assert isinstance(spec, PolicySpec)
    parts = _counting(spec.model, spec.policies)
    parts.recipe += ["", "", *COMPARE.split("\n")]
    return parts.text(_title(spec, "what each policy keeps for backward and what it runs again"))


def _title(spec: Any, what: str) -> str:
    return f"{describe(spec.model.architecture)}: {what}, in plain torch."


def _counting(model: ModelSpec, policies: tuple[Policy, ...]) -> ModelScript:
    """With `step()`, which counts."""
    parts = stepping(model, policies)
    parts.imports.add(("torch.utils.flop_counter", "FlopCounterMode", ""))
    parts.recipe += ["", "", *HELD.split("\n"), "", "", *STEP.split("\n")]
    return parts


def _timing(spec: PolicyTimingSpec) -> str:
    parts = stepping(spec.model, spec.policies)
    parts.imports |= {("time", "", ""), ("statistics", "median", ""), ("contextlib", "nullcontext", "")}
    body = TIME.replace("ROUNDS", str(spec.rounds)).split("\n")
    parts.recipe += ["", "", *HELD.split("\n"), "", "", *body]
    return parts.text(_title(spec, "seconds of a step under each policy against off, in turns"))


def _trace(spec: PolicyGraphSpec) -> str:
    parts = _counting(spec.model, (spec.policy,))
    parts.imports.add(("contextlib", "nullcontext", ""))
    parts.definitions.append(WALK)
    parts.recipe += ["", "", *TRACE.replace("LABEL", f'"{label_of(spec.policy)}"').split("\n")]
    return parts.text(_title(spec, f"the graph under {label_of(spec.policy)}"))


def _forecast(spec: ForecastSpec) -> str:
    parts = _counting(msgspec.structs.replace(spec.model, device="cpu"), spec.policies)
    parts.imports.add(("torch._subclasses", "FakeTensorMode", ""))
    target = ["target = pretend(target)"] if spec.model.loss == "cross_entropy" else []
    built = parts.recipe.index("def forward():") - 2
    on_meta = ['torch.set_default_device("meta")', *parts.recipe[:built], "torch.set_default_device(None)", ""]
    pretending = [*ON_META.split("\n"), *target]
    recipe = "\n".join([*pretending, *parts.recipe[built:], "", "", *FORECAST.split("\n")])
    inside = indented(recipe.replace("data_ptr()", "_cdata").split("\n"))
    parts.recipe = [*on_meta, "with FakeTensorMode():  # tensors claim to be on the device, and hold nothing", *inside]
    return parts.text(_title(spec, "what each policy would keep, nothing allocated"))


def _search(spec: SearchSpec) -> str:
    blocks = block_count(spec.model.architecture)
    each = (Policy(kind="each_block"),) if blocks else ()
    segmented = tuple(Policy(kind="segments", segments=number) for number in _some(blocks))
    grouped = tuple(equal_groups(blocks, number) for number in (1, *_some(blocks)) if blocks)
    parts = _counting(spec.model, (Policy(), *segmented, *grouped, *each))
    peak = spec.budget_of == "peak_bytes"
    if peak:
        parts.imports |= {("torch.profiler", "profile", ""), ("torch.profiler", "ProfilerActivity", "")}
        parts.imports |= {("gc", "", ""), ("itertools", "accumulate", ""), ("contextlib", "nullcontext", "")}
        parts.recipe += ["", "", *PEAK.split("\n")]
    body = SEARCH.replace("BUDGET", str(spec.budget_bytes))
    body = body.replace("BYTES", "peak_bytes(run_blocks, hooks)" if peak else "kept")
    parts.recipe += ["", "", *body.split("\n")]
    what = "at their peak" if peak else "held for backward"
    return parts.text(_title(spec, f"which of the usual policies stays under a budget of bytes {what}"))


def _some(blocks: int) -> list[int]:
    """Numbers of segments to try: all of few, powers of two of many."""
    return [number for number in range(2, blocks + 1) if blocks <= MOST_TRIED or number & (number - 1) == 0]
