"""Broadcasting and einsum: the rules as torch-free functions, and what PyTorch does with them."""

from engine.broadcasting.equation import Equation, EquationError, parse_equation
from engine.broadcasting.results import Broadcast, Einsum
from engine.broadcasting.rule import Alignment, align, align_matmul
from engine.broadcasting.spec import BroadcastSpec, EinsumSpec, Operand

__all__ = [
    "Alignment",
    "Broadcast",
    "BroadcastSpec",
    "Einsum",
    "EinsumSpec",
    "Equation",
    "EquationError",
    "Operand",
    "align",
    "align_matmul",
    "parse_equation",
]
