"""The scripts of the diagnostics page."""

from __future__ import annotations

import ast

from engine.diagnostics.catalogue import PROGRAMS, program_source
from engine.diagnostics.spec import OF_WEIGHTS, DetectorSpec, DiagnosisSpec, Fault, ProgramSpec
from engine.models.spec import Expression, describe
from engine.script.model import ModelScript, model_script
from engine.script.source import closure, imports_of, names_in, text_of
from engine.script.text import import_lines, indented

REACHED = '''\
def reached(loss: torch.Tensor) -> set:
    """Every node backward can come to; a leaf without an accumulator among them keeps .grad None."""
    nodes, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes.add(node)
            waiting += [following for following, _ in node.next_functions]
    return nodes'''

STATE = '''\
def state(tensor: torch.Tensor) -> str:
    """What became of the gradient of a leaf."""
    if tensor.grad is None:
        return "none" if tensor.requires_grad else "not_asked"
    if not torch.isfinite(tensor.grad.to_dense()).all():
        return "non_finite"
    return "gradient" if tensor.grad.to_dense().any() else "zero"'''

COST = '''\
def median_s(step) -> float:
    """Median seconds of 15 calls."""
    samples = []
    for _ in range(15):
        start = time.perf_counter()
        step()
        samples.append(time.perf_counter() - start)
    return sorted(samples)[7]'''


def script(spec: DiagnosisSpec | ProgramSpec | DetectorSpec) -> str:
    """Run the step, then print every leaf with its state; of a program its other names too."""
    if isinstance(spec, ProgramSpec):
        return _program(spec)
    parts = model_script(spec.model)
    if isinstance(spec, DetectorSpec):
        return _cost(spec, parts)
    parts.definitions += [REACHED, STATE]
    parts.recipe = _with_fault(spec, parts.recipe)
    parts.recipe += ["", 'variables = {id(n.variable) for n in reached(loss) if hasattr(n, "variable")}']
    parts.recipe += ["loss.backward()"]
    leaves = "[*dict(model.named_parameters()).items(), *inputs.items()]"
    if spec.after != "nothing":
        given = "set_to_none=False" if "False" in spec.after else ""
        parts.recipe += [
            f"leaves = [leaf for _, leaf in {leaves} if leaf.requires_grad]",
            f"torch.optim.SGD(leaves, lr=0.1).zero_grad({given})",
        ]
    parts.recipe += ['print("loss", loss.item())', f"for name, leaf in {leaves}:"]
    parts.recipe += ['    print(name, state(leaf), "path" if id(leaf) in variables else "no path")']
    return parts.text(f"{describe(spec.model.architecture)}: what became of every gradient.")


def _with_fault(spec: DiagnosisSpec, recipe: list[str]) -> list[str]:
    """The fault goes between building the model and its forward, whose seed is set last."""
    lines = _fault_lines(spec.fault, isinstance(spec.model.architecture, Expression))
    seed = f"torch.manual_seed({spec.model.seed})"
    place = len(recipe) - 1 - recipe[::-1].index(seed)
    return [*recipe[:place], *lines, *recipe[place:]]


def _fault_lines(fault: Fault, without_parameters: bool) -> list[str]:
    if fault.kind == "nothing" or (fault.kind in OF_WEIGHTS and without_parameters):
        return []
    if fault.kind == "a layer in float64":
        if fault.group:
            return [f'model.get_submodule("{fault.group}").double()']
        return ["[m for m in model.modules() if [*m.parameters(recurse=False)]][-1].double()"]
    if fault.kind in OF_WEIGHTS:
        return ["with torch.no_grad():", *indented(_on_weights(fault))]
    change = {
        "scale input": f"x.mul_(1e{fault.exponent})",
        "zero input": "x.zero_()",
        "inf in the input": 'x.view(-1)[0] = float("inf")',
    }[fault.kind]
    which = "[:1]" if fault.kind == "inf in the input" else ""
    every = "[x for x in inputs.values() if x.is_floating_point() or x.is_complex()]"
    return ["with torch.no_grad():", f"    for x in {every}{which}:", f"        {change}"]


def _on_weights(fault: Fault) -> list[str]:
    inside = f' if n.startswith("{fault.group}.")' if fault.group else ""
    if fault.kind == "bias of -1e4":
        inside += (" and " if inside else " if ") + 'n.endswith("bias")'
    change = {
        "scale weights": f"p.mul_(1e{fault.exponent})",
        "zero weights": "p.zero_()",
        "NaN in a parameter": 'p.view(-1)[0] = float("nan")',
        "bias of -1e4": "p.fill_(-1e4)",
    }[fault.kind]
    which = "[:1]" if fault.kind == "NaN in a parameter" else ""
    return [f"for p in [p for n, p in model.named_parameters(){inside}]{which}:", f"    {change}"]


def _program(spec: ProgramSpec) -> str:
    text, body = program_source(spec.program, spec.mended)
    tree, lines = ast.parse(text), text.splitlines()
    classes: dict[str, ast.stmt] = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    used = names_in(ast.parse("\n".join(body)))
    definitions = [text_of(classes[name], lines) for name in sorted(closure(used & classes.keys(), classes))]
    everything = names_in(ast.parse("\n".join([*body, *definitions])))
    kept = {
        e for n in tree.body for e in imports_of(n) if (e[2] or e[1] or e[0]) in everything and e[0] != "__future__"
    }
    imports = import_lines(sorted(kept | {("torch", "", "")}))
    after = [f"print({name!r}, {name}())" for name in sorted(_after(body))]
    recipe = [*body, "", "loss.backward()", *_prints(spec), *after]
    parts = [f'"""{PROGRAMS[spec.program].title}."""', imports, *definitions, "\n".join(recipe)]
    return "\n\n".join(parts) + "\n"


def _after(body: tuple[str, ...]) -> list[str]:
    return [
        n.name
        for n in ast.parse("\n".join(body)).body
        if isinstance(n, ast.FunctionDef) and n.name.startswith("after_")
    ]


def _prints(spec: ProgramSpec) -> list[str]:
    return [
        'print("loss", loss.item())',
        "tensors = {n: t for n, t in globals().items() if isinstance(t, torch.Tensor)}",
        "leaves = {n: t for n, t in tensors.items() if t.is_leaf and t.requires_grad}",
        'leaves |= dict(model.named_parameters()) if "model" in globals() else {}',
        "for name, leaf in leaves.items():",
        "    print(name, None if leaf.grad is None else leaf.grad.tolist())",
    ]


def _cost(spec: DetectorSpec, parts: ModelScript) -> str:
    parts.imports.add(("time", "", ""))
    parts.definitions.append(COST)
    start = parts.recipe.index("") + 1
    body = parts.recipe[start:]
    parts.recipe = [*parts.recipe[:start], "", "def step() -> None:", *indented([*body, "loss.backward()"]), "", ""]
    parts.recipe += [
        "def with_anomaly_mode() -> None:",
        "    with torch.autograd.detect_anomaly():",
        "        step()",
        "",
        "",
        'print("plain", median_s(step))',
        'print("detect_anomaly", median_s(with_anomaly_mode))',
    ]
    return parts.text(f"{describe(spec.model.architecture)}: what anomaly mode costs.")
