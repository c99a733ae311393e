"""The checkpointing page: what its questions claim, its own policies, its table, its files."""

from __future__ import annotations

import csv
import io
import json
from functools import cache

import msgspec
import pytest

from engine import run
from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import ForecastSpec, Outcome, Outcomes, PolicySpec, PolicyTimes, SearchSpec
from engine.models.spec import Mlp, ModelSpec
from pages.memory.checkpointing_controls import SECTION, SECTIONS, SHARE, rules_spec
from pages.memory.checkpointing_exports import csv_rows, json_text, report
from pages.memory.checkpointing_menu import (
    CHOSEN,
    KEEP,
    MENU,
    OWN,
    check_overload,
    groups_text,
    menu_values,
    parse_groups,
)
from pages.memory.checkpointing_numbers import key_numbers, matching
from pages.memory.checkpointing_presets import DROPOUT, GPT, GRU, PLAIN, PRESETS, STACK
from pages.memory.checkpointing_presets import KEEP as KEEP_PRODUCTS
from pages.memory.checkpointing_results import Known
from pages.memory.checkpointing_rules import other_model, rules_html, verdict
from pages.memory.checkpointing_table import COLUMNS, table_values

QUESTIONS = {preset.question: preset for preset in PRESETS}
MIB = 1 << 20


@cache
def outcomes_of(model: ModelSpec) -> Outcomes:
    """Every policy that a question about this model names, run once."""
    asked = [one for one in PRESETS if one.model == model and one.settings[SECTION] == SECTIONS[0]]
    named = [MENU[name](model) for preset in asked for name in preset.settings[CHOSEN]]
    own = [KEEP_PRODUCTS] if any(preset.settings[OWN] for preset in asked) else []
    return run(PolicySpec(model=model, policies=tuple(dict.fromkeys((Policy(), *named, *own)))), inline=True)


def of(model: ModelSpec, name: str) -> tuple[Outcome, Outcome]:
    """(off, the policy of this name)."""
    found = outcomes_of(model)
    wanted = KEEP_PRODUCTS if name == "own" else MENU[name](model)
    return found.outcomes[0], next(one for one in found.outcomes if one.policy == wanted)


def test_every_question_is_one_and_opens_its_section():
    assert len(PRESETS) >= 8
    assert len(QUESTIONS) == len(PRESETS)
    assert {preset.settings[SECTION] for preset in PRESETS} == set(SECTIONS)
    for preset in PRESETS:
        assert preset.question.endswith("?")
        assert preset.model.checkpoint == "off"


def test_selective_on_a_gru_gives_wrong_gradients_in_silence():
    off, kept = of(GRU, "own")
    assert kept.gradients_identical is False
    assert kept.differing
    assert not kept.missing
    assert kept.loss_identical
    assert not kept.warnings
    assert of(GRU, "each block")[1].gradients_identical
    lstm = msgspec.structs.replace(GRU, architecture=msgspec.structs.replace(GRU.architecture, cell="lstm"))
    raised = run(PolicySpec(model=lstm, policies=(Policy(), KEEP_PRODUCTS)), inline=True).outcomes[1]
    assert raised.error is not None
    assert "mutated" in raised.error.message
    assert off.gradients_identical


def test_dropout_and_reentrant_are_as_the_table_says():
    spec = rules_spec(DROPOUT)
    with_grad = run(spec, inline=True)
    assert [one.gradients_identical for one in with_grad.outcomes[1:]] == [True, False, True, False]
    assert all(one.loss_identical for one in with_grad.outcomes)
    assert not any(one.warnings for one in with_grad.outcomes)
    plain, heal = rules_spec(PLAIN), other_model(PLAIN)
    assert [one.use_reentrant for one in plain.policies[1:]] == [False, True]
    first, second = (run(rules_spec(model), inline=True) for model in (PLAIN, heal))
    kept, lost = first.outcomes[1:]
    assert kept.gradients_identical
    assert {name for name in lost.missing if name.startswith("layers.0.")} == {
        "layers.0.linear.weight",
        "layers.0.linear.bias",
    }
    assert any("None of the inputs have requires_grad=True" in text for text in lost.warnings)
    assert all(one.gradients_identical for one in second.outcomes)
    html = rules_html([(PLAIN, first), (heal, second)], "light")
    assert html.count("<td") == 4
    assert html.count("✓") == 3
    assert [verdict(one)[1] for one in first.outcomes[1:]] == ["claim_holds", "gradients_differ"]


