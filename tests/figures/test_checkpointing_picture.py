"""Policies as a picture: the front, places of labels, chart and SVG, words, marks on the graph."""

from __future__ import annotations

from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Candidate, Forecast, Outcome, PolicyGraph, Searched
from engine.checkpointing.standard import square_root_groups, square_root_segments, titled
from engine.figures.checkpointing_axes import bytes_axis, cost_axis, format_flops
from engine.figures.checkpointing_chart import policies_chart
from engine.figures.checkpointing_places import LETTER, LINE, place_labels
from engine.figures.checkpointing_points import Point, forecast_points, outcome_points, pareto_front, short_label
from engine.figures.checkpointing_scene import recomputed_words, with_policy
from engine.figures.checkpointing_search import candidates_chart, candidates_svg, search_headline
from engine.figures.checkpointing_svg import policies_svg
from engine.figures.checkpointing_words import (
    change_words,
    error_words,
    fact_rows,
    gradients_words,
    ratio_words,
    rows_of,
)
from engine.figures.scene import build_scene
from engine.graph.spec import Edge, Graph, Root
from engine.pytorch_said import PyTorchSaid
from engine.timing.comparison import Comparison, Ratio
from tests.figures.graphs import node, saved

OFF, EVERY, EACH = Policy(), Policy(kind="every_k"), Policy(kind="each_block")
AWAY, WRONG = Policy(kind="save_on_disk"), Policy(kind="each_block", preserve_rng_state=False)


def outcome(policy, held, peak, flops=0, **more):
    fields = {"gradients_identical": True, "gradient_elements": 100} | more
    return Outcome(policy=policy, held_bytes=held, peak_bytes=peak, recomputed_flops=flops, **fields)


OUTCOMES = (
    outcome(OFF, 4096, 9000, forward_flops=1000),
    outcome(EVERY, 4096, 9100, 200, recomputed_operations=3),
    outcome(EACH, 1024, 9100, 1000, recomputed_operations=15),
    outcome(AWAY, 0, 5000, moved_bytes=4096),
    outcome(WRONG, 512, 100, 1, gradients_identical=False, differing=("a", "b"), differing_elements=7),
    Outcome(policy=Policy(kind="segments", segments=9), error=PyTorchSaid(type="ValueError", message="no")),
)
FORECASTS = tuple(
    Forecast(policy=one.policy, held_bytes=one.held_bytes, peak_bytes=10_000, recomputed_flops=one.recomputed_flops)
    for one in OUTCOMES[:4]
)
TIMES = Comparison(
    names=("off", "every 5th block"),
    calls=(1, 1),
    cpu_s=((1.0,), (1.5,)),
    wall_s=((1.0,), (1.5,)),
    threads=1,
    ratios=(Ratio("every 5th block", "off", 1.5, 1.4, 1.6, rounds=11),),
    winner="off",
)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.booleans()), max_size=12))
@settings(max_examples=60, deadline=None)
def test_the_front_is_what_no_other_beats(drawn):
    points = [Point(policy=OFF, x_bytes=x, y=float(y), differs=differs) for x, y, differs in drawn]
    right = [(p.x_bytes, p.y) for p in points if not p.differs]
    beaten = {p for p in right if any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in right)}
    assert [(p.x_bytes, p.y) for p in pareto_front(points)] == sorted(set(right) - beaten)


def test_points_are_what_ran_and_times_what_was_timed():
    counted = outcome_points(OUTCOMES, "held_bytes", "recomputed_flops")
    assert [(p.x_bytes, p.y) for p in counted] == [(4096, 0), (4096, 200), (1024, 1000), (0, 0), (512, 1)]
    assert [p.differs for p in counted] == [False] * 4 + [True]
    timed = outcome_points(OUTCOMES, "peak_bytes", "time", TIMES)
    assert [(p.x_bytes, p.y, p.low, p.high) for p in timed] == [(9000, 1.0, None, None), (9100, 1.5, 1.4, 1.6)]
    assert outcome_points(OUTCOMES, "peak_bytes", "time") == ()
    foretold = forecast_points(FORECASTS, "peak_bytes", "time", timed)
    assert [(p.x_bytes, p.y, p.estimated) for p in foretold] == [(10_000, 1.0, True), (10_000, 1.5, True)]


