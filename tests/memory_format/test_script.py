"""The script prints, run by itself, the strides the trace recorded."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import pytest

from engine.memory_format.spec import FormatSpec, FormatTimingSpec
from engine.script import script_for
from tests.memory_format.tracing import conv_net, differs_in_kind, quick, traced
from tests.models.families import CONV_BLOCKS


def printed(spec: FormatSpec) -> list[str]:
    """The lines a script prints in a fresh namespace."""
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


def expected(spec: FormatSpec) -> list[str]:
    trace = traced(spec.model, spec.converted)
    images = [
        f"{op.name} {tensor.shape} {tensor.stride} {tensor.format}"
        for op in trace.operations
        for tensor in op.outputs
        if len(tensor.shape) == 4
    ]
    differing = [f"differs {p.name} {p.stride} {p.grad_stride}" for p in trace.parameters if p.strides_differ]
    return images + differing


def without_overload(line: str) -> str:
    name, _, rest = line.partition(" ")
    return f"{name.partition('.')[0]} {rest}"


CASES = [
    *(FormatSpec(model=conv_net(block)) for block in CONV_BLOCKS),
    *(FormatSpec(model=conv_net("convnext"), converted=c) for c in ("model only", "inputs only")),
    FormatSpec(model=conv_net("one_hot_first", "contiguous", loss="cross_entropy", train=False)),
    FormatSpec(model=conv_net("channel_shuffle", checkpoint="each_block")),
    FormatSpec(model=conv_net("group_norm", autocast="bfloat16")),
]


@pytest.mark.parametrize(
    "spec",
    quick(CASES, lambda spec: differs_in_kind(spec.model.architecture.block)),
    ids=lambda spec: f"{spec.model.architecture.block}-{spec.converted}",
)
def test_a_script_prints_what_was_recorded(spec):
    assert [without_overload(line) for line in printed(spec)] == expected(spec)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [FormatSpec(), FormatTimingSpec(model=conv_net("channel_shuffle"))])
def test_a_script_runs_in_a_clean_interpreter(spec, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(script_for(spec), encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "channels_last" in done.stdout