@pytest.mark.slow
def test_a_stack_of_linear_and_relu_frees_nothing_by_every_fifth_block():
    off, every = of(STACK, "every 5th block")
    assert every.held_bytes == off.held_bytes
    assert every.recomputed_flops / off.forward_flops == pytest.approx(0.2)
    _, root = of(STACK, "√n segments")
    assert root.policy.segments == 7
    assert root.held_bytes / off.held_bytes == pytest.approx(0.28)  # 6 inputs of segments and 8 blocks: 14 of 50
    assert root.recomputed_flops / off.forward_flops == pytest.approx(42 / 50)
    _, groups = of(STACK, "√n groups, the last too")
    assert len(groups.policy.groups) == 7
    assert groups.held_bytes / off.held_bytes == pytest.approx(6 / 50)
    assert groups.recomputed_flops == off.forward_flops
    assert off.peak_bytes <= root.peak_bytes < 1.01 * off.peak_bytes
    gradients = 50 * (256 * 256 + 256) * 4
    assert gradients / MIB == pytest.approx(12.5, abs=0.1)
    assert root.peak_bytes > gradients
    _, kept = of(STACK, "each block, keep matmuls")
    assert kept.held_bytes / off.held_bytes == pytest.approx(1.98)
    assert all(one.gradients_identical for one in outcomes_of(STACK).outcomes)


@pytest.mark.slow
def test_the_gpt_shape_pays():
    off, each = of(GPT, "each block")
    assert each.held_bytes / off.held_bytes == pytest.approx(0.08, abs=0.005)
    assert each.peak_bytes / off.peak_bytes == pytest.approx(0.54, abs=0.02)
    _, kept = of(GPT, "each block, keep matmuls")
    assert kept.recomputed_flops == 0
    assert kept.recomputed_operations > 50
    assert 0.6 < kept.held_bytes / off.held_bytes < 0.75
    _, on_cpu = of(GPT, "save_on_cpu")
    assert (on_cpu.held_bytes, on_cpu.moved_bytes) == (off.held_bytes, 0)
    _, disk = of(GPT, "saved to disk")
    assert disk.held_bytes == 0
    assert disk.moved_bytes >= off.held_bytes
    assert disk.recomputed_flops == 0
    assert all(one.gradients_identical for one in outcomes_of(GPT).outcomes)


@pytest.mark.slow
def test_a_quarter_of_the_bytes_holds_more_than_sqrt_n_and_recomputes_less_than_each_block():
    share = QUESTIONS["Which policy under a quarter of the bytes?"].settings[SHARE]
    off = run(ForecastSpec(model=GPT, policies=(Policy(),)), inline=True).forecasts[0]
    found = run(SearchSpec(model=GPT, budget_bytes=off.held_bytes * share // 100), inline=True)
    chosen = next(one for one in found.candidates if one.chosen)
    root, each = (next(c for c in found.candidates if c.policy == MENU[n](GPT)) for n in ("√n segments", "each block"))
    assert root.budgeted_bytes > found.off_bytes / 2
    assert not root.fits
    assert chosen.budgeted_bytes <= found.budget_bytes
    assert chosen.recomputed_flops < each.recomputed_flops
    fact = next(one for one in found.measured if one.policy == found.policy)
    assert fact.held_bytes == chosen.budgeted_bytes
    assert fact.gradients_identical


def test_groups_are_parsed_by_a_grammar_of_their_own():
    assert parse_groups("0-3 4-7, 9") == ((0, 4), (4, 8), (9, 10))
    assert parse_groups("") == ()
    assert parse_groups(groups_text(((0, 4), (4, 5)))) == ((0, 4), (4, 5))
    with pytest.raises(ValueError, match="3-1 runs backwards"):
        parse_groups("3-1")
    with pytest.raises(ValueError, match="2-5 begins before 0-3 has ended"):
        parse_groups("0-3 2-5")
    with pytest.raises(ValueError, match=r"'nonsense', no operator overload\. Write it as aten\.addmm\.default"):
        check_overload("nonsense")
    check_overload("aten.addmm.default")
    for text in ("__import__('os')", "0-", "-3", "1.5", "٣", "0-99999", "x" * 300):
        with pytest.raises(ValueError, match="received"):
            parse_groups(text)
    values = menu_values(("each block",), KEEP_PRODUCTS)
    assert values[KEEP] == list(KEEP_PRODUCTS.keep)
    assert values[OWN] is True


def test_the_table_and_the_files_have_what_was_counted():
    model = ModelSpec(architecture=Mlp(layers=2, depth=2, width=16))
    spec = PolicySpec(model=model, policies=(Policy(), Policy(kind="each_block"), Policy(kind="segments", segments=9)))
    found = run(spec, inline=True)
    known = Known(spec, None, found, PolicyTimes(comparison=None, timed=()))
    off, each, refused = table_values(known.rows, known.rows)
    assert (off["held − off"], each["held − off"]) == (0, each["held"] - off["held"])
    assert (each["held − A"], refused["held"], refused["gradients"]) == (0, None, "PyTorch refused")
    assert [row[0] for row in csv_rows(known)] == [off["policy"], each["policy"], refused["policy"]]
    assert len(csv_rows(known)[0]) == len(COLUMNS)
    assert next(csv.reader(io.StringIO(",".join(COLUMNS)))) == list(COLUMNS)
    assert json.loads(json_text(known))["outcomes"]["blocks"] == 2
    assert "Checkpointing policies" in report(known, "recomputed_flops")
    numbers = {one.label: one.value for one in key_numbers(known.rows[1])}
    assert numbers["Held"] == found.outcomes[1].held_bytes
    assert matching(known.rows[1], known.rows) == known.rows[1]
    assert key_numbers(known.rows[2])[0].missing == "refused"
