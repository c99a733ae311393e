"""Every script runs by itself and prints the counts and refusals that the board shows."""

from __future__ import annotations

import contextlib
import io
import math
import re
import subprocess
import sys
import warnings

import pytest

from engine import run
from engine.claims.spec import CombinedSpec, ImageBytesSpec, TwoRanksSpec, WrappedMatmulSpec
from engine.script import script_for
from tests.claims.small import COUNTED, IN_THIS_PROCESS, SMALL, name_of

TIMED = tuple(spec for spec in IN_THIS_PROCESS if spec.measured)


def printed(spec) -> str:
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue()


def counts_in(text: str) -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(r"^(.+) = (\S+)$", text, re.MULTILINE)}


def check_counts_and_words(spec, text):
    measured = run(spec, inline=True)
    counts = counts_in(text)
    assert counts.keys() == {count.name for count in measured.counts}
    for count in measured.counts:
        assert math.isclose(counts[count.name], count.value, rel_tol=1e-3, abs_tol=1e-4), count.name
    for refusal in measured.refusals:
        assert f"{refusal.call}: {refusal.said.type if refusal.said else 'runs'}" in text


@pytest.mark.parametrize("spec", COUNTED, ids=name_of)
def test_a_script_prints_what_was_counted(spec):
    check_counts_and_words(spec, printed(spec))


@pytest.mark.slow
@pytest.mark.parametrize("spec", [spec for spec in TIMED if "Scripted" not in name_of(spec)], ids=name_of)
def test_a_script_times_every_condition(spec):
    text = printed(spec)
    check_counts_and_words(spec, text)
    for timed in run(spec, inline=True).timed:
        for name in timed.comparison.names[1:]:
            assert f"{timed.condition}: {name} takes " in text


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_a_script_that_starts_a_process_runs_in_a_clean_interpreter(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(script_for(TwoRanksSpec(width=8, small_batch=2, large_batch=4, rounds=5)), encoding="utf-8")
    done = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    assert " times the time of " in done.stdout


@pytest.mark.parametrize("spec", SMALL, ids=name_of)
def test_a_script_needs_nothing_of_this_project(spec):
    text = script_for(spec)
    compile(text, "script.py", "exec")
    kept = [line for line in text.splitlines() if "engine" in line]
    assert [line for line in kept if not line.startswith("from engine.operators")] == []
    # Compiled operators are in the project's folder and nowhere else; the script says so.
    assert bool(kept) == isinstance(spec, CombinedSpec | WrappedMatmulSpec) == ("in the project's folder" in text)
    assert "type: ignore" not in text


@pytest.mark.parametrize("spec", [ImageBytesSpec(height=1), ImageBytesSpec(width=1), ImageBytesSpec()], ids=str)
def test_a_script_counts_no_copy_where_none_is_made(spec):
    copied = counts_in(printed(spec))["extra bytes of .contiguous()"]
    assert copied == (0 if 1 in (spec.height, spec.width) else 4 * spec.height * spec.width * spec.channels)
