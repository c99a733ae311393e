"""What a recorded graph costs on its way to the app: bytes on the wire, seconds to decode, memory held.

`python -m benchmarks.graph_columns` prints every case. Graphs of about 100,000 nodes are traced in a worker process, as
the page does it, and decoded here; memory is the resident size of this process before and after, with the result alive.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.row import Row, table
from engine.figures.fold import addresses, fold
from engine.graph.spec import GraphSpec, Traced
from engine.models.architecture import AnyArchitecture, Chain, Mlp, Recurrent
from engine.models.spec import ModelSpec
from engine.runner import run

NODES = 100_000
WIRE_BYTES = 25e6
DECODE_S = 0.3
FOLD_S = 0.25
ROUNDS = 5

SHAPES: tuple[tuple[str, AnyArchitecture], ...] = (
    ("chain of sin()", Chain(operations=NODES - 10)),
    ("LSTM by hand", Recurrent(cell="hand_written_lstm", steps=2000)),
    ("MLP", Mlp(layers=500, depth=500)),
)
"""The chain has 100,000 nodes; the networks are as long as the product allows, and their bytes are scaled up."""


def measure() -> list[Row]:
    """Wire, decoding, folding and memory of every shape."""
    run(GraphSpec())  # starts the engine
    return [row for name, architecture in SHAPES for row in _rows(name, architecture)]


def _rows(name: str, architecture: AnyArchitecture) -> list[Row]:
    spec = GraphSpec(model=ModelSpec(architecture=architecture, batch=1), backward=False)
    gc.collect()
    before = _resident_bytes()
    start = time.perf_counter()
    traced = run(spec)
    whole_s = time.perf_counter() - start
    held = _resident_bytes() - before
    packed = msgspec.msgpack.encode(traced)
    nodes = len(traced.graph.nodes)
    scale = NODES / nodes
    detail = f"{nodes:,} nodes, {len(packed) / nodes:.1f} bytes each; run() {whole_s:.2f} s"
    decoder = msgspec.msgpack.Decoder(Traced)
    decode_s = min(_seconds(lambda: decoder.decode(packed)) for _ in range(ROUNDS))
    fold_s = min(_seconds(lambda: _fold(decoder.decode(packed))) for _ in range(ROUNDS)) - decode_s
    return [
        Row(
            f"graph columns: {name}, 100,000 nodes on the wire",
            len(packed) * scale / 1e6,
            WIRE_BYTES / 1e6,
            "MB",
            detail,
        ),
        Row(f"graph columns: {name}, decode {nodes:,} nodes", decode_s, DECODE_S, "s"),
        Row(
            f"graph columns: {name}, fold {nodes:,} nodes", fold_s, FOLD_S, "s", "forward order and addresses included"
        ),
        Row(f"graph columns: {name}, app memory after run()", held / 1e6, None, "MB", "resident, the result alive"),
    ]


def _fold(traced: Traced) -> None:
    addresses(traced.graph, fold(traced.graph).keys)


def _seconds(work: object) -> float:
    assert callable(work)
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _resident_bytes() -> int:
    """Linux's own count; 0 where there is none."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), 0)


def main(arguments: Sequence[str]) -> int:
    """Print the rows as a table."""
    print(table(measure()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
