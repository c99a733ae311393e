"""diagnose_model, diagnose_program and compare_detectors: one watched step, and what watching costs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from importlib import import_module
from typing import Any

import torch
from torch import nn

from engine.diagnostics.as_shown import as_shown
from engine.diagnostics.catalogue import PROGRAMS
from engine.diagnostics.detectors import anomaly_says, compare_detectors
from engine.diagnostics.diagnosis import conclude
from engine.diagnostics.fault import inject
from engine.diagnostics.hooks import ExampleHooks
from engine.diagnostics.observe import Named, Ran, observe
from engine.diagnostics.results import Diagnosis, Noted
from engine.diagnostics.spec import DetectorSpec, DiagnosisSpec, ProgramSpec
from engine.graph.roots import named_tensors
from engine.models.build import Built, build
from engine.models.build import price as price_model
from engine.runner.contract import Price, ProgressSink

__all__ = ["compare_detectors", "diagnose_model", "diagnose_program", "price"]

MOST_OUTPUTS = 300
LONGEST_NOTE = 400


def price(spec: DiagnosisSpec | ProgramSpec | DetectorSpec) -> Price | None:
    """Building and running the model, what every module returned kept beside."""
    if isinstance(spec, ProgramSpec):
        return None
    model = price_model(spec.model)
    return Price(predicted_bytes=2 * model.predicted_bytes, what=model.what, remedy=model.remedy)


def diagnose_model(spec: DiagnosisSpec, progress: ProgressSink) -> Diagnosis:
    """One forward and backward of the model with the fault in it, watched."""
    progress("building the model", 0.0)
    built = build(spec.model)
    injected = inject(built, spec.fault)
    outputs: list[Named] = []
    handles = _watch_outputs(built.model, outputs, spec.retain_grad)
    hooks = ExampleHooks(built.model) if spec.example_hooks else None

    def forward() -> Ran:
        try:
            with hooks.saving() if hooks is not None else nullcontext():
                loss = built.loss(built.forward())
        finally:
            for handle in handles:
                handle.remove()
        return Ran(loss, (*_named(built), *outputs, Named("loss", "loss", "", loss)), built.model)

    progress("forward and backward, watched", 0.2)
    given = dict(built.model.named_parameters()) | dict(built.model.named_buffers()) | built.inputs
    seen = observe(built.model, forward, lambda: Ran(None, (*_named(built), *outputs), built.model), given)
    _clear(seen.ran, spec.after)
    progress("asking anomaly mode", 0.7)
    anomaly = anomaly_says(lambda: _again(spec)) if seen.births.births else None
    progress("drawing conclusions", 0.8)
    after = "" if spec.after == "nothing" else spec.after
    return conclude(seen, built.inputs, after, injected, anomaly, dict(hooks.calls) if hooks is not None else {}, ())


def _again(spec: DiagnosisSpec) -> torch.Tensor:
    built = build(spec.model)
    inject(built, spec.fault)
    return built.loss(built.forward())


def _named(built: Built) -> tuple[Named, ...]:
    """Parameters, inputs, and what an expression has named; every tensor once."""
    found = [Named(name, "parameter", name.rpartition(".")[0], one) for name, one in built.model.named_parameters()]
    found += [Named(name, "leaf" if one.requires_grad else "input", "", one) for name, one in built.inputs.items()]
    known = {id(one.tensor) for one in found}
    extra = built.named_extra or dict(getattr(built.model, "named", {}))
    found += [Named(name, "intermediate", "", one) for name, one in extra.items() if id(one) not in known]
    return tuple(found)


def _watch_outputs(model: nn.Module, outputs: list[Named], retain: bool) -> list[Any]:
    """What every module returns, under its path; of several calls each."""
    calls: dict[str, int] = {}

    def hook_for(path: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: Any, out: Any) -> None:
            calls[path] = calls.get(path, 0) + 1
            called = f"{path or 'model'}()" if calls[path] == 1 else f"{path}() call {calls[path]}"
            for name, tensor in named_tensors(out, called):
                known = isinstance(tensor, torch.Tensor) and any(one.tensor is tensor for one in outputs)
                if isinstance(tensor, torch.Tensor) and not known and len(outputs) < MOST_OUTPUTS:
                    if retain and tensor.requires_grad and not tensor.is_leaf:
                        tensor.retain_grad()
                    outputs.append(Named(name, "intermediate", path, tensor))

        return hook

    return [module.register_forward_hook(hook_for(path)) for path, module in model.named_modules()]


def _clear(ran: Ran, after: str) -> None:
    if after != "nothing":
        leaves = [one.tensor for one in ran.named if one.tensor.is_leaf and one.tensor.requires_grad]
        if leaves:
            torch.optim.SGD(leaves, lr=0.1).zero_grad(set_to_none=after == "zero_grad()")


def diagnose_program(spec: ProgramSpec, progress: ProgressSink) -> Diagnosis:
    """One of the small programs, run and watched."""
    program = PROGRAMS[spec.program]
    name = f"{spec.program}_fixed" if spec.mended and program.fix else spec.program
    run = as_shown(getattr(import_module(f"engine.diagnostics.programs.{program.file}"), name), spec)
    left: dict[str, Any] = {}

    def forward() -> Ran:
        try:
            left.update(run())
        except Exception as error:
            left.update(_variables_of(error, name))
            raise
        return _ran(left)

    progress("running the program, watched", 0.2)
    seen = observe(nn.Module(), forward, lambda: _ran(left), {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anomaly = anomaly_says(lambda: run()["loss"]) if seen.births.births else None
    inputs = {one.name: one.tensor for one in seen.ran.named if one.kind in ("input", "leaf")}
    return conclude(seen, inputs, "", "", anomaly, {}, _noted(left))


def _variables_of(error: BaseException, function: str) -> dict[str, Any]:
    """What a program had named when it raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_name != function:
        trace = trace.tb_next
    return {} if trace is None else dict(trace.tb_frame.f_locals)


def _ran(left: Mapping[str, Any]) -> Ran:
    """The program's variables by their names; parameters of its modules by path."""
    modules = {name: one for name, one in left.items() if isinstance(one, nn.Module)}
    model = modules.get("model", nn.Module())
    found: dict[int, Named] = {}
    for name, one in model.named_parameters():
        found[id(one)] = Named(name, "parameter", name.rpartition(".")[0], one)
    for name, one in left.items():
        if isinstance(one, torch.Tensor) and id(one) not in found:
            kind = "loss" if name == "loss" else "intermediate"
            if one.is_leaf and kind != "loss":
                kind = "leaf" if one.requires_grad else "intermediate"
            found[id(one)] = Named(name, kind, "", one)  # type: ignore[arg-type]
    loss = left.get("loss")
    return Ran(loss if isinstance(loss, torch.Tensor) else None, tuple(found.values()), model)


def _noted(left: Mapping[str, Any]) -> tuple[Noted, ...]:
    """Lists and numbers the program keeps, and what its functions `after_...` say once backward has run."""
    notes = {name: one for name, one in left.items() if isinstance(one, bool | int | float | list)}
    notes |= {name.removeprefix("after_"): one() for name, one in left.items() if name.startswith("after_")}
    return tuple(Noted(name, str(one)[:LONGEST_NOTE]) for name, one in notes.items())
