"""The scripts of the operators page: the ways as the engine runs them, cut out of their file."""

from __future__ import annotations

import ast
from functools import lru_cache
from importlib import resources

from engine.operator_ladder.catalogue import CATALOGUE
from engine.operator_ladder.row import Row
from engine.operator_ladder.spec import (
    CompiledOperatorLadderSpec,
    OperatorChecksSpec,
    OperatorLadderSpec,
    OperatorSweepSpec,
    RooflineSpec,
)
from engine.script.source import names_in

AnySpec = OperatorLadderSpec | CompiledOperatorLadderSpec | OperatorSweepSpec | RooflineSpec | OperatorChecksSpec

IN_THE_CHECKOUT = "Run it in the project's folder."

TIME = '''\
def time_all(calls: dict) -> dict:
    """Thread CPU seconds of every call, the order turned from round to round."""
    seconds = {name: [] for name in calls}
    for number in range({rounds}):
        for name in list(calls)[:: 1 if number % 2 else -1]:
            start = time.thread_time()
            calls[name]()
            seconds[name].append(time.thread_time() - start)
    return seconds'''

RUN = {
    "forward": '''\
def run(way, inputs: list) -> list:
    """The result alone, under no_grad."""
    with torch.no_grad():
        return [way(*inputs)]''',
    "forward + backward": '''\
def run(way, inputs: list) -> list:
    """The result, and its gradient with respect to every floating input."""
    leaves = [x.detach().requires_grad_(x.is_floating_point()) for x in inputs]
    result = way(*leaves)
    wave = torch.cos(torch.arange(result.numel(), dtype=torch.float32)).reshape(result.shape)
    upstream = wave.to(result.dtype) if result.dim() else torch.ones_like(result)
    return [result.detach(), *torch.autograd.grad(result, [x for x in leaves if x.requires_grad], upstream)]''',
    "step": '''\
def run(way, inputs: list) -> list:
    """The parameters after one step on copies of everything."""
    copies = [[x.clone() for x in tensors] for tensors in inputs]
    way(*copies)()
    return [x.detach() for x in copies[0]]''',
}

ERROR = '''\
def error(got: list, wanted: list, eps: float) -> float:
    """Largest distance in units of eps times the largest float64 value."""
    pairs = [(x.double(), y) for x, y in zip(got, wanted, strict=True) if y.numel()]
    return max((float((x - y).abs().max()) / (eps * (float(y.abs().max()) or 1.0)) for x, y in pairs), default=0.0)'''

SAVED = '''\
def saved_tensors(call) -> int:
    """Tensors that the forward packs for backward."""
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(0) or x, lambda x: x):
        call()
    return len(packed)'''


def script(spec: AnySpec) -> str:
    """Print what the page shows: errors, saved tensors, seconds; of a roofline GB/s and GFLOP/s; verdicts."""
    if isinstance(spec, RooflineSpec):
        return _roofline(spec)
    if isinstance(spec, OperatorChecksSpec):
        return _checks(spec)
    return _sweep(spec) if isinstance(spec, OperatorSweepSpec) else _ladder(spec)


def way_source(operator: str, function: str) -> str:
    """The function a rung runs; "" for one that is not written."""
    return _definitions(operator).get(function, "")


@lru_cache
def _definitions(operator: str) -> dict[str, str]:
    text = _text_of(operator)
    lines = text.splitlines()
    return {
        node.name: "\n".join(line.partition("  # type:")[0] for line in lines[node.lineno - 1 : node.end_lineno])
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }


def _text_of(operator: str) -> str:
    return resources.files("engine.operator_ladder.ways").joinpath(f"{operator}.py").read_text(encoding="utf-8")


ALWAYS = ("import time", "from functools import partial", "from statistics import median", "import torch")


