"""One call of a Function and one backward: slots, what ctx keeps, what arrives, what is returned."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch.autograd import Function

from engine.custom_function.building import Made, Tensors, make, make_inputs
from engine.custom_function.results import Argument, Call, Kept
from engine.custom_function.spec import CustomFunctionSpec
from engine.pytorch_said import attempt
from engine.summarise import array_of

MOST_NODES = 40


class Listening:
    """A Function that does what another does and notes what its backward received and returned last."""

    def __init__(self, kind: type[Function]) -> None:
        self.received: tuple[Any, ...] = ()
        self.returned: Any = None

        def backward(ctx: Any, *grads: Any) -> Any:
            self.received = grads
            self.returned = kind.backward(ctx, *grads)
            return self.returned

        self.function = cast(type[Function], type(kind.__name__, (kind,), {"backward": staticmethod(backward)}))

    def forget(self) -> None:
        self.received = ()


def describe_call(spec: CustomFunctionSpec, made: Made) -> Call:
    """Everything about one call with ones * grad_output going in from above; PyTorch's errors are fields."""
    listening = Listening(made.function) if made.function is not None else None
    heard = make(spec, listening.function) if listening is not None else made
    inputs = make_inputs(spec)
    keeping: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        keeping.append(tensor)
        return tensor

    def forward() -> Tensors:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda kept: kept):
            return heard.call(*inputs)

    outputs, refused = attempt(forward)
    if outputs is None:
        return Call(grad_fn="", forward_error=refused)
    node = next((one.grad_fn for one in outputs if one.grad_fn is not None), None)
    kept = _kept(node, keeping, made, inputs, outputs)
    following = tuple("None" if one is None else one.name() for one, _ in node.next_functions) if node else ()
    nodes = _node_names(outputs)
    saved_bytes = _bytes_once(_kept_tensors(node, keeping, made))  # before backward frees them
    grads, error = attempt(lambda: _backward(outputs, inputs, spec.grad_output))
    returned = _returned(listening.returned) if listening else ()
    return Call(
        grad_fn=node.name() if node else "",
        nodes=nodes,
        arguments=_arguments(made, inputs, returned, node) if made.function is not None and node else (),
        returned_count=len(returned) if returned else None,
        next_functions=following,
        kept=kept,
        saved_bytes=saved_bytes,
        outputs=tuple(array_of(one) for one in outputs),
        gradients=tuple(None if one is None else array_of(one) for one in grads or ()),
        arrives=_arrives(heard, listening, inputs) if node and not error else (),
        backward_error=error,
    )


def _backward(outputs: Tensors, inputs: Tensors, scale: float) -> tuple[torch.Tensor | None, ...]:
    used = [one for one in outputs if one.requires_grad]
    leaves = [one for one in inputs if one.requires_grad]
    if not used:
        return tuple(None for _ in leaves)
    seeds = [torch.full_like(one, scale, requires_grad=False) for one in used]
    return torch.autograd.grad(used, leaves, seeds, allow_unused=True)


def _returned(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple | list) else (found,)


def _arrives(made: Made, listening: Listening | None, inputs: Tensors) -> tuple[str, ...]:
    """What backward receives when only the first output was used."""
    if listening is None:
        return ()
    listening.forget()
    outputs = made.call(*inputs)
    leaves = [one for one in inputs if one.requires_grad]
    attempt(lambda: torch.autograd.grad(outputs[0], leaves, torch.ones_like(outputs[0]), allow_unused=True))
    return tuple(_received_words(one) for one in listening.received)


def _received_words(grad: torch.Tensor | None) -> str:
    if grad is None:
        return "None"
    zero = grad.numel() > 0 and not bool(grad.any())
    return f"{'zeros' if zero else 'Tensor'} {tuple(grad.shape)}"


def _arguments(made: Made, inputs: Tensors, returned: tuple[Any, ...], node: Any) -> tuple[Argument, ...]:
    given = made.arguments(*inputs)
    names = [*made.names, *(f"argument {n}" for n in range(len(made.names), len(given)))]
    following = iter(node.next_functions)
    rows = []
    for number, value in enumerate(given):
        target = next(following, (None, 0))[0] if isinstance(value, torch.Tensor) else None
        edge = ("None" if target is None else target.name()) if isinstance(value, torch.Tensor) else None
        back = "missing" if number >= len(returned) else _word(returned[number])
        rows.append(Argument(names[number], _word(value), back, edge))
    return tuple(rows)


def _word(value: Any) -> str:
    """A value in words: kind, dtype, shape."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"Tensor {tuple(value.shape)} {dtype}{', requires grad' if value.requires_grad else ''}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} of {len(value)}"
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:60]


def _kept_tensors(node: Any, keeping: list[torch.Tensor], made: Made) -> list[torch.Tensor]:
    if made.function is None or node is None:
        return keeping
    return [*node.saved_tensors, *(one for one in vars(node).values() if isinstance(one, torch.Tensor))]


def _kept(node: Any, keeping: list[torch.Tensor], made: Made, inputs: Tensors, outputs: Tensors) -> tuple[Kept, ...]:
    if node is None:
        return ()
    saved = keeping if made.function is None else node.saved_tensors
    rows = [
        Kept(f"saved_tensors[{number}]", "save_for_backward", _word(one), _bytes_of(one), _same(one, inputs, outputs))
        for number, one in enumerate(saved)
    ]
    attributes: dict[str, Any] = vars(node) if made.function is not None else {}
    for name, value in attributes.items():
        is_tensor = isinstance(value, torch.Tensor)
        size = _bytes_of(value) if is_tensor else 0
        same = _same(value, inputs, outputs) if is_tensor else ""
        rows.append(Kept(f"ctx.{name}", "attribute of ctx", _word(value), size, same))
    return tuple(rows)


def _same(tensor: torch.Tensor, inputs: Tensors, outputs: Tensors) -> str:
    """The input or output whose memory it is, "" for memory of its own."""
    named = [(f"input {number}", one) for number, one in enumerate(inputs)]
    named += [(f"output {number}", one) for number, one in enumerate(outputs)]
    mine = tensor.untyped_storage().data_ptr()
    return next((name for name, one in named if mine and one.untyped_storage().data_ptr() == mine), "")


def _bytes_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().nbytes()


def _bytes_once(tensors: list[torch.Tensor]) -> int:
    return sum({one.untyped_storage().data_ptr(): _bytes_of(one) for one in tensors}.values())


def _node_names(outputs: Tensors) -> tuple[str, ...]:
    """Names of the nodes behind the outputs, nearest first."""
    waiting = [one.grad_fn for one in outputs if one.grad_fn is not None]
    seen: dict[Any, str] = {}
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop(0)
        if node not in seen:
            seen[node] = node.name()
            waiting += [one for one, _ in node.next_functions if one is not None]
    return tuple(seen.values())
