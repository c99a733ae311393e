"""The scripts of the timing page run by themselves and print what the engine returns."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterable

import msgspec
import pytest

from engine import run
from engine.models.spec import Gpt, Mlp, ModelSpec, TwoTower
from engine.script import script_for
from engine.timing.results import Allocated
from engine.timing.spec import AllocationSpec, CompiledTimingSpec, TimingSpec, TimingSweepSpec
from engine.timing.variant import OperatorVariant, StepVariant

SMALL = OperatorVariant(rows=6, columns=8)
TINY = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8, in_features=4, out_features=3), batch=2)
SMALL_GPT = ModelSpec(architecture=Gpt(layers=2, heads=2, width=8, sequence=4, vocabulary=11, dropout=0.2))


def operator(name: str, **settings) -> OperatorVariant:
    return OperatorVariant(**{"operator": name, "rows": 6, "columns": 8} | settings)


PAIRS = [
    (SMALL, operator("gelu_composed")),
    (operator("add"), operator("add", layout="transposed")),
    (operator("softmax", layout="strided"), operator("softmax_composed", dtype="float64")),
    (operator("exp"), operator("exp", output="reused")),
    (operator("linear", mode="grad", work="forward and backward"), operator("linear", mode="autocast bfloat16")),
    (operator("matmul"), operator("einsum", threads=2)),
    (operator("conv2d", rows=2, columns=3), operator("conv2d", rows=2, columns=3, layout="channels_last")),
    (operator("cross_entropy", mode="grad", work="forward and backward"), operator("cross_entropy")),
    (StepVariant(model=TINY), StepVariant(model=msgspec.structs.replace(TINY, autocast="bfloat16"))),
    (StepVariant(model=TINY, work="forward"), StepVariant(model=ModelSpec(architecture=TwoTower()), work="forward")),
    (StepVariant(model=SMALL_GPT), StepVariant(model=msgspec.structs.replace(SMALL_GPT, checkpoint="each_block"))),
]


def pair_id(pair) -> str:
    return "-".join(getattr(one, "operator", getattr(one, "work", "")) for one in pair)


def printed(text: str) -> list[str]:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines):
        exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


def check(lines: list[str], spec: TimingSpec) -> None:
    found = dict(line.rsplit(" ", 1) for line in lines)
    timing = run(spec, inline=True)
    assert float(found["A sum"]) == pytest.approx(timing.a.total, rel=1e-6)
    assert float(found["B sum"]) == pytest.approx(timing.b.total, rel=1e-6)
    assert float(found["median ratio B / A"]) > 0
    if len(timing.a.outputs) == len(timing.b.outputs) == 1 and timing.agreement.absolute is not None:
        assert float(found["max absolute distance"]) == pytest.approx(timing.agreement.absolute, abs=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=pair_id)
def test_a_script_prints_what_the_page_shows(pair):
    spec = TimingSpec(a=pair[0], b=pair[1], rounds=5, warm_up_rounds=0, seed=4)
    text = script_for(spec)
    assert "engine" not in text
    check(printed(text), spec)


@pytest.mark.slow
@pytest.mark.parametrize("pair", [PAIRS[1], PAIRS[-1]], ids=pair_id)
def test_a_script_runs_in_a_clean_interpreter(pair, tmp_path):
    spec = TimingSpec(a=pair[0], b=pair[1], rounds=5)
    check(in_a_clean_interpreter(script_for(spec), tmp_path), spec)


def in_a_clean_interpreter(text: str, folder) -> list[str]:
    (folder / "script.py").write_text(text, encoding="utf-8")
    done = subprocess.run([sys.executable, "-I", "script.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("a", "b", "grow"),
    [(SMALL, operator("add", layout="transposed"), "rows"), (operator("matmul"), operator("einsum"), "both")],
)
def test_the_script_of_a_sweep_prints_seconds_by_size(a, b, grow):
    spec = TimingSweepSpec(a=a, b=b, grow=grow, smallest=2, largest=8, points=3, rounds=5)
    rows = [line.split() for line in printed(script_for(spec))]
    assert [int(row[0]) for row in rows] == [2, 4, 8]
    assert all(float(row[2]) > 0 and float(row[4]) > 0 for row in rows)


def test_the_script_of_a_sweep_of_steps_grows_the_batch():
    model = msgspec.structs.replace(TINY, loss="cross_entropy")
    spec = TimingSweepSpec(a=StepVariant(model=model), b=StepVariant(model=model), smallest=1, largest=4, points=2)
    assert [line.split()[0] for line in printed(script_for(spec))] == ["1", "4"]


def test_the_script_of_an_allocation_prints_seconds_and_faults():
    spec = AllocationSpec(smallest_mib=1, largest_mib=2, points=2, rounds=5, operator="mul")
    rows = [line.split() for line in printed(script_for(spec))]
    assert [(row[0], row[2]) for row in rows] == [("1", "fresh"), ("1", "reused"), ("2", "fresh"), ("2", "reused")]
    assert all(float(row[4]) > 0 and float(row[6]) >= 0 for row in rows)


Faults = dict[tuple[int, str], float]
"""Minor page faults a call, by MiB of the output and side."""


def printed_faults(lines: list[str]) -> Faults:
    return {(int(row[0]), row[2]): float(row[-1]) for row in map(str.split, lines)}


def faults_of(points: Iterable[Allocated]) -> Faults:
    sides = ("fresh", "fresh_faults"), ("reused", "reused_faults")
    return {(one.output_bytes >> 20, side): getattr(one, field) for one in points for side, field in sides}


@pytest.mark.slow
@pytest.mark.timeout(300)  # a worker and an interpreter, beside whatever else the machine does
def test_the_script_of_an_allocation_counts_the_faults_of_the_page(tmp_path):
    """The page's run is a worker's: the heap it begins with is not that of a clean interpreter, the faults are."""
    spec = AllocationSpec(smallest_mib=8, largest_mib=40, points=2, rounds=5)
    tried = []
    for _ in range(3):  # now and then a process's heap lies where it cannot grow, and small blocks fault as well
        of_page = faults_of(run(spec, fresh=True).points)
        of_script = printed_faults(in_a_clean_interpreter(script_for(spec), tmp_path))
        assert of_script.keys() == of_page.keys()
        pages = {(mib, side): (mib << 20) / 4096 for mib, side in of_page}
        if all(abs(of_script[key] - faults) <= 0.02 * pages[key] for key, faults in of_page.items()):
            return
        tried.append((of_page, of_script))
    pytest.fail(f"apart three times; page and script: {tried}")


def test_the_script_of_compiled_sides_compiles_them():
    assert script_for(CompiledTimingSpec()).count("torch.compile(") == 1
    assert script_for(CompiledTimingSpec(compiled="both")).count("torch.compile(") == 2


def test_a_compiled_operator_is_imported_from_the_project():
    text = script_for(TimingSpec(a=operator("atlas_gelu_tanh")))
    assert "from engine.operators import gelu_tanh" in text
