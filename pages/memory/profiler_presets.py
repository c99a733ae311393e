"""Questions of the profiler page; what each notice claims is tested."""

from __future__ import annotations

import msgspec

from engine.models.spec import LinearStack, Mlp, ModelSpec
from engine.profiler.spec import ARTICLE, MEMORY_ROW, ProfileSpec, ProfilingCostSpec
from pages.memory.profiler_controls import COST, FLOW, LOG, MEMORY, TIME, VIEW, key_of
from pages.memory.profiler_row import ROW
from pages.shared.presets import Preset

ISSUE = ProfileSpec(program="pytorch#70028", model=ModelSpec(), threads=2)
WITHOUT = ProfileSpec(model=msgspec.structs.replace(ARTICLE, checkpoint="off"))
STEP = ProfileSpec(part="training step", model=ModelSpec(architecture=Mlp()))
MM_BACKWARD = "autograd::engine::evaluate_function: MmBackward0"
SPECS: dict[str, ProfileSpec | ProfilingCostSpec] = {}
"""Question -> what it is asked of."""


def _asks(
    question: str,
    prediction: str,
    notice: str,
    spec: ProfileSpec,
    row: str,
    view: str = MEMORY,
    against: ProfileSpec | None = None,
) -> Preset:
    SPECS[question] = spec
    names = (
        "program",
        "part",
        "optimizer",
        "record_shapes",
        "group_by_input_shape",
        "with_stack",
        "warm_up",
        "threads",
    )
    settings = {key_of(name): getattr(spec, name) for name in names} | {VIEW: view, ROW: row}
    settings |= {LOG: spec.program == "the model"} if view == MEMORY else {}
    return Preset(question, prediction, notice, model=spec.model, settings=settings, against=against)


def _asks_cost(question: str, prediction: str, notice: str, spec: ProfilingCostSpec) -> Preset:
    SPECS[question] = spec
    return Preset(question, prediction, notice, model=spec.model, settings={VIEW: COST})


PRESETS = (
    _asks(
        "Why is this row negative?",
        "`G = (x @ x).relu().sum(); G.backward()` with x of 256 x 256, whose products take 256 KiB each. Predict which "
        "rows of the table end below 0 (pytorch/pytorch#70028).",
        "Three. `evaluate_function: MmBackward0` frees two blocks of 256 KiB that `aten::threshold_backward` and "
        "`aten::mm` had allocated: its Self Mem is -524 288 B. `aten::sum` frees the 8 B that `aten::empty` gave it to "
        "add up on two threads, and `[memory]` what Python let go of. Negative is no error: it freed what others made.",
        ISSUE,
        MM_BACKWARD,
    ),
    _asks(
        "What is the [memory] row?",
        "The table has a row `[memory]` that no line of the program calls. Predict what its -524 296 B are.",
        "Four frees outside of any operation: x @ x when the expression is done with it, the result of relu and two "
        "scalars when their last reference goes. No operation was running, so torch has no other row for them.",
        ISSUE,
        MEMORY_ROW,
        FLOW,
    ),
    _asks(
        "Do the rows add up?",
        "Add all rows of the last memory column, positive and negative. Predict the sum.",
        "262 144 B: exactly `x.grad`, the one tensor still alive. Each block counts once up and, when freed, once "
        "down, so the sum of Self Mem is always what is alive at the end. CPU Mem does not: it counts a block in "
        "every operation around it.",
        ISSUE,
        "aten::mm",
        FLOW,
    ),
    _asks(
        "Why does aten::linear show memory but self 0?",
        "The article's stack calls `aten::linear` 60 times. Predict its CPU Mem and its Self CPU Mem.",
        "CPU Mem is 240 KiB, Self 0: linear only calls `aten::t` and `aten::addmm`, and addmm allocates all of it. "
        "Self is what an operation allocates by itself; the column before includes those it calls.",
        ProfileSpec(),
        "aten::linear",
    ),
    _asks(
        "Why does a row show more calls than the model has layers?",
        "50 Linear layers, every fifth under a checkpoint. Predict how often `aten::addmm` runs, then look at Time.",
        "60 times: 50 in forward and 10 again inside backward, drawn as *recompute*. Both are the same row of the "
        "table, so its 240 KiB are 50 outputs of 4 KiB and 10 recomputed ones. A checkpoint makes the allocated total "
        "larger, not smaller.",
        ProfileSpec(),
        "aten::addmm",
        TIME,
        WITHOUT,
    ),
    _asks(
        "Which operation allocates most, and did checkpointing help?",
        "Pinned A is the stack without checkpointing. Predict how much its peak differs, at batch size 1.",
        "`aten::mm` allocates 200 MiB of weight gradients, over 99 % of everything, and they stay. Activations are "
        "4 KiB a layer: recomputing ten of 50 layers changes the peak by less than 0.1 %, and upwards: "
        "each checkpoint keeps the RNG state, 5 056 B in the row `[memory]`, and its neighbours keep what it drops.",
        ProfileSpec(),
        "aten::mm",
        MEMORY,
        WITHOUT,
    ),
    _asks(
        "What does row_limit=10 hide?",
        "The article prints ten rows, sorted by Self CPU Mem. Predict how many negative rows are among them, then read "
        "*torch's own text*.",
        "None. The sort is downwards and the table has 31 rows or so: row_limit cuts the negative ones off first. The "
        "ten rows seem to say that nothing is ever freed; the sum over all rows is what is alive.",
        ProfileSpec(),
        MEMORY_ROW,
        MEMORY,
    ),
    _asks(
        "What does an optimizer's first step leave behind?",
        "One AdamW step after backward. Predict which kinds of tensors are still alive, and which is largest.",
        "Two moments for every parameter, together twice the gradients, beside a step counter each. They are allocated "
        "inside `Optimizer.step#AdamW.step` by `aten::zeros_like`'s `aten::empty_strided` or `aten::empty_like`, and "
        "no later step allocates them again.",
        STEP,
        "Optimizer.step#AdamW.step",
        FLOW,
    ),
    _asks_cost(
        "What does profiling itself cost?",
        "Eight small layers run plain and under four settings of the profiler, in turn. Predict which setting costs "
        "most, and whether the times in a profile can be taken for those of a plain run.",
        "Every setting stands right of 1 where the band leaves it out: each operation is noted twice, and with_stack "
        "notes every Python call beside. Short operations pay most, so shares of time shift; compare runs unprofiled.",
        ProfilingCostSpec(model=ModelSpec(architecture=LinearStack(layers=8, width=64))),
    ),
)
