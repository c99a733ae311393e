"""The training loop around a GradScaler, right or with one of the classic mistakes, recorded step by step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from engine.grad_scaler.programs import Program
from engine.grad_scaler.results import Event, Run, Step
from engine.grad_scaler.spec import GradScalerSpec, unknown_place
from engine.optimizers import make_optimizer
from engine.pytorch_said import PyTorchSaid, said
from engine.recorded_grad_scaler import found_inf_in, found_inf_of, values_of


class Refused(Exception):
    """PyTorch raised in the middle of a step: to which call, and what it said."""

    def __init__(self, call: str, error: PyTorchSaid) -> None:
        super().__init__(error.message)
        self.call, self.error = call, error


class NotedError(Exception):
    """What this project does beside a step failed: never taken for PyTorch's refusal."""


class Loop:
    """One run: `records` grows by a Step for each pass that ends without an error."""

    def __init__(self, name: str, spec: GradScalerSpec) -> None:
        self.name, self.spec = name, spec
        self.program = Program(spec)
        self.parameters = self.program.parameters
        self.owners: tuple[int, ...] = ()
        self.records: list[Step] = []
        self.applied: list[float | None] = []
        self.called: list[bool] = []
        self.inside: list[bool] = []
        self.optimizers: list[torch.optim.Optimizer] = []
        self.enabled = spec.enabled
        self.warned: tuple[str, ...] = ()

    def run(self, before_step: Callable[[int], None]) -> Run:
        """Every step, or those before the one in which PyTorch raises; `before_step` is called with each number."""
        self._check_places()
        error, number, call = None, 0, ""
        try:
            self._make()
            for number in range(1, self.spec.steps + 1):
                before_step(number)
                self.records.append(self._step(number))
        except Refused as refused:
            error, call = refused.error, refused.call
        return Run(
            name=self.name,
            parameters=tuple(self.parameters),
            owners=self.owners,
            steps=tuple(self.records),
            enabled=self.enabled,
            warnings=self.warned,
            error=error,
            error_step=number if error else None,
            error_call=call,
        )

    def _check_places(self) -> None:
        for one in self.spec.injections:
            if one.place != "loss" and one.place not in self.parameters:
                raise ValueError(unknown_place(one.place, list(self.parameters)))

    def _make(self) -> None:
        spec, total = self.spec, len(self.parameters)
        self.owners = tuple(min(spec.optimizers - 1, place * spec.optimizers // total) for place in range(total))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.scaler = _called("torch.amp.GradScaler(...)", self._make_scaler)
        self.enabled = self.scaler.is_enabled()
        self.warned = tuple(dict.fromkeys(str(one.message) for one in caught))
        for number in range(spec.optimizers):
            owned = self._owned(number)
            made = _called(f"torch.optim ({spec.optimizer})", make_optimizer, spec.optimizer, owned, spec.lr)
            made.register_step_pre_hook(self._note_step(number))
            self.optimizers.append(made)

    def _make_scaler(self) -> torch.amp.GradScaler:
        spec = self.spec
        return torch.amp.GradScaler(
            spec.scaler_device,
            init_scale=spec.init_scale,
            growth_factor=spec.growth_factor,
            backoff_factor=spec.backoff_factor,
            growth_interval=spec.growth_interval,
            enabled=spec.enabled,
        )

    def _owned(self, number: int) -> list[torch.nn.Parameter]:
        return [one for one, owner in zip(self.parameters.values(), self.owners, strict=True) if owner == number]

    def _note_step(self, number: int) -> Any:
        def note(optimizer: torch.optim.Optimizer, arguments: Any, named: Any) -> None:
            try:
                scale = getattr(optimizer, "grad_scale", None)  # a fused optimizer divides by it inside its kernel
                found = norm_of(self._owned(number))
                self.applied[number] = found if scale is None or found is None else divided(found, float(scale))
                self.inside[number] = bool(getattr(optimizer, "found_inf", None))
                self.called[number] = True
            except Exception as error:
                raise NotedError(f"looking at a step of optimizer {number}") from error

        return note

    def _step(self, number: int) -> Step:
        spec, scaler = self.spec, self.scaler
        self.applied = [None] * spec.optimizers
        self.called, self.inside = [False] * spec.optimizers, [False] * spec.optimizers
        if spec.mistake != "zero_grad forgotten":
            self._zero_grad()
        loss = self._backward(number)
        self._inject(number)
        checked, non_finite = self._look()
        scaled = norm_of(self.parameters.values())
        if spec.mistake == "zero_grad before step":
            self._zero_grad()
        unscaled, clipped = self._unscale_and_clip()
        before, scale = self._copies(), scaler.get_scale()
        self._optimize()
        found_inf = tuple(found_inf_of(scaler, optimizer) for optimizer in self.optimizers)
        if unscaled is None and spec.clipping == "none":
            unscaled = _together(self.applied) if any(self.called) else norm_of(self.parameters.values())
        if spec.mistake != "update() forgotten":
            _called("scaler.update()", scaler.update)
        after = scaler.get_scale()
        return Step(
            number=number,
            loss=loss,
            scale_before=scale,
            scale_after=after,
            growth_tracker=int(scaler.state_dict().get("_growth_tracker", 0)),
            event=_event(scale, after),
            found_inf=found_inf,
            checked=checked,
            non_finite=non_finite,
            called=tuple(self.called),
            skipped_inside=tuple(self.inside),
            taken=self._taken(before),
            scaled_norm=scaled,
            unscaled_norm=unscaled,
            clipped_norm=clipped,
            applied_norm=_together(self.applied) if any(self.called) else None,
            first_weight=float(next(iter(self.parameters.values())).detach().reshape(-1)[0]),
        )

    def _zero_grad(self) -> None:
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def _backward(self, number: int) -> float:
        """Every pass of the step; the last one carries what is injected into the loss."""
        spec, total = self.spec, 0.0
        injected = spec.injected(number)
        for micro in range(spec.accumulation):
            last = micro == spec.accumulation - 1
            value = injected.value if injected and last else None
            loss = _called("the forward", self.program.loss, value)
            loss = loss / spec.accumulation if spec.accumulation > 1 else loss
            total += float(loss.detach())
            _called("backward()", self._scaled(loss).backward)
            if spec.mistake == "unscale_ while accumulating" and not last:
                self._unscale()
        return total

    def _scaled(self, loss: torch.Tensor) -> torch.Tensor:
        if self.spec.mistake == "scale() forgotten":
            return loss
        scaled: torch.Tensor = _called("scaler.scale(loss)", lambda: self.scaler.scale(loss))
        return loss if self.spec.mistake == "scaled loss thrown away" else scaled

    def _inject(self, number: int) -> None:
        for name, parameter in self.parameters.items():
            one = self.spec.injected(number, name)
            if one is not None and parameter.grad is not None and parameter.grad.numel():
                values_of(parameter.grad).reshape(-1)[:1] = float(one.value)

    def _look(self) -> tuple[tuple[bool | None, ...], tuple[int | None, ...]]:
        gradients = [one.grad for one in self.parameters.values()]
        return (
            tuple(None if grad is None else found_inf_in(grad) for grad in gradients),
            tuple(None if grad is None else int((~values_of(grad).isfinite()).sum()) for grad in gradients),
        )

    def _unscale(self) -> None:
        for optimizer in self.optimizers:
            _called("scaler.unscale_(optimizer)", self.scaler.unscale_, optimizer)

    def _unscale_and_clip(self) -> tuple[float | None, float | None]:
        """(norm after `unscale_`, norm after `clip_grad_norm_`), None for what is not called."""
        spec, unscaled = self.spec, None
        if spec.mistake == "unscale_ twice":
            self._unscale()
        if spec.mistake == "unscale_ twice" or spec.clipping == "unscale_ first":
            self._unscale()
            unscaled = norm_of(self.parameters.values())
        if spec.clipping == "none":
            return unscaled, None
        _called("clip_grad_norm_", lambda: clip_grad_norm_(self.parameters.values(), spec.max_norm))
        return unscaled, norm_of(self.parameters.values())

    def _optimize(self) -> None:
        for optimizer in self.optimizers:
            if self.spec.mistake == "optimizer.step() instead":
                _called("optimizer.step()", optimizer.step)
                continue
            _called("scaler.step(optimizer)", self.scaler.step, optimizer)
            if self.spec.mistake == "step twice":
                _called("scaler.step(optimizer)", self.scaler.step, optimizer)

    def _copies(self) -> list[torch.Tensor]:
        return [one.detach().clone() for one in self.parameters.values()]

    def _taken(self, before: list[torch.Tensor]) -> tuple[bool, ...]:
        """Of each optimizer, whether a bit of its parameters changed; bytes are compared, so that nan equals itself."""
        moved = [
            not torch.equal(one.detach().contiguous().view(torch.uint8), old.contiguous().view(torch.uint8))
            for one, old in zip(self.parameters.values(), before, strict=True)
        ]
        return tuple(
            any(m for m, owner in zip(moved, self.owners, strict=True) if owner == number)
            for number in range(self.spec.optimizers)
        )


def _event(before: float, after: float) -> Event:
    return "growth" if after > before else "backoff" if after < before else ""


def _called(call: str, action: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return action(*arguments)
    except NotedError:
        raise
    except Exception as error:
        raise Refused(call, said(error)) from None


def divided(norm: float, scale: float) -> float:
    """As IEEE 754 divides: a scale of 0 gives inf, or nan for 0 / 0, where Python raises."""
    return float(torch.tensor(norm, dtype=torch.float64) / scale)


def norm_of(parameters: Any) -> float | None:
    """The 2-norm of all gradients together in float64, None where there is none; one inf or nan makes it so."""
    gradients = [
        values_of(one.grad.coalesce() if one.grad.is_sparse else one.grad) for one in parameters if one.grad is not None
    ]
    if not gradients:
        return None
    return float(torch.stack([grad.detach().double().norm() for grad in gradients]).norm())


def _together(norms: list[float | None]) -> float | None:
    found = [norm for norm in norms if norm is not None]
    return float(sum(norm**2 for norm in found) ** 0.5) if found else None
