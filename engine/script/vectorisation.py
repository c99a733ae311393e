"""The script of the vectorisation ladder: the ways as the engine runs them, cut out of their file."""

from __future__ import annotations

import ast
from functools import lru_cache
from importlib import resources
from typing import get_args

from engine.script.text import import_lines
from engine.vectorisation.formulas import loop_steps
from engine.vectorisation.spec import (
    NOT_WRITTEN,
    CompiledLadderSpec,
    LadderDtype,
    LadderSpec,
    PlainRung,
    Problem,
    RungName,
    SweepSpec,
)

LONGEST_LOOP = 20_000
"""Steps; a loop over elements of more is left out of the script, as it is too slow to wait for."""

COUNT_NODES = '''\
def count_nodes(tensor: torch.Tensor) -> int:
    """Every autograd node behind the tensor, each once."""
    seen, waiting = set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [target for target, _ in node.next_functions]
    return len(seen)'''

TIME = '''\
def time_all(ways: list, inputs: list) -> dict:
    """Thread CPU seconds of every way, the order turned from round to round."""
    seconds = {way: [] for way in ways}
    for number in range({rounds}):
        for way in ways if number % 2 else ways[::-1]:
            start = time.thread_time()
            way(*inputs)
            seconds[way].append(time.thread_time() - start)
    return seconds'''

SHAPES: dict[Problem, dict[str, str]] = {
    "weighted_row_sum": {"x": "{rows}, {columns}", "weights": "{columns}"},
    "matmul": {"a": "{rows}, {columns}", "b": "{columns}, {rows}"},
    "pairwise_distance": {"x": "{rows}, {columns}", "y": "{rows}, {columns}"},
    "outer_sum": {"u": "{rows}", "v": "{columns}"},
    "squared_diagonal": {"m": "{rows}, {rows}"},
}


def script(spec: LadderSpec | CompiledLadderSpec | SweepSpec) -> str:
    """Print errors against float64, autograd nodes and seconds of every rung; of a sweep, seconds by size."""
    return _sweep(spec) if isinstance(spec, SweepSpec) else _ladder(spec)


def way_source(problem: Problem, rung: RungName) -> str:
    """The function a rung runs, named after the rung; "" for one that is not written."""
    return _definitions().get(f"{problem}_{_function(rung)}", "").replace(f"def {problem}_", "def ", 1)


@lru_cache
def _definitions() -> dict[str, str]:
    text = resources.files("engine.vectorisation").joinpath("problems.py").read_text(encoding="utf-8")
    found = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    lines = text.splitlines()
    return {
        name: "\n".join(line.partition("  # type:")[0] for line in lines[node.lineno - 1 : node.end_lineno])
        for name, node in found.items()
    }


def _function(rung: RungName) -> str:
    return rung.replace(" ", "_")


def _rungs(problem: Problem, rows: int, columns: int) -> list[PlainRung]:
    return [
        rung
        for rung in get_args(PlainRung)
        if (problem, rung) not in NOT_WRITTEN
        and (rung != "element loop" or (loop_steps(problem, rung, rows, columns) or 0) <= LONGEST_LOOP)
    ]


def _inputs(problem: Problem, dtype: LadderDtype, rows: str, columns: str) -> list[str]:
    typed = "" if dtype == "float32" else f", dtype=torch.{dtype}"
    drawn = [(name, shape.format(rows=rows, columns=columns)) for name, shape in SHAPES[problem].items()]
    return [
        *(f"{name} = torch.randn({shape}{typed})" for name, shape in drawn),
        f"inputs = [{', '.join(name for name, _ in drawn)}]",
    ]


def _reference(problem: Problem) -> str:
    if problem == "pairwise_distance":
        return 'wanted = torch.cdist(x.double(), y.double(), compute_mode="donot_use_mm_for_euclid_dist")'
    rung = "broadcast" if problem in ("outer_sum", "squared_diagonal") else "matmul"
    return f"wanted = {rung}({', '.join(f'{name}.double()' for name in SHAPES[problem])})"


def _ladder(spec: LadderSpec | CompiledLadderSpec) -> str:
    rungs = _rungs(spec.problem, spec.rows, spec.columns)
    ways = [_function(rung) for rung in rungs]
    recipe = [
        f"torch.set_num_threads({spec.threads})",
        f"torch.manual_seed({spec.seed})",
        *_inputs(spec.problem, spec.dtype, str(spec.rows), str(spec.columns)),
        _reference(spec.problem),
        'print("sum", wanted.sum().item())',
        "",
        f"ways = [{', '.join(ways)}]",
        "for way in ways:",
        "    error = (way(*inputs).double() - wanted).abs().max().item()",
        "    leaves = [tensor.clone().requires_grad_() for tensor in inputs]",
        '    print(way.__name__, "max absolute error", error)',
        '    print(way.__name__, "nodes", count_nodes(way(*leaves)))',
    ]
    if isinstance(spec, CompiledLadderSpec):
        recipe += [
            "",
            "compiled = torch.compile(broadcast, dynamic=False)",
            "start = time.perf_counter()",
            "error = (compiled(*inputs).double() - wanted).abs().max().item()",
            'print("compiled max absolute error", error)',
            'print("compiled first call, seconds", time.perf_counter() - start)',
            "ways.append(compiled)",
        ]
    recipe += [
        "",
        "for way, seconds in time_all(ways, inputs).items():",
        '    print(getattr(way, "__name__", "compiled"), "seconds", median(seconds))',
    ]
    sources = [way_source(spec.problem, rung) for rung in rungs]
    timing = TIME.replace("{rounds}", str(spec.rounds))
    return _text(f"{_words(spec.problem)}, written in {len(rungs)} ways.", [*sources, COUNT_NODES, timing], recipe)


def _sweep(spec: SweepSpec) -> str:
    rows, columns = (
        "size" if spec.grow in (name, "both") else str(given)
        for name, given in (("rows", spec.rows), ("columns", spec.columns))
    )
    pair = [spec.first, spec.second]
    recipe = [
        f"torch.set_num_threads({spec.threads})",
        f"for size in {list(spec.sizes())}:",
        f"    torch.manual_seed({spec.seed})",
        *(f"    {line}" for line in _inputs(spec.problem, spec.dtype, rows, columns)),
        f"    for way, seconds in time_all([{', '.join(map(_function, pair))}], inputs).items():",
        "        print(size, way.__name__, median(seconds))",
    ]
    sources = [way_source(spec.problem, rung) for rung in pair]
    timing = TIME.replace("{rounds}", str(spec.rounds))
    return _text(f"{_words(spec.problem)}: {spec.first} against {spec.second} over sizes.", [*sources, timing], recipe)


def _words(problem: Problem) -> str:
    return problem.replace("_", " ").capitalize()


def _text(title: str, definitions: list[str], recipe: list[str]) -> str:
    imports = import_lines([("time", "", ""), ("statistics", "median", ""), ("torch", "", "")])
    return "\n".join([f'"""{title}"""', "", imports, "", "", "\n\n\n".join(definitions), "", "", *recipe]) + "\n"
