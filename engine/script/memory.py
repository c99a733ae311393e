"""The script of the memory pages."""

from __future__ import annotations

from engine.memory.spec import MemorySpec
from engine.models.shape import parameter_groups
from engine.optimizer_names import call_text
from engine.script.model import model_script
from engine.script.text import indented

LR = 1e-3

END = '''\
def end(phase: str) -> None:
    """A mark in the profile, so that its events can be told apart."""
    with record_function(phase):
        pass'''

READ = """\
live = peak = 0
for event in sorted(prof.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
    if event.name() == "[memory]" and event.device_type() == torch.autograd.DeviceType.{device}:
        live += event.nbytes()
        peak = max(peak, live)
    elif event.name().startswith("after "):
        print(event.name(), live)
print("peak", peak)"""


def script(spec: MemorySpec) -> str:
    """Profile building and training, print the bytes alive after every phase, and the peak."""
    parts = model_script(spec.model)
    parts.imports |= {("torch.profiler", name, "") for name in ("ProfilerActivity", "profile", "record_function")}
    parts.definitions.append(END)
    seed = f"torch.manual_seed({spec.model.seed})"
    at = len(parts.recipe) - parts.recipe[::-1].index(seed) - 1
    building, forward = parts.recipe[:at], parts.recipe[at:]
    parts.recipe = [*_start(spec), *building, *_optimizer(spec), 'end("after build")', *_loop(spec, forward), ""]
    parts.recipe += ["prof.stop()", READ.format(device=spec.model.device.upper())]
    return parts.text("Bytes alive after every phase of training, from the allocator's own events.")


def _start(spec: MemorySpec) -> list[str]:
    kinds = ["ProfilerActivity.CPU"] + (["ProfilerActivity.CUDA"] if spec.model.device == "cuda" else [])
    return [f"prof = profile(activities=[{', '.join(kinds)}], profile_memory=True)", "prof.start()"]


def _optimizer(spec: MemorySpec) -> list[str]:
    if spec.optimizer == "none" or not _has_optimizer(spec):
        return []
    trained = "[parameter for parameter in model.parameters() if parameter.requires_grad]"
    return [f"optimizer = {call_text(spec.optimizer, trained, LR)}"]


def _has_optimizer(spec: MemorySpec) -> bool:
    """PyTorch refuses an optimizer without parameters."""
    groups = parameter_groups(spec.model.architecture)
    return spec.optimizer != "none" and not set(groups) <= set(spec.model.frozen)


def _loop(spec: MemorySpec, forward: list[str]) -> list[str]:
    every_step = spec.kept.endswith("of every step")
    body = [*forward, 'end(f"after loss {step}")', *(_backward(spec) if spec.backward else []), *_let_go(spec)]
    head = ["losses = []"] if every_step else []
    return [*head, f"for step in range(1, {spec.steps + 1}):", *indented([*body, 'end(f"after end of step {step}")'])]


def _backward(spec: MemorySpec) -> list[str]:
    lines = [f"loss.backward({'retain_graph=True' if spec.retain_graph else ''})", 'end(f"after backward {step}")']
    if _has_optimizer(spec):
        lines += ["optimizer.step()", 'end(f"after optimizer step {step}")']
    if spec.zero_grad != "never":
        owner = "optimizer" if _has_optimizer(spec) else "model"
        arguments = "" if spec.zero_grad == "set_to_none" else "set_to_none=False"
        lines += [f"{owner}.zero_grad({arguments})", 'end(f"after zero_grad {step}")']
    return lines


def _let_go(spec: MemorySpec) -> list[str]:
    """What the loop does with its results, in the names a training script uses."""
    kept = {
        "the loss of every step": ["losses.append(loss)"],
        "loss.item() of every step": ["losses.append(loss.item())"],
    }
    gone = {"outputs": "loss = None", "the loss": "outputs = None"}.get(spec.kept, "outputs = loss = None")
    return [*kept.get(spec.kept, []), gone]