def _header(operator: str, body: str) -> tuple[list[str], list[str]]:
    """(imports, constants) of the operator's file that `body` uses, and what the script itself needs."""
    tree = ast.parse(_text_of(operator)).body
    used = names_in(ast.parse(body))
    constants = [node for node in tree if isinstance(node, ast.Assign) and names_in(node) & used]
    used = used.union(*map(names_in, constants))
    kept = [n for n in (*tree, *ast.parse("\n".join(ALWAYS)).body) if isinstance(n, ast.Import | ast.ImportFrom)]
    imports = {ast.unparse(node) for node in kept if {alias.asname or alias.name for alias in node.names} & used}
    return _sorted_imports(imports), [ast.unparse(node) for node in constants]


MISSING = """\
except ModuleNotFoundError as missing:
    raise SystemExit(f"{missing}: run this in the project's folder, or set PYTHONPATH to it.") from missing"""


def _sorted_imports(lines: set[str]) -> list[str]:
    """Standard library, torch, this project, whose absence is told in words; plain imports before `from` in each."""
    groups: list[list[str]] = [[], [], []]
    for line in sorted(lines, key=lambda line: (line.startswith("from"), line.split()[1])):
        root = line.split()[1].partition(".")[0]
        groups[2 if root == "engine" else 1 if root == "torch" else 0].append(line)
    if groups[2]:
        groups[2] = ["try:", *(f"    {line}" for line in groups[2]), MISSING]
    return [line for group in groups if group for line in (*group, "")][:-1]


def _functions(row: Row, left_out: tuple[str, ...]) -> list[str]:
    """Names of the ways asked for, each once; slow ones are left out."""
    ways = [way for way in row.ways if way.rung not in left_out and not way.is_slow]
    return list(dict.fromkeys(way.function for way in ways))


def _is_compared(row: Row, function: str) -> bool:
    return not any(way.has_own_mask for way in row.ways if way.function == function)


def _sources(row: Row, names: list[str]) -> list[str]:
    """What begins with an underscore, `inputs`, then the ways."""
    found = _definitions(row.operator)
    private = [name for name in found if name.startswith("_")]
    reference = [row.reference] if row.reference not in names else []
    return [found[name] for name in (*private, "inputs", *names, *reference)]


def _ladder(spec: OperatorLadderSpec | CompiledOperatorLadderSpec) -> str:
    row, names = spec.row, _functions(spec.row, spec.left_out)
    kind = "step" if row.is_step else spec.work
    double = "[[x.double() for x in tensors] for tensors in drawn]" if row.is_step else _DOUBLE
    with_reference = [name for name in names if _is_compared(row, name)]
    compared = "ways" if with_reference == names else f"[{', '.join(with_reference)}]"
    has_saved = kind == "forward + backward"
    recipe = [
        f"torch.set_num_threads({spec.threads})",
        f"torch.manual_seed({spec.seed})",
        f"drawn = inputs({spec.rows}, {spec.columns}, {spec.inner}, torch.{spec.dtype})",
        f"wanted = run({row.reference}, {double})",
        f"eps = torch.finfo(torch.{spec.dtype}).eps",
        f'print("sum", {"sum(float(x.sum()) for x in wanted)" if row.is_step else "float(wanted[0].sum())"})',
        f"ways = [{', '.join(names)}]",
        f"for way in {compared}:",
        "    got = run(way, drawn)",
        f'    print(way.__name__, "error", error({"got, wanted" if row.is_step else "got[:1], wanted[:1]"}, eps))',
    ]
    if has_saved:
        recipe += [
            '    print(way.__name__, "gradient error", error(got[1:], wanted[1:], eps))',
            '    print(way.__name__, "saved tensors", saved_tensors(partial(run, way, drawn)))',
        ]
    calls = "{way.__name__: partial(run, way, drawn) for way in ways}"
    recipe += [
        f"for name, seconds in time_all({calls}).items():",
        '    print(name, "seconds", median(seconds))',
    ]
    parts = [*_sources(row, names), RUN[kind], ERROR, *([SAVED] if has_saved else []), _timing(spec.rounds)]
    return _script(f"{row.title}: {' '.join(names)}.", row.operator, parts, recipe)


