"""Questions of the checkpointing page; what each notice claims is tested."""

from __future__ import annotations

from engine.checkpointing.policy import Policy
from engine.checkpointing.standard import titled
from engine.models.shape import block_count
from engine.models.spec import Gpt, LinearStack, Mlp, ModelSpec, Recurrent
from pages.memory.checkpointing_controls import (
    ACROSS,
    ACROSS_OPTIONS,
    BUDGET_OF,
    SECTION,
    SECTIONS,
    SHARE,
    SHOWN,
    UP,
    UP_OPTIONS,
)
from pages.memory.checkpointing_menu import (
    EACH,
    EVERY_5TH,
    KEEP_MATMULS,
    MATMULS,
    MENU,
    ON_CPU,
    ON_DISK,
    ROOT,
    ROOT_GROUPS,
    TWO,
    menu_values,
)
from pages.shared.presets import Preset

HELD, PEAK = ACROSS_OPTIONS
_, FLOPS, OPERATIONS = UP_OPTIONS
STACK = ModelSpec(architecture=LinearStack(layers=50, width=256), batch=64)
GPT = ModelSpec(architecture=Gpt(layers=6, heads=4, width=128, sequence=64, vocabulary=500))
DROPOUT = ModelSpec(architecture=Mlp(layers=4, depth=4, dropout=0.2), input_requires_grad=True)
PLAIN = ModelSpec(architecture=Mlp(layers=4, depth=4))
GRU = ModelSpec(architecture=Recurrent(cell="gru", steps=12))
KEEP = Policy(kind="selective", keep=MATMULS)


def _asks(
    question: str,
    prediction: str,
    notice: str,
    model: ModelSpec,
    names: tuple[str, ...],
    *,
    own: Policy | None = None,
    across: str = HELD,
    up: str = FLOPS,
) -> Preset:
    """A question of the policies; the reader's own, else the first named, is looked at first."""
    looked_at = own or MENU[names[0]](model)
    assert looked_at is not None
    settings = {SECTION: SECTIONS[0], SHOWN: titled(looked_at, block_count(model.architecture)), ACROSS: across, UP: up}
    return Preset(question, prediction, notice, model=model, settings=settings | menu_values(names, own))


