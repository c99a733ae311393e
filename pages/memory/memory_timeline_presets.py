"""The questions of the memory timeline."""

from __future__ import annotations

from typing import Any

from engine.memory.spec import MemorySpec
from engine.models.spec import Gpt, LinearStack, ModelSpec
from pages.memory.memory_ledger_controls import settings_of
from pages.memory.memory_timeline_controls import LOOK, PEAK, PICTURE, PICTURES, STRETCH, WHOLE
from pages.shared.presets import Preset

STACK = LinearStack(layers=12, width=256)
GPT = ModelSpec(architecture=Gpt(), batch=8)
CHECKPOINTED = ModelSpec(architecture=Gpt(), batch=8, checkpoint="each_block")


def _asked(
    question: str,
    spec: MemorySpec,
    prediction: str,
    notice: str,
    *,
    look: str = PEAK,
    stretch: str = WHOLE,
    picture: str = PICTURES[0],
    against: MemorySpec | None = None,
) -> Preset:
    page: dict[str, Any] = {PICTURE: picture, STRETCH: stretch, LOOK: look}
    return Preset(question, prediction, notice, spec.model, settings_of(spec, **page), against)


PRESETS = (
    _asked(
        "Where is the peak: forward, backward or optimizer step?",
        MemorySpec(),
        "A small MLP with AdamW and a batch of 4. Predict the phase with the most live bytes.",
        "The optimizer step: the activations are small, and AdamW works with temporaries as large as the largest "
        "weight, twice at once, on top of parameters, gradients and its own state. Choose *AdamW fused* or raise "
        "*batch* to 4096, and the peak moves into backward.",
    ),
    _asked(
        "Why is the first step's peak lower?",
        MemorySpec(model=ModelSpec(architecture=STACK, batch=1024)),
        "Two equal steps of AdamW. Predict how much higher the second peak is, in sizes of the model.",
        "By the optimizer's state, twice the parameters and 4 bytes for each tensor: it is born in the first `step()`, "
        "after the first peak. A run that fits in memory for one step may fail in the second.",
        look="the peak, step 2",
    ),
    _asked(
        "Does losses.append(loss) leak the graph?",
        MemorySpec(model=ModelSpec(architecture=Gpt()), optimizer="SGD", steps=4, kept="the loss of every step"),
        "The loop keeps every loss tensor, as many a training log does. Predict how many bytes each step adds.",
        "4 bytes: the loss itself. `backward()` has freed what the graph saved, so only its nodes stay, which are no "
        "tensor memory. Now switch *retain_graph* on, or *call backward* off as in validation without no_grad: every "
        "step adds all that was saved.",
        look="end of step, step 4",
    ),
    _asked(
        "Why does memory grow every step?",
        MemorySpec(backward=False, optimizer="none", steps=4, kept="the loss of every step"),
        "A validation loop that sums up losses and never calls backward. Predict the shape of the picture.",
        "A staircase: every step adds what its graph saved for a backward that never comes, and the loss that keeps "
        "it. Keep *loss.item()* instead, and every step ends where the one before did. With *grad_mode* no_grad a step "
        "adds the 4 bytes of its loss.",
        look="end of step, step 4",
    ),
    _asked(
        "What does checkpointing really free?",
        MemorySpec(model=CHECKPOINTED, optimizer="SGD", steps=1),
        "Every GPT block is checkpointed; A is the same without. Predict how much lower the peak is, if ten times "
        "less is saved after forward.",
        "By less than a third. What is saved no longer matters at the new peak: there are the gradients that "
        "backward has made by then, the logits, and one block computed again (striped). The peak has moved from the "
        "beginning of backward to its end.",
        against=MemorySpec(model=GPT, optimizer="SGD", steps=1),
    ),
    _asked(
        "What does AdamW need while it steps?",
        MemorySpec(optimizer="AdamW fused", steps=1),
        "One fused kernel updates a parameter; A is AdamW as it comes. Predict the difference of the peaks.",
        "About two of the largest weights: the plain one writes its square root and its quotient into new tensors, the "
        "fused one computes both in registers. It needs no more than what stays anyway.",
        look="the peak, step 1",
        against=MemorySpec(optimizer="AdamW", steps=1),
    ),
    _asked(
        "How does backward give memory back?",
        MemorySpec(model=ModelSpec(architecture=STACK, batch=256), optimizer="SGD", steps=1),
        "Each saved block is drawn from birth to death. Predict the order in which backward frees them.",
        "Last saved, first freed: the blocks of forward form a pyramid, whose steps down are those of backward, "
        "while the gradients climb. The last block's output stays: it is the model's output too, and the loop still "
        "holds it.",
        picture=PICTURES[1],
        look="after forward, step 1",
    ),
    _asked(
        "When does retain_graph let go?",
        MemorySpec(model=GPT, optimizer="SGD", retain_graph=True),
        "backward(retain_graph=True), and nothing is kept by the loop; A frees the graph. Predict when what was saved "
        "goes, and whether the second step begins higher.",
        "When the step ends and the last reference to the loss goes: the second step begins where A's does. But "
        "gradients now lie on top of everything saved, and the peak is higher by nearly all of them.",
        look="after backward, step 1",
        against=MemorySpec(model=GPT, optimizer="SGD"),
    ),
)
