"""Scripts of the checkpointing page run by themselves and print what the engine counts."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import pytest

from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec, PolicyTimingSpec, SearchSpec
from engine.checkpointing.standard import standard_policies
from engine.checkpointing.trace import trace_policy
from engine.models.spec import Chain, Embedding, Gpt, Mlp, ModelSpec, Recurrent, TiedLoop, block_count
from engine.script import script_for
from tests.models.families import WITH_BLOCKS, label

GROUPS = Policy(kind="groups", groups=((0, 2), (2, 3)))
MLP = ModelSpec(architecture=Mlp(layers=3, depth=3, width=8, dropout=0.3), input_requires_grad=True)
GPT = Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=20, dropout=0.2)
CHAIN = ModelSpec(architecture=Chain(operations=5))
SLOW = [ModelSpec(architecture=GPT, loss="cross_entropy"), *(ModelSpec(architecture=a) for a in WITH_BLOCKS[1:])]


def printed(text: str) -> list[str]:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


def by_label(lines: list[str]) -> dict[str, list[str]]:
    return {line.split(" | ")[0]: line.split(" | ")[1].split() for line in lines if " | " in line}


def policies_of(model: ModelSpec) -> tuple[Policy, ...]:
    return (*standard_policies(model), *((GROUPS,) if block_count(model.architecture) >= 3 else ()))


@pytest.mark.parametrize(
    "model",
    [
        MLP,
        ModelSpec(architecture=Chain(operations=5)),
        *(pytest.param(model, marks=pytest.mark.slow) for model in SLOW),
    ],
    ids=lambda model: label(model.architecture),
)
def test_a_script_prints_what_is_held_moved_and_run_again(model):
    spec = PolicySpec(model=model, policies=policies_of(model))
    lines = by_label(printed(script_for(spec)))
    outcomes = run_policies(spec, lambda *_: None).outcomes
    off = outcomes[0]
    for outcome in outcomes:
        said = lines[label_of(outcome.policy)]
        if outcome.error:
            assert said[0] == outcome.error.type
            continue
        held, moved, more, identical = said
        assert int(held) == outcome.held_bytes, label_of(outcome.policy)
        assert int(moved) == outcome.moved_bytes, label_of(outcome.policy)
        assert int(more) == outcome.backward_flops - off.backward_flops
        assert identical == str(outcome.gradients_identical)


@pytest.mark.parametrize("policy", [Policy(), Policy(kind="each_block"), GROUPS], ids=label_of)
def test_a_script_of_a_graph_prints_its_size(policy):
    spec = PolicyGraphSpec(model=MLP, policy=policy)
    lines = dict(line.rsplit(" ", 1) for line in printed(script_for(spec)))
    found = trace_policy(spec, lambda *_: None)
    assert int(lines["nodes"]) == len(found.graph.nodes)
    assert int(lines["dropped slots"]) == found.dropped_slots
    assert int(lines["kept bytes"]) == found.kept_bytes


@pytest.mark.parametrize(
    "architecture", [Mlp(dropout=0.3), Recurrent(steps=3, width=8), Embedding(), TiedLoop()], ids=label
)
def test_a_script_forecasts_on_tensors_that_hold_nothing(architecture):
    model = ModelSpec(architecture=architecture, loss="cross_entropy")
    policies = tuple(p for p in standard_policies(model) if not p.use_reentrant)
    lines = by_label(printed(script_for(ForecastSpec(model=model, policies=policies))))
    for outcome in run_policies(PolicySpec(model=model, policies=policies), lambda *_: None).outcomes:
        held, more = lines[label_of(outcome.policy)]
        assert (int(held), int(more)) == (outcome.held_bytes, outcome.recomputed_flops), label_of(outcome.policy)


@pytest.mark.parametrize("budget_of", ["held_bytes", "peak_bytes"])
def test_a_script_of_a_search_says_which_usual_policies_fit(budget_of):
    cuts = (((0, 3),), ((0, 1), (1, 3)), ((0, 1), (1, 2), (2, 3)))
    groups = tuple(Policy(kind="groups", groups=cut) for cut in cuts)
    policies = (Policy(), *(Policy(kind="segments", segments=n) for n in (2, 3)), *groups, Policy(kind="each_block"))
    outcomes = run_policies(PolicySpec(model=MLP, policies=policies), lambda *_: None).outcomes
    budget = sorted(getattr(outcome, budget_of) for outcome in outcomes)[1]
    lines = printed(script_for(SearchSpec(model=MLP, budget_bytes=budget, budget_of=budget_of)))
    for outcome in outcomes:
        found, more, fits = by_label(lines)[label_of(outcome.policy)][:3]
        assert int(found) == getattr(outcome, budget_of)
        assert int(more) == outcome.recomputed_flops
        assert (fits == "fits") == (getattr(outcome, budget_of) <= budget)
    assert lines[-1].split(": ")[1] in map(label_of, policies)


@pytest.mark.slow
def test_scripts_need_nothing_of_this_project(tmp_path):
    refused = Policy(kind="segments", segments=9)
    specs = [
        PolicySpec(model=MLP, policies=(Policy(), Policy(kind="each_block"), refused)),
        PolicyTimingSpec(model=MLP, policies=(Policy(), Policy(kind="save_on_disk"), refused), rounds=5),
    ]
    for number, spec in enumerate(specs):
        path = tmp_path / f"{number}.py"
        path.write_text(script_for(spec), encoding="utf-8")
        done = subprocess.run([sys.executable, "-I", path], capture_output=True, text=True, cwd=tmp_path, check=True)
        lines = by_label(done.stdout.splitlines())
        assert set(map(label_of, spec.policies)) <= set(lines)
        assert float(lines["off"][0]) >= 1
