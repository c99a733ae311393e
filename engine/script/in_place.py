"""The scripts of the page on in-place operations: a program with its versions, a family, an optimizer's update."""

from __future__ import annotations

import re

from engine.expression.functions import CONSTANTS, FUNCTIONS
from engine.in_place.families import FAMILIES
from engine.in_place.language import lines_of, parse_program
from engine.in_place.methods import CREATIONS, DTYPES, MODES
from engine.in_place.rewrite import indent_of
from engine.in_place.spec import FamilySpec, ProgramSpec, UpdateSpec
from engine.script.text import import_lines

Imports = set[tuple[str, str, str]]
_ERRORS = "(RuntimeError, ValueError, IndexError, TypeError, AttributeError)"
_HOMES = {"torch": "torch", "F": "torch.nn.functional"}
HOOKED = '''
def hooked(x):
    """x through a module with a full backward hook."""
    module = torch.nn.Identity()
    module.register_full_backward_hook(lambda module, given, received: None)
    return module(x)
'''


def script(spec: ProgramSpec | FamilySpec | UpdateSpec) -> str:
    """Run it in plain torch and print what the page shows; what PyTorch refuses is printed in its words."""
    if isinstance(spec, ProgramSpec):
        return _program(spec)
    return _family(spec) if isinstance(spec, FamilySpec) else _update(spec)


def _program(spec: ProgramSpec) -> str:
    """Every statement, followed by the versions of the tensors that live then."""
    body = _body(spec.program, "    show({line})")
    head = _head("In-place operations: the version of every tensor after every statement.", [spec.program])
    show = [
        "def show(line):",
        "    tensors = {name: one for name, one in globals().items() if isinstance(one, torch.Tensor)}",
        '    if line == "gradients":',
        "        leaves = {name: one.grad for name, one in tensors.items() if not one._is_view() and one.is_leaf}",
        "        print({name: grad.tolist() for name, grad in leaves.items() if grad is not None})",
        "    else:",
        "        print(line, {name: None if one.is_inference() else one._version for name, one in tensors.items()})",
    ]
    return "\n".join([*head, *show, "", "", f"torch.manual_seed({spec.seed})", "try:", *body, *_tail()])


def _tail() -> list[str]:
    return [
        f"except {_ERRORS} as error:",
        '    print(f"{type(error).__name__}: {error}")',
        'show("gradients")',
        "",
    ]


def _body(program: str, after: str) -> list[str]:
    """The lines of a program inside of `try:`, each statement followed by `after`."""
    statements = {one.line: one for one in parse_program(program)}
    found = []
    for number, line in enumerate(lines_of(program), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            text = statements[number].text if number in statements else line.partition("#")[0].strip()
            found.append(f"    {indent_of(line)}{text}")
            if number in statements and after:
                found.append(indent_of(line) + after.format(line=number))
    return found


def _head(title: str, programs: list[str]) -> list[str]:
    imports, assigned = _names(programs)
    hooked = [HOOKED, ""] if any(re.search(r"\bhooked\(", one) for one in programs) else []
    lines = [f'"""{title}"""', "", import_lines(sorted(imports)), *([""] if assigned else []), *assigned]
    return [*lines, "", *hooked, ""] if not hooked else [*lines, "", *hooked]


def _names(programs: list[str]) -> tuple[Imports, list[str]]:
    """What the programs' bare names need: imports, and assignments for what a module cannot give under that name."""
    words = set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", "\n".join(programs)))
    imports: Imports = {("torch", "", "")}
    imports |= {("torch", word, "") for word in words & {*CREATIONS, *DTYPES, *MODES, "cat"}}
    imports |= {("math", word, "") for word in words & {*CONSTANTS}}
    imports |= {("torch.nn.functional", word, "") for word in words & {"linear", "conv2d", "relu"}}
    imports |= {("torch.nn", "functional", "F") for word in words & {"F"}}
    assigned = []
    for word in sorted((words & FUNCTIONS.keys()) - {"relu"}):
        home, _, name = FUNCTIONS[word].code.rpartition(".")
        if home in _HOMES and name == word:
            imports.add((_HOMES[home], word, ""))
        else:
            assigned.append(f"{word} = {FUNCTIONS[word].code}")
    return imports, assigned


def _family(spec: FamilySpec) -> str:
    """Every program in a function of its own."""
    family = FAMILIES[spec.name]
    lines = _head(family.question, [member.program for member in family.members])
    told = ", ".join(f'"{name}"' for name in family.told)
    listed = f"({told},)" if len(family.told) == 1 else f"({told})"
    lines += [
        "def attempt(program):",
        "    try:",
        "        print(program())",
        f"    except {_ERRORS} as error:",
        '        print(f"{type(error).__name__}: {error}")',
        "",
        "",
        "def told(names):",
        "    found = {}",
        f"    for name in {listed}:",
        "        if name in names:",
        "            node = names[name].grad_fn",
        '            found[name] = node.name() if node else "no grad_fn"',
        "    return found",
        "",
    ]
    for number, member in enumerate(family.members):
        body = _body(member.program, "")
        lines += [
            "",
            "@attempt",
            f"def program_{number}():",
            "    torch.manual_seed(0)",
            *body,
            "    return told(locals())",
            "",
        ]
    return "\n".join(lines)


def _update(spec: UpdateSpec) -> str:
    shape = f"{spec.width}, {spec.width}, dtype=torch.{spec.dtype}"
    return (
        _STEPS
        + f"""
for step in (in_place, new_data, rebinding):
    NewStorages.count = 0
    parameters = [torch.ones({shape}, requires_grad=True) for _ in range({spec.tensors})]
    pointers = [p.data_ptr() for p in parameters]
    for p in parameters:
        p.grad = torch.ones_like(p)
    with NewStorages():
        new = [step(p, {spec.lr}) for p in parameters]
    kept = [p.data_ptr() for p in new] == pointers
    print(step.__name__, NewStorages.count, "new storages; data_ptr kept:", kept, "is_leaf:", new[0].is_leaf)
"""
    )


_STEPS = '''"""One gradient step in place and out of place: new storages, and what becomes of the parameter."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class NewStorages(TorchDispatchMode):
    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        known = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in known:
            NewStorages.count += 1
        return out


def in_place(p, lr):
    with torch.no_grad():
        p.add_(p.grad, alpha=-lr)
    return p


def new_data(p, lr):
    p.data = p.data - lr * p.grad
    return p


def rebinding(p, lr):
    return p - lr * p.grad

'''
