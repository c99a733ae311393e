"""What the questions of the ledger and the timeline tell people to notice is what the allocator counted."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest

from engine import run
from engine.memory.blocks import CATEGORIES
from engine.memory.ledger import bytes_at, change, growth, live_totals, moment_event, peak_event, phase_at
from engine.memory.spec import MemorySpec, MemoryTrace
from engine.models.spec import Gpt, ModelSpec
from pages.memory.memory_ledger_controls import MOMENT, MORE, PREFIX, RUN, STEP
from pages.memory.memory_ledger_presets import PRESETS as OF_LEDGER
from pages.memory.memory_timeline_controls import LOOK, named_moments
from pages.memory.memory_timeline_numbers import recomputed_peak
from pages.memory.memory_timeline_presets import PRESETS as OF_TIMELINE

QUESTIONS = {preset.question: preset for preset in (*OF_LEDGER, *OF_TIMELINE)}
RNG_STATE_BYTES = 5056
"""`torch.get_rng_state().nbytes` of the CPU's Mersenne Twister."""


def spec_of(question: str) -> MemorySpec:
    preset = QUESTIONS[question]
    return MemorySpec(model=preset.model, **{name: preset.settings[f"{PREFIX}.{name}"] for name in (*RUN, *MORE)})


@cache
def recorded(spec: MemorySpec) -> MemoryTrace:
    trace = run(spec, inline=True)
    assert trace.error is None
    assert trace.largest_difference_bytes == 0
    return trace


def at_its_moment(question: str, spec: MemorySpec | None = None) -> dict[str, int]:
    """Live bytes by category at the moment that a question of the ledger opens with."""
    settings = QUESTIONS[question].settings
    trace = recorded(spec or spec_of(question))
    return bytes_at(trace, moment_event(trace, settings[MOMENT], int(settings[STEP])))


def both(question: str) -> tuple[dict[str, int], dict[str, int]]:
    """(A, the run) of a question of the ledger."""
    return at_its_moment(question, QUESTIONS[question].against), at_its_moment(question)


def peaks(question: str) -> tuple[int, int]:
    """(A, the run): the two peaks."""
    return tuple(int(live_totals(recorded(one)).max()) for one in (QUESTIONS[question].against, spec_of(question)))


def changed(spec: MemorySpec, **other) -> MemorySpec:
    return msgspec.structs.replace(spec, **other)


def test_every_page_asks_eight_questions_and_each_sets_every_control():
    assert (len(OF_LEDGER), len(OF_TIMELINE)) == (8, 8)
    for preset in QUESTIONS.values():
        assert preset.settings.keys() >= {f"{PREFIX}.{name}" for name in (*RUN, *MORE)}


@pytest.mark.slow
def test_every_moment_a_question_looks_at_is_there():
    for preset in OF_TIMELINE:
        assert preset.settings[LOOK] in named_moments(recorded(spec_of(preset.question)))


@pytest.mark.slow
def test_linear_relu_saves_nothing_by_checkpointing():
    before, after = both("Why did memory not drop?")
    width_bytes = 64 * 256 * 4
    assert before["saved"] == 12 * width_bytes
    assert after["saved"] == 11 * width_bytes + 12 * RNG_STATE_BYTES
    assert sum(after.values()) - sum(before.values()) == 12 * RNG_STATE_BYTES
    assert after["output"] - before["output"] == width_bytes, "the last output is kept by the loop, by no node"
    assert 0 < 1 - after["saved"] / before["saved"] < 0.01
    without_state = changed(spec_of("Why did memory not drop?").model, preserve_rng_state=False)
    assert at_its_moment("Why did memory not drop?", changed(spec_of("Why did memory not drop?"), model=without_state))[
        "saved"
    ] == (11 * width_bytes)


def saved_by_module(spec: MemorySpec) -> dict[str, int]:
    trace = recorded(spec)
    event, found = moment_event(trace, "after forward", 1), {}
    for index in trace.blocks.alive_at(event).tolist():
        held = trace.blocks[index]
        if held.category == "saved" and held.module.startswith("blocks.0"):
            found[held.module] = found.get(held.module, 0) + held.bytes
    return found


