"""First picture of a graph in a real browser, in wall seconds after the forward.

A visitor has the page open and changes a control; nothing of the new graph is cached. The clock runs in the page: from
the key press or click to the first frame with the new picture, rasterised. That is the whole way: worker, price,
model, forward, reading the graph, backward, sending, folding, layout, encoding, canvas. Building the model and its
plain forward, timed in a worker of the same kind right after, are taken off; both numbers stand in the row.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from playwright.sync_api import Locator, sync_playwright

from benchmarks.row import Row
from benchmarks.worker_run import WorkerRun, run_in_worker
from engine.graph.spec import ClassicSpec, GraphSpec
from engine.models.spec import AnyArchitecture, Chain, Gpt, ModelSpec, Recurrent, ResNet, TiedLoop
from engine.runner.contract import MEBIBYTE
from engine.runner.forked import ForkBackend
from pages.shared.model_controls import link_values
from tests.browser.server import Server, running_server
from tests.browser.visitor import FIND_GRAPH, Visitor, launch, visiting

PAGE = "autograd-graph"
ROUNDS, LONG_ROUNDS = 5, 3
LONG_S = 3.0
DOT_STEPS, DOT_LIMIT_S = 60, 120.0
"""Plain dot needs more than 90 s for 100 steps."""
DRAWN_LIMIT_MS = 60_000


@dataclass(frozen=True)
class Case:
    """A graph to draw: its model, what the first picture may take, and the option of a control that leads to it."""

    name: str
    architecture: AnyArchitecture
    target_s: float
    toggle: tuple[str, str] | None = None
    pin: bool = False


GPT2_SMALL = Gpt(layers=12, heads=12, width=768, sequence=64, vocabulary=50257)
CASES = (
    Case("tied loop, 400 steps", TiedLoop(steps=400), 1.5),
    Case("GPT-2 small", GPT2_SMALL, 1.0),
    Case("transformer, 48 layers", Gpt(layers=48), 2.0),
    Case("ResNet-50", ResNet(variant="resnet50"), 1.0),
    Case("LSTM by hand, 200 steps", Recurrent(cell="hand_written_lstm", steps=200), 2.0),
    Case("chain of 20,000", Chain(operations=20_000), 2.0),
    Case("chain of 100,000", Chain(operations=100_000), 6.0),
    Case(
        "GPT-2 small against GPT-2 small",
        msgspec.structs.replace(GPT2_SMALL, attention="explicit"),
        1.0,
        toggle=("gpt.attention", "explicit"),
        pin=True,
    ),
)

WAIT_FOR_PICTURE = """
(limit) => {
  const find = () => GRAPH;
  let graph = find();
  delete graph.dataset.atlasBoxes;
  window.atlasPicture = new Promise((done, fail) => {
    let start = 0;
    const begin = (event) => {
      if (event.type === "keydown" && event.key !== "Enter") return;
      for (const kind of ["keydown", "click"]) document.removeEventListener(kind, begin, true);
      start = event.timeStamp;
      look();
    };
    const drawn = () => {
      graph.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1);
      done(performance.now() - start);
    };
    const look = () => {
      if (!graph?.isConnected) graph = find();
      if (graph?.dataset.atlasBoxes) requestAnimationFrame(drawn);
      else if (performance.now() - start > limit) fail(new Error(`no new picture within ${limit} ms`));
      else requestAnimationFrame(look);
    };
    for (const kind of ["keydown", "click"]) document.addEventListener(kind, begin, true);
  });
  window.atlasPicture.catch(() => {});
}
""".replace("GRAPH", FIND_GRAPH)


def measure() -> list[Row]:
    """Every case with what its worker took of memory and what the app grew by; torchviz and dot."""
    with _stage() as (visit, server, backend):
        rows = [row for case in CASES for row in _rows(case, visit, server, backend)]
        return [*rows, _against_dot(visit, backend)]


@contextmanager
def _stage() -> Iterator[tuple[Callable[[], Any], Server, ForkBackend]]:
    """A running app, a way to visit it, and a fork server beside it for the workers that are timed alone."""
    backend = ForkBackend()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder) / "log.txt") as server,
        sync_playwright() as playwright,
    ):
        browser = launch(playwright)
        backend.start()
        try:
            with visiting(browser, server.address) as first:
                first.open(PAGE)
            yield lambda: visiting(browser, server.address), server, backend
        finally:
            backend.stop()
            browser.close()


def _rows(case: Case, visit: Callable[[], Any], server: Server, backend: ForkBackend) -> list[Row]:
    seconds, forwards, traced = [], [], []
    resident = _resident_bytes(server)
    with visit() as visitor:
        for seed in range(LONG_ROUNDS if case.target_s > LONG_S else ROUNDS):
            seconds.append(_first_picture(visitor, case, seed))
            boxes = visitor.graph["atlasBoxes"]
            forwards.append(_plain_forward(backend, _model(case, seed)))
            traced.append(run_in_worker(backend, GraphSpec(model=_model(case, seed))))
    after = [whole - forward for whole, forward in zip(seconds, forwards, strict=True)]
    grown = (_resident_bytes(server) - resident) / (2 * len(seconds))  # the one before, and the one measured
    told = (
        f"{median(seconds):.2f} s whole - {median(forwards):.2f} s model and forward; {min(after):.2f} to "
        f"{max(after):.2f} s, {len(after)} times, {boxes} boxes; worker: {_stages(traced)}"
    )
    memory = f"app {grown / MEBIBYTE:+.1f} MiB per graph; result {traced[-1].result_bytes / 1e6:.2f} MB"
    peak = max(one.peak_bytes for one in traced) / MEBIBYTE
    return [
        Row(f"{case.name}: first picture", median(after), case.target_s, "s", told),
        Row(f"{case.name}: worker's peak memory", peak, None, "MiB", memory),
    ]


def _against_dot(visit: Callable[[], Any], backend: ForkBackend) -> Row:
    """The tied loop as torchviz draws it, laid out by plain dot, against our first picture of the same loop."""
    case = Case("", TiedLoop(steps=DOT_STEPS), 0.0)
    with visit() as visitor:
        ours = [
            _first_picture(visitor, case, seed) - _plain_forward(backend, _model(case, seed)) for seed in range(ROUNDS)
        ]
    torchviz_dot(DOT_STEPS)  # the first call also loads torch
    start = time.perf_counter()
    dot = torchviz_dot(DOT_STEPS)
    try:
        subprocess.run(["dot", "-Tsvg"], input=dot, text=True, capture_output=True, check=True, timeout=DOT_LIMIT_S)
        ended = "ended"
    except subprocess.TimeoutExpired:
        ended = "was stopped, so this is a lower bound"
    theirs = time.perf_counter() - start
    detail = f"torchviz and dot {theirs:.1f} s ({ended}), first picture {median(ours):.2f} s after the forward"
    name = f"torchviz and dot, tied loop of {DOT_STEPS} steps: times slower"
    return Row(name, theirs / median(ours), None, "x", detail)


def torchviz_dot(steps: int) -> str:
    """DOT text of a tied loop after its forward; torch is only loaded for this."""
    import torchviz

    from engine.models.build import build

    built = build(ModelSpec(architecture=TiedLoop(steps=steps)))
    source: str = torchviz.make_dot(built.loss(built.forward()), dict(built.model.named_parameters())).source
    return source


def _model(case: Case, seed: int) -> ModelSpec:
    return ModelSpec(architecture=case.architecture, batch=1 if case.toggle else 2, seed=seed)


def _first_picture(visitor: Visitor, case: Case, seed: int) -> float:
    """Open a graph of the same family and change it into the one wanted."""
    wanted = _model(case, seed)
    link: dict[str, Any] = {**link_values(wanted), "seed": str(seed)}
    if case.toggle:
        link.pop(case.toggle[0])
    else:
        link["batch"] = "3"
    visitor.open(PAGE, **link)
    assert visitor.graph
    if case.pin:
        visitor.press("pin")
    change = _ready_to_choose(visitor, *case.toggle) if case.toggle else _ready_to_type(visitor, "2")
    return _time_to_picture(visitor, change)


def _time_to_picture(visitor: Visitor, change: Callable[[], None]) -> float:
    visitor.page.evaluate(WAIT_FOR_PICTURE, DRAWN_LIMIT_MS)
    change()
    seconds = float(visitor.page.evaluate("() => window.atlasPicture")) / 1e3
    visitor.wait()
    return seconds


def _ready_to_type(visitor: Visitor, text: str) -> Callable[[], None]:
    visitor.unfold("topic.Run")
    field: Locator = visitor.control("batch").locator("input").first
    field.fill(text)
    return lambda: field.press("Enter")


def _ready_to_choose(visitor: Visitor, key: str, option: str) -> Callable[[], None]:
    visitor.control(key).get_by_role("combobox").click()
    entry = visitor.page.get_by_role("option", name=option, exact=True)
    entry.wait_for()
    return entry.click


def _plain_forward(backend: ForkBackend, model: ModelSpec) -> float:
    """Seconds of a worker for building the model and one forward, nothing noted on the way."""
    return run_in_worker(backend, ClassicSpec(model=model, maximum_nodes=1)).between("forward", "reading the graph")


def _stages(runs: list[WorkerRun]) -> str:
    """Median seconds of every stage that takes 10 ms, the first being the price."""
    names = [name for name, _ in runs[0].stages]
    starts = {name: median(dict(run.stages)[name] for run in runs) for name in names}
    spans = {"price": starts[names[0]]} | {a: starts[b] - starts[a] for a, b in pairwise(names)}
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in spans.items() if seconds >= 0.01)


def _resident_bytes(server: Server) -> int:
    fields = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(fields[1]) * 4096
