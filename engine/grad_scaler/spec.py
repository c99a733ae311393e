"""What can be asked of torch.amp.GradScaler; torch-free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from msgspec import Meta
from msgspec.structs import replace

from engine.grad_scaler.injections import LOSS, MOST_INJECTIONS, MOST_STEPS, Injection
from engine.grad_scaler.parameters import parameter_names
from engine.grad_scaler.results import Scaled
from engine.models.size import parameter_count
from engine.models.spec import Mlp, ModelSpec, describe
from engine.optimizer_names import OptimizerName
from engine.runner.contract import Limits, Result, Spec, check_ranges

__all__ = ["Clipping", "GradScalerSpec", "Mistake"]

Clipping = Literal["none", "unscale_ first", "without unscale_"]
Mistake = Literal[
    "none",
    "scale() forgotten",
    "scaled loss thrown away",
    "update() forgotten",
    "unscale_ twice",
    "step twice",
    "optimizer.step() instead",
    "zero_grad forgotten",
    "zero_grad before step",
    "unscale_ while accumulating",
    "float16 parameters",
]
Autocast = Literal["off", "float16", "bfloat16"]
ScalerDevice = Literal["cpu", "cuda"]
"""What torch.amp.GradScaler is made for; the model stays on the CPU."""
MOST_PARAMETERS = 200_000
MOST_ELEMENTS = 60_000
"""Gradients that are converted in every format at every scale; fewer steps are looked at in a larger model."""
SAMPLED_STEPS = 4
MOST_NAMED = 60
SMALL_MODEL = ModelSpec(architecture=Mlp(), loss="cross_entropy")


def unknown_place(place: str, known: Sequence[str]) -> str:
    """What to say of an overflow put where no parameter is."""
    shown = ", ".join([LOSS, *known[:MOST_NAMED]]) + (" and so on" if len(known) > MOST_NAMED else "")
    return f"GradScalerSpec.injections names {place!r}, which is no parameter here. Known are {shown}."


class GradScalerSpec(Spec[Scaled], frozen=True, kw_only=True):
    """Train `model` (None: the one weight w of `loss = (w * factor).sum()`) on the CPU under a GradScaler.

    Raises ValueError for a model with more than 200 000 parameters and for options that do not go together.
    """

    verb: ClassVar[str] = "train_with_scaler"
    result: ClassVar[type[Result]] = Scaled
    limits: ClassVar[Limits] = Limits()

    model: ModelSpec | None = SMALL_MODEL
    factor: Annotated[float, Meta(ge=-1e6, le=1e6, description="of the one weight: w.grad before scaling")] = 1.0
    autocast: Autocast = "float16"
    optimizer: OptimizerName = "SGD"
    lr: Annotated[float, Meta(ge=0.0, le=100.0)] = 0.1
    steps: Annotated[int, Meta(ge=1, le=MOST_STEPS)] = 24
    scaler_device: ScalerDevice = "cpu"
    enabled: bool = True
    init_scale: Annotated[float, Meta(ge=2.0**-24, le=2.0**48)] = 65536.0
    growth_factor: Annotated[float, Meta(ge=1.0, le=65536.0)] = 2.0
    backoff_factor: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.5
    growth_interval: Annotated[
        int, Meta(ge=1, le=2000, description="good steps in a row before the scale grows; PyTorch's default is 2000")
    ] = 2
    injections: tuple[Injection, ...] = ()
    clipping: Clipping = "none"
    max_norm: Annotated[float, Meta(ge=0.0, le=1e6)] = 1.0
    mistake: Mistake = "none"
    optimizers: Annotated[int, Meta(ge=1, le=2, description="2: each owns half of the parameters")] = 1
    accumulation: Annotated[int, Meta(ge=1, le=8, description="backward passes per step, each of loss / this")] = 1

    def __post_init__(self) -> None:
        check_ranges(self)
        self._check_model()
        if len(self.injections) > MOST_INJECTIONS:
            raise ValueError(
                f"GradScalerSpec.injections takes at most {MOST_INJECTIONS}; received {len(self.injections)}. "
                "Give fewer."
            )
        self._check_injections()
        if self.mistake == "unscale_ while accumulating" and self.accumulation < 2:
            raise ValueError(
                "GradScalerSpec.mistake='unscale_ while accumulating' needs accumulation of 2 or more; "
                f"received {self.accumulation}. Accumulate over more passes."
            )

    def _check_model(self) -> None:
        if self.model is None:
            return
        parameters = parameter_count(self.model.architecture)
        if not 0 < parameters <= MOST_PARAMETERS:
            raise ValueError(
                f"GradScalerSpec.model must have 1 to {MOST_PARAMETERS} parameters; received "
                f"{describe(self.model.architecture)} with {parameters}. Make it narrower or shorter."
            )
        if self.model.device != "cpu":
            raise ValueError(
                f"GradScalerSpec.model must be on the CPU; received {self.model.device!r}. Choose device='cpu'."
            )

    def _check_injections(self) -> None:
        late = next((one for one in self.injections if one.step > self.steps), None)
        if late is not None:
            raise ValueError(
                f"GradScalerSpec.injections are of steps 1 to {self.steps}, the last of the run; received one of step "
                f"{late.step}. Run more steps, or put it into an earlier one."
            )
        known = parameter_names(self.model, self.optimizers)
        for one in self.injections:
            if known is not None and one.place not in (LOSS, *known):
                raise ValueError(unknown_place(one.place, known))

    @property
    def gradient_steps(self) -> tuple[int, ...]:
        """The steps, from 1, before which the float32 gradients are looked at."""
        size = 1 if self.model is None else parameter_count(self.model.architecture)
        count = max(1, min(SAMPLED_STEPS, self.steps, MOST_ELEMENTS // size))
        return tuple(1 + number * self.steps // count for number in range(count))

    @property
    def beside(self) -> tuple[str, GradScalerSpec] | None:
        """What the run is compared with: the right way for a wrong one, the wrong clip for the right one."""
        if self.scaler_device != "cpu":
            return 'GradScaler("cpu")', replace(self, scaler_device="cpu")
        right: Clipping = "none" if self.clipping == "none" else "unscale_ first"
        if self.mistake != "none" or self.clipping != right:
            return "the right way", replace(self, mistake="none", clipping=right)
        if self.clipping == "unscale_ first":
            return "clipped without unscale_", replace(self, clipping="without unscale_")
        return None

    def injected(self, step: int, place: str = LOSS) -> Injection | None:
        """What is put into that place in that step, the last where several are."""
        found = [one for one in self.injections if one.step == step and one.place == place]
        return found[-1] if found else None
