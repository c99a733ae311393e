"""The scripts of the storage page: a chain with its layouts, and what non-contiguity costs."""

from __future__ import annotations

import math

from engine.script.text import literal
from engine.storage.chain_text import format_chain
from engine.storage.dtypes import is_differentiable
from engine.storage.spec import LARGEST_SAVED_BYTES, CostSpec, LayoutSpec

SHOW = '''\
def show(name: str, tensor: torch.Tensor) -> None:
    """Shape, stride, storage_offset, bytes and number of the storage, distinct because all tensors are kept."""
    kept.append(tensor)
    storage = tensor.untyped_storage()
    number = storages.setdefault(storage._cdata, len(storages))
    print(name, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), storage.nbytes(), f"storage {number}")


kept: list[torch.Tensor] = []
storages: dict[int, int] = {}'''

MEASURE = """\
times = {name: [] for name in candidates}
for _ in range(%d):
    for name, clock in candidates.items():
        times[name].append(clock.blocked_autorange(min_run_time=0.01).median)
for name, samples in times.items():
    print(name, statistics.median(samples))"""

_WRITES = {"add_": "add_(1)", "mul_": "mul_(2)", "zero_": "zero_()"}
_SETUP = {
    "add": ("other", "view.contiguous().clone()"),
    "matmul": ("right", "view.new_ones(view.size(-1), min(view.size(-1), 256))"),
    "conv2d": ("weight", "view.new_ones(view.size(-3), view.size(-3), 3, 3)"),
}
_STATEMENTS = {
    "add": "x + other",
    "matmul": "x @ right",
    "conv2d": "torch.nn.functional.conv2d(x, weight, padding=1)",
    "relu": "torch.relu(x)",
    "sum_rows": "x.sum(-1)",
    "sum_columns": "x.sum(0)",
    "softmax": "torch.softmax(x, -1)",
    "copy": "torch.empty_like(x, memory_format=torch.contiguous_format).copy_(x)",
}


def script(spec: LayoutSpec | CostSpec) -> str:
    """Carry the chain out and print every layout, or time an operation on the view and on its contiguous copy."""
    return _cost(spec) if isinstance(spec, CostSpec) else _layout(spec)


def _layout(spec: LayoutSpec) -> str:
    names = _names(spec)
    chain = []
    for before, name, step in zip(names, names[1:], spec.steps, strict=False):
        chain += [f"{name} = {before}{format_chain((step,))}", f'show("{name}", {name})']
    if spec.view_shape is not None:
        chain += _view(names[-1], spec.view_shape)
    chain += [
        f"if {names[-1]}.untyped_storage().nbytes() <= {LARGEST_SAVED_BYTES}:",
        "    file = io.BytesIO()",
        f"    torch.save({names[-1]}.detach(), file)",
        '    print("torch.save", file.tell())',
    ]
    if spec.write != "none":
        chain = [*(_guarded(chain) if spec.steps else chain), *_write(spec, names)]
    lines = [*build_lines(spec), 'show("x", x)', *chain]
    title = '"""A chain of operations on a tensor and where its elements lie, in plain torch."""'
    return "\n\n".join([title, "import io\n\nimport torch\n\n\n" + SHOW, "\n".join(lines)]) + "\n"


def _names(spec: LayoutSpec) -> list[str]:
    return ["x", *(f"x{number}" for number in range(1, len(spec.steps) + 1))]


def build_lines(spec: LayoutSpec) -> list[str]:
    """Statements that build `x` as the page does: filled in logical order, then dtype, device and memory format."""
    lines = [f"x = {_filled(spec)}.to(torch.{spec.dtype}, copy=True)"]
    if spec.fill == "normal":
        lines.insert(0, f"generator = torch.Generator().manual_seed({spec.seed})")
    if spec.device != "cpu":
        lines.append(f"x = x.to({literal(spec.device)})")
    if spec.memory_format != "contiguous":
        lines.append(f"x = x.to(memory_format=torch.{spec.memory_format})")
    return [*lines, "x.requires_grad_()"] if spec.requires_grad else lines


def _filled(spec: LayoutSpec) -> str:
    if spec.fill == "arange":
        return f"torch.arange({math.prod(spec.shape)}).reshape({spec.shape})"
    if spec.fill != "normal":
        return f"torch.full({spec.shape}, {1 if spec.fill == 'ones' else 0})"
    if spec.dtype in ("float32", "float64", "complex64", "complex128"):
        return f"torch.randn({spec.shape}, dtype=torch.{spec.dtype}, generator=generator)"
    drawn = f"torch.randn({spec.shape}, generator=generator)"
    return drawn if is_differentiable(spec.dtype) else f"(10 * {drawn}).round().long()"


def _view(end: str, shape: tuple[int, ...]) -> list[str]:
    return [
        'for method in ("view", "reshape"):',
        *_indented(_guarded([f"show(method, getattr({end}, method)({shape}))"], "method, error")),
    ]


def _write(spec: LayoutSpec, names: list[str]) -> list[str]:
    """Through a step that the chain reached; versions and grad_fn of all tensors it reached."""
    lines = [
        *_guarded([f"{names[spec.write_step]}.{_WRITES[spec.write]}"]),
        f"for tensor in kept[:{len(names)}]:",
        "    try:",
        "        name = tensor.grad_fn.name() if tensor.grad_fn else None",
        "    except RuntimeError:  # one of several views whose base has changed",
        "        name = None",
        '    print("version", tensor._version, name)',
    ]
    return [f"if len(kept) > {spec.write_step}:", *_indented(lines)] if spec.write_step else lines


def _guarded(lines: list[str], told: str = "error") -> list[str]:
    """Lines that go on when PyTorch refuses one of them, and print its words."""
    return ["try:", *_indented(lines), "except Exception as error:", f"    print({told})"]


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _cost(spec: CostSpec) -> str:
    lines = build_lines(spec.layout)
    if spec.layout.requires_grad:
        lines.pop()  # measured without gradients
    lines += [
        f"view = x{format_chain(spec.layout.steps)}",
        "dense = view.contiguous()",
    ]
    extra = ""
    if spec.operation in _SETUP:
        name, value = _SETUP[spec.operation]
        lines.append(f"{name} = {value}")
        extra = f', "{name}": {name}'
    lines += [
        "",
        "",
        "def timer(statement: str, x: torch.Tensor) -> Timer:",
        f'    return Timer(statement, globals={{"torch": torch, "x": x{extra}}}, num_threads={spec.threads})',
        "",
        "",
        "candidates = {",
        f'    "contiguous copy": timer("{_STATEMENTS[spec.operation]}", dense),',
        f'    "view": timer("{_STATEMENTS[spec.operation]}", view),',
        '    ".contiguous()": timer("x.contiguous()", view),',
        "}",
        MEASURE % spec.rounds,
    ]
    title = f'"""Seconds per call of {spec.operation} on a view and on its contiguous copy, in plain torch."""'
    imports = "import statistics\n\nimport torch\nfrom torch.utils.benchmark import Timer"
    return "\n\n".join([title, imports, "\n".join(lines)]) + "\n"
