"""The timing page: presets set what they ask, what their notices claim exactly holds, files hold every sample."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import msgspec
import pytest
import streamlit as st

from engine import run
from engine.figures.allocation_chart import allocation_chart, cliff_words, size_ticks
from engine.figures.timing_samples import rounds_chart, samples_chart, spent_chart, time_spent
from engine.figures.timing_svg import comparison_svg
from engine.figures.timing_words import age_words, agreement_words, band_words, fault_words, headline
from engine.timing.comparison import Comparison, Ratio, Usage
from engine.timing.results import Distance, Machine, Side, Timing
from engine.timing.spec import AllocationSpec, TimingSpec
from engine.timing.variant import OperatorVariant, StepVariant
from pages.performance.timing_compiled import CHOICES, cold_start_words, compiled_spec
from pages.performance.timing_controls import SECTION, current_spec, same_section
from pages.performance.timing_exports import (
    allocation_downloads,
    allocation_report,
    samples_csv,
    timing_downloads,
    timing_report,
)
from pages.performance.timing_numbers import timing_numbers
from pages.performance.timing_presets import PRESETS, SPECS
from pages.performance.timing_steps import CHANGES
from pages.shared.key_numbers import KeyNumber, difference

SMALL = OperatorVariant(rows=8, columns=8)


def shrunk(variant):
    """The same variant, small enough for a test."""
    if isinstance(variant, OperatorVariant):
        rows = min(variant.rows, 2 if variant.row.takes_images else 16)
        return msgspec.structs.replace(variant, rows=rows, columns=min(variant.columns, 16))
    return variant


def asked(question: str) -> Timing:
    spec = SPECS[question]
    assert isinstance(spec, TimingSpec)
    small = TimingSpec(a=shrunk(spec.a), b=shrunk(spec.b), rounds=5, warm_up_rounds=1)
    return run(small, inline=True)


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.question)
def test_a_question_sets_the_controls_to_what_it_asks(preset, monkeypatch):
    values = preset.widget_values()
    monkeypatch.setattr(st, "session_state", values)
    assert current_spec(str(values[SECTION])) == SPECS[preset.question]


def test_there_are_questions_of_every_section():
    assert len(PRESETS) >= 6
    assert len({preset.settings[SECTION] for preset in PRESETS}) == 3
    assert len({preset.question for preset in PRESETS}) == len(PRESETS)


@pytest.mark.parametrize(
    ("question", "verdict"),
    [
        ("A against A: does the tool lie?", "identical"),
        ("What does a composed GELU cost?", "equal up to rounding"),
        ("Is GELU slow, or is it malloc?", "identical"),
        ("When does a transposed operand cost?", "identical"),
        ("Does inference_mode help a tiny model?", "identical"),
        ("What time does checkpointing cost?", "identical"),
    ],
)
def test_results_agree_as_the_notice_says(question, verdict):
    assert asked(question).agreement.verdict == verdict


def test_autocast_has_the_error_of_eight_bits():
    found = asked("Is autocast bfloat16 faster on this CPU?")
    assert found.b.to_reference.relative > 1e-4 > 1e-5 > found.a.to_reference.relative


def test_both_sides_are_changed_by_one_list():
    model = StepVariant().model
    changed = {name: change(model) for name, change in CHANGES.items() if name != "channels_last"}
    assert changed["twice the depth"].architecture.depth == 2 * model.architecture.depth
    assert changed["half the depth"].architecture.depth == model.architecture.depth // 2
    with pytest.raises(ValueError, match="channels_last needs images"):
        CHANGES["channels_last"](model)


def made(ratio: float, low: float, high: float, **settings) -> Comparison:
    times = ((1.0, 1.0, 1.1, 0.9, 1.0), tuple(ratio * t for t in (1.0, 1.0, 1.1, 0.9, 1.0)))
    found = Ratio("B", "A", ratio, low, high)
    winner = ("A" if ratio > 1 else "B") if found.shows_a_difference else None
    return Comparison(
        names=("A", "B"),
        calls=(2, 2),
        cpu_s=times,
        wall_s=tuple(tuple(2 * s for s in row) for row in times),
        threads=1,
        ratios=(found,),
        winner=winner,
        warm_up_cpu_s=((1.5, 1.2), (2.5, 2.2)),
        warm_up_wall_s=((1.5, 1.2), (2.5, 2.2)),
        faults=((4.0,) * 5, (0.0,) * 5),
        usage=(Usage(9.0, 1.0, 40, 0, 1, 2), Usage(20.0, 0.0, 0, 0, 0, 0)),
        **settings,
    )


@pytest.mark.parametrize(
    ("comparison", "title", "words"),
    [
        (made(2.0, 1.9, 2.1), "B is 2.00× slower than A", "95 % band 1.900 to 2.100"),
        (made(0.5, 0.4, 0.6), "B is 2.00× faster than A", "95 % band"),
        (made(1.1, 0.9, 1.3), "No difference shown", "the band holds 1"),
        (made(1.01, 1.005, 1.015), "No difference shown", "nearer to 1 than the 2 %"),
    ],
)
def test_the_verdict_is_in_words(comparison, title, words):
    assert headline(comparison) == title
    assert words in band_words(comparison)
    assert title.split(" than")[0] in comparison_svg(comparison, "dark")


def test_a_difference_that_chance_explains_says_so():
    by_chance = msgspec.structs.replace(made(1.2, 1.1, 1.3), ratios=(Ratio("B", "A", 1.2, 1.1, 1.3, 0.035, 15),))
    assert headline(by_chance) == "No difference shown"
    assert "3.5%" in band_words(by_chance)


def test_distances_are_in_words():
    assert agreement_words(Distance(verdict="identical", absolute=0.0)) == "B and A agree bit for bit"
    apart = Distance(verdict="different", absolute=0.5, relative=0.25, tolerance=1e-5)
    assert "differ: at most 0.500 apart, 0.250 relative, more than rounding (1e-05) explains" in agreement_words(apart)
    assert "cannot be compared: why" in agreement_words(Distance(verdict="not comparable", reason="why"))


def test_time_spent_is_divided_by_calls():
    """5 rounds of 2 calls: 10 s of user and kernel time are 1 s a call, all of it in the timed thread."""
    a, b = time_spent(made(2.0, 1.9, 2.1))
    assert (a.wall_s, a.thread_cpu_s, a.user_s, a.system_s, a.faults) == pytest.approx((2.0, 1.0, 0.9, 0.1, 4.0))
    assert (a.not_running_s, a.other_threads_s) == pytest.approx((1.0, 0.0))
    assert b.not_running_s == pytest.approx(2.0)


def test_charts_show_every_sample():
    found = made(2.0, 1.9, 2.1)
    assert [len(trace.x) for trace in samples_chart(found).data] == [5, 5]
    assert [list(trace.x) for trace in rounds_chart(found, "dark").data] == [[-1, 0], [1, 2, 3, 4, 5]] * 2
    bars = spent_chart(found).data
    assert [sum(bar.x[row] for bar in bars) for row in range(4)] == pytest.approx([2.0, 1.0, 4.0, 2.0])
    assert len(ElementTree.fromstring(comparison_svg(found)).findall("{http://www.w3.org/2000/svg}circle")) == 10


def test_the_table_of_samples_has_every_one_of_them():
    rows = list(csv.DictReader(io.StringIO(samples_csv(made(2.0, 1.9, 2.1)))))
    assert len(rows) == 2 * (2 + 5)
    assert sum(int(row["counts"]) for row in rows) == 10
    assert [int(row["round"]) for row in rows[:7]] == [-1, 0, 1, 2, 3, 4, 5]


def test_reports_need_no_network():
    spec = TimingSpec(a=SMALL, b=SMALL, rounds=5)
    timing = run(spec, inline=True)
    report = timing_report(spec, timing, timing.comparison)
    assert "http://" not in report.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in report
    assert "manual_seed(0)" in report
    assert {"samples.csv", "timing.json", "timing.html", "timing.py", "spec.json"} <= {
        one.file_name for one in timing_downloads(spec, timing)
    }
    assert all(one.content() for one in timing_downloads(spec, timing))


def test_without_samples_there_is_still_what_was_said():
    spec = TimingSpec(a=SMALL, b=SMALL)
    nothing = run(TimingSpec(a=SMALL, b=SMALL, rounds=5), inline=True)
    failed = msgspec.structs.replace(nothing, comparison=None)
    assert timing_numbers(failed) == ()
    assert [one.file_name for one in timing_downloads(spec, failed)] == ["timing.json", "spec.json", "timing.py"]


def test_an_allocation_can_be_drawn_and_saved():
    spec = AllocationSpec(smallest_mib=1, largest_mib=2, points=2, rounds=5)
    found = run(spec, inline=True)
    assert len(allocation_chart(found).data) == 4
    assert cliff_words(found)
    assert "Every size" in allocation_report(spec, found)
    assert all(one.content() for one in allocation_downloads(spec, found))


def test_a_choice_of_what_to_compile_is_a_comparison():
    spec = TimingSpec(a=SMALL, b=OperatorVariant(operator="add"))
    assert [(one.a == spec.a, one.b == spec.b, one.compiled) for one in (compiled_spec(spec, c) for c in CHOICES)] == [
        (True, False, "b"),
        (False, True, "b"),
        (True, True, "b"),
        (True, True, "both"),
    ]


def test_a_cold_start_is_paid_back_after_so_many_calls():
    """3 s of compiling, half a second saved per call: 6 calls."""
    sides = {"a": Side(title="a", first_call_s=1.0), "b": Side(title="b", first_call_s=4.0)}
    timing = Timing(
        comparison=made(0.5, 0.4, 0.6), agreement=Distance(verdict="identical"), machine=msgspec.UNSET, **sides
    )
    assert "about 6 calls (estimated)" in cold_start_words(timing)


def faulting(a: tuple[float, ...], b: tuple[float, ...]) -> Comparison:
    return msgspec.structs.replace(made(2.0, 1.9, 2.1), faults=(a, b))


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ((0.0,) * 5, (1.0, 0.0, 3.0, 0.0, 0.0), []),
        ((0.0, 512.0, 0.0, 0.0, 0.0), (0.0,) * 5, ["A: 0 to 512 page faults a call, 1 of 5 rounds unlike the rest"]),
        ((0.0,) * 5, (1504.0,) * 5, ["B has 1\u202f504 page faults a call, A 0: part of the ratio"]),
    ],
)
def test_faults_that_differ_between_rounds_or_sides_are_warned_of(a, b, words):
    found = fault_words(faulting(a, b))
    assert len(found) == len(words)
    assert all(word in one for word, one in zip(words, found, strict=True))


@pytest.mark.parametrize(
    ("seconds", "words"), [(3, "just now"), (50, "50 s ago"), (250, "4 min ago"), (7300, "2 h ago"), (90000, "1 d ago")]
)
def test_the_age_of_a_result_is_in_words(seconds, words):
    machine = Machine(cores=2, load_average=9.71, measured_at_s=1000.0)
    assert age_words(machine, 1000.0 + seconds) == f"measured {words} at load 9.7"
    assert age_words(Machine(cores=2), 5.0) == ""


def test_faults_are_whole_counts():
    numbers = {one.label: one for one in timing_numbers(timing_of(faulting((16384.5,) * 5, (0.5,) * 5)))}
    assert [numbers[f"{side} page faults a call"].unit for side in "AB"] == ["count", "count"]
    assert numbers["A page faults a call"].value == 16384
    assert "B / A, median of paired ratios" in numbers


def timing_of(comparison: Comparison) -> Timing:
    side = Side(title="x")
    agreement = Distance(verdict="identical", absolute=0.0)
    return Timing(a=side, b=side, comparison=comparison, agreement=agreement, machine=Machine(cores=2))


def test_the_band_is_that_of_this_process():
    assert "within this process" in band_words(made(2.0, 1.9, 2.1))


def test_labels_of_close_sizes_stand_beside_each_other():
    places, words = size_ticks([16.0, 31.0, 33.0, 64.0])
    assert words == ["16", "31, 33", "64"]
    assert places[1] == pytest.approx(31.98, abs=0.01)


def test_a_pinned_run_of_another_section_is_not_compared_with():
    operators, steps = TimingSpec(a=SMALL, b=SMALL), TimingSpec(a=StepVariant(), b=StepVariant())
    assert same_section(operators, operators)
    assert not same_section(operators, steps)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"timing.b.operator": "GEGLU of halves", "timing.columns": 7}, "B: columns of GEGLU of halves must be even"),
        ({"timing.a.operator": "matmul", "timing.rows": 8192, "timing.columns": 8192}, "A: rows and columns of a @ b"),
    ],
)
def test_a_refusal_names_the_side(settings, words, monkeypatch):
    monkeypatch.setattr(st, "session_state", settings)
    with pytest.raises(ValueError, match="received") as caught:
        current_spec("Operators")
    assert words in str(caught.value)
    assert "OperatorVariant" not in str(caught.value)


def test_a_difference_to_a_pinned_run_does_not_call_it_a():
    number = KeyNumber("B per call", 1.0, "s", "a clock")
    assert difference(number, 1.0, "pinned") == "= pinned"
    assert difference(number, 1.0) == "= A"
