"""What can be asked of autocast, and what comes back: the map of one run, its lists, its time."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from engine.graph.spec import PyTorchError
from engine.mixed_precision.results import (
    Apart,
    Call,
    Cast,
    Held,
    KeptTwice,
    LayerError,
    ListedOperator,
    Operation,
    Support,
    Trial,
    WeightCasts,
)
from engine.models.spec import ModelSpec
from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import GIBIBYTE, Limits, Result, Spec
from engine.timing.comparison import Comparison

LowPrecision = Literal["bfloat16", "float16"]


class AutocastMap(Result, frozen=True, kw_only=True):
    """One forward, loss and backward under autocast beside the same without.

    `plain_operations` counts what the plain run dispatched. `held_other_cache` is of a run with the cache the other
    way. A run that PyTorch refused has its `error` and whatever was seen until then.
    """

    operations: tuple[Operation, ...]
    calls: tuple[Call, ...]
    casts: tuple[Cast, ...]
    weights: tuple[WeightCasts, ...]
    kept_twice: tuple[KeptTwice, ...]
    plain_operations: int
    held: Held
    held_plain: Held
    held_other_cache: Held
    outputs: tuple[Apart, ...]
    layers: tuple[LayerError, ...]
    gradients: tuple[Apart, ...]
    all_gradients: Apart
    loss: float | None = None
    loss_plain: float | None = None
    loss_dtype: str = ""
    loss_dtype_plain: str = ""
    error: PyTorchError | None = None
    error_plain: PyTorchError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def outside_graph_bytes(self) -> int:
        """New bytes held that no node of the loss's graph has: what checkpoints keep to run their blocks again."""
        return max(0, (self.held.beside_leaves_bytes or 0) - sum(one.saved_bytes for one in self.operations))


def check_model(model: ModelSpec, kind: str) -> None:
    """ValueError when the model brings an autocast of its own."""
    if model.autocast != "off":
        raise ValueError(
            f"{kind}.model.autocast must be 'off', because this spec runs the model with and without autocast itself; "
            f"received {model.autocast!r}. Set dtype of {kind} instead."
        )


class AutocastSpec(Spec[AutocastMap], frozen=True, kw_only=True):
    """Run `model` plain and under `torch.autocast(device, dtype, cache_enabled=...)`, and record both."""

    verb: ClassVar[str] = "map_autocast"
    result: ClassVar[type[Result]] = AutocastMap
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240, memory_bytes=6 * GIBIBYTE)

    model: ModelSpec = ModelSpec()
    dtype: LowPrecision = "bfloat16"
    cache_enabled: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_model(self.model, "AutocastSpec")


class AutocastLists(Result, frozen=True, kw_only=True):
    """Every operator with an autocast kernel for the device, probed here, and lines that behave otherwise under it."""

    operators: tuple[ListedOperator, ...]
    trials: tuple[Trial, ...]
    support: tuple[Support, ...]


class AutocastListsSpec(Spec[AutocastLists], frozen=True, kw_only=True):
    """Ask the dispatcher which operators autocast knows on `device`, and try what it does to the inputs of each."""

    verb: ClassVar[str] = "probe_lists"
    result: ClassVar[type[Result]] = AutocastLists

    device: Literal["cpu", "cuda", "mps"] = "cpu"
    dtype: LowPrecision = "bfloat16"


class AutocastTiming(Result, frozen=True, kw_only=True):
    """Steps of the model, plain first; and the matrix products and casts of such a step alone.

    `steps` and `parts` are None where PyTorch refused, with `error`. `processor` is what decides their speed here.
    """

    steps: Comparison | None
    parts: Comparison | None
    products: int
    casts: int
    support: tuple[Support, ...]
    processor: tuple[tuple[str, str], ...]
    error: PyTorchSaid | None = None


class AutocastTimingSpec(Spec[AutocastTiming], frozen=True, kw_only=True):
    """Measure forward and backward plain against both dtypes of autocast, in interleaved rounds; parts in `dtype`."""

    verb: ClassVar[str] = "time_autocast"
    result: ClassVar[type[Result]] = AutocastTiming
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=180.0, cpu_s=360, memory_bytes=6 * GIBIBYTE)

    model: ModelSpec = ModelSpec()
    dtype: LowPrecision = "bfloat16"
    rounds: Annotated[int, Meta(ge=5, le=51)] = 9

    def __post_init__(self) -> None:
        super().__post_init__()
        check_model(self.model, "AutocastTimingSpec")


AnySpec = AutocastSpec | AutocastListsSpec | AutocastTimingSpec


def without_autocast(model: ModelSpec) -> ModelSpec:
    """The model as these specs take it: its own autocast off."""
    changes: dict[str, Any] = {"autocast": "off"}
    return msgspec.structs.replace(model, **changes)
