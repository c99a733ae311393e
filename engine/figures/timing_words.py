"""The verdicts of the timing page in words: who is faster, whether results agree, what the machine did meanwhile."""

from __future__ import annotations

from statistics import median

from engine.figures.units import format_count, format_significant, format_time
from engine.timing.comparison import Comparison
from engine.timing.results import Distance, Machine, Side, Timing

NO_DIFFERENCE = "No difference shown"
LEAST_STEAL = 0.005
FEW_FAULTS = 16
JUST_NOW_S = 10


def headline(comparison: Comparison) -> str:
    """ "B is 1.42× slower than A", or that no difference is shown."""
    ratio = comparison.ratios[0]
    if not ratio.shows_a_difference:
        return NO_DIFFERENCE
    factor, word = (ratio.ratio, "slower") if ratio.ratio > 1 else (1 / ratio.ratio, "faster")
    return f"{ratio.name} is {format_significant(factor)}× {word} than {ratio.baseline}"


def band_words(comparison: Comparison) -> str:
    """The ratio with its band, and why a difference is not shown."""
    ratio = comparison.ratios[0]
    low, high = format_significant(ratio.low, 4), format_significant(ratio.high, 4)
    words = (
        f"{ratio.name} / {ratio.baseline}, median of paired ratios = {format_significant(ratio.ratio, 4)}, "
        f"95 % band {low} to {high} within this process"
    )
    if ratio.shows_a_difference:
        return words
    if ratio.low <= 1 <= ratio.high:
        return f"{words}: the band holds 1"
    if ratio.is_by_chance:
        return f"{words}: chance puts as many rounds on one side {ratio.chance:.1%} of the time"
    return f"{words}: nearer to 1 than the 2 % that this method can tell"


def fault_words(comparison: Comparison) -> tuple[str, ...]:
    """Where page faults differ between rounds of a side, or between the sides; () where neither is so."""
    found = []
    usual = [median(faults) for faults in comparison.faults]
    for name, faults, middle in zip(comparison.names, comparison.faults, usual, strict=True):
        other = sum(abs(fault - middle) > max(FEW_FAULTS, middle / 4) for fault in faults)
        if other:
            ends = f"{format_count(round(min(faults)))} to {format_count(round(max(faults)))} page faults a call"
            found.append(f"{name}: {ends}, {other} of {len(faults)} rounds unlike the rest: the heap's state differed.")
    most, least = usual.index(max(usual)), usual.index(min(usual))
    if usual[most] - usual[least] > max(FEW_FAULTS, usual[most] / 4):
        much, little = (format_count(round(usual[place])) for place in (most, least))
        words = f"{comparison.names[most]} has {much} page faults a call, {comparison.names[least]} {little}"
        found.append(f"{words}: part of the ratio is what fresh memory costs.")
    return tuple(found)


def age_words(machine: Machine, now_s: float) -> str:
    """When it was measured and at what load: "measured 4 min ago at load 9.7"."""
    if machine.measured_at_s is None:
        return ""
    load = "" if machine.load_average is None else f" at load {machine.load_average:.1f}"
    age_s = now_s - machine.measured_at_s
    if age_s < JUST_NOW_S:
        return f"measured just now{load}"
    seconds, unit = next(one for one in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")) if age_s >= one[0])
    return f"measured {int(age_s // seconds)} {unit} ago{load}"


def agreement_words(found: Distance, first: str = "B", second: str = "A") -> str:
    """Whether two results agree, with the distance."""
    if found.verdict == "not comparable":
        return f"{first} and {second} cannot be compared: {found.reason}"
    if found.verdict == "identical":
        return f"{first} and {second} agree bit for bit"
    if found.absolute is None:
        return f"{first} and {second} differ: {found.reason}"
    far = f"at most {format_significant(found.absolute)} apart, {format_significant(found.relative or 0.0)} relative"
    if found.verdict == "different":
        return f"{first} and {second} differ: {far}, more than rounding ({found.tolerance:g}) explains"
    return f"{first} and {second} agree up to rounding: {far}"


def machine_words(machine: Machine) -> str:
    """What else ran while the samples were taken."""
    parts = [f"{machine.cores} cores"]
    if machine.load_average is not None:
        parts.append(f"load {machine.load_average:.1f}")
    if machine.others_busy is not None:
        busy = f" ({machine.busy_processes} busy)" if machine.busy_processes else ""
        parts.append(f"others used {machine.others_busy:.1f} of them{busy}")
    if machine.steal and machine.steal >= LEAST_STEAL:
        parts.append(f"{machine.steal:.0%} stolen by the hypervisor")
    if machine.throttled_s:
        parts.append(f"held back {format_time(machine.throttled_s)} by the control group")
    return ", ".join(parts)


def failure_words(side: Side, name: str) -> str:
    """Why a side has no samples, "" where it has."""
    if side.unavailable:
        return f"{name} is not there on this machine. {side.unavailable}"
    return f"PyTorch refused {name}: {side.title}" if side.refused else ""


def cold_words(timing: Timing) -> str:
    """The first call of each, apart."""
    found = [f"{name} {format_time(side.first_call_s)}" for name, side in _sides(timing) if side.first_call_s]
    return f"First call, cold: {', '.join(found)}" if found else ""


def _sides(timing: Timing) -> tuple[tuple[str, Side], ...]:
    return ("A", timing.a), ("B", timing.b)
