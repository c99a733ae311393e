"""The script of a claim: the functions the engine runs, and lines that print what they give."""

from __future__ import annotations

from typing import Any

from engine.claims.modules import module_name
from engine.claims.spec import TimedClaim
from engine.runner.contract import Spec
from engine.script.claims_source import cut_out
from engine.script.operator_ladder import IN_THE_CHECKOUT
from engine.script.text import import_lines

TIME = '''\
def time_all(ways: dict, rounds: int) -> dict:
    """Seconds per call of every way, the order turned from round to round, after one call to warm up."""
    clock = time.{clock}
    seconds = {{name: [] for name in ways}}
    for way in ways.values():
        way()
    for number in range(rounds):
        for name in list(ways)[:: 1 if number % 2 else -1]:
            start = clock()
            ways[name]()
            seconds[name].append(clock() - start)
    return seconds'''


def script(spec: Spec[Any]) -> str:
    """Print every count, what PyTorch says to every call, and the median of paired ratios of everything timed."""
    cut = cut_out(module_name(type(spec)))
    imports, definitions = {*cut.imports, ("torch", "", "")}, list(cut.definitions)
    seed = getattr(spec, "seed", 0)
    lines = [f"torch.manual_seed({seed})"]
    if "counts" in cut.arguments:
        lines += [f"for name, value in {_call('counts', spec)}.items():", '    print(f"{name} = {float(value)!r}")']
    if "calls" in cut.arguments:
        lines += _try_calls(spec, seed)
    if "pairs" in cut.arguments:
        imports |= {("time", "", ""), ("statistics", "median", "")}
        definitions.append(TIME.format(clock="thread_time" if getattr(spec, "threads", 1) == 1 else "perf_counter"))
        stacked = "stack" in cut.arguments["pairs"]
        if stacked:
            imports.add(("contextlib", "ExitStack", ""))
        lines += _time_pairs(spec, seed, stacked)
    words = (type(spec).__doc__ or "").strip()
    if any(source.startswith("engine.") for source, _, _ in imports):
        words += f" {IN_THE_CHECKOUT}"
    title = f'"""{words}"""'
    body = "\n\n\n".join([*definitions, "\n".join(lines)])
    return f"{title}\n\nfrom __future__ import annotations\n\n{import_lines(sorted(imports))}\n\n\n{body}\n"


def _call(name: str, spec: Spec[Any]) -> str:
    names = cut_out(module_name(type(spec))).arguments[name]
    given = [f"{key}={'stack' if key == 'stack' else repr(getattr(spec, key))}" for key in names]
    return f"{name}({', '.join(given)})"


def _try_calls(spec: Spec[Any], seed: int) -> list[str]:
    return [
        f"torch.manual_seed({seed})",
        f"for name, call in {_call('calls', spec)}.items():",
        "    try:",
        "        call()",
        '        print(f"{name}: runs")',
        "    except Exception as error:",
        '        print(f"{name}: {type(error).__name__}: {error}")',
    ]


def _time_pairs(spec: Spec[Any], seed: int, stacked: bool) -> list[str]:
    assert isinstance(spec, TimedClaim)
    lines = [
        f"torch.manual_seed({seed})",
        f"torch.set_num_threads({spec.threads})",
        f"for condition, ways in {_call('pairs', spec)}.items():",
        f"    seconds = time_all(ways, {spec.rounds})",
        "    first, *others = ways",
        "    for name in others:",
        "        ratio = median(a / b for a, b in zip(seconds[name], seconds[first], strict=True))",
        '        print(f"{condition}: {name} takes {ratio:.3g} times the time of {first}")',
    ]
    return ["with ExitStack() as stack:", *(f"    {line}" for line in lines)] if stacked else lines
