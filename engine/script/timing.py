"""The script of a comparison: both sides in plain torch, their results, and the ratio over interleaved rounds."""

from __future__ import annotations

import ast
from functools import lru_cache
from importlib import resources

from engine.script.model import model_script
from engine.script.text import import_lines, indented
from engine.timing.catalogue import Operand, Operator, operands_of
from engine.timing.heap import BLOCKS, FENCE_BYTES, JUST_BELOW_BYTES, LARGEST_THRESHOLD_BYTES, SMALL_HOLE_BYTES
from engine.timing.spec import AllocationSpec, CompiledTimingSpec, TimingSpec, TimingSweepSpec
from engine.timing.variant import OperatorVariant, StepVariant, Variant, describe_variant

Imports = set[tuple[str, str, str]]

SECONDS = '''\
def seconds(side) -> float:
    """{what} of one call."""
    start = time.{clock}()
    side()
    return time.{clock}() - start'''

FIRST = '''\
def first(outcome) -> torch.Tensor:
    """The first tensor of a result, in double precision."""
    while not isinstance(outcome, torch.Tensor):
        outcome = list(outcome.values() if isinstance(outcome, dict) else outcome)[0]
    return outcome.detach().double()'''


WARM_UP_ROUNDS = 4
SETTLE = f"""\
libc = ctypes.CDLL(None)  # glibc's malloc, as engine/timing/heap.py settles it
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_size_t,), (ctypes.c_void_p,)
libc.sbrk.restype, libc.sbrk.argtypes = ctypes.c_void_p, (ctypes.c_ssize_t,)
libc.realloc.restype, libc.realloc.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_size_t)


def settle_heap(size: int) -> list[int]:
    \"\"\"The threshold at its maximum, pages below it there; holes for a larger block are returned, held.\"\"\"
    held = []
    if size > {LARGEST_THRESHOLD_BYTES}:
        libc.malloc_trim(0)
        for hole in (size, {SMALL_HOLE_BYTES}):
            end = libc.sbrk(0)
            while (block := libc.malloc(hole)) + hole <= end:
                held.append(block)
            libc.free(block)
    for block in [libc.malloc({JUST_BELOW_BYTES}) for _ in range({BLOCKS})]:
        libc.free(block)
    block = libc.malloc({JUST_BELOW_BYTES})
    ctypes.memset(block, 1, {JUST_BELOW_BYTES})
    libc.realloc(block, {FENCE_BYTES})
    return held"""

FAULTS = '''\
def seconds_and_faults(side) -> tuple[float, int]:
    """Thread CPU seconds and minor page faults of one call."""
    faults, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.thread_time()
    side()
    return time.thread_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults'''


def script(spec: TimingSpec | CompiledTimingSpec | TimingSweepSpec | AllocationSpec) -> str:
    """Print both results, how far they are apart and the median ratio; of a sweep, seconds by size."""
    if isinstance(spec, AllocationSpec):
        return _allocation(spec)
    return _sweep(spec) if isinstance(spec, TimingSweepSpec) else _pair(spec)


