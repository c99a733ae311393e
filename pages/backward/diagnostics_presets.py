"""Questions of the diagnostics page; what each notice claims is tested."""

from __future__ import annotations

from engine.diagnostics.spec import DiagnosisSpec, Fault, ProgramSpec
from engine.models.spec import Gpt, LinearStack, Mlp, ModelSpec
from pages.backward.diagnostics_controls import TENSOR, AnySpec, values_of
from pages.shared.presets import Preset

SPECS: dict[str, AnySpec] = {}
"""Question -> what it is asked of."""


def _asks(question: str, prediction: str, notice: str, spec: AnySpec, tensor: str) -> Preset:
    """`tensor` is the one whose trace is shown first."""
    SPECS[question] = spec
    model = spec.model if isinstance(spec, DiagnosisSpec) else None
    return Preset(question, prediction, notice, model=model, settings=values_of(spec) | {TENSOR: tensor})


PRESETS = (
    _asks(
        "Why does where() not keep the NaN out?",
        "`where(x > 0, x.sqrt(), x)` at x = -4 takes the other branch, and y is finite. Predict the gradient of x.",
        "NaN at -4: backward runs through *both* branches, and the gradient of 0 that reaches sqrt is divided by "
        "2 * NaN. The NaN was born in the forward, at `sqrt(-4)`, and masked there. Switch *mended* on: a second "
        "`where` inside feeds sqrt a 1, and the gradients are 1 and 1/6.",
        ProgramSpec(program="where_nan"),
        "x",
    ),
    _asks(
        "Why is .grad None after .double()?",
        "`torch.ones(2, requires_grad=True).double()`: predict `is_leaf`, and what `.grad` holds after backward.",
        "It is no leaf: the cast is an operation, ToCopyBackward0 made it. A gradient passed through it (norm 1.41), "
        "and it stayed None because only leaves keep one. *mended* casts first and requires the gradient then.",
        ProgramSpec(program="to_non_leaf"),
        "a",
    ),
    _asks(
        "Where was the path cut?",
        "The encoder trains no more; nothing raised. Predict which line is to blame, then read the last step.",
        "`code.detach()`: the last tensor with a grad_fn was the tanh's, and what detach returned requires none. "
        "encoder.weight and encoder.bias have no path from the loss, and an optimizer skips them silently.",
        ProgramSpec(program="detached_middle"),
        "encoder.weight",
    ),
    _asks(
        "Which layers would stall DDP?",
        "The MLP has 4 layers and runs 2. Predict which parameters DistributedDataParallel waits for in vain.",
        "layers.2 and layers.3, four parameters: no operation took them. One process does not care and leaves .grad "
        "None; DDP's second step raises unless `find_unused_parameters=True` (pytorch/pytorch#68862).",
        DiagnosisSpec(model=ModelSpec(architecture=Mlp(layers=4, depth=2))),
        "layers.2.linear.weight",
    ),
    _asks(
        "Why is every gradient exactly 0?",
        "Every bias of a stack of Linear and ReLU is set to -1e4. Predict which gradients are 0, and why.",
        "All of them: each ReLU is closed, the last one passes on nothing but zeros, and every unit is dead for "
        "every sample. The trace names ReluBackward0 of the last block. No error, no NaN, no learning.",
        DiagnosisSpec(model=ModelSpec(architecture=LinearStack(layers=4, width=32)), fault=Fault(kind="bias of -1e4")),
        "blocks.0.linear.weight",
    ),
    _asks(
        "Which layer overflows first?",
        "All weights of an MLP times 1e20. Predict the first operation whose result is larger than float32's 3.4e38.",
        "`addmm` of layers.1.linear: the first layer's outputs are near 1e20, the second multiplies by another 1e20. "
        "Anomaly mode names a node of *backward*, AddmmBackward0: it looks there only, after the damage.",
        DiagnosisSpec(fault=Fault(kind="scale weights", exponent=20)),
        "layers.1.linear.weight",
    ),
    _asks(
        "What did the mask's -inf do?",
        "A row of scores is masked entirely with -inf, then softmax. Predict the two births of non-finite values.",
        "The -inf is written down on purpose (masked_fill) and harmless in the first row; in the second, softmax has "
        "nothing left to divide by: NaN. That one is the origin, not the -inf.",
        ProgramSpec(program="masked_row"),
        "weights",
    ),
    _asks(
        "Why does a reentrant checkpoint lose gradients?",
        "A GPT whose blocks are checkpointed with use_reentrant=True; its inputs are integer ids. Predict whether "
        "the blocks get gradients.",
        "They do here: the embedding before the first block requires a gradient, so the blocks' input does. Choose the "
        "program *None: reentrant checkpoint*: there the input requires none, the forward runs under no_grad inside of "
        "CheckpointFunction, and PyTorch only warns.",
        DiagnosisSpec(
            model=ModelSpec(
                architecture=Gpt(layers=2, heads=2, width=16, sequence=8, vocabulary=50),
                checkpoint="each_block",
                use_reentrant=True,
            )
        ),
        "blocks.0.attention.project.weight",
    ),
    _asks(
        "How often does a hook on a tied weight run?",
        "One weight is used twice. Predict how often its tensor hook is called, and whether .grad is there by then.",
        "Once, with the sum of both uses, [[8, 12], [8, 12]], and `.grad` still None; the post-accumulate hook runs "
        "after it and sees `.grad`. See the program's own notes and the tab *Hooks*.",
        ProgramSpec(program="hook_on_tied_weight"),
        "emb",
    ),
)
