"""The questions of the memory ledger."""

from __future__ import annotations

from typing import Any

from engine.memory.spec import MemorySpec
from engine.models.spec import Gpt, LinearStack, ModelSpec
from pages.memory.memory_ledger_controls import MOMENT, STEP, settings_of
from pages.memory.memory_ledger_view import GROUPED_BY
from pages.shared.presets import Preset

STACK = ModelSpec(architecture=LinearStack(layers=12, width=256), batch=64)
CHECKPOINTED = ModelSpec(architecture=STACK.architecture, batch=64, checkpoint="each_block")
GPT = ModelSpec(architecture=Gpt())
BY_CATEGORY, BY_MODULE = "category, then module", "module, then category"


def _asked(
    question: str,
    spec: MemorySpec,
    prediction: str,
    notice: str,
    *,
    moment: str,
    step: int = 1,
    levels: str = BY_CATEGORY,
    against: MemorySpec | None = None,
) -> Preset:
    page: dict[str, Any] = {MOMENT: moment, STEP: str(step), GROUPED_BY: levels}
    return Preset(question, prediction, notice, spec.model, settings_of(spec, **page), against)


PRESETS = (
    _asked(
        "Why did memory not drop?",
        MemorySpec(model=CHECKPOINTED, steps=1),
        "Twelve blocks of Linear + ReLU, each checkpointed; A is the same without. Predict the share of what is saved "
        "for backward that checkpointing frees.",
        "Less than one percent. A block of Linear + ReLU saves one tensor, the output of its ReLU, and that is the "
        "next block's input, which a checkpoint has to keep. Only the last block's output goes. And every checkpoint "
        "keeps a new block, the state of the random generator (5,056 bytes): in total, live bytes even rose by the "
        "twelve states.",
        moment="after forward",
        against=MemorySpec(model=STACK, steps=1),
    ),
    _asked(
        "Which layer keeps the most of a GPT block?",
        MemorySpec(model=GPT, steps=1),
        "Attention, the MLP, two layer norms. Predict which of them keeps most for backward, right after forward.",
        "The MLP: it is four times as wide as everything else, and both the input and the output of its GELU are kept. "
        "Turn *attention* to explicit: its scores are kept then, and attention overtakes each single layer of the MLP. "
        "A sequence twice as long has four times as many scores.",
        moment="after forward",
        levels=BY_MODULE,
    ),
    _asked(
        "What does AdamW cost beside SGD?",
        MemorySpec(model=STACK, optimizer="AdamW"),
        "A is SGD. Predict how many bytes more AdamW holds at the end of a step, in sizes of the model.",
        "Twice the parameters: `exp_avg` and `exp_avg_sq` of every one, and 4 bytes for each tensor's step counter. "
        "They come in the first `step()` and stay: look at step 1 *after backward*, they are not there yet.",
        moment="end of step",
        step=2,
        against=MemorySpec(model=STACK, optimizer="SGD"),
    ),
    _asked(
        "Why does zero_grad(set_to_none=False) hold more?",
        MemorySpec(model=STACK, optimizer="SGD", zero_grad="fill with zeros"),
        "At the end of the step gradients are filled with zeros; A sets them to None. Predict the difference.",
        "Exactly the parameters' bytes: zeros take as much memory as a gradient. They also stay through the next "
        "forward, so what backward needs comes on top of them. *never* holds the very same bytes.",
        moment="end of step",
        step=2,
        against=MemorySpec(model=STACK, optimizer="SGD"),
    ),
    _asked(
        "What does retain_graph keep?",
        MemorySpec(model=GPT, optimizer="SGD", steps=1, retain_graph=True),
        "backward has run; A called it without retain_graph. Predict what is saved for backward now.",
        "All of it, to the byte as before backward; in A nothing is left. With the gradients that are there now, "
        "more is alive than after forward. When the step ends the loop's last reference to the loss goes, and the "
        "graph too.",
        moment="after backward",
        against=MemorySpec(model=GPT, optimizer="SGD", steps=1),
    ),
    _asked(
        "Did autocast save memory?",
        MemorySpec(model=ModelSpec(autocast="bfloat16"), optimizer="SGD", steps=1),
        "bfloat16 has half the bytes; A is float32. Predict what a small MLP saves for backward under autocast.",
        "Four times as much. Weights stay float32 and each is cast: the copy is a block of its own, and backward needs "
        "it. With a batch of 4 the weights are much larger than the activations that got smaller. Raise *batch*.",
        moment="after forward",
        against=MemorySpec(model=ModelSpec(), optimizer="SGD", steps=1),
    ),
    _asked(
        "How often does a tied weight count?",
        MemorySpec(model=GPT, optimizer="SGD", steps=1),
        "The head of this GPT uses the weight of its token embedding; in A it has its own. Predict the difference in "
        "parameters.",
        "One block of 1000 x 128 x 4 = 512,000 bytes less. The ledger counts storages, so a tied weight is one block "
        "with one gradient, however many modules use it; a view would be one more holder and no more bytes.",
        moment="after forward",
        against=MemorySpec(model=ModelSpec(architecture=Gpt(tie_weights=False)), optimizer="SGD", steps=1),
    ),
    _asked(
        "What is left without a graph?",
        MemorySpec(model=ModelSpec(architecture=Gpt(), grad_mode="no_grad"), optimizer="none", steps=1, backward=False),
        "The same forward under no_grad; A records a graph. Predict what is alive after forward beside parameters, "
        "inputs and outputs.",
        "Nothing: every intermediate went as soon as the next operation had read it, and nothing is saved. Look at "
        "*the peak*: it is what one block computes with at a time, not the sum over all layers; the model's output is "
        "not there yet.",
        moment="after forward",
        against=MemorySpec(model=GPT, optimizer="none", steps=1, backward=False),
    ),
)