_DOUBLE = "[x.double() if x.is_floating_point() else x for x in drawn]"


def _timing(rounds: int) -> str:
    return TIME.replace("{rounds}", str(rounds))


def _script(title: str, operator: str, parts: list[str], recipe: list[str]) -> str:
    """Imports and constants that are used, definitions apart, then what is done with them."""
    body = "\n".join(["\n\n\n".join(parts), "", "", *recipe])
    imports, constants = _header(operator, body)
    header = [*imports, *(["", *constants] if constants else [])]
    return "\n".join([f'"""{title} {IN_THE_CHECKOUT}"""', "", *header, "", "", body]) + "\n"


def _sweep(spec: OperatorSweepSpec) -> str:
    row = spec.row
    names = list(dict.fromkeys(row.way(rung).function for rung in (spec.first, spec.second)))
    rows, inner = ("size" if not row.is_step else str(spec.tensors)), "size" if row.sizes[2] else "1"
    recipe = [
        f"torch.set_num_threads({spec.threads})",
        f"for size in {list(spec.sizes())}:",
        f"    torch.manual_seed({spec.seed})",
        f"    drawn = inputs({rows}, size, {inner}, torch.{spec.dtype})",
        f"    calls = {{way.__name__: partial(run, way, drawn) for way in [{', '.join(names)}]}}",
        "    for name, seconds in time_all(calls).items():",
        "        print(size, name, median(seconds))",
    ]
    kind = "step" if row.is_step else spec.work
    wanted = [_definitions(row.operator)[name] for name in _definitions(row.operator) if name.startswith("_")]
    wanted += [_definitions(row.operator)[name] for name in ("inputs", *names)]
    return _script(f"{row.title} over sizes.", row.operator, [*wanted, RUN[kind], _timing(spec.rounds)], recipe)


def _roofline(spec: RooflineSpec) -> str:
    threads, dtype = spec.threads, spec.dtype
    return f'''\
"""What this machine moves and computes: a copy and a matrix product, {dtype}, {threads} thread(s)."""

import time
from functools import partial
from statistics import median

import torch


def seconds_of(call) -> float:
    """Median wall seconds of {spec.rounds} calls after one to warm up."""
    call()
    taken = []
    for _ in range({spec.rounds}):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken)


torch.set_num_threads({threads})
for mebibytes in (1, 32, 512):
    source, target = torch.zeros(mebibytes * 2**20 // {8 if dtype == "float64" else 4}).chunk(2)
    seconds = seconds_of(partial(target.copy_, source))
    print(mebibytes, "MiB copied, GB/s", (source.nbytes + target.nbytes) / seconds / 1e9)
a, b = (torch.randn(768, 768).to(torch.{dtype}) for _ in range(2))
print("torch.mm, GFLOP/s", 2 * 768**3 / seconds_of(partial(torch.mm, a, b)) / 1e9)
'''


def _checks(spec: OperatorChecksSpec) -> str:
    row = CATALOGUE[spec.operator]
    function = row.way_function
    found = _definitions(row.operator)
    private = [text for name, text in found.items() if name.startswith("_")]
    recipe = [
        f"torch.manual_seed({spec.seed})",
        "drawn = inputs(3, 4, 2, torch.float64)",
        "leaves = [x.requires_grad_(x.is_floating_point()) for x in drawn]",
        "for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):",
        "    try:",
        f"        check({function}, leaves)",
        '        print(check.__name__, "passed")',
        "    except RuntimeError as error:",
        '        print(check.__name__, "failed:", error)',
    ]
    title = f"Is the backward of {spec.operator} its derivative?"
    return _script(title, row.operator, [*private, found["inputs"], found[function]], recipe)
