"""A Function made of typed forward and backward expressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd import Function

from engine.expression.evaluate import evaluate
from engine.expression.language import Tree
from engine.expression.written import names_in


def value_of(tree: Tree, values: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The tree as a tensor of x's dtype: a plain number or a comparison becomes one too."""
    found = evaluate(tree, values)
    x = values["x"]
    if not isinstance(found, torch.Tensor):
        return torch.full_like(x, float(found))
    return found if found.is_floating_point() or found.is_complex() else found.to(x.dtype)


def typed_function(trees: Mapping[str, Tree]) -> type[Function]:
    """The Function of `forward`, `backward` and, for a second input, `backward_z`; it saves what backward names."""
    wanted = {name for text in ("backward", "backward_z") if text in trees for name in names_in(trees[text])}

    class MyFunction(Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, z: torch.Tensor | None = None) -> torch.Tensor:
            given = {"x": x} if z is None else {"x": x, "z": z}
            y = value_of(trees["forward"], given)
            y = y.clone() if y is x or y is z else y
            # x is always kept: plain numbers take its shape and dtype
            ctx.names = ["x", *(name for name in ("y", "z") if name in wanted)]
            ctx.save_for_backward(*(({**given, "y": y})[name] for name in ctx.names))
            ctx.arguments = len(given)
            return y

        @staticmethod
        def backward(ctx: Any, grad_output: torch.Tensor) -> Any:
            saved = dict(zip(ctx.names, ctx.saved_tensors, strict=True)) | {"g": grad_output}
            for_x = value_of(trees["backward"], saved)
            for_z = value_of(trees["backward_z"], saved) if "backward_z" in trees else None
            return for_x if ctx.arguments == 1 else (for_x, for_z)

    return MyFunction
