"""What is known of every claim, and of the machine it was measured on."""

from __future__ import annotations

from dataclasses import dataclass

from engine import submit
from engine.claims.catalogue import CLAIMS
from engine.claims.claim import Claim
from engine.claims.outcome import Measured
from engine.claims.verdict import Verdict, judge
from engine.machine.spec import Machine, MachineSpec
from engine.runner.contract import Spec
from pages.performance.claims_controls import spec_of
from pages.performance.claims_queue import result_of

MACHINE_S = 1.5


@dataclass(frozen=True)
class Known:
    """A claim at the sizes it stands at: what was measured and the verdict, None while it was not run."""

    claim: Claim
    spec: Spec[Measured]
    measured: Measured | None
    verdict: Verdict | None


def known_results() -> tuple[Known, ...]:
    """Every claim, in the order of the catalogue."""
    return tuple(_known(claim) for claim in CLAIMS)


def _known(claim: Claim) -> Known:
    spec = spec_of(claim)
    measured = result_of(spec)
    return Known(claim, spec, measured, None if measured is None else judge(claim, measured))


def machine_words(spec: Spec[Measured]) -> str:
    """Processor, threads, dtype and version the figures are of."""
    job = submit(MachineSpec())
    machine: Machine | None = job.result() if job.wait(MACHINE_S) else None
    where = f"{machine.cpu}, torch {machine.torch_version}" if machine else "this machine"
    threads = getattr(spec, "threads", 1)
    return f"{where}, {threads} torch thread{'s' if threads > 1 else ''}, float32 unless a name says otherwise"
