"""The scripts of the broadcasting page: one operation with its gradients, and one einsum."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from engine.broadcasting.equation import guessed_inputs, operand_shape
from engine.broadcasting.rule import NAMES, operation_alignment
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, Operand

COMPUTED_ELEMENTS = 1 << 20
PLAIN = re.compile(r"[A-Za-z.,> -]*")
NUMBERS = {"Python bool": "True", "Python int": "2", "Python float": "0.5", "Python complex": "1j"}


def script(spec: BroadcastSpec | EinsumSpec) -> str:
    """Carry the operation out and print what the page shows of it; an error PyTorch raises is printed in its words."""
    return _broadcast(spec) if isinstance(spec, BroadcastSpec) else _einsum(spec)


def _broadcast(spec: BroadcastSpec) -> str:
    names = NAMES[: len(spec.operands)]
    lines = [f'"""{spec.expression}: what broadcasting makes of it, in plain torch."""', "", "import torch", ""]
    make = _maker(spec)
    lines += [f"{name} = {make(operand)}" for name, operand in zip(names, spec.operands, strict=True)]
    tensors = [name for name, operand in zip(names, spec.operands, strict=True) if not operand.is_number]
    lines += ["try:", f"    result = {_result(spec)}", '    print("shape", tuple(result.shape))']
    lines += ['    print("dtype", result.dtype)', '    print("result bytes", result.untyped_storage().nbytes())']
    if spec.operation != "matmul":
        lines += [
            f"    for name, tensor in {_pairs(tensors)}:",
            '        print(name, "expanded stride", tensor.expand(result.shape).stride())',
        ]
    leaves = [name for name, operand in zip(names, spec.operands, strict=True) if _has_gradient(operand)]
    if make is _values and leaves:
        lines += ["    result.backward(torch.ones_like(result))"]
        lines += [f'    print("grad shapes", [tuple(leaf.grad.shape) for leaf in ({_listed(leaves)})])']
    lines += ["except (RuntimeError, TypeError, AttributeError) as error:", "    print(error)", ""]
    return "\n".join(lines)


def _maker(spec: BroadcastSpec) -> Callable[[Operand], str]:
    """How to write an operand: with values, or where that is too large on the meta device or as one element."""
    shape = operation_alignment(spec.operation, spec.shapes).shape
    if math.prod(shape or ()) + sum(map(math.prod, spec.shapes)) <= COMPUTED_ELEMENTS:
        return _values
    return _one_element if shape is None else _on_meta


def _values(operand: Operand) -> str:
    """The same values as the page's: 1 to 7 over and over."""
    if operand.is_number:
        return NUMBERS[operand.dtype]
    count, shape = math.prod(operand.shape), operand.shape
    if operand.dtype == "bool":
        return f"(torch.arange({count}) % 2 == 0).reshape({shape})"
    values = f"(torch.arange({count}) % 7 + 1).to(torch.{operand.dtype}).reshape({shape})"
    return f"{values}.requires_grad_()" if _has_gradient(operand) else values


def _has_gradient(operand: Operand) -> bool:
    return operand.dtype.startswith(("float", "bfloat", "complex"))


def _listed(names: list[str]) -> str:
    return ", ".join(names) + ("," if len(names) == 1 else "")


def _on_meta(operand: Operand) -> str:
    if operand.is_number:
        return NUMBERS[operand.dtype]
    return f'torch.empty({operand.shape}, dtype=torch.{operand.dtype}, device="meta")  # shapes only, no memory'


def _one_element(operand: Operand) -> str:
    if operand.is_number:
        return NUMBERS[operand.dtype]
    return f"torch.zeros((), dtype=torch.{operand.dtype}).expand({operand.shape})  # one element, no memory"


def _result(spec: BroadcastSpec) -> str:
    return spec.expression if spec.operation != "mse_loss" else spec.expression[:-1] + ', reduction="none")'


def _pairs(names: list[str]) -> str:
    return f"[{', '.join(f'({name!r}, {name})' for name in names)}]".replace("'", '"')


def _einsum(spec: EinsumSpec) -> str:
    equation = spec.parsed
    text = f'"{spec.equation}"' if PLAIN.fullmatch(spec.equation) else ascii(spec.equation)
    inputs = guessed_inputs(spec.equation) if equation is None else equation.inputs
    shapes = [operand_shape(letters, spec.size_of, spec.ellipsis) for letters in inputs]
    lines = ['"""One einsum: its output and the operators it becomes, in plain torch."""', "", "import torch"]
    lines += ["from torch.utils.flop_counter import FlopCounterMode", ""]
    large = equation is None or math.prod(map(spec.length_of, equation.letters)) > COMPUTED_ELEMENTS
    device = ', device="meta"' if large else ""
    lines += ["operands = [", *(f"    torch.ones({shape}, dtype=torch.{spec.dtype}{device})," for shape in shapes), "]"]
    lines += ["try:", "    with FlopCounterMode(display=False) as counter:"]
    lines += [f"        result = torch.einsum({text}, *operands)", '    print("shape", tuple(result.shape))']
    lines += ['    print("stride", result.stride())', '    print("bytes", result.numel() * result.element_size())']
    lines += ['    print("matrix products", counter.get_total_flops() // 2, "multiplications")']
    return "\n".join([*lines, "except RuntimeError as error:", "    print(error)", ""])