@lru_cache
def _functions() -> dict[str, str]:
    text = resources.files("engine.timing").joinpath("operators.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in found}


def operator_source(row: Operator) -> str:
    """The function that is timed, as the engine runs it; of a compiled operator its call."""
    if not row.compiled:
        return _functions()[row.name]
    return f"from engine.operators import {row.compiled}  # needs the project, and its operators built"


class _Script:
    """What a script is put together from; definitions that both sides need stand once."""

    def __init__(self) -> None:
        self.imports: Imports = {("time", "", ""), ("statistics", "median", ""), ("torch", "", "")}
        self.definitions: list[str] = []

    def define(self, *texts: str) -> None:
        self.definitions += [text for text in texts if text not in self.definitions]
        joined = "\n".join(texts)
        self.imports |= {("torch", "Tensor", "")} if "Tensor" in joined else set()
        self.imports |= {("math", "", "")} if "math." in joined else set()
        self.imports |= {("torch.nn", "functional", "F")} if "F." in joined else set()

    def text(self, title: str, recipe: list[str]) -> str:
        body = "\n\n\n".join([*self.definitions, "\n".join(recipe)])
        return f'"""{title}"""\n\n{import_lines(sorted(self.imports))}\n\n\n{body}\n'


def _pair(spec: TimingSpec | CompiledTimingSpec) -> str:
    made, threads = _Script(), (spec.a.threads, spec.b.threads)
    by_wall = max(threads) > 1
    sides = (_maker(made, spec.a, "a", spec.seed), _maker(made, spec.b, "b", spec.seed))
    made.define(*sides, FIRST, _seconds(by_wall))
    recipe = [f"torch.set_num_threads({max(threads)})", "a, b = make_a(), make_b()"]
    if isinstance(spec, CompiledTimingSpec):
        names = ("a", "b") if spec.compiled == "both" else (spec.compiled,)
        recipe += [f"{name} = torch.compile({name}, dynamic=False)" for name in names]
    recipe += [
        'for name, side in (("A", a), ("B", b)):',
        f"    torch.manual_seed({spec.seed})",
        '    print(name, "sum", first(side()).sum().item())',
        f"torch.manual_seed({spec.seed})",
        "result = first(a()).clone()",
        f"torch.manual_seed({spec.seed})",
        "other = first(b())",
        "if other.shape == result.shape:",
        '    print("max absolute distance", (other - result).abs().max().item())',
        "",
        "ratios = []",
        f"for number in range({spec.rounds}):",
        "    taken = {}",
        "    for side in (a, b) if number % 2 else (b, a):",
        *(
            [f"        torch.set_num_threads({threads[0]} if side is a else {threads[1]})", "        side()"]
            if threads[0] != threads[1]
            else []
        ),
        "        taken[side] = seconds(side)",
        "    ratios.append(taken[b] / taken[a])",
        'print("median ratio B / A", median(ratios))',
    ]
    return made.text(f"A: {describe_variant(spec.a)}. B: {describe_variant(spec.b)}.", recipe)


def _seconds(by_wall: bool) -> str:
    what, clock = ("Wall seconds", "perf_counter") if by_wall else ("Thread CPU seconds", "thread_time")
    return SECONDS.format(what=what, clock=clock)


def _maker(made: _Script, variant: Variant, name: str, seed: int, sized: dict[str, str] | None = None) -> str:
    """`def make_a(): ...` returning the callable of a side; `sized` are names for sizes that are arguments."""
    body = _step(made, variant) if isinstance(variant, StepVariant) else _operator(made, variant, seed, sized or {})
    return "\n".join([f"def make_{name}({', '.join(dict.fromkeys((sized or {}).values()))}):", *indented(body)])


def _operator(made: _Script, variant: OperatorVariant, seed: int, sized: dict[str, str]) -> list[str]:
    row = variant.row
    made.define(operator_source(row))
    operands = operands_of(row.operands, variant.rows, variant.columns)
    symbols = operands_of(row.operands, -1, -2) if sized else operands
    arguments = ", ".join(one.name for one in operands)
    lines = [f"generator = torch.Generator().manual_seed({seed})"]
    for one, symbol in zip(operands, symbols, strict=True):
        lines += _operand(one, _shape(symbol, variant, sized), variant, sized)
    function = row.compiled or row.name
    arguments = ", ".join([arguments, *(f"{name}={value}" for name, value in row.keywords)])
    context = _context(variant)
    if variant.output == "reused":
        made.define(_functions()[f"{row.name}_out"])
        lines.append(f"out = {function}({arguments})")
        arguments, function = f"{arguments}, out=out", f"{row.name}_out"
    run = _within(context, [f"return {function}({arguments})"])
    if variant.work == "forward":
        return [*lines, "", "def side():", *indented(run), "", "return side"]
    leaves = ", ".join(one.name for one in operands if not one.is_index)
    back = ["result = forward()", f"return result, *torch.autograd.grad(result, [{leaves}], gradient)"]
    forward = ["", "def forward():", *indented(run), "", "gradient = torch.ones_like(forward())"]
    return [*lines, *forward, "", "def side():", *indented(back), "", "return side"]


def _shape(one: Operand, variant: OperatorVariant, sized: dict[str, str]) -> str:
    names = {-1: sized.get("rows", str(variant.rows)), -2: sized.get("columns", str(variant.columns))}
    words = [names.get(length, str(length)) for length in one.shape]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def _operand(one: Operand, shape: str, variant: OperatorVariant, sized: dict[str, str]) -> list[str]:
    if one.is_index:
        classes = sized.get("columns", str(variant.columns))
        return [f"{one.name} = torch.randint({classes}, {shape}, generator=generator)"]
    made = f"torch.randn({shape}, generator=generator)"
    made += "" if variant.dtype == "float32" else f".to(torch.{variant.dtype})"
    layouts = {
        "contiguous": "",
        "transposed": ".t().contiguous().t()",
        "strided": ".repeat_interleave(2, dim=1)[:, ::2]",
        "channels_last": ".contiguous(memory_format=torch.channels_last)",
    }
    made += layouts[variant.layout] if one.is_laid_out else ""
    needs_grad = variant.mode in ("grad", "autocast bfloat16")
    return [f"{one.name} = {made}{'.requires_grad_()' if needs_grad else ''}"]


def _context(variant: OperatorVariant) -> str:
    contexts = {
        "grad": "",
        "no_grad": "torch.no_grad()",
        "inference_mode": "torch.inference_mode()",
        "autocast bfloat16": 'torch.autocast("cpu", dtype=torch.bfloat16)',
    }
    return contexts[variant.mode]


def _within(context: str, lines: list[str]) -> list[str]:
    return [f"with {context}:", *indented(lines)] if context else lines


def _step(made: _Script, variant: StepVariant) -> list[str]:
    """The model's own script, cut where its forward begins: what comes before is done once."""
    parts = model_script(variant.model)
    made.imports |= parts.imports
    made.define(*parts.definitions)
    seeding = f"torch.manual_seed({variant.model.seed})"
    cut = len(parts.recipe) - 1 - parts.recipe[::-1].index(seeding)
    setup, forward = parts.recipe[:cut], parts.recipe[cut + 1 :]
    step = [line for line in forward if variant.work != "forward" or not line.strip().startswith("loss =")]
    if variant.work == "forward":
        return [*setup, "", "def side():", *indented([*step, "return outputs"]), "", "return side"]
    setup += ["leaves = [p for p in model.parameters() if p.requires_grad]"]
    step += ["loss.backward()"]
    if variant.work == "training step":
        setup += ["optimizer = torch.optim.SGD(leaves, lr=0.0) if leaves else None"]
        step += ["if optimizer:", "    optimizer.step()"]
    setup += ["leaves += [x for x in inputs.values() if x.requires_grad]"]
    step += ["for leaf in leaves:", "    leaf.grad = None", "return loss"]
    return [*setup, "", "def side():", *indented(step), "", "return side"]


def _sweep(spec: TimingSweepSpec) -> str:
    made, pair = _Script(), (spec.a, spec.b)
    recipe = [f"torch.set_num_threads({max(one.threads for one in pair)})", f"for size in {list(spec.sizes())}:"]
    if isinstance(spec.a, StepVariant):
        makers = [_maker(made, one, name, spec.seed) for one, name in zip(pair, "ab", strict=True)]
        makers = [
            text.replace("():", "(size):", 1)
            .replace(_batch(one), "example_inputs(size)")
            .replace(_batch(one).replace("inputs", "target"), "example_target(size)")
            for text, one in zip(makers, pair, strict=True)
        ]
    else:
        sized = {name: "size" for name in ("rows", "columns") if spec.grow in (name, "both")}
        makers = [_maker(made, one, name, spec.seed, sized) for one, name in zip(pair, "ab", strict=True)]
    made.define(*makers, _seconds(max(one.threads for one in pair) > 1))
    recipe += [
        "    sides, taken = (make_a(size), make_b(size)), ([], [])",
        "    for side in sides:",
        "        side()",
        f"    for number in range({spec.rounds}):",
        "        for place in (0, 1) if number % 2 else (1, 0):",
        "            taken[place].append(seconds(sides[place]))",
        '    print(size, "A", median(taken[0]), "B", median(taken[1]))',
    ]
    return made.text(f"A: {describe_variant(spec.a)}. B: {describe_variant(spec.b)}. Over sizes.", recipe)


def _batch(variant: Variant) -> str:
    return f"example_inputs({variant.model.batch})" if isinstance(variant, StepVariant) else ""


def _allocation(spec: AllocationSpec) -> str:
    made = _Script()
    made.imports |= {("resource", "", ""), ("ctypes", "", "")}
    made.define(SETTLE, FAULTS)
    row = OperatorVariant(operator=spec.operator).row
    made.define(_functions()[row.name], _functions()[f"{row.name}_out"])
    names = [one.name for one in operands_of(row.operands, 1, 1)]
    to = "" if spec.dtype == "float32" else f".to(torch.{spec.dtype})"
    item, listed = {"float32": 4, "float64": 8, "bfloat16": 2}[spec.dtype], ", ".join(names)
    recipe = [
        "torch.set_num_threads(1)",
        f"for mib in {list(spec.sizes_mib())}:",
        "    held = settle_heap(mib * 2**20)",
        f"    generator = torch.Generator().manual_seed({spec.seed})",
        *(f"    {name} = torch.rand((mib * 2**20 // {256 * item}, 256), generator=generator){to}" for name in names),
        f"    out = torch.empty_like({names[0]})",
        f"    sides = (lambda: {row.name}({listed}), lambda: {row.name}_out({listed}, out=out))",
        "    found = ([], [])",
        f"    for number in range({WARM_UP_ROUNDS} + {spec.rounds}):",
        "        for place in (0, 1) if number % 2 else (1, 0):",
        "            found[place].append(seconds_and_faults(sides[place]))",
        '    for name, samples in zip(("fresh", "reused"), found):',
        f"        taken, faults = map(median, zip(*samples[{WARM_UP_ROUNDS}:]))",
        '        print(mib, "MiB", name, "seconds", taken, "faults", faults)',
        f"    del sides, out, {listed}",
        "    for block in held:",
        "        libc.free(block)",
    ]
    return made.text(f"{row.code} with a fresh output of every call, and with one that is reused.", recipe)
