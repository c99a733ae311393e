"""Every script runs by itself and prints what the engine's own run of the same spec returns."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import warnings

import msgspec
import pytest

from engine import run
from engine.graph.spec import ClassicSpec, GraphSpec, Traced
from engine.models.spec import Expression, Gpt, LinearStack, Mlp, ModelSpec, ResNet, TiedLoop, TwoTower, describe
from engine.script import script_for
from tests.models.families import NETWORKS, RAISING, SOUND_EXPRESSIONS, label

SMALL_GPT = Gpt(layers=3, heads=2, width=16, sequence=8, vocabulary=50, dropout=0.2)
TOGGLED = [
    *(ModelSpec(architecture=SMALL_GPT, checkpoint=c) for c in ("every_k", "segments", "each_block")),
    ModelSpec(architecture=SMALL_GPT, checkpoint="each_block", use_reentrant=True),
    ModelSpec(architecture=SMALL_GPT, checkpoint="each_block", preserve_rng_state=False),
    ModelSpec(architecture=LinearStack(layers=7, width=16), checkpoint="every_k", checkpoint_k=3),
    ModelSpec(architecture=TiedLoop(), checkpoint="segments", checkpoint_segments=3),
    *(ModelSpec(architecture=Mlp(layers=4, depth=4), grad_mode=m, grad_mode_block=1) for m in ("no_grad", "detach")),
    ModelSpec(architecture=Mlp(layers=4, depth=4), grad_mode="detach", grad_mode_block=2, checkpoint="each_block"),
    ModelSpec(architecture=TiedLoop(), grad_mode="no_grad", grad_mode_block=2, checkpoint="segments"),
    *(ModelSpec(architecture=a, autocast=t) for a in (Mlp(), SMALL_GPT) for t in ("bfloat16", "float16")),
    ModelSpec(architecture=SMALL_GPT, autocast="bfloat16", checkpoint="each_block", loss="cross_entropy"),
    *(ModelSpec(architecture=a, loss=m) for a in (SMALL_GPT, Mlp()) for m in ("mean", "cross_entropy")),
    *(ModelSpec(architecture=TwoTower(use_auxiliary_loss=True), loss=m) for m in ("mean", "cross_entropy")),
    *(ModelSpec(architecture=a, dtype=d) for a in (Mlp(), SMALL_GPT, TwoTower()) for d in ("float64", "bfloat16")),
    ModelSpec(architecture=Expression(name="to_double"), dtype="float64"),
    ModelSpec(architecture=ResNet(image_size=32, classes=10), memory_format="channels_last", train=False),
    ModelSpec(architecture=ResNet(image_size=32, classes=10), frozen=("conv1", "layer1", "layer2.0"), seed=3),
    ModelSpec(architecture=Mlp(dropout=0.5), train=False, batch=7),
    ModelSpec(architecture=TwoTower(), input_requires_grad=True),
    ModelSpec(architecture=Mlp(), frozen=("layers.1", "head"), seed=11),
]
FAILING = [
    *(ModelSpec(architecture=Expression(name=name)) for name in RAISING),
    *(ModelSpec(grad_mode=mode) for mode in ("no_grad", "inference_mode", "detach")),
    ModelSpec(architecture=TwoTower(), grad_mode="detach"),
    ModelSpec(grad_mode="inference_mode", grad_mode_block=0),
    ModelSpec(architecture=SMALL_GPT, autocast="bfloat16", grad_mode="no_grad"),
]


def printed(spec: GraphSpec) -> tuple[dict[str, str], Exception | None]:
    """({label: value} of the lines a script prints in a fresh namespace, the error it ended with)."""
    lines, error = io.StringIO(), None
    with contextlib.redirect_stdout(lines), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
        except Exception as raised:
            error = raised
    return dict(line.rsplit(" ", 1) for line in lines.getvalue().splitlines()), error


def expected(traced: Traced) -> dict[str, float | None]:
    return {
        "nodes": len(traced.graph.nodes),
        "saved bytes": traced.graph.saved_bytes,
        "loss": traced.loss,
        **{leaf.name: leaf.grad_norm for leaf in traced.leaves if leaf.kind in ("parameter", "input")},
    }


def spec_id(model: ModelSpec) -> str:
    names = [n for n in model.__struct_fields__ if n != "architecture" and getattr(model, n) != getattr(ModelSpec(), n)]
    return "-".join([label(model.architecture), *(f"{n}={getattr(model, n)}" for n in names)])


EVERY = [*(ModelSpec(architecture=a) for a in (*NETWORKS, *SOUND_EXPRESSIONS)), *TOGGLED]


@pytest.mark.parametrize("model", EVERY, ids=spec_id)
def test_a_script_prints_what_the_page_shows(model):
    spec = GraphSpec(model=model)
    traced = run(spec, inline=True)
    found, error = printed(spec)
    assert error is None
    wanted = expected(traced)
    assert found.keys() == wanted.keys()
    assert int(found["nodes"]) == wanted["nodes"]
    assert int(found["saved bytes"]) == wanted["saved bytes"]
    for name, value in wanted.items():
        if value is None:
            assert found[name] == "None", name
        else:
            assert float(found[name]) == pytest.approx(value, rel=tolerance(model), abs=1e-6, nan_ok=True), name


def tolerance(model: ModelSpec) -> float:
    """The engine takes norms in double precision, a script in the dtype of the gradient."""
    return 1e-2 if model.dtype == "bfloat16" else 1e-4


@pytest.mark.parametrize("model", FAILING, ids=spec_id)
def test_a_script_ends_with_the_error_the_page_shows(model):
    spec = GraphSpec(model=model)
    traced = run(spec, inline=True)
    found, error = printed(spec)
    assert traced.error is not None
    assert error is not None
    assert (type(error).__name__, str(error)) == (traced.error.type, traced.error.message)
    if traced.error.stage == "backward":
        assert int(found["nodes"]) == len(traced.graph.nodes)
        assert float(found["loss"]) == pytest.approx(traced.loss, rel=1e-5)


def test_without_backward_the_script_runs_none():
    text = script_for(GraphSpec(backward=False))
    assert "backward()" not in text
    assert "grad" not in text.rpartition("print(")[2]


@pytest.mark.parametrize(
    "model",
    [
        ModelSpec(architecture=SMALL_GPT, checkpoint="every_k", checkpoint_k=2, autocast="bfloat16"),
        pytest.param(ModelSpec(), marks=pytest.mark.slow),
    ],
    ids=spec_id,
)
def test_a_script_runs_in_a_clean_interpreter_without_the_project(model, tmp_path):
    """Isolated mode in an empty folder: torch is all it needs."""
    spec = GraphSpec(model=model)
    (tmp_path / "script.py").write_text(script_for(spec), encoding="utf-8")
    command = [sys.executable, "-I", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())
    wanted = expected(run(spec, inline=True))
    assert lines.keys() == wanted.keys()
    assert int(lines["nodes"]) == wanted["nodes"]
    assert float(lines["loss"]) == pytest.approx(wanted["loss"], rel=1e-5)


@pytest.mark.parametrize("model", [*EVERY, *FAILING], ids=spec_id)
def test_a_script_names_nothing_of_the_project(model):
    text = script_for(GraphSpec(model=model))
    assert "engine" not in text
    assert "type: ignore" not in text
    assert "noqa" not in text
    assert text.startswith(f'"""{describe(model.architecture)}')
    recipe = text.rpartition("torch.manual_seed")[0].rpartition("\n\n\n")[2]
    assert recipe.count("\n") <= 40


