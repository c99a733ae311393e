"""The compiled operators, also as `torch.ops.atlas.<name>`; loads torch only when one of them is asked for.

`from engine.operators import gelu_tanh`: every module of `definitions` offers a function of its own name.
`from engine.operators.optimizers import AdamW, SGD`: torch.optim's, stepped by them.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from engine.operators.library import schemas

_DEFINED = frozenset(path.stem for path in (Path(__file__).parent / "definitions").glob("[a-z]*.py"))


def operator_names() -> tuple[str, ...]:
    """The operators a user calls, in the order of csrc/operators.cpp."""
    return tuple(name for name in schemas() if name in _DEFINED)


def __getattr__(name: str) -> Any:
    if name not in _DEFINED:
        raise AttributeError(f"engine.operators has no {name!r}; it has {', '.join(operator_names())}")
    return getattr(import_module(f"engine.operators.definitions.{name}"), name)
