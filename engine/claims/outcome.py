"""What measuring a claim comes back as: exact counts, timed comparisons, and what PyTorch refused."""

from __future__ import annotations

import msgspec

from engine.pytorch_said import PyTorchSaid
from engine.runner.contract import Result
from engine.timing.comparison import Comparison


class Count(msgspec.Struct, frozen=True):
    """A number that was counted, not timed; bytes when its name says so, a share when it ends in "share"."""

    name: str
    value: float

    @property
    def unit(self) -> str:
        """ "bytes", "share", or "" for anything else."""
        return next((unit for unit in ("bytes", "share") if unit in self.name.split()), "")


class Timed(msgspec.Struct, frozen=True):
    """One comparison under the condition it was made in; its first name is the baseline."""

    condition: str
    comparison: Comparison


class Refusal(msgspec.Struct, frozen=True):
    """What PyTorch said to a call; None when it carried it out."""

    call: str
    said: PyTorchSaid | None


class Measured(Result, frozen=True, kw_only=True):
    """Everything one claim was judged by; `unavailable` says why nothing could be measured here."""

    counts: tuple[Count, ...] = ()
    timed: tuple[Timed, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    notes: tuple[str, ...] = ()
    unavailable: str = ""

    def count(self, name: str) -> float | None:
        """The count called `name`; None when it was not taken."""
        return next((count.value for count in self.counts if count.name == name), None)

    def comparison(self, condition: str) -> Comparison | None:
        """The comparison under `condition`; None when there is none."""
        return next((timed.comparison for timed in self.timed if timed.condition == condition), None)

    def refusal(self, call: str) -> Refusal | None:
        """What came of `call`; None when it was not tried."""
        return next((refusal for refusal in self.refusals if refusal.call == call), None)