RUFF = (sys.executable, "-m", "ruff")


def test_scripts_are_in_ruffs_style(tmp_path):
    for number, model in enumerate([*EVERY, *FAILING]):
        for kind in (GraphSpec, ClassicSpec):
            (tmp_path / f"{kind.__name__}_{number}.py").write_text(script_for(kind(model=model)), encoding="utf-8")
    rules = ["--isolated", "--line-length", "120"]
    lint = subprocess.run(
        [*RUFF, "check", *rules, "--select", "E,F,W,I,UP,B,C4,PIE,RET", "--ignore", "E731", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert lint.returncode == 0, lint.stdout[-3000:]
    layout = subprocess.run(
        [*RUFF, "format", *rules, "--diff", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert layout.returncode == 0, layout.stdout[-3000:]


def test_the_classic_script_prints_torchvizs_own_text():
    spec = ClassicSpec(model=ModelSpec(architecture=Mlp(layers=1, depth=1)))
    found = io.StringIO()
    with contextlib.redirect_stdout(found), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchviz's own
        exec(compile(script_for(spec), "script.py", "exec"), {"__name__": "__main__"})
    drawn = run(spec, inline=True)
    assert found.getvalue().count("->") == drawn.dot.count("->") > 0
    assert "layers.0.linear.weight" in found.getvalue()


def test_a_topic_without_a_writer_is_refused_in_words():
    class Spec:
        __module__ = "engine.nowhere.spec"

    with pytest.raises(ValueError, match=r"no module for Spec of topic 'nowhere'\. Add engine/script/nowhere\.py"):
        script_for(Spec())


@pytest.mark.parametrize("architecture", [Mlp(), SMALL_GPT, TwoTower(), Expression(name="view_write")], ids=label)
def test_the_moves_of_another_device_are_right(architecture):
    """A script for cuda with "cpu" written in its place prints what the plain one prints."""
    loss = "sum" if isinstance(architecture, Expression) else "cross_entropy"
    model = ModelSpec(architecture=architecture, loss=loss, device="cuda")
    text = script_for(GraphSpec(model=model))
    assert text.count('"cuda"') >= 1
    found = io.StringIO()
    with contextlib.redirect_stdout(found):
        exec(compile(text.replace('"cuda"', '"cpu"'), "script.py", "exec"), {"__name__": "__main__"})
    plain, _ = printed(GraphSpec(model=msgspec.structs.replace(model, device="cpu")))
    assert dict(line.rsplit(" ", 1) for line in found.getvalue().splitlines()) == plain
