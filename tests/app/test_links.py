"""What a link asks for is shown, or the page says in a line what is shown instead and why."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.navigation import PageEntry, discover_pages
from pages.shared.section_cards import presets_of
from tests.app.pages_under_test import PAGES_FOLDER, errors, open_page, page_id, run_to_the_end, widgets

ASKED = [entry for entry in discover_pages() if presets_of(entry)]
DIAGNOSTICS = PAGES_FOLDER / "backward" / "06_diagnostics.py"
LEDGER = PAGES_FOLDER / "memory" / "01_memory_ledger.py"
STORAGE = PAGES_FOLDER / "tensors" / "01_storage_and_views.py"
STORAGE_ENTRY = next(entry for entry in ASKED if entry.path == STORAGE)


def refused(app: AppTest) -> list[str]:
    """The lines about the link."""
    told = [warning.value for warning in app.warning if warning.icon == ":material/link_off:"]
    return [line for text in told for line in text.split("  \n")]


def settings(app: AppTest) -> dict[str, object]:
    return {key: widget.value for key, widget in widgets(app).items()}


@pytest.mark.slow
@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize("entry", ASKED, ids=lambda entry: page_id(entry.path))
def test_a_question_alone_opens_what_its_whole_link_opens(entry: PageEntry, which: int):
    preset = presets_of(entry)[which]
    alone = open_page(entry.path, question=preset.question)
    whole = open_page(entry.path, **preset.link_values())
    assert settings(alone) == settings(whole)
    assert (refused(alone), refused(whole)) == ([], [])
    assert errors(alone) == []


def test_the_beginning_of_a_question_is_enough_beside_nothing_else():
    question = presets_of(next(entry for entry in ASKED if entry.path == LEDGER))[0].question
    typed = question[:20].upper()
    app = open_page(LEDGER, question=typed, present="true")
    assert app.selectbox(key="question").value == 0
    assert refused(app) == []
    [line] = refused(open_page(LEDGER, **{"question": typed, "memory.optimizer": "SGD"}))
    assert line.endswith("beside other settings a question is named in full.")
    [line] = refused(open_page(LEDGER, question="no such question"))
    assert line.endswith("no question of this page begins so.")


@pytest.mark.parametrize(
    ("path", "name", "value", "instead", "why"),
    [
        (LEDGER, "model", "no model", "Dynamic-depth MLP", "offered are"),
        (LEDGER, "mlp.layers", "100000", "3", "it takes a whole number from 1 to"),
        (LEDGER, "mlp.layers", "many", "3", "it takes a whole number from 1 to"),
        (LEDGER, "memory.optimizer", "Adamm", "AdamW", "offered are `SGD`"),
        (LEDGER, "mlp.residual", "perhaps", "true", "offered are `true`, `false`"),
        (LEDGER, "no_such_control", "1", "", "no control in sight has this name"),
        (STORAGE, "memory.optimizer", "SGD", "", "no control in sight has this name"),
    ],
)
def test_what_a_control_does_not_take_is_told_once(path: Path, name: str, value: str, instead: str, why: str):
    app = open_page(path, **{name: value})
    [line] = refused(app)
    assert line.startswith(f"The link asks for `{name}={value}`")
    assert f"shown is `{instead}`" in line or not instead
    assert why in line
    assert errors(app) == []


def test_an_unknown_program_is_told_until_another_is_chosen():
    app = open_page(DIAGNOSTICS, **{"diagnose.subject": "A broken program", "diagnose.program": "no *such* program"})
    [line] = refused(app)
    assert line.startswith("The link asks for `diagnose.program=no *such* program`, shown is `")
    run_to_the_end(app.selectbox(key="diagnose.program").select("zero: a factor of 0"))
    assert refused(app) == []


def test_a_device_that_is_not_there_is_told_with_its_reason_and_the_page_goes_on():
    import torch

    if torch.cuda.is_available():
        pytest.skip("CUDA is here")
    app = open_page(LEDGER, device="cuda")
    [line] = refused(app)
    assert line.startswith("The link asks for `device=cuda`, shown is `cpu`: ")
    assert app.metric
    app.run()
    assert refused(app) == [line]


def test_a_control_that_another_value_of_the_link_opens_is_open():
    app = open_page(LEDGER, checkpoint="each_block", grad_mode="no_grad", grad_mode_block="1", use_reentrant="true")
    assert {"use_reentrant": True, "grad_mode_block": 1}.items() <= settings(app).items()
    assert refused(app) == []


@pytest.mark.parametrize(
    "ends",
    [{"storage.chain": "no_such_method()"}, {"present": "true", "question": presets_of(STORAGE_ENTRY)[0].question}],
    ids=["settings that cannot be used", "a covered answer"],
)
def test_a_page_that_ends_early_tells_too(ends: dict[str, str]):
    app = open_page(STORAGE, **ends, **{"storage.seed": "many"})
    [line] = refused(app)
    assert line.startswith("The link asks for `storage.seed=many`, shown is `0`: ")
    assert not app.metric
    assert errors(app) == []


def test_text_of_a_link_is_shown_as_text():
    app = open_page(LEDGER, model="`<b>**x**[y](z)")
    [line] = refused(app)
    assert line.startswith("The link asks for `model=ˋ<b>**x**[y](z)`")
