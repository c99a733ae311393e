"""The script of every corruption prints what the page shows: the complaint, and what happens without the check."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import get_args

import msgspec
import pytest

from engine import run
from engine.script import script_for
from engine.sparse.matrix import LAYOUTS, Matrix
from engine.sparse.spec import Corruption, InvariantsSpec, UncheckedSpec

RUNNER = """
import json, os, sys, warnings
import torch
warnings.simplefilter("ignore")
for name, text in json.load(sys.stdin):
    print("#", name, flush=True)
    child = os.fork()
    if child == 0:
        try:
            exec(compile(text, "script.py", "exec"), {"__name__": "__main__"})
        except SystemExit:
            pass
        sys.stdout.flush()
        os._exit(0)
    print("\\nended by", os.waitpid(child, 0)[1], flush=True)
"""
"""Each script in a process of its own, which reading foreign memory may end."""


def printed(specs):
    """Lines of each script by its number, the last one how its process ended."""
    asked = json.dumps([(number, script_for(spec)) for number, spec in enumerate(specs)])
    done = subprocess.run([sys.executable, "-c", RUNNER], input=asked, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    pieces = done.stdout.split("# ")[1:]
    assert len(pieces) == len(specs)
    return [[line for line in piece.splitlines()[1:] if line] for piece in pieces]


def check(spec, lines):
    found = run(spec, inline=True)
    if found.error is not None:
        assert lines[0].startswith(f"refused: {found.error.message[:60]}")
        return
    violation = next(one for one in found.violations if one.name == spec.corruption)
    if violation.not_possible:
        assert lines == [f"not possible here: {violation.not_possible}", "ended by 0"]
        return
    words = violation.complaint.message.splitlines()[0] if violation.complaint else ""
    assert lines[0].startswith(f"with the check: {words[:100]}" if words else "with the check: constructed")
    said = [line for line in lines if line.startswith("without it: ")]
    if spec.corruption in FOREIGN:
        assert said[0] == "without it: constructed"
    else:
        asked = UncheckedSpec(matrix=spec.matrix, layout=spec.layout, corruption=spec.corruption)
        _check_unchecked(run(asked, inline=True), said)


def _check_unchecked(outcome, said):
    if outcome.construction_error is not None:
        assert outcome.construction_error.message.splitlines()[0] in said[0]
    elif outcome.reading_error is not None:
        assert outcome.reading_error.message.splitlines()[0] in said[1]
    else:
        assert ("silently" in said[1]) == outcome.is_silently_wrong


FOREIGN = {
    "index out of range",
    "negative index",
    "first pointer not 0",
    "last pointer not nnz",
    "pointers not monotonic",
    "one pointer missing",
}
"""What reads beyond an array: what comes of it depends on what lies there."""
MATRICES = (Matrix(), Matrix(pattern="empty"), Matrix(index_dtype="int32", rows=7))


def every(matrices, layouts):
    return [
        InvariantsSpec(matrix=m, layout=o, corruption=c)
        for m in matrices
        for o in layouts
        for c in get_args(Corruption)
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_corruption_prints_what_the_page_shows(layout):
    specs = every(MATRICES, (layout,))
    for spec, lines in zip(specs, printed(specs), strict=True):
        check(spec, lines)


def test_the_chosen_corruption_is_the_one_that_is_broken():
    specs = [
        InvariantsSpec(corruption="pointers not monotonic"),
        InvariantsSpec(corruption="duplicate index"),
        InvariantsSpec(matrix=Matrix(pattern="empty")),
    ]
    monotonic, duplicate, empty = printed(specs)
    assert "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied." in monotonic[0]
    assert "are sorted and distinct" in duplicate[0]
    assert "without it: to_dense() is silently other values" in duplicate
    wrong = run(UncheckedSpec(corruption="duplicate index"), inline=True)
    pairs = zip(wrong.dense.texts, wrong.expected.texts, strict=True)
    changed = [(i, float(got), float(was)) for i, (got, was) in enumerate(pairs) if got != was]
    assert [f"[{i // 12}, {i % 12}] is {got}, was {was}" for i, got, was in changed] == duplicate[
        -1 - len(changed) : -1
    ]
    assert empty == ["not possible here: needs at least 1 entries, this matrix has 0", "ended by 0"]


@pytest.mark.parametrize("corruption", get_args(Corruption))
def test_both_specs_of_a_corruption_have_one_script(corruption):
    for layout in LAYOUTS:
        texts = [script_for(kind(layout=layout, corruption=corruption)) for kind in (InvariantsSpec, UncheckedSpec)]
        assert texts[0] == texts[1]
        assert max(map(len, texts[0].splitlines())) <= 120


def test_the_corruption_travels_with_the_settings():
    spec = InvariantsSpec(corruption="one pointer missing")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=InvariantsSpec) == spec
    assert spec != InvariantsSpec()