PRESETS: tuple[Preset, ...] = (
    _asks(
        "Why did memory not drop?",
        "A stack of 50 Linear + ReLU, every 5th block checkpointed. Predict how many bytes it frees.",
        "None. A Linear saves its input, a ReLU its *output*, which is the next Linear's input: one tensor per block. "
        "A checkpointed block keeps its input instead, the next one the input it would have kept anyway. The price is "
        "real: a fifth of the forward's FLOPs runs again.",
        STACK,
        (EVERY_5TH, ROOT, EACH),
    ),
    _asks(
        "What do √n segments free?",
        "The same 50 blocks in 7 segments: each keeps its input, the last one everything. Predict the share that is "
        "still held, and how much of the forward runs again.",
        "28 % is held: 6 inputs of segments, and the 8 blocks of the last segment, which runs plainly, for backward "
        "starts there. 42 of 50 blocks run again: 84 % of the forward's FLOPs.",
        STACK,
        (ROOT, TWO, EACH),
    ),
    _asks(
        "Why do √n segments free less than the books say?",
        "Books checkpoint every segment; torch's `checkpoint_sequential` leaves the last one plain. Predict what is "
        "held, and run again, where all 7 runs of blocks are checkpoints.",
        "12 % instead of 28 %: the inputs of 6 groups, the first one's is the model's own. The last 8 blocks are what "
        "made the difference. All 50 blocks run again, 100 % of the forward's FLOPs instead of 84 %: the last segment "
        "is left plain because backward would run it again at once.",
        STACK,
        (ROOT_GROUPS, ROOT),
    ),
    _asks(
        "Held fell by 72 %: why does the peak not follow?",
        "√n segments hold 28 % of what off holds. Predict the peak of the whole step, forward and backward.",
        "It is as high as off's, and a little more: the peak is reached at the *end* of backward, when nearly all "
        "activations are gone and every parameter has its gradient, 12.5 MiB here. Activations are what a checkpoint "
        "frees, and here they are the small part.",
        STACK,
        (ROOT, EVERY_5TH, EACH),
        across=PEAK,
    ),
    _asks(
        "What does the GPT shape hold?",
        "Six blocks with attention and MLP, each of them checkpointed. Predict the share of bytes still held.",
        "8 %: a block saves more than a dozen tensors, and its checkpoint keeps one, its input. Blocks with several "
        "tensors inside are where checkpoints pay. The peak falls less, by 46 %: one block's tensors come back "
        "while its backward runs, and the gradients are there as before.",
        GPT,
        (EACH, ROOT, EVERY_5TH),
    ),
    _asks(
        "Keep only the matmuls: what does it cost?",
        "Selective checkpointing keeps the outputs of matrix products and attention and runs the rest again. Predict "
        "the FLOPs that run again, and the operations.",
        "0 FLOPs: the counter counts matrix products, and none runs again. Yet many operations do, GELU, layer norms, "
        "additions, and they take time that FLOPs do not tell. It holds about two thirds of what off holds, each "
        "block alone 8 %.",
        GPT,
        (KEEP_MATMULS, EACH),
        up=OPERATIONS,
    ),
    _asks(
        "Can a checkpoint hold more than off?",
        "The Linear + ReLU stack, each block checkpointed, but the Linear's output kept. Predict the bytes.",
        "Twice as many as off: off never saved the Linear's output, because ReLU's backward needs its own output only. "
        "The checkpoint keeps the input of every block *and* what it was told to keep.",
        STACK,
        (KEEP_MATMULS, EACH),
    ),
    _asks(
        "save_on_cpu on a CPU: does it free anything?",
        "save_on_cpu moves saved tensors to the CPU, a file moves them out of memory. Predict what both hold here.",
        "save_on_cpu frees nothing: the tensors are on the CPU already, `.to('cpu')` returns the same storage. Files "
        "hold nothing in memory and move as many bytes as there are saved tensors, with time for writing and reading "
        "and no FLOP run again. On a GPU save_on_cpu is the one that frees.",
        GPT,
        (ON_CPU, ON_DISK),
    ),
    _asks(
        "Selective on a GRU: are the gradients right?",
        "Each block checkpointed, matrix products kept. Nothing raises, nothing warns. Predict the gradients.",
        "They are wrong, with the loss right. torch's own GRU cell writes in place into the very tensors that "
        "were to be kept, through views whose version counters do not tell. Set *cell* to lstm: there PyTorch notices, "
        "and raises.",
        GRU,
        (EACH,),
        own=KEEP,
    ),
    Preset(
        "Does dropout come out the same when run again?",
        "A block with dropout is checkpointed and runs twice. Predict which of these give the gradients of off.",
        "With `preserve_rng_state=True` the second run draws the mask of the first, and the gradients are those of off "
        "bit for bit. Without it backward goes through another mask: the loss is right, the gradients are not, and "
        "nothing warns (pytorch/pytorch#14253).",
        model=DROPOUT,
        settings={SECTION: SECTIONS[2]},
    ),
    Preset(
        "Reentrant: why is the first layer's grad None?",
        "The input requires no gradient, as ever in training. Predict which parameters get one, reentrant or not.",
        "With `use_reentrant=True` those of the blocks get none: the checkpoint is an autograd Function, and none of "
        "the tensors passed to it requires a gradient. PyTorch only warns (pytorch/pytorch#7617). An input that "
        "requires one heals it, and so does `use_reentrant=False`.",
        model=PLAIN,
        settings={SECTION: SECTIONS[2]},
    ),
    Preset(
        "Which policy under a quarter of the bytes?",
        "Six GPT blocks may hold a quarter of what off holds. Predict whether √n segments fit, and what fits for the "
        "fewest FLOPs run again.",
        "√n segments hold over half: too much. The search finds one that fits and is forecast to run again less than "
        "each block does; counted, it holds what was forecast, and the gradients are those of off.",
        model=GPT,
        settings={SECTION: SECTIONS[1], SHARE: 25, BUDGET_OF: HELD},
    ),
)
