"""The autograd rule of an operator, as the dispatcher calls it: its backward, and forward mode, which follows from it.

torch.library.register_autograd knows reverse mode only, drops tangents, and refuses torch.func's transforms. One
function for one level of differentiation, as PyTorch's own operators have, serves every order and every transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from engine import recorded

_dual: Callable[[Tensor], Any] = unpack_dual
"""(primal, tangent) of a tensor; the tangent is None outside of forward mode."""


class Call(NamedTuple):
    """What one call of an operator's rule needs to know beside the arguments."""

    keys: Any
    """Of the dispatcher."""
    records: bool
    """Gradient mode outside: PyTorch switches it off in a function's forward, but another level may lie below."""
    pushes: tuple[bool, ...] | None
    """Which arguments have a gradient of either mode; None without forward mode."""


def autograd_rule(
    operator: Any, backward: Callable[..., Any], setup_context: Callable[..., None]
) -> Callable[..., Any]:
    """The kernel for the Autograd keys of `operator`, an overload whose arguments are all positional."""
    defaults = tuple(argument.default_value for argument in recorded.read_arguments(operator))
    rule = _rule(operator, backward, setup_context, len(defaults))

    def kernel(keys: Any, *given: Any) -> Any:
        # The dispatcher leaves out arguments that are equal to their defaults.
        args = (*given, *defaults[len(given) :])
        records = torch.is_grad_enabled()
        needed = [isinstance(x, Tensor) and records and x.requires_grad for x in args]
        pushed = [isinstance(x, Tensor) and _dual(x).tangent is not None for x in args]
        if any(pushed) or any(needed):
            pushes = tuple(a or b for a, b in zip(needed, pushed, strict=True)) if any(pushed) else None
            with recorded.allow_one_level_function():
                return rule.apply(*args, Call(keys, records, pushes))
        with recorded.below_autograd():
            return operator.redispatch(keys & recorded.after_autograd, *args)

    return kernel


def _rule(operator: Any, backward: Callable[..., Any], setup_context: Callable[..., None], count: int) -> Any:
    def forward(ctx: Any, *args: Any) -> Any:
        *inputs, call = args
        with recorded.below_autograd(), torch.set_grad_enabled(call.records), recorded.allow_tangents(True):
            output = operator.redispatch(call.keys & recorded.after_autograd, *inputs)
        if call.pushes:
            ctx.needs_input_grad = call.pushes
        setup_context(ctx, tuple(inputs), output)
        if call.pushes:
            ctx.outputs = tuple((x.shape, x.dtype) for x in _several(output))
            with torch.set_grad_enabled(call.records):
                ctx.save_for_forward(*(x if x is None else _dual(x).primal for x in ctx.to_save))
        return output

    def pull(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        ctx.needs_input_grad = ctx.needs_input_grad[:count]
        return (*_several(backward(ctx, *grads)), None)

    def push(ctx: Any, *tangents: Any) -> Any:
        pushed = _push(ctx, backward, tangents[:count])
        return pushed if len(pushed) > 1 else pushed[0]

    methods = {"forward": staticmethod(forward), "backward": staticmethod(pull), "jvp": staticmethod(push)}
    return type(f"{operator.name()}Backward", (recorded.OneLevelFunction,), methods)


def _push(ctx: Any, backward: Callable[..., Any], tangents: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The outputs' tangents: a backward is linear in the gradients, and its derivative by them is the Jacobian."""
    like = next(tangent for tangent in tangents if tangent is not None)
    with torch.enable_grad(), recorded.allow_tangents(True), recorded.allow_leaves(True):
        upstream = [like.new_zeros(shape, dtype=dtype).requires_grad_() for shape, dtype in ctx.outputs]
        pulled = _several(backward(ctx, *upstream))
        pairs = [(x, t) for x, t in zip(pulled, tangents, strict=False) if x is not None and t is not None]
        used, given = zip(*pairs, strict=True)
        return torch.autograd.grad(used, upstream, given, create_graph=True, allow_unused=True)


def _several(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, tuple | list) else (values,)
