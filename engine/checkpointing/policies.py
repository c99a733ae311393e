"""A policy put on a built model: its blocks run under it, and its saved tensors go where it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from engine import recorded
from engine.checkpointing.on_disk import OnDisk
from engine.checkpointing.policy import Policy
from engine.models.build import Built
from engine.models.shape import block_count
from engine.models.toggles import Step, run_steps, steps_of

OwnHooks = torch.autograd.graph.saved_tensors_hooks
Watch = Callable[[int, Step], Step]
"""(number of a block, the block) -> what runs in its place."""
Keep = Callable[[torch.Tensor], None]


class Applied:
    """A built model under a policy: `hooks` is what moves saved tensors away, None where nothing does.

    `keep` is called with every output that a selective checkpoint keeps instead of running its operation again.
    """

    def __init__(self, built: Built, policy: Policy, folder: Path | None) -> None:
        self.built = built
        self.policy = policy
        self.disk = OnDisk(folder, resident_storages(built)) if folder else None
        self.hooks: OwnHooks | None = OwnHooks(self.disk.pack, self.disk.unpack) if self.disk else None
        if policy.kind == "save_on_cpu":
            self.hooks = torch.autograd.graph.save_on_cpu()
        self.keep: Keep = lambda tensor: None

    def run(self) -> tuple[Any, torch.Tensor]:
        """(outputs, loss) of one forward; its saved tensors go through `hooks`."""
        with self.hooks or nullcontext():
            return self.forward()

    def forward(self) -> tuple[Any, torch.Tensor]:
        """The same without `hooks`, for who puts others in their place."""
        outputs = self.built.forward()
        return outputs, self.built.loss(outputs)


@contextmanager
def applied(built: Built, policy: Policy, watch: Watch | None = None) -> Iterator[Applied]:
    """`built` under `policy` within, as it was after; files of save_on_disk live as long.

    What PyTorch has against the policy (an unknown operation in `keep`) is raised as it says it.
    """
    model = built.model
    before = model.__dict__.pop("run_blocks", None)
    with TemporaryDirectory() if policy.kind == "save_on_disk" else nullcontext("") as folder:
        one = Applied(built, policy, Path(folder) if folder else None)
        has_blocks = block_count(built.spec.architecture) > 0
        if has_blocks and (policy.is_checkpoint or watch is not None or before is not None):
            steps = [(watch or _unwatched)(i, step) for i, step in enumerate(steps_of(model, built.spec))]
            model.run_blocks = _runner(one, steps)  # type: ignore[assignment]
        try:
            yield one
        finally:
            model.__dict__.pop("run_blocks", None)
            if before is not None:
                model.run_blocks = before


def _unwatched(number: int, step: Step) -> Step:
    return step


def _runner(one: Applied, steps: list[Step]) -> Step:
    policy = one.policy
    if policy.kind == "groups":
        return partial(_run_groups, policy, steps)
    if policy.kind == "selective":
        return partial(_run_selective, one, operations_named(policy.keep), steps)
    return partial(run_steps, steps, _AsToggles.of(policy))


class _AsToggles(NamedTuple):
    """The policies that ModelSpec has too, as its fields say them."""

    checkpoint: str
    checkpoint_k: int
    checkpoint_segments: int
    use_reentrant: bool
    preserve_rng_state: bool

    @classmethod
    def of(cls, policy: Policy) -> _AsToggles:
        kind = policy.kind if policy.is_checkpoint else "off"
        return cls(kind, policy.k, policy.segments, policy.use_reentrant, policy.preserve_rng_state)


def _run_groups(policy: Policy, steps: list[Step], x: torch.Tensor) -> torch.Tensor:
    after, asked, number = dict(policy.groups), _asked(policy), 0
    while number < len(steps):
        end = after.get(number)
        run = steps[number] if end is None else partial(checkpoint, partial(_in_turn, steps[number:end]), **asked)
        x = run(x)
        number = end or number + 1
    return x


def _in_turn(steps: list[Step], x: torch.Tensor) -> torch.Tensor:
    for step in steps:
        x = step(x)
    return x


def _run_selective(one: Applied, kept: frozenset[Any], steps: list[Step], x: torch.Tensor) -> torch.Tensor:
    contexts = partial(create_selective_checkpoint_contexts, partial(_decide, one, kept))
    for step in steps:
        x = checkpoint(step, x, context_fn=contexts, **_asked(one.policy))
    return x


def _decide(
    one: Applied, kept: frozenset[Any], context: SelectiveCheckpointContext, operation: Any, *args: Any, **kwargs: Any
) -> CheckpointPolicy:
    if operation not in kept:
        return CheckpointPolicy.PREFER_RECOMPUTE
    for tensor in tensors_in(context.op_output):
        one.keep(tensor)
    return CheckpointPolicy.MUST_SAVE


def tensors_in(value: Any) -> list[torch.Tensor]:
    """The tensors of an operation's result or of a model's outputs."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for one in value for tensor in tensors_in(one)] if isinstance(value, list | tuple) else []


def operations_named(names: tuple[str, ...]) -> frozenset[Any]:
    """The overloads called so ("aten.addmm.default"); AttributeError, by PyTorch, for one that is not there."""
    return frozenset(attrgetter(name)(torch.ops) for name in names)


def _asked(policy: Policy) -> dict[str, Any]:
    return {"use_reentrant": policy.use_reentrant, "preserve_rng_state": policy.preserve_rng_state}


def resident_storages(built: Built) -> frozenset[int]:
    """Storages that stay where they are whatever is saved: parameters, buffers, inputs."""
    tensors = [*built.model.parameters(), *built.model.buffers(), *built.inputs.values()]
    return frozenset(key for tensor in tensors for key, _ in recorded.storages_of(tensor))