@pytest.mark.slow
def test_the_mlp_keeps_most_of_a_block_until_scores_are_explicit():
    spec = spec_of("Which layer keeps the most of a GPT block?")
    fused = saved_by_module(spec)
    assert set(sorted(fused, key=lambda name: -fused[name])[:2]) == {"blocks.0.mlp.0", "blocks.0.mlp.1"}
    architecture = msgspec.structs.replace(spec.model.architecture, attention="explicit")
    explicit = saved_by_module(changed(spec, model=changed(spec.model, architecture=architecture)))
    assert max(explicit, key=lambda name: explicit[name]) == "blocks.0.attention"
    scores = 4 * 4 * 32 * 32 * 4  # batch, heads, sequence, sequence, float32
    assert explicit["blocks.0.attention"] - fused["blocks.0.attention"] >= scores


@pytest.mark.slow
def test_adamw_holds_two_more_models():
    before, after = both("What does AdamW cost beside SGD?")
    tensors = 2 * 12
    assert after["optimizer_state"] == 2 * after["parameter"] + 4 * tensors
    assert sum(after.values()) - sum(before.values()) == after["optimizer_state"]
    trace = recorded(spec_of("What does AdamW cost beside SGD?"))
    assert bytes_at(trace, moment_event(trace, "after backward", 1))["optimizer_state"] == 0


@pytest.mark.slow
def test_zeros_hold_the_parameters_once_more_and_never_the_same():
    question = "Why does zero_grad(set_to_none=False) hold more?"
    before, after = both(question)
    assert before["gradient"] == 0
    assert after["gradient"] == after["parameter"] == sum(after.values()) - sum(before.values())
    assert at_its_moment(question, changed(spec_of(question), zero_grad="never")) == after


@pytest.mark.slow
def test_retain_graph_keeps_all_until_the_step_ends():
    before, after = both("What does retain_graph keep?")
    trace = recorded(spec_of("What does retain_graph keep?"))
    first = bytes_at(trace, moment_event(trace, "after forward", 1))
    assert (before["saved"], after["saved"]) == (0, first["saved"])
    assert sum(after.values()) > sum(first.values())
    assert bytes_at(trace, moment_event(trace, "end of step", 1))["saved"] == 0


def test_autocast_saves_its_copies():
    before, after = both("Did autocast save memory?")
    assert after["saved"] == 4 * before["saved"]
    question = spec_of("Did autocast save memory?")
    large = [
        at_its_moment("Did autocast save memory?", changed(one, model=changed(one.model, batch=1024)))["saved"]
        for one in (QUESTIONS["Did autocast save memory?"].against, question)
    ]
    assert large[1] < large[0]


@pytest.mark.slow
def test_a_tied_weight_is_one_block():
    before, after = both("How often does a tied weight count?")
    assert before["parameter"] - after["parameter"] == 1000 * 128 * 4


@pytest.mark.slow
def test_no_grad_leaves_parameters_inputs_and_outputs():
    _, after = both("What is left without a graph?")
    assert {name for name, size in after.items() if size} == {"parameter", "input", "output"}
    before, now = peaks("What is left without a graph?")
    assert now < 0.6 * before


def peak_phase(spec: MemorySpec, step: int | None = None) -> str:
    trace = recorded(spec)
    return phase_at(trace, peak_event(trace, step)).name


@pytest.mark.slow
def test_the_peak_moves_with_optimizer_and_batch():
    spec = spec_of("Where is the peak: forward, backward or optimizer step?")
    trace = recorded(spec)
    assert peak_phase(spec) == "optimizer step"
    largest = max(held.bytes for held in map(trace.blocks.__getitem__, range(9)) if held.category == "parameter")
    assert bytes_at(trace, peak_event(trace))["temporary"] >= 2 * largest
    assert peak_phase(changed(spec, optimizer="AdamW fused")) == "backward"
    assert peak_phase(changed(spec, model=ModelSpec(batch=4096))) == "backward"


