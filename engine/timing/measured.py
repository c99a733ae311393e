"""Two variants prepared, checked against each other and timed."""

from __future__ import annotations

import time
from functools import partial

import msgspec
import torch
from torch import Tensor

from engine.pytorch_said import PyTorchSaid, attempt
from engine.runner.contract import ProgressSink
from engine.timing.agreement import distance
from engine.timing.catalogue import CATALOGUE
from engine.timing.clock import torch_threads
from engine.timing.compiled import compile_function, one_compile_thread
from engine.timing.machine_load import between, read_machine
from engine.timing.prepared import Compile, Drawn, NotThere, Prepared, function_of, prepare
from engine.timing.results import Distance, Side, Timing
from engine.timing.rounds import compare
from engine.timing.spec import CompiledTimingSpec, TimingSpec
from engine.timing.variant import OperatorVariant, StepVariant, Variant, describe_variant

BUDGET_S = 3.0
MINIMUM_SAMPLE_S = 1e-3
DRAWN = "each drops other elements, drawn at random"
NOT_RUN = "one of the two did not run"
Results = dict[str, Tensor]


def measure_timing(spec: TimingSpec, progress: ProgressSink) -> Timing:
    """Both variants in interleaved rounds, and how far their results are apart."""
    return _measure(spec, (False, False), progress)


def measure_compiled_timing(spec: CompiledTimingSpec, progress: ProgressSink) -> Timing:
    """The same with torch.compile on one side or both; why not, where it cannot be compiled."""
    progress("torch.compile: the first call compiles, which takes 10 to 60 s", 0.05)
    with one_compile_thread():
        return _measure(spec, (spec.compiled != "b", spec.compiled != "a"), progress)


def _measure(spec: TimingSpec | CompiledTimingSpec, compiled: tuple[bool, bool], progress: ProgressSink) -> Timing:
    drawn: Drawn = {}
    with torch_threads(1):
        found = [
            _side(variant, name, spec.seed, drawn, compile_function if is_compiled else None, progress)
            for name, variant, is_compiled in zip("AB", (spec.a, spec.b), compiled, strict=True)
        ]
    (a, made_a, results_a), (b, made_b, results_b) = found
    nothing = Distance(verdict="not comparable", reason=NOT_RUN)
    agreement = _agreement(spec, results_b, results_a) if results_a and results_b else nothing
    del found, results_a, results_b
    start, comparison = read_machine(), None
    if made_a and made_b:
        comparison = compare(
            {"A": made_a.work, "B": made_b.work},
            rounds=spec.rounds,
            threads=(spec.a.threads, spec.b.threads),
            warm_up_rounds=spec.warm_up_rounds,
            minimum_sample_s=MINIMUM_SAMPLE_S,
            budget_s=BUDGET_S,
            on_progress=lambda stage, fraction: progress(stage, 0.3 + 0.7 * fraction),
        )
    return Timing(a=a, b=b, comparison=comparison, agreement=agreement, machine=between(start, read_machine()))


def _agreement(spec: TimingSpec | CompiledTimingSpec, found: Results, other: Results) -> Distance:
    agreement = distance(found, other, rounded_to(spec.a) | rounded_to(spec.b))
    draws = any(isinstance(one, OperatorVariant) and one.row.draws for one in (spec.a, spec.b))
    return Distance(verdict="not comparable", reason=DRAWN) if draws and agreement.verdict == "different" else agreement


def rounded_to(variant: Variant) -> set[torch.dtype]:
    """The dtypes that values pass through before a result is there: of operands, of weights, of autocast."""
    if isinstance(variant, StepVariant):
        names: set[str] = {variant.model.dtype, variant.model.autocast}
    else:
        names = {variant.dtype, variant.mode.removeprefix("autocast ")}
    found = (getattr(torch, name, None) for name in names)
    return {dtype for dtype in found if isinstance(dtype, torch.dtype)}


def _side(
    variant: Variant, name: str, seed: int, drawn: Drawn, compile: Compile | None, progress: ProgressSink
) -> tuple[Side, Prepared | None, Results]:
    """What ran, its callable, and its results; or why it did not."""
    progress(f"preparing {name}", 0.05 if name == "A" else 0.2)
    side = Side(title=describe_variant(variant) + (", torch.compile" if compile else ""))
    try:
        made, refused = attempt(partial(_made, variant, seed, drawn, compile), ours=(NotThere,))
    except NotThere as error:
        return msgspec.structs.replace(side, unavailable=str(error)), None, {}
    if made is None:
        return msgspec.structs.replace(side, refused=refused), None, {}
    prepared, first_call_s, results = made
    side = msgspec.structs.replace(side, first_call_s=first_call_s)
    return _described(side, variant, prepared, results), prepared, results


def _made(variant: Variant, seed: int, drawn: Drawn, compile: Compile | None) -> tuple[Prepared, float, Results]:
    """The callable, the seconds of its first call, and what it computes."""
    prepared = prepare(variant, seed, drawn, compile)
    torch.manual_seed(seed)
    start = time.perf_counter()
    prepared.work()
    first_call_s = time.perf_counter() - start
    torch.manual_seed(seed)
    return prepared, first_call_s, {name: one.detach().clone() for name, one in prepared.results().items()}


def _described(side: Side, variant: Variant, made: Prepared, results: Results) -> Side:
    first = next(iter(results.values()), None)
    moved = sum(x.numel() * x.element_size() for x in made.operands)
    return msgspec.structs.replace(
        side,
        outputs=tuple((n, tuple(x.shape), str(x.dtype).removeprefix("torch.")) for n, x in results.items()),
        output_bytes=max((x.numel() * x.element_size() for x in results.values()), default=0),
        least_bytes=moved + sum(x.numel() * x.element_size() for x in results.values()) if made.operands else None,
        to_reference=_to_reference(variant, made, results),
        total=None if first is None else float(first.double().sum()),
    )


def _to_reference(variant: Variant, made: Prepared, results: Results) -> Distance | None:
    """To the same in float64 and forward only; of a model to its own step with float64 weights, where it has one."""
    if isinstance(variant, StepVariant):
        return _to_double_model(variant, results)
    if variant.row.draws:
        return Distance(verdict="not comparable", reason=DRAWN)
    wanted, refused = attempt(partial(_double_result, variant, made))
    if wanted is None:
        return Distance(verdict="not comparable", reason=_reason(refused))
    return distance({"result": results["result"]}, {"result": wanted}, rounded_to(variant))


def _double_result(variant: OperatorVariant, made: Prepared) -> Tensor:
    operands = [x.detach().double() if x.is_floating_point() else x for x in made.operands]
    with torch.no_grad():
        return function_of(CATALOGUE[variant.row.reference])(*operands)


def _to_double_model(variant: StepVariant, results: Results) -> Distance | None:
    if variant.model.dtype == "float64":
        return None
    exact = msgspec.structs.replace(variant.model, dtype="float64", autocast="off")
    wanted, refused = attempt(lambda: _seeded_results(msgspec.structs.replace(variant, model=exact)))
    if wanted is None:
        return Distance(verdict="not comparable", reason=_reason(refused))
    return distance(results, wanted, rounded_to(variant))


def _seeded_results(variant: StepVariant) -> Results:
    made = prepare(variant, variant.model.seed, {})
    torch.manual_seed(variant.model.seed)
    return made.results()


def _reason(refused: PyTorchSaid | None) -> str:
    return f"the same in float64: {refused.type}: {refused.message}" if refused else "no result"
