"""The scripts of the profiler page: the article's lines in today's API, and what profiling adds."""

from __future__ import annotations

from engine.models.spec import ModelSpec, describe
from engine.optimizer_names import call_text
from engine.profiler.spec import ProfileSpec, ProfilingCostSpec
from engine.script.model import ModelScript, model_script
from engine.script.text import call, indented

ISSUE = """\
torch.manual_seed(0)
x = torch.randn(256, 256, requires_grad=True)"""
ISSUE_RUN = ["G = (x @ x).relu().sum()", "G.backward(retain_graph=True)", "del G"]

SUMS = """\
print("negative:", [row.key for row in rows if row.{own} < 0])
print("sum of the column:", sum(row.{own} for row in rows))"""

TIMES = """\
def seconds(arguments: dict | None) -> float:
    \"\"\"Wall seconds of one run, plain where there are no arguments.\"\"\"
    model.zero_grad()
    begin = time.perf_counter()
    with nullcontext() if arguments is None else torch.profiler.profile(activities=activities, **arguments):
        run()
    return time.perf_counter() - begin"""
COSTS = """\
settings = {
    "plain": None,
    "profile()": {},
    "profile_memory": {"profile_memory": True},
    "+ record_shapes": {"profile_memory": True, "record_shapes": True},
    "+ with_stack": {"profile_memory": True, "record_shapes": True, "with_stack": True},
}
found = {name: [] for name in settings}
for _ in range(ROUNDS):
    for name, arguments in settings.items():
        found[name].append(seconds(arguments))
for name, samples in found.items():
    print(name, statistics.median(samples))"""


def script(spec: ProfileSpec | ProfilingCostSpec) -> str:
    """Profile what `spec` asks and print torch's table, its negative rows and the sum of its last memory column."""
    if isinstance(spec, ProfilingCostSpec):
        return _costs(spec)
    if spec.program == "pytorch#70028":
        parts, run, title = ModelScript(), ISSUE_RUN, "pytorch/pytorch#70028: its lines, profiled."
        parts.recipe.append(ISSUE)
    else:
        parts, run = _split(spec.model)
        title = f"{describe(spec.model.architecture)}: its memory by operation, from torch's profiler."
        run += ["loss.backward()"] if spec.part != "forward" else []
        if spec.part == "training step":
            parts.recipe.append(f"optimizer = {call_text(spec.optimizer, 'model.parameters()', 0.001)}")
            run.append("optimizer.step()")
    parts.recipe += [*_threads(spec), *_profiled(spec, run)]
    return parts.text(title)


def _threads(spec: ProfileSpec) -> list[str]:
    return [f"torch.set_num_threads({spec.threads})"]


def _profiled(spec: ProfileSpec, run: list[str]) -> list[str]:
    device = spec.model.device if spec.program == "the model" else "cpu"
    arguments: dict[str, object] = {"profile_memory": True, "record_shapes": spec.record_shapes, "with_flops": True}
    arguments |= {"with_stack": True} if spec.with_stack else {}
    arguments |= {"use_device": device} if device != "cpu" else {}
    own = "self_cpu_memory_usage" if device == "cpu" else "self_device_memory_usage"
    opening = call("with torch.autograd.profiler.profile", arguments)
    by_shape = "group_by_input_shape=True" if spec.group_by_input_shape else ""
    return [
        *opening[:-1],
        f"{opening[-1]} as prof:",
        *indented(run),
        "",
        f"rows = prof.key_averages({by_shape})",
        f'print(rows.table(sort_by="{own}", row_limit=10))',
        SUMS.format(own=own),
    ]


def _split(model: ModelSpec) -> tuple[ModelScript, list[str]]:
    """The script up to the forward, and the lines of forward and loss."""
    parts = model_script(model)
    seed = f"torch.manual_seed({model.seed})"
    start = len(parts.recipe) - 1 - parts.recipe[::-1].index(seed)
    run = parts.recipe[start:]
    del parts.recipe[start:]
    return parts, run


def _costs(spec: ProfilingCostSpec) -> str:
    parts, run = _split(spec.model)
    parts.imports |= {("contextlib", "nullcontext", ""), ("statistics", "", ""), ("time", "", "")}
    activities = "CPU" if spec.model.device == "cpu" else "CPU, torch.profiler.ProfilerActivity.CUDA"
    parts.recipe += [
        "torch.set_num_threads(1)",
        f"activities = [torch.profiler.ProfilerActivity.{activities}]",
        "",
        "",
        "def run() -> None:",
        *indented([*run, "loss.backward()"]),
        "",
        "",
        TIMES,
        "",
        "",
        COSTS.replace("ROUNDS", str(spec.rounds)),
    ]
    return parts.text(f"{describe(spec.model.architecture)}: what profiling adds to its time.")