@given(st.lists(st.tuples(st.integers(60, 400), st.integers(40, 340)), min_size=1, max_size=7))
@settings(max_examples=40, deadline=None)
def test_labels_lie_over_no_other_label_and_stay_inside(marks):
    label = "each block"
    boxes = []
    for (x, y), place in zip(marks, place_labels(marks, [label] * len(marks), 480, 380), strict=True):
        left = x + place.right - (LETTER * len(label) if place.anchor == "right" else 0)
        boxes.append((left, y + place.down - LINE / 2, left + LETTER * len(label), y + place.down + LINE / 2))
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert left >= 0
        assert right <= 480
        for other in boxes[:number]:
            apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
            assert apart or len(set(marks)) < len(marks)


def test_labels_keep_clear_of_lines_as_long_as_there_is_another_place():
    line = (100.0, 0.0, 104.0, 380.0)
    [free], [beside] = (
        place_labels([(90, 200)], ["off"], 480, 380),
        place_labels([(90, 200)], ["off"], 480, 380, [line]),
    )
    assert (free.anchor, beside.anchor) == ("left", "right")
    everywhere = (0.0, 0.0, 480.0, 380.0)
    assert place_labels([(90, 200)], ["off"], 480, 380, [everywhere]) == (free,)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_policy_is_a_mark_that_a_click_names(theme):
    measured = outcome_points(OUTCOMES, "held_bytes", "recomputed_flops")
    foretold = forecast_points(FORECASTS, "held_bytes", "recomputed_flops", measured)
    figure = policies_chart(measured, foretold, "held_bytes", "recomputed_flops", theme, chosen=EACH)
    named = [trace for trace in figure.data if trace.mode == "markers"]
    assert [trace.customdata[0] for trace in named] == [p.label for p in (*foretold, *measured)]
    assert [trace.marker.symbol.endswith("-open") for trace in named] == [True] * 4 + [False] * 5
    assert named[-1].marker.symbol == "x"
    front = next(trace for trace in figure.data if trace.mode == "lines")
    assert list(front.x) == [1024, 4096]  # what is moved away is run again nowhere, and no bargain for that
    assert {note.text.strip("</b>") for note in figure.layout.annotations} >= {"off", "each block"}
    text = policies_svg(measured, foretold, "held_bytes", "recomputed_flops", "A <title>", theme)
    written = {element.text for element in ElementTree.fromstring(text).iter() if element.text}
    assert written >= {short_label(p.policy) for p in measured} | {"gradients differ from off", "estimated"}
    assert policies_chart((), (), "held_bytes", "time", theme).layout.height


def test_axes_hold_every_value_and_their_ticks_are_round():
    points = outcome_points(OUTCOMES, "held_bytes", "recomputed_flops")
    across, up = bytes_axis(points), cost_axis(points, "recomputed_flops")
    for axis, values in ((across, [p.x_bytes for p in points]), (up, [p.y for p in points])):
        assert all(0 < axis.share(value) < 1 for value in values)
        assert 2 <= len(axis.ticks) <= 8
        assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert all(tick % 1024 == 0 for tick in across.ticks)
    assert [format_flops(n) for n in (0, 12, 2_500_000, 3e12)] == ["0 FLOP", "12.0 FLOP", "2.50 MFLOP", "3.00 TFLOP"]


@pytest.mark.parametrize("most", [0, 1, 3, 6])
def test_few_operations_have_whole_numbers_on_their_axis(most):
    axis = cost_axis([Point(policy=OFF, x_bytes=1, y=most)], "recomputed_operations")
    assert len(set(axis.words)) == len(axis.words)
    assert all(tick == int(tick) for tick in axis.ticks)


