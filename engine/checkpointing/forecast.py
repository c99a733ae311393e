"""forecast_policies: a step under each policy with tensors that hold nothing."""

from __future__ import annotations

import warnings
from typing import Any

import torch

from engine import recorded, recorded_search
from engine.checkpointing.counted import Operations
from engine.checkpointing.forecast_model import build_holding_nothing
from engine.checkpointing.forecast_storages import FollowStorages
from engine.checkpointing.held_for_backward import HeldForBackward
from engine.checkpointing.outcome import before_bytes
from engine.checkpointing.policies import Applied, OwnHooks, applied, resident_storages
from engine.checkpointing.policy import Policy, label_of
from engine.checkpointing.spec import Forecast, Forecasts, ForecastSpec
from engine.models.spec import ModelSpec
from engine.pytorch_said import attempt
from engine.runner.contract import ProgressSink

SIZED_BY_KERNEL = {
    "aten.mkldnn_rnn_layer.default": "oneDNN sizes the workspace its LSTM keeps for backward by itself",
}
"""Operations that keep what only their kernel knows the size of."""
PEAK_UNKNOWN = {
    "aten.convolution.default": "the working space of convolutions",
    "aten.mkldnn_rnn_layer.default": "the workspace of the fused LSTM",
}
"""Operations that take, while they run, what only their kernel knows the size of."""


def forecast_policies(spec: ForecastSpec, progress: ProgressSink) -> Forecasts:
    """One forward, loss and backward per policy of a model that holds nothing; works for any size.

    Held bytes are exact where `held_is_exact` says so, recomputed FLOPs always. Peak bytes are estimated: most are
    right to the byte, but attention and products in half precision take working space that only their kernels know;
    within 30 % of what is measured where `peak_leaves_out` is empty. Of convolutions a part is modelled, for float32
    in contiguous format; in bfloat16, in float64 or with many groups the real peak can be several times as high.
    """
    progress("building the model on meta", 0.0)
    foreseen = Foreseen(spec.model)
    forecasts = []
    for number, policy in enumerate(spec.policies):
        progress(label_of(policy)[:60], number / len(spec.policies))
        forecasts.append(foreseen.forecast(policy))
    return Forecasts(
        forecasts=tuple(forecasts),
        before_bytes=before_bytes(foreseen.built),
        limit_bytes=spec.limits.memory_bytes,
    )


class Foreseen:
    """A model that holds nothing, to take steps with under one policy after the other."""

    def __init__(self, spec: ModelSpec) -> None:
        self.mode = recorded_search.AsIfOnDevice()
        self.built = build_holding_nothing(spec, self.mode)

    def forecast(self, policy: Policy) -> Forecast:
        """What a step under `policy` takes, or what PyTorch has against it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step, error = attempt(lambda: self._step(policy))
        self.reset()
        if step is None:
            return Forecast(policy=policy, error=error)
        return step

    def _step(self, policy: Policy) -> Forecast:
        with (
            self.mode,
            applied(self.built, policy) as one,
            FollowStorages() as followed,
            recorded_search.generator_states(followed.follow),
        ):
            _move_nothing(one, followed)
            followed.leave_out(self.there_before())
            held = HeldForBackward(one)
            with _Operations() as operations:
                with held.hooks():
                    outputs, loss = one.forward()
                held_bytes = held.held_bytes()
                operations.in_backward = True
                loss.backward()  # type: ignore[no-untyped-call]
            del outputs
            why_not = self._why_not(operations)
            unknown = [said for name, said in PEAK_UNKNOWN.items() if name in operations.calls["forward"]]
        return Forecast(
            policy=policy,
            held_bytes=held_bytes,
            peak_bytes=followed.peak_bytes,
            recomputed_flops=operations.flops["again"].total(),
            recomputed_operations=operations.calls["again"].total(),
            held_is_exact=not why_not,
            why_not=why_not,
            peak_leaves_out=" and ".join(unknown),
        )

    def _why_not(self, operations: Operations) -> str:
        if self.built.spec.device != "cpu":
            return "only the CPU's kernels are known to keep what they keep here"
        said = [SIZED_BY_KERNEL[name] for name in operations.calls["forward"] if name in SIZED_BY_KERNEL]
        return said[0] if said else ""

    def there_before(self) -> list[torch.Tensor]:
        """Parameters, buffers, inputs and target."""
        built = self.built
        target = [] if built.target is None else [built.target]
        return [*built.model.parameters(), *built.model.buffers(), *built.inputs.values(), *target]

    def reset(self) -> None:
        """As before the first step."""
        for tensor in [*self.built.model.parameters(), *self.built.inputs.values()]:
            tensor.grad = None
        self.built.named_extra.clear()


class _Operations(Operations):  # type: ignore[no-untyped-call]
    """Without prim.device, which is asked of tensors that hold nothing; real ones know their device."""

    most = 20_000

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "prim":
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


def _move_nothing(one: Applied, followed: FollowStorages) -> None:
    """In place of files: there is nothing to write, only a layout to remember."""
    if one.policy.kind != "save_on_disk":
        return
    resident = resident_storages(one.built)

    def pack(tensor: torch.Tensor) -> Any:
        found = recorded.storages_of(tensor)
        stays = len(found) != 1 or found[0][0] in resident or not tensor.numel()
        return tensor if stays else (tensor.shape, tensor.stride(), tensor.dtype, tensor.device)

    def unpack(packed: Any) -> torch.Tensor:
        if isinstance(packed, torch.Tensor):
            return packed
        shape, stride, dtype, device = packed
        with followed.leaving_out():  # read into memory of numpy's
            return torch.empty_strided(shape, stride, dtype=dtype, device=device)

    one.hooks = OwnHooks(pack, unpack)
