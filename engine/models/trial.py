"""One forward on device="meta": what a model keeps for backward, block by block, without allocating any of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from engine.models.architecture import AnyArchitecture, Chain, ConvNet, Gpt, LinearStack, Mlp, Recurrent, TiedLoop
from engine.models.loss import model_loss
from engine.models.modules import module_for
from engine.models.spec import ModelSpec, block_count

TRIAL_BLOCKS = 3  # the first, one to repeat, the last
TRIAL_STEPS = 4  # twice this is measured too: bytes grow by the same amount per step
TRIAL_CYCLE = 3  # functions that a mixed chain takes in turn


@dataclass
class Trial:
    """Bytes one forward keeps for backward, by block, storages counted once and parameters left out."""

    outside_bytes: int = 0
    block_bytes: list[int] = field(default_factory=list)
    input_bytes: list[int] = field(default_factory=list)
    handed_on_bytes: list[int] = field(default_factory=list)
    """Of block_bytes, what is saved again after the block: checkpointing the block does not drop it."""
    output_bytes: int = 0
    largest_bytes: int = 0

    @property
    def saved_bytes(self) -> int:
        """Everything, without checkpointing."""
        return self.outside_bytes + sum(self.block_bytes)


def measure_trial(spec: ModelSpec) -> Trial:
    """One forward and loss on meta, of a shorter model where blocks or time steps repeat, scaled to the full length."""
    a = spec.architecture
    if isinstance(a, Recurrent) and a.steps > 2 * TRIAL_STEPS:
        few = _forward_on_meta(spec, msgspec.structs.replace(a, steps=TRIAL_STEPS, layers=min(a.layers, TRIAL_BLOCKS)))
        more = _forward_on_meta(
            spec, msgspec.structs.replace(a, steps=2 * TRIAL_STEPS, layers=min(a.layers, TRIAL_BLOCKS))
        )
        trial = _extend_time(few, more, (a.steps - TRIAL_STEPS) / TRIAL_STEPS)
    elif isinstance(a, Chain) and a.operations > 2 * TRIAL_CYCLE:
        short = TRIAL_CYCLE + a.operations % TRIAL_CYCLE  # ends with the same function
        few, more = (
            _forward_on_meta(spec, msgspec.structs.replace(a, operations=short + more)) for more in (0, TRIAL_CYCLE)
        )
        trial = _extend_time(few, more, (a.operations - short) / TRIAL_CYCLE)
    else:
        trial = _forward_on_meta(spec, _shortened(a))
    missing = block_count(a) - len(trial.block_bytes)
    if missing > 0 and trial.block_bytes:
        trial.block_bytes[1:1] = [trial.block_bytes[1]] * missing
        trial.input_bytes[1:1] = [trial.input_bytes[1]] * missing
        trial.handed_on_bytes[1:1] = [trial.handed_on_bytes[1]] * missing
    return trial


def _shortened(a: AnyArchitecture) -> AnyArchitecture:
    few = min(block_count(a), TRIAL_BLOCKS)
    if isinstance(a, Mlp):
        return msgspec.structs.replace(a, layers=few, depth=few)
    if isinstance(a, LinearStack | ConvNet | Gpt | Recurrent):
        return msgspec.structs.replace(a, layers=few)
    return msgspec.structs.replace(a, steps=few) if isinstance(a, TiedLoop) else a


def _extend_time(few: Trial, more: Trial, times: float) -> Trial:
    def further(a: int, b: int) -> int:
        return int(a + times * (b - a))

    return Trial(
        further(few.outside_bytes, more.outside_bytes),
        [further(a, b) for a, b in zip(few.block_bytes, more.block_bytes, strict=True)],
        [further(a, b) for a, b in zip(few.input_bytes, more.input_bytes, strict=True)],
        [further(a, b) for a, b in zip(few.handed_on_bytes, more.handed_on_bytes, strict=True)],
        further(few.output_bytes, more.output_bytes),
        further(few.largest_bytes, more.largest_bytes),
    )


def _forward_on_meta(spec: ModelSpec, architecture: AnyArchitecture) -> Trial:
    with torch.device("meta"):
        model = module_for(architecture).to(getattr(torch, spec.dtype)).train(spec.train)
        inputs: dict[str, torch.Tensor] = model.example_inputs(spec.batch)  # type: ignore[operator]
        target = model.example_target(spec.batch) if spec.loss == "cross_entropy" else None  # type: ignore[operator]
        inputs = {k: v.to(getattr(torch, spec.dtype)) if v.is_floating_point() else v for k, v in inputs.items()}
        counter = _Counter(model)
        counter.follow_blocks(model)
        with _AsOnDevice(spec), torch.autograd.graph.saved_tensors_hooks(counter.pack, lambda x: x):
            outputs = model(**inputs)
            model_loss(spec, outputs, target)
    counter.trial.output_bytes = sum(x.untyped_storage().nbytes() for x in _tensors(outputs))
    return counter.trial


def _tensors(outputs: Any) -> list[torch.Tensor]:
    return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs.values())


class _Counter:
    """Counts each storage once, for the block that saved it first."""

    def __init__(self, model: nn.Module) -> None:
        self.trial = Trial()
        self.block = -1
        # Holding the storages keeps their identities distinct.
        self.seen = {id(s): s for p in model.parameters() for s in [p.untyped_storage()]}
        self.first_saved_by: dict[int, int] = {}

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if id(storage) not in self.seen:
            self.seen[id(storage)] = storage
            self.first_saved_by[id(storage)] = self.block
            self.trial.largest_bytes = max(self.trial.largest_bytes, storage.nbytes())
            if self.block < 0:
                self.trial.outside_bytes += storage.nbytes()
            else:
                self.trial.block_bytes[self.block] += storage.nbytes()
        elif (block := self.first_saved_by.get(id(storage), -1)) not in (-1, self.block):
            self.trial.handed_on_bytes[block] += storage.nbytes()
            self.first_saved_by[id(storage)] = -1
        return tensor

    def follow_blocks(self, model: nn.Module) -> None:
        """Replace `model.run_blocks` by the same loop that tells which block runs."""
        blocks: list[Callable[[torch.Tensor], torch.Tensor]] = list(getattr(model, "blocks", ()))
        self.trial.block_bytes = [0] * len(blocks)
        self.trial.handed_on_bytes = [0] * len(blocks)

        def run_blocks(x: torch.Tensor) -> torch.Tensor:
            for self.block, block in enumerate(blocks):
                self.trial.input_bytes.append(x.untyped_storage().nbytes())
                x = block(x)
            self.block = -1
            return x

        model.run_blocks = run_blocks  # type: ignore[assignment]


class _AsOnDevice(TorchFunctionMode):
    """Keep what the kernels of the device keep, where meta takes another path.

    Attention takes the T x T path there, and each batch_norm a Python decomposition of 2 ms.
    """

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__()
        a = spec.architecture
        dropout = isinstance(a, Gpt) and a.dropout > 0 and spec.train
        self.is_fused = not (dropout and spec.device == "cpu")  # the CPU kernel has no dropout

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is nn.functional.scaled_dot_product_attention and self.is_fused:
            return _KeepsNoScores.apply(*args[:3])  # type: ignore[no-untyped-call]
        if func is nn.functional.batch_norm:
            return _KeepsStatistics.apply(*args[:3], kwargs["training"])  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


class _KeepsNoScores(torch.autograd.Function):
    """Shapes and saved tensors of fused attention: query, key, value, output and one logsumexp per query."""

    @staticmethod
    def forward(ctx: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(query)
        ctx.save_for_backward(query, key, value, out, query.new_empty(query.shape[:-1], dtype=torch.float32))
        return out

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError("a price never runs backward")


class _KeepsStatistics(torch.autograd.Function):
    """Shapes and saved tensors of batch norm; in training also mean and deviation per channel."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, running_mean: torch.Tensor, running_var: torch.Tensor, training: bool
    ) -> torch.Tensor:
        kept = x.new_empty(2, x.shape[1] if training else 0, dtype=torch.promote_types(x.dtype, torch.float32))
        ctx.save_for_backward(x, running_mean, running_var, kept)
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError("a price never runs backward")
