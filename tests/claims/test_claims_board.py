"""The board without a browser: rows, running, stopping, questions and files."""

from __future__ import annotations

import json

import pytest

from engine import run
from engine.claims.catalogue import BY_KEY, CLAIMS
from engine.claims.claim import CORE_API
from engine.claims.outcome import Count, Measured
from engine.claims.spec import ClippedSigmoidSpec, CubeSpec, OperandLayoutSpec
from engine.claims.verdict import judge
from engine.machine.spec import MachineSpec
from pages.performance.claims_controls import ONE, fields_of
from pages.performance.claims_details import count_numbers
from pages.performance.claims_exports import claims_report, measured_json, verdicts_csv
from pages.performance.claims_presets import PRESETS
from pages.performance.claims_results import Known
from pages.performance.claims_running import not_run_words
from tests.app.pages_under_test import PAGE_FILES, errors, open_page, run_to_the_end

PAGE = next(path for path in PAGE_FILES if path.stem == "03_claims")


def numbers(app) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def known(key, **sizes):
    claim = BY_KEY[key]
    spec = claim.spec(**sizes)
    measured = run(spec, inline=True)
    return Known(claim, spec, measured, judge(claim, measured))


def test_the_board_has_a_row_per_claim_and_opens_one_that_is_only_counted():
    app = open_page(PAGE)
    text = " ".join(element.value for element in app.markdown)
    assert [claim.title for claim in CLAIMS if claim.title not in text] == []
    assert numbers(app)["Holds"] == "1"
    assert numbers(app)["Not run"] == str(len(CLAIMS) - 1)
    assert numbers(app)["first derivative"] == "12"


def test_running_a_claim_opens_it_and_counts_it():
    app = open_page(PAGE)
    app.button(key="claims.run.clipped_sigmoid").click()
    run_to_the_end(app)
    assert errors(app) == []
    assert app.selectbox(key="claims.claim").value == BY_KEY["clipped_sigmoid"].title
    assert numbers(app)["Does not hold"] == "1"
    assert numbers(app)["largest true derivative"] == "0.500"


def test_other_sizes_are_another_run():
    app = open_page(PAGE)
    app.number_input(key="claims.cube.x").set_value(3.0)
    run_to_the_end(app)
    assert numbers(app)["first derivative"] == "27"


def test_a_filter_shows_only_its_rows():
    app = open_page(PAGE, **{"claims.show": CORE_API})
    shown = [button.key for button in app.button if (button.key or "").startswith("claims.run.")]
    assert shown == [f"claims.run.{claim.key}" for claim in CLAIMS if claim.article == CORE_API]
    app.selectbox(key="claims.show").set_value("not decided")
    run_to_the_end(app)
    assert any("No claim stands there" in info.value for info in app.info)
    app.button(key="claims.all").click()
    run_to_the_end(app)
    assert app.selectbox(key="claims.show").value == "all claims"


def test_stopping_keeps_the_open_claim_from_starting_again():
    app = open_page(PAGE, **{"claims.show": ONE})
    app.selectbox(key="claims.claim").set_value(BY_KEY["hessian_product"].title)
    app.run()
    assert app.progress
    app.button(key="claims.stop").click()
    app.run()
    assert not app.progress
    app.run()
    assert not app.progress
    assert errors(app) == []


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_opens_its_claim_with_settings_that_exist(preset):
    claim = next(claim for claim in CLAIMS if claim.title == preset.settings["claims.claim"])
    keys = {f"claims.{claim.key}.{name}" for name in fields_of(claim)} | {"claims.claim", "claims.show"}
    assert set(preset.settings) <= keys


def test_only_one_run_at_a_time_can_be_started():
    app = open_page(PAGE)
    assert not app.button(key="claims.run-quick").disabled
    assert app.button(key="claims.stop").disabled
    app.selectbox(key="claims.claim").set_value(BY_KEY["hessian_product"].title)
    app.run()
    assert app.button(key="claims.run-quick").disabled
    assert not app.button(key="claims.stop").disabled
    app.button(key="claims.stop").click()
    app.run()
    assert not app.button(key="claims.run-quick").disabled


@pytest.mark.parametrize(
    ("quick", "slow", "words"),
    [
        (0, 0, "Every claim was run at the sizes it stands at."),
        (0, 1, "Not run at the sizes they stand at: 1 that takes longer, by the button on the row."),
        (3, 0, "Not run at the sizes they stand at: 3 of a few seconds."),
        (
            1,
            2,
            "Not run at the sizes they stand at: 1 of a few seconds and 2 that take longer, by the button on the row.",
        ),
    ],
)
def test_what_was_not_run_in_words(quick, slow, words):
    assert not_run_words(quick, slow) == words


def test_a_share_is_a_number_in_percent():
    (number,) = count_numbers(Measured(counts=(Count("CSR share of dense at density 0.1 %", 0.0123),)))
    assert (number.label, number.value) == ("CSR share of dense at density 0.1 % (in %)", pytest.approx(1.23))


def test_the_files_hold_every_claim_that_ran():
    ran = [known("cube"), known("clipped_sigmoid")]
    rows = verdicts_csv(ran).splitlines()
    assert len(rows) == 1 + sum(len(one.claim.rules) for one in ran)
    assert "holds" in rows[1]
    found = json.loads(measured_json(ran))
    assert found["cube"]["spec"]["x"] == CubeSpec().x
    assert found["clipped_sigmoid"]["measured"]["counts"][0] == {"name": "largest true derivative", "value": 0.5}
    run(MachineSpec())
    report = claims_report(ClippedSigmoidSpec(), ran)
    assert BY_KEY["cube"].title.replace("³", "") in report.replace("³", "")
    assert "torch thread" in report


def test_what_failed_is_told_in_the_files_too():
    claim = BY_KEY["operand_layout"]
    measured = Measured(unavailable="no such thing here")
    rows = verdicts_csv([Known(claim, OperandLayoutSpec(), measured, judge(claim, measured))])
    assert "could not run here: no such thing here" in rows
