"""A real fork server and the operators: built before it started, built while it runs, switched off."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from engine.operators.library import BUILDS, ROOT, is_built, library_path
from engine.runner.wire import EXTRA_SPECS
from tests.operators.tree import copy_project

SPECS = "tests.operators.asking.spec"
ASK = """
import json, sys
from engine import run, stop_engine
from tests.operators.asking.spec import AskOperatorsSpec
import engine.operators.library as library

def ask(number):
    answer = run(AskOperatorsSpec(number=number))
    print(json.dumps([answer.loaded_before, answer.compiled, answer.reason, answer.values]), flush=True)

for number, command in enumerate(sys.argv[1:]):
    if command == "place":
        library.library_path().parent.mkdir(parents=True)
        import shutil
        shutil.copy(sys.stdin.readline().strip(), library.library_path())
    ask(number)
stop_engine()
"""
EXPECTED = torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]), approximate="tanh").tolist()

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the fork server is for Linux"),
    pytest.mark.skipif(not library_path().exists(), reason="the operators are not built here"),
]


def ask_workers(tree, *commands, **env):
    done = subprocess.run(
        [sys.executable, "-c", ASK, *commands],
        cwd=tree,
        input=f"{library_path()}\n",
        capture_output=True,
        text=True,
        timeout=200,
        env=os.environ | {EXTRA_SPECS: SPECS} | env,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer in answers:
        assert answer[3] == pytest.approx(EXPECTED, abs=1e-6)
    return [tuple(answer[:3]) for answer in answers]


@pytest.mark.skipif(not is_built(), reason="switched off here")
def test_the_server_loads_them_for_its_workers():
    assert ask_workers(ROOT, "ask") == [(True, True, "")]


@pytest.mark.slow
def test_what_is_built_while_the_server_runs_is_there_for_the_next_worker(tmp_path):
    tree = copy_project(tmp_path, "engine", "csrc", "tests/operators/asking")
    without = (False, False, "the operators are not built on this machine")
    assert ask_workers(tree, "ask", "place", "ask", TORCH_ATLAS_OPERATORS="") == [
        without,
        (True, True, ""),
        (True, True, ""),
    ]
    assert not (tree / "build").is_relative_to(BUILDS)
    shutil.rmtree(tree)


@pytest.mark.slow
def test_switched_off_they_are_the_reference():
    said = (False, False, "switched off by TORCH_ATLAS_OPERATORS=reference")
    assert ask_workers(ROOT, "ask", TORCH_ATLAS_OPERATORS="reference") == [said]
