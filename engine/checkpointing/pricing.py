"""What running a model under policies will need, so that too much is refused before it starts."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from engine import recorded
from engine.checkpointing.policies import operations_named, tensors_in
from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec, PolicyTimingSpec, SearchSpec
from engine.models.architecture import Recurrent
from engine.models.price import ITEM_BYTES, gradient_bytes
from engine.models.price import price as price_model
from engine.models.size import parameter_count
from engine.models.spec import ModelSpec, block_count
from engine.models.trial import TRIAL_BLOCKS, TRIAL_STEPS, measure_trial
from engine.pytorch_said import attempt
from engine.runner.contract import Price
from engine.runner.faults import size

GENERATOR_BYTES = 5056
"""State of the CPU's generator, kept by every checkpoint that is to draw the same numbers again."""


def price(spec: PolicySpec | PolicyTimingSpec | PolicyGraphSpec | ForecastSpec | SearchSpec) -> Price | None:
    """The plain model, which keeps everything, and what policies add to it; a forecast allocates nothing."""
    if isinstance(spec, ForecastSpec):
        return None
    policies = spec.policies if isinstance(spec, PolicySpec | PolicyTimingSpec) else ()
    policies = (spec.policy,) if isinstance(spec, PolicyGraphSpec) else policies
    plain = price_model(spec.model)
    weights = parameter_count(spec.model.architecture) * ITEM_BYTES[spec.model.dtype]
    compared = gradient_bytes(spec.model, weights) if isinstance(spec, PolicySpec | SearchSpec) else 0
    cached = max((cached_bytes(spec.model, policy) for policy in policies), default=0)
    more = compared + cached + GENERATOR_BYTES * block_count(spec.model.architecture)
    what = f"{plain.what}; gradients of off {size(compared)}, kept beside the graph {size(cached)}"
    return msgspec.structs.replace(plain, predicted_bytes=plain.predicted_bytes + more, what=what)


def cached_bytes(model: ModelSpec, policy: Policy) -> int:
    """The most that a selective checkpoint keeps beside the graph; an upper estimate."""
    if policy.kind != "selective" or not policy.keep:
        return 0
    kept, error = attempt(lambda: operations_named(policy.keep))
    if kept is None or error is not None:
        return 0  # PyTorch will refuse the policy
    outputs = _Outputs(kept)
    with outputs:
        measure_trial(model)
    return math.ceil(outputs.nbytes * _times_longer(model))


def _times_longer(model: ModelSpec) -> float:
    """How much more the model does than the shorter one that a trial runs."""
    a = model.architecture
    longer = max(1.0, block_count(a) / TRIAL_BLOCKS)
    return longer * max(1.0, a.steps / TRIAL_STEPS) if isinstance(a, Recurrent) else longer


class _Outputs(recorded.DispatchMode):  # type: ignore[no-untyped-call]
    """Adds up the bytes that the operations of `kept` give back."""

    def __init__(self, kept: frozenset[Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.nbytes = 0
        self._kept = kept

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if func in self._kept:
            self.nbytes += sum(tensor.nbytes for tensor in tensors_in(out))
        return out
