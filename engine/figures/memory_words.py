"""What pictures and tables of memory say about a block: what it is, what keeps it alive, what would free it."""

from __future__ import annotations

from engine.figures.palette import meaning
from engine.figures.units import format_bytes, format_count, format_exact_bytes, format_shape, shorten
from engine.memory.blocks import Category, Held
from engine.memory.ledger import phase_at
from engine.memory.spec import MemorySpec, MemoryTrace, Phase

HOLDERS_TOLD = 4


def phase_words(phase: Phase | None) -> str:
    """ "backward, step 1"; the building of model and inputs is step 0."""
    if phase is None:
        return "between two phases"
    return phase.name if phase.step == 0 else f"{phase.name}, step {phase.step}"


def category_words(category: str) -> str:
    """The category as legends name it."""
    return meaning(category).label


def source_words(held: Held) -> str:
    """ "gpt.py:52  x = self.linear(x)", "" where no line was seen."""
    one = held.source
    return "" if one is None else f"{one.file}:{one.line} {one.text}"


def layout_words(held: Held) -> str:
    """ "4×64 float32", or that no tensor was seen in the block."""
    if held.shape is None:
        return "no tensor seen in it"
    return f"{format_shape(held.shape)} {held.dtype}"


def counts_words(held: Held, event: int | None = None) -> str:
    """The category it counts as after `event`; without one, what it counts as over its life."""
    if event is not None:
        return category_words(held.category_at(event))
    words = category_words(held.category)
    if held.afterwards is None:
        return words
    return f"{words}, from event {format_count(held.released)} on {category_words(held.afterwards)}"


def block_words(trace: MemoryTrace, index: int, event: int | None = None) -> str:
    """Everything about a block in a few lines, for hovering."""
    held = trace.blocks[index]
    lines = [
        f"{shorten(held.name, 80) or 'no name'}",
        f"{format_bytes(held.bytes)} ({format_exact_bytes(held.bytes)}), {counts_words(held, event)}",
        layout_words(held),
        f"made by {held.operation or 'an operation nobody saw'}" + (f" in {held.module}" if held.module else ""),
        shorten(source_words(held), 90),
        life_words(trace, held),
    ]
    return "\n".join(line for line in lines if line)


def life_words(trace: MemoryTrace, held: Held) -> str:
    """When it was born and when it went."""
    born = f"born in {phase_words(phase_at(trace, held.born))} (event {format_count(held.born)})"
    if held.died < 0:
        return f"{born}, outlives the run"
    went = phase_words(phase_at(trace, held.died))
    return f"{born}, gone in {went} (event {format_count(held.died)})"


def keeps_words(spec: MemorySpec, trace: MemoryTrace, held: Held, event: int) -> str:
    """One sentence: what keeps the block alive after `event`, until when, and what would free it."""
    until = "to the end of the run" if held.died < 0 else f"until {phase_words(phase_at(trace, held.died))}"
    if held.category_at(event) != held.category:
        keeper = "its saved slots are freed; " + (
            "the loop's own variable keeps it" if held.category_at(event) == "output" else "something else refers to it"
        )
        return f"{keeper.capitalize()} {until}; {_remedy(spec, held, held.category_at(event))}."
    holders = ", ".join(f"`{shorten(one, 60)}`" for one in held.holders[:HOLDERS_TOLD])
    if len(held.holders) > HOLDERS_TOLD:
        holders += f" and {len(held.holders) - HOLDERS_TOLD} more"
    return f"{_keeper(held, holders)} {until}; {_remedy(spec, held, held.category)}."


def _keeper(held: Held, holders: str) -> str:
    """Who refers to it."""
    if held.category == "temporary":
        return f"Kept by {holders}" if holders else "Held only by the running computation,"
    if not holders:
        return f"Kept as {category_words(held.category)}"
    return f"Kept by {holders}"


def _remedy(spec: MemorySpec, held: Held, category: Category) -> str:
    remedies: dict[Category, str] = {
        "parameter": "no toggle frees a parameter: a smaller model or `dtype` bfloat16 makes it smaller",
        "buffer": "a buffer lives as long as its module",
        "input": "the loop refers to its batch: a smaller `batch` makes it smaller",
        "saved": _saved_remedy(spec, held),
        "recomputed": "the price of `checkpoint`: one block's forward lives again while its backward runs",
        "output": _kept_remedy(spec, held),
        "gradient": _gradient_remedy(spec),
        "optimizer_state": f"it lives as long as {spec.optimizer}: `optimizer` SGD keeps no state",
        "temporary": "it goes with the last reference, no toggle is needed",
    }
    return remedies[category]


def _saved_remedy(spec: MemorySpec, held: Held) -> str:
    if held.died < 0 and spec.kept not in ("nothing", "loss.item() of every step"):
        return f"the graph lives because the loop keeps {spec.kept}: set `kept` to nothing, or to loss.item()"
    if spec.retain_graph:
        return "backward would free it, `retain_graph` forbids it"
    if not spec.backward:
        return "`backward` would free it, `no_grad` would never save it"
    if any("random number state" in one or one.endswith("fwd_cpu_state") for one in held.holders):
        return "backward frees it; `preserve_rng_state` off would not save it"
    if any(one.startswith("checkpoint input") for one in held.holders):
        return "backward frees it; a checkpoint has to keep what its block was given"
    if spec.model.autocast != "off" and held.operation == "aten::_to_copy":
        return "backward frees it; it is a copy that `autocast` made: off makes none"
    if spec.model.checkpoint == "off" and held.module.startswith("blocks."):
        return (
            "backward frees it; `checkpoint` of its block would compute it again, unless it is what the next block is "
            "given"
        )
    return "backward frees it; `no_grad` would never save it"


def _kept_remedy(spec: MemorySpec, held: Held) -> str:
    if spec.kept == "nothing":
        return "the loop's own variable goes when the step ends"
    return f"the loop keeps {spec.kept}: set `kept` to nothing"


def _gradient_remedy(spec: MemorySpec) -> str:
    if spec.zero_grad == "set_to_none":
        return "`zero_grad()` sets `.grad` to None and frees it"
    if spec.zero_grad == "never":
        return "nobody calls `zero_grad`: set it to `set_to_none`"
    return "`zero_grad(set_to_none=False)` fills it with zeros and keeps its memory: set it to `set_to_none`"
