"""What recording every step of backward costs against the same backward without hooks.

`python -m benchmarks.replay` prints every case. Rounds are interleaved: each runs both on forwards of their own, and
the ratio is the median of paired ratios of thread CPU time. Recording includes reading the graph and making the rows.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Sequence
from statistics import median

import msgspec
import torch

from benchmarks.row import Row, table
from engine.graph import record_forward
from engine.models.architecture import AnyArchitecture, Chain, Gpt, Recurrent, ResNet
from engine.models.build import Built, build
from engine.models.spec import ModelSpec
from engine.replay import record_backward
from engine.replay.spec import Replay

ROUNDS = 9
RATIO = 15.0
RECORDED_S = 1.5
RESULT_BYTES = 48 << 20

SHAPES: tuple[tuple[str, AnyArchitecture, int], ...] = (
    ("GPT-2 shape, explicit attention", Gpt(layers=12, heads=12, width=96, sequence=32, attention="explicit"), 4),
    ("GPT-2 shape, sdpa", Gpt(layers=12, heads=12, width=96, sequence=32), 4),
    ("ResNet-50 shape", ResNet(variant="resnet50"), 2),
    ("LSTM by hand, 200 steps", Recurrent(cell="hand_written_lstm", steps=200), 4),
)
LONGEST = Chain(operations=100_000)


def measure() -> list[Row]:
    """Ratio and seconds of every shape, and the largest result."""
    rows = [row for name, architecture, batch in SHAPES for row in _rows(name, architecture, batch)]
    return [*rows, *_longest()]


def _rows(name: str, architecture: AnyArchitecture, batch: int) -> list[Row]:
    built = build(ModelSpec(architecture=architecture, batch=batch))
    pairs = [(_plain_s(built), *_recorded(built)) for _ in range(ROUNDS + 1)][1:]
    replay = pairs[-1][2]
    ratio = median(recorded_s / plain_s for plain_s, recorded_s, _ in pairs)
    detail = (
        f"{len(replay.graph.nodes)} nodes, {len(replay.gradients)} gradients, "
        f"{len(msgspec.msgpack.encode(replay)) / 1e6:.1f} MB; plain {1e3 * median(pair[0] for pair in pairs):.1f} ms"
    )
    return [
        Row(f"replay: {name}, recorded against plain", ratio, RATIO, "x", detail),
        Row(f"replay: {name}, recorded", median(pair[1] for pair in pairs), RECORDED_S, "s"),
    ]


def _longest() -> list[Row]:
    built = build(ModelSpec(architecture=LONGEST, batch=1))
    recorded_s, replay = _recorded(built)
    size = len(msgspec.msgpack.encode(replay))
    what = f"replay: {len(replay.graph.nodes):,} operations in a row"
    return [
        Row(what + ", recorded", recorded_s, None, "s"),
        Row(what + ", result", size / 2**20, RESULT_BYTES / 2**20, "MiB"),
    ]


def _loss(built: Built) -> torch.Tensor:
    built.model.zero_grad()
    with record_forward(built.model):
        return built.loss(built.forward())


def _plain_s(built: Built) -> float:
    loss = _loss(built)
    return _seconds(lambda: loss.backward())  # type: ignore[no-untyped-call]


def _recorded(built: Built) -> tuple[float, Replay]:
    loss = _loss(built)
    made: list[Replay] = []
    taken_s = _seconds(lambda: made.append(record_backward(loss, model=built.model)))
    return taken_s, made[0]


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.thread_time()
    work()
    return time.thread_time() - start


def main(arguments: Sequence[str]) -> int:
    """Print the rows as a table."""
    torch.set_num_threads(1)
    print(table(measure()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