@pytest.mark.slow
def test_the_second_peak_is_higher_by_the_state():
    trace = recorded(spec_of("Why is the first step's peak lower?"))
    first, second = (int(live_totals(trace)[peak_event(trace, step)]) for step in (1, 2))
    state = bytes_at(trace, peak_event(trace, 2))
    assert second - first == state["optimizer_state"] == 2 * state["parameter"] + 4 * 24


@pytest.mark.slow
def test_kept_losses_leak_only_without_backward():
    spec = spec_of("Does losses.append(loss) leak the graph?")
    assert [one.more for one in growth(recorded(spec))] == [{"output": 4}] * 4
    saved = bytes_at(recorded(spec), moment_event(recorded(spec), "after forward", 1))["saved"]
    retained = growth(recorded(changed(spec, retain_graph=True)))
    assert [one.more["saved"] for one in retained] == [saved] * 4


def test_a_validation_loop_grows_by_its_graph():
    spec = spec_of("Why does memory grow every step?")
    steps = growth(recorded(spec))
    assert all(one.more == steps[0].more for one in steps)
    assert steps[0].more["saved"] > 1000 * steps[0].more["output"]
    mended = growth(recorded(changed(spec, kept="loss.item() of every step")))
    assert [one.more for one in mended] == [{}] * 4
    without = growth(recorded(changed(spec, model=changed(spec.model, grad_mode="no_grad"))))
    assert [one.more for one in without] == [{"output": 4}] * 4


@pytest.mark.slow
def test_checkpointing_frees_ten_times_as_much_as_the_peak_drops():
    question = "What does checkpointing really free?"
    before, after = peaks(question)
    assert 2 / 3 * before < after < 0.75 * before
    a, b = recorded(QUESTIONS[question].against), recorded(spec_of(question))
    saved = [bytes_at(one, moment_event(one, "after forward", 1))["saved"] for one in (a, b)]
    assert saved[0] > 10 * saved[1]
    at_peak = bytes_at(b, peak_event(b))
    assert at_peak["gradient"] > at_peak["recomputed"] > 0
    assert recomputed_peak(b) >= at_peak["recomputed"]
    assert bytes_at(a, peak_event(a))["gradient"] < 0.1 * at_peak["gradient"]


def test_a_fused_step_needs_no_temporaries():
    before, after = peaks("What does AdamW need while it steps?")
    assert 1.8 * 64 * 64 * 4 <= before - after <= 2.2 * 64 * 64 * 4


@pytest.mark.slow
def test_what_is_saved_last_goes_first():
    spec = spec_of("How does backward give memory back?")
    trace = recorded(spec)
    saved = lives_of_saved(trace)
    assert len(saved) == 12
    *inner, last = (died for _, died in saved)
    assert inner == sorted(inner, reverse=True)
    assert last > moment_event(trace, "after backward", 1), "the model's output, which the loop still holds"


def lives_of_saved(trace: MemoryTrace) -> list[tuple[int, int]]:
    """(born, died) of every saved block in order of birth."""
    blocks = trace.blocks
    rows = (blocks.categories == CATEGORIES.index("saved")).nonzero()[0].tolist()
    return [(int(blocks.births[row]), int(blocks.deaths[row])) for row in rows]


@pytest.mark.slow
def test_retained_graphs_go_with_the_step():
    question = "When does retain_graph let go?"
    a, b = recorded(QUESTIONS[question].against), recorded(spec_of(question))
    ends = [int(live_totals(one)[moment_event(one, "end of step", 1)]) for one in (a, b)]
    assert ends[0] == ends[1]
    gradients = bytes_at(b, moment_event(b, "after backward", 1))["gradient"]
    before, after = peaks(question)
    assert 0.8 * gradients < after - before <= gradients
    freed = change(b, moment_event(b, "after backward", 1), moment_event(b, "end of step", 1)).bytes["saved"]
    assert freed == -bytes_at(b, moment_event(b, "after forward", 1))["saved"]
    assert Gpt() == spec_of(question).model.architecture