def test_words_tell_deltas_errors_and_gradients():
    assert change_words(1024, 4096) == "−3.00 KiB (−75.0%)"
    assert change_words(4096, 4096) == "as off"
    assert (change_words(None, 1), change_words(5, 0)) == ("", "+5 B")
    assert error_words(100, 100, exact=True) == "exact, as promised"
    assert error_words(110, 100) == "10.0 % too high"
    assert error_words(99, 100, exact=True) == "1.00 % too low, though promised exact"
    assert gradients_words(OUTCOMES[0]) == "bit-identical to off"
    assert gradients_words(OUTCOMES[4]) == "differ: a, b (7 of 100 elements)"
    assert gradients_words(OUTCOMES[5]) == "PyTorch refused"
    lost = outcome(EACH, 1, 1, gradients_identical=False, differing=tuple("abcde"), missing=tuple("abcde"))
    assert gradients_words(lost) == "missing: a, b, c, d and 1 more"
    rows = rows_of((OFF, EVERY), OUTCOMES, FORECASTS, TIMES)
    assert [ratio_words(row) for row in rows] == ["1 (the reference)", "1.50× (1.40 to 1.60)"]
    doubtful = msgspec.structs.replace(rows[1], ratio=Ratio("b", "a", 2.8, 2.5, 2.9, chance=0.07, rounds=11))
    assert ratio_words(doubtful).endswith("no difference shown: some of 11 rounds disagree")
    near = msgspec.structs.replace(rows[1], ratio=Ratio("b", "a", 1.01, 1.005, 1.02, rounds=11))
    assert ratio_words(near).endswith("no difference shown: nearer to 1 than 2 %")
    facts = {label: rest for label, *rest in fact_rows(rows[1], rows[0])}
    assert facts["held"] == ["4.00 KiB  (4\u202f096 B)", "as off", "4.00 KiB", "exact"]
    assert facts["peak"][3] == "9.89 % too high"


def test_boxes_show_what_is_kept_dropped_and_run_again():
    nodes = [
        node(0, "AddmmBackward0", "a", slots=[saved(0, 64, dropped=True)]),
        node(1, "ReluBackward0", "b", slots=[saved(1, 64)]),
        node(2, "MulBackward0", "c", slots=[saved(2, 64, owner="parameter")]),
    ]
    graph = Graph.of(nodes, [Edge(2, 0, 1, 0), Edge(1, 0, 0, 0)], (Root("loss", 2, 0, (4, 8), "float32"),))
    found = PolicyGraph(graph=graph, modules=(), recomputed=(2, 0, 1), kept_bytes=64, dropped_slots=1)
    scene = with_policy(build_scene(graph), found)
    shown = {box.title: (scene.colours[box.colour].key, box.mark) for box in scene.boxes if box.role == "node"}
    assert shown == {
        "Addmm": ("dropped", "recomputed"),
        "Relu": ("saved", ""),
        "Mul": ("operation", "recomputed"),
    }
    assert {scene.colours[number].key for number in scene.legend} >= {"saved", "dropped", "recomputed"}
    assert recomputed_words(found, [0]) == "runs again in backward 2 times"
    assert recomputed_words(found, [0, 1, 2]) == "2 of 3 nodes run again 2 times"
    assert recomputed_words(found, [1]) == ""


def test_a_search_shows_its_candidates_or_the_least_there_is():
    candidates = (
        Candidate(policy=OFF, found_by="off", budgeted_bytes=4096, recomputed_flops=0, fits=False),
        Candidate(policy=EACH, found_by="each block", budgeted_bytes=1024, recomputed_flops=90, chosen=True),
    )
    found = Searched(policy=EACH, candidates=candidates, budget_bytes=2048, off_bytes=4096, smallest_bytes=1024)
    assert {trace.name.partition(":")[0] for trace in candidates_chart(found).data} == {"over the budget", "chosen"}
    ElementTree.fromstring(candidates_svg(found, "A & B"))
    assert search_headline(found).startswith("each block: 1.00 KiB of 4.00 KiB, 90.0 FLOP run again")
    nothing = Searched(policy=None, candidates=(), budget_bytes=5, off_bytes=4096, smallest_bytes=1024)
    assert search_headline(nothing) == "Nothing fits into 5 B: the least that is possible is 1.00 KiB."
    candidates_chart(nothing)
    ElementTree.fromstring(candidates_svg(nothing, "nothing"))


def test_square_root_policies_say_that_they_are_and_how_many():
    root, groups = square_root_segments(50), square_root_groups(50)
    assert (titled(root, 50), titled(root, 49), titled(root, 4)) == (*["√n = 7 segments"] * 2, "7 segments")
    assert short_label(root, 50) == "√n = 7 segments"
    assert short_label(groups, 50) == "√n = 7 groups, 0-49"
    assert titled(groups, 50) == f"√n = 7 {label_of(groups)}"
    (row,) = rows_of((root,), blocks=50)
    told = [Forecast(policy=root, held_bytes=1, recomputed_flops=1)]
    (point,) = forecast_points(told, "held_bytes", "recomputed_flops", blocks=50)
    assert row.label == point.label == "√n = 7 segments"
