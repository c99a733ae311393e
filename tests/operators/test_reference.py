"""Without the library: the same contract, on the reference implementations."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.operators import operator_names
from engine.operators.library import ROOT
from tests.source_tree import imports, loaded_by, product_files, relative

CONTRACT = tuple(f"tests/operators/test_{part}.py" for part in ("contract", "derivatives", "layouts", "refusals"))


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_the_contract_holds_on_the_reference_too():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *CONTRACT, "-q", "-n0", "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"TORCH_ATLAS_OPERATORS": "reference"},
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "switched off by TORCH_ATLAS_OPERATORS=reference" in done.stdout, "the compiled library was used"


def test_no_experiment_decides_for_the_fork_server():
    """The server imports every experiment; importing an operator loads the library or, for good, the reference."""
    names = {f"engine.operators.{name}" for name in operator_names()}
    deciding = (*names, *(f"engine.operators.{name}" for name in ("definitions", "registration", "optimizers")))
    experiments = [path for path in product_files() if path.name == "experiment.py"]
    assert experiments
    wrong = [
        f"{relative(path)}:{found.line}"
        for path in sorted({loaded for experiment in experiments for loaded in loaded_by(experiment)})
        if not path.is_relative_to(ROOT / "engine" / "operators")
        for found in imports(path)
        if found.at_import and found.touches(*deciding)
    ]
    assert wrong == []
