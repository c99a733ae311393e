"""What the questions claim, the board, the exports, and the scripts."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import warnings
from xml.etree import ElementTree

import msgspec
import pytest

from engine.diagnostics.catalogue import NAMES
from engine.diagnostics.results import STATES
from engine.diagnostics.spec import DetectorSpec, DiagnosisSpec, Fault, ProgramSpec
from engine.figures.diagnostics_board import LABELS, MEANINGS, board_of
from engine.figures.diagnostics_figure import SYMBOLS, draw_board
from engine.figures.diagnostics_svg import board_svg
from engine.figures.diagnostics_words import headline
from engine.figures.palette import PALETTE
from engine.models.spec import Expression, Gpt, Mlp, ModelSpec
from engine.script import script_for
from pages.backward.diagnostics_board import first_look, trace_html
from pages.backward.diagnostics_exports import leaf_rows, report, step_rows
from pages.backward.diagnostics_numbers import numbers_of
from pages.backward.diagnostics_presets import PRESETS, SPECS
from tests.diagnostics.diagnosing import deciding, diagnose, origin, program, tensor


def asked(question: str):
    spec = SPECS[question]
    return spec, diagnose(spec)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_chooses_a_tensor_that_is_there(preset):
    _, found = asked(preset.question)
    assert any(one.name == preset.settings["diagnose.tensor"] for one in found.watched)
    assert preset.question.endswith("?")
    assert "Predict" in preset.prediction or "predict" in preset.prediction


def test_where_does_not_keep_the_nan_out():
    _, found = asked("Why does where() not keep the NaN out?")
    assert "divided by 2 * NaN" in PRESETS[0].notice
    assert origin(found).elements[0].arithmetic == "sqrt(-4) = nan"
    assert tensor(found, "y").value.nans == 0


def test_the_cast_tensor_let_a_gradient_of_norm_1_41_pass():
    _, found = asked("Why is .grad None after .double()?")
    assert tensor(found, "a").passed.norm == pytest.approx(2**0.5)
    assert tensor(found, "a").state == "passes"


def test_the_detached_encoder_has_no_path():
    _, found = asked("Where was the path cut?")
    assert found.unused == ("encoder.weight", "encoder.bias")
    assert found.error is None
    assert "TanhBackward0" in deciding(tensor(found, "encoder.weight"))


def test_four_parameters_would_stall_ddp():
    _, found = asked("Which layers would stall DDP?")
    assert len(found.unused) == 4
    assert all(name.startswith(("layers.2.", "layers.3.")) for name in found.unused)


def test_closed_relus_zero_every_gradient():
    _, found = asked("Why is every gradient exactly 0?")
    leaves = [one for one in found.watched if one.is_leaf and one.requires_grad]
    assert {one.state for one in leaves} == {"zero"}
    assert all(row.dead == row.units for row in found.units)
    assert "ReluBackward0 in blocks.3" in deciding(tensor(found, "blocks.0.linear.weight"))


def test_the_second_layer_overflows_first():
    _, found = asked("Which layer overflows first?")
    assert (origin(found).module, origin(found).infinities > 0) == ("layers.1.linear", True)
    assert "AddmmBackward0" in found.anomaly.message


def test_softmax_and_not_the_mask_is_the_origin():
    _, found = asked("What did the mask's -inf do?")
    assert [birth.on_purpose for birth in found.births[:2]] == [True, False]
    assert found.origin == 1


def test_the_embedding_saves_the_reentrant_checkpoint():
    _, found = asked("Why does a reentrant checkpoint lose gradients?")
    assert {one.state for one in found.watched if one.kind == "parameter"} == {"gradient"}
    assert tensor(program("reentrant_checkpoint"), "weight").state == "none"
    assert any("None of the inputs" in warning for warning in program("reentrant_checkpoint").warnings)


def test_the_hook_ran_once_with_the_sum():
    _, found = asked("How often does a hook on a tied weight run?")
    assert found.noted[0].value.count("tensor_hook") == 1
    assert "[[8.0, 12.0], [8.0, 12.0]], True" in found.noted[0].value


def test_every_state_has_a_label_a_meaning_and_a_symbol_of_its_own():
    assert set(STATES) == LABELS.keys() == MEANINGS.keys() == SYMBOLS.keys()
    assert len(set(SYMBOLS.values())) == len(set(MEANINGS.values())) == len(STATES)
    assert all(meaning in PALETTE for meaning in MEANINGS.values())


@pytest.mark.parametrize("spec", [*SPECS.values(), ProgramSpec(program="mixed_dtypes")], ids=repr)
def test_the_board_shows_every_tensor_once_and_draws_in_both_themes(spec):
    found = diagnose(spec)
    board = board_of(found)
    assert len(board.cells) + board.left_out == len(found.watched)
    assert len({(cell.row, cell.column) for cell in board.cells}) == len(board.cells)
    figure = draw_board(board, first_look(found), "dark")
    assert sum(len(trace.x) for trace in figure.data) == len(board.cells)
    for theme in ("light", "dark"):
        drawn = ElementTree.fromstring(board_svg(board, "a < b & c", theme))
        assert len(list(drawn.iter("{http://www.w3.org/2000/svg}g"))) == len(board.cells)
    trouble = board_of(found, "trouble")
    assert {cell.name for cell in board.cells if cell.state in ("zero", "none", "non_finite")} <= {
        cell.name for cell in trouble.cells
    }


def test_the_headline_says_the_worst_first():
    assert headline(program("mixed_dtypes"))[1] == "The forward stopped with RuntimeError."
    assert "aten.sqrt.default" in headline(program("where_nan"))[1]
    assert headline(program("detached_middle"))[0] == "warning"
    assert headline(diagnose(DiagnosisSpec()))[0] == "success"


def test_the_trace_escapes_what_it_shows():
    watched = tensor(program("where_nan"), "x")
    assert "x &gt; 0" in trace_html(watched, "#c2002f")


def test_exports_hold_every_tensor_and_every_step():
    spec, found = asked("Where was the path cut?")
    assert [row[0] for row in leaf_rows(found)] == [one.name for one in found.watched]
    assert len(step_rows(found)) == sum(len(one.steps) for one in found.watched)
    text = report(spec, found)
    assert "code.detach()" in text
    assert "<script" not in text
    assert json.loads(text.split("<h2>Spec</h2><pre>")[1].split("</pre>")[0].replace("&quot;", '"'))


def printed(script: str) -> list[str]:
    """Lines that a script prints in a fresh namespace, until it ends or raises."""
    lines = io.StringIO()
    with contextlib.redirect_stdout(lines), warnings.catch_warnings(), contextlib.suppress(RuntimeError):
        warnings.simplefilter("ignore")
        exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})
    return lines.getvalue().splitlines()


MODELS = [
    DiagnosisSpec(),
    DiagnosisSpec(model=ModelSpec(architecture=Mlp(layers=4, depth=2), frozen=("head",)), after="zero_grad()"),
    *(DiagnosisSpec(fault=Fault(kind=kind)) for kind in ("scale weights", "zero weights", "NaN in a parameter")),
    *(DiagnosisSpec(fault=Fault(kind=kind)) for kind in ("scale input", "zero input", "inf in the input")),
    DiagnosisSpec(fault=Fault(kind="bias of -1e4", group="layers.1"), after="zero_grad(set_to_none=False)"),
    DiagnosisSpec(model=ModelSpec(architecture=Expression(name="where_sqrt")), fault=Fault(kind="zero input")),
    DiagnosisSpec(model=ModelSpec(architecture=Gpt(layers=2, heads=2, width=16, sequence=8), checkpoint="each_block")),
]


@pytest.mark.parametrize("spec", MODELS, ids=repr)
def test_the_script_of_a_model_prints_the_states_of_the_page(spec):
    found = diagnose(spec)
    lines = printed(script_for(spec))
    assert lines[0] == f"loss {found.loss}"
    states = {line.split(" ")[0]: line.split(" ")[1] for line in lines[1:]}
    leaves = [one for one in found.watched if one.kind in ("parameter", "input", "leaf")]
    assert states == {one.name: one.state for one in leaves}


@pytest.mark.parametrize("name", NAMES)
def test_the_script_of_a_program_prints_its_gradients(name):
    for mended in (False, True):
        found = program(name, mended)
        lines = dict(line.split(" ", 1) for line in printed(script_for(ProgramSpec(program=name, mended=mended))))
        if found.error is not None:
            assert lines == {}
            continue
        assert float(lines["loss"]) == pytest.approx(found.loss, nan_ok=True)
        for one in found.watched:
            if one.is_leaf and one.requires_grad:
                assert (lines[one.name] == "None") == (one.grad is None), one.name
                assert ("nan" in lines[one.name]) == (one.grad is not None and one.grad.nans > 0)


@pytest.mark.slow
def test_a_script_runs_in_a_clean_interpreter():
    script = script_for(ProgramSpec(program="dropout_recomputed"))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=200)
    assert done.stdout.splitlines()[-1] == "after_kept_without_gradient 483"
    assert "detect_anomaly" in script_for(DetectorSpec())


def test_every_reason_of_zeros_is_told_with_its_tensors():
    words = headline(diagnose(DiagnosisSpec(fault=Fault(kind="bias of -1e4"))))[1]
    relus, _, head = words.partition(" head.weight: ")
    assert relus.startswith("layers.0.linear.*, layers.1.linear.*, layers.2.linear.*: the gradient is exactly 0")
    assert "ReluBackward0 in each of layers.0, layers.1, layers.2 got" in relus
    assert "AddmmBackward0 in head got a gradient and passed on zeros: the other factor is all zeros" in head


def test_each_layer_left_out_is_told_with_its_own_reason():
    words = headline(program("dead_relu"))[1]
    assert words.count("the gradient is exactly 0, because") == 2
    assert (
        words.index("0.*: ") < words.index("ReluBackward0") < words.index("2.weight: ") < words.index("AddmmBackward0")
    )


def test_the_variable_that_was_meant_to_be_a_leaf_is_in_the_headline_the_numbers_and_the_trace():
    found = program("to_non_leaf")
    kind, words = headline(found)
    assert kind == "warning"
    assert words.startswith("a is no leaf (made by ToCopyBackward0): its .grad stays None")
    assert {one.name for one in found.watched if one.stands_for_a_leaf} == {"a"}
    assert first_look(found) == "a"
    assert next(number.value for number in numbers_of(found) if number.label == ".grad is None") == 1
    mended = program("to_non_leaf", mended=True)
    assert (headline(mended)[0], first_look(mended)) == ("success", "a")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "to_non_leaf"])
def test_variables_between_named_leaves_and_the_loss_are_not_taken_for_leaves(name):
    assert not any(one.stands_for_a_leaf for one in program(name).watched)


def test_what_was_masked_is_counted_in_elements():
    found = program("zero_times_inf", mended=True)
    assert [(birth.nans, birth.infinities) for birth in found.births] == [(0, 1)]
    assert headline(found)[1].endswith(" 1 element on the way was not finite, begun in 1 place, and masked.")
    twice = msgspec.structs.replace(found, births=(msgspec.structs.replace(found.births[0], infinities=224),) * 2)
    assert headline(twice)[1].endswith(" 448 elements on the way were not finite, begun in 2 places, and masked.")
