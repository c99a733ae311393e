"""What recording the memory of a training step costs and accounts for, against PyTorch's own two tools.

`python -m benchmarks.memory` prints every case. One round runs the same step (forward, loss, backward, AdamW) plainly,
under `record_memory`, under `torch.distributed._tools.mem_tracker.MemTracker` and under torch.profiler with
`profile_memory, record_shapes, with_stack` and its categorised memory timeline; the ratio is the median of paired
ratios of thread CPU time, attribution included. Coverage: bytes each puts a category on, of what the allocator itself
counted at its peak.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from operator import attrgetter, methodcaller
from statistics import median
from typing import Any

import torch
from torch.distributed._tools.mem_tracker import MemTracker
from torch.profiler import ProfilerActivity, profile

from benchmarks.row import Row, table
from engine.higher_order.allocated import peak_bytes
from engine.memory.record import MemoryRecording
from engine.memory.spec import MemoryTrace
from engine.models.architecture import AnyArchitecture, Gpt, LinearStack, ResNet
from engine.models.build import Built, build
from engine.models.spec import ModelSpec
from engine.optimizers import make_optimizer

ROUNDS = 7
SHAPES: tuple[tuple[str, AnyArchitecture, int], ...] = (
    ("GPT shape", Gpt(layers=6, heads=4, width=128, sequence=64), 8),
    ("ResNet-18 shape", ResNet(variant="resnet18", image_size=64), 8),
    ("50 x Linear(256)", LinearStack(layers=50, width=256), 64),
)
read_memory_profile: Callable[[Any], Any] = methodcaller("_memory_profile")
read_categories: Callable[[Any], Any] = attrgetter("_categories")


class _Training:
    """One model, built anew where the building is to be seen; `step` trains it once."""

    def __init__(self, spec: ModelSpec) -> None:
        self.built: Built = build(spec)
        self.optimizer = make_optimizer("AdamW", self.built.model.parameters(), 1e-3)

    def step(self) -> None:
        loss = self.built.loss(self.built.forward())
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        self.optimizer.zero_grad()


def measure() -> list[Row]:
    """Overheads and coverages of every shape."""
    return [
        row
        for name, architecture, batch in SHAPES
        for row in _rows(name, ModelSpec(architecture=architecture, batch=batch))
    ]


def _rows(name: str, spec: ModelSpec) -> list[Row]:
    tools: dict[str, Callable[[ModelSpec], tuple[float, int]]] = {
        "plain": _plain,
        "record_memory": _recorded,
        "MemTracker": _tracked,
        "MemoryProfile": _profiled,
    }
    rounds = [{tool: run(spec) for tool, run in tools.items()} for _ in range(ROUNDS + 1)][1:]
    peak = peak_bytes(lambda: _build_and_step(spec))
    plain_s = median(one["plain"][0] for one in rounds)

    def ratio(tool: str, to: str) -> float:
        return median(one[tool][0] / one[to][0] for one in rounds)

    rows = [Row(f"memory: {name}, record_memory against MemTracker", ratio("record_memory", "MemTracker"), 1.0, "x")]
    for tool in list(tools)[1:]:
        is_ours = tool == "record_memory"
        share = 100 * rounds[-1][tool][1] / peak
        detail = f"plain {1e3 * plain_s:.0f} ms"
        rows.append(Row(f"memory: {name}, {tool} against plain", ratio(tool, "plain"), None, "x", detail))
        rows.append(Row(f"memory: {name}, {tool} accounts for", share, 100 if is_ours else None, "%", "", is_ours))
    return rows


def _build_and_step(spec: ModelSpec) -> _Training:
    training = _Training(spec)
    training.step()
    return training


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _plain(spec: ModelSpec) -> tuple[float, int]:
    return _seconds(lambda: _build_and_step(spec)), 0


def _recorded(spec: ModelSpec) -> tuple[float, int]:
    made: list[MemoryTrace] = []

    def work() -> None:
        with MemoryRecording() as recording:
            recording.begin("build", 0)
            training = _Training(spec)
            recording.follow(training.built.model)
            recording.begin("forward", 1)
            training.step()
        made.append(recording.trace())

    taken_s = _seconds(work)
    (trace,) = made
    return taken_s, int(trace.blocks.live_bytes(trace.events).sum(axis=0).max()) - trace.largest_difference_bytes


def _tracked(spec: ModelSpec) -> tuple[float, int]:
    tracker = MemTracker()

    def work() -> None:
        training = _Training(spec)
        tracker.track_external(training.built.model, training.optimizer, *training.built.inputs.values())
        with tracker:
            training.step()

    taken_s = _seconds(work)
    (found,) = tracker.get_tracker_snapshot("peak").values()
    return taken_s, int(found["Total"])


def _profiled(spec: ModelSpec) -> tuple[float, int]:
    kept: list[Any] = []

    def work() -> None:
        with profile(
            activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True, with_stack=True
        ) as recorded:
            _build_and_step(spec)
        kept.append(read_memory_profile(recorded))
        kept.append(kept[0].timeline)

    taken_s = _seconds(work)
    return taken_s, _categorised_peak(*kept)


def _categorised_peak(found: Any, timeline: Any) -> int:
    """Most bytes at once of storages to which MemoryProfile gives a category."""
    categories = read_categories(found)
    live = most = 0
    known: dict[Any, int] = {}
    for _, action, (key, version), size in timeline:
        if action.name == "DESTROY":
            live -= known.pop(key, 0)
        elif hasattr(key, "storage") and key not in known and categories.get(key, version) is not None:
            known[key] = size
            live += size
        most = max(most, live)
    return most


def main(arguments: Sequence[str]) -> int:
    """Print the rows as a table."""
    torch.set_num_threads(1)
    print(table(measure()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
