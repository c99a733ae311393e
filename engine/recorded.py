"""What PyTorch recorded and keeps under private names: the only module that touches them (torch 2.11-2.14).

Nothing here unpacks a hooked saved tensor, so nothing is recomputed. A `SavedTensor` must not outlive its node: PyTorch
keeps only a bare pointer in it, so every reading below stays inside one call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter, methodcaller
from typing import Any, NamedTuple

import torch
from torch._functorch.eager_transforms import enable_inplace_requires_grad
from torch._functorch.utils import enable_single_level_autograd_function
from torch.utils._python_dispatch import TorchDispatchMode

from engine.graph.wording import hook_name
from engine.shapes import plain_shape, shape_of

ACCUMULATE = "torch::autograd::AccumulateGrad"

LEAF_SEQUENCE = 2**63
"""Sequence numbers from here up mean "not from the forward": accumulators carry UINT64_MAX."""

_RESULT = re.compile(r"result\d*")
_SUFFIX = re.compile(r"Backward\d*$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


DispatchMode = TorchDispatchMode
"""Base of modes that see every operation below autograd."""

running_node: Callable[[], Any] = torch._C._current_autograd_node
"""The node whose backward runs now in this thread; None outside of backward."""
next_sequence_nr: Callable[[], int] = torch._C._autograd._get_sequence_nr
"""The number the next node made by this thread will get."""
profiler_runs: Callable[[], bool] = torch._C._autograd._profiler_enabled
"""Whether a profiler is recording already."""
read_event_trees: Callable[[Any], list[Any]] = methodcaller("experimental_event_tree")
"""Events of a finished profile's `kineto_results` as trees: `name`, `parent`, `children`, `extra_fields.inputs`."""

OneLevelFunction: Any = torch.autograd.function._SingleLevelFunction
"""torch.autograd.Function for a kernel of the dispatcher, which torch.func's transforms reach one at a time."""
allow_one_level_function: Callable[[], Any] = enable_single_level_autograd_function
allow_leaves: Callable[[bool], Any] = enable_inplace_requires_grad
allow_tangents: Callable[[bool], Any] = torch.autograd.forward_ad._set_fwd_grad_enabled
"""Lift what is refused otherwise: leaves inside of torch.func's transforms, tangents inside of a function's forward."""
below_autograd: Callable[[], Any] = torch._C._AutoDispatchBelowAutograd
after_autograd: Any = torch._C._after_autograd_keyset
"""What is left to dispatch to when an operator's autograd rule has run."""

Reader = Callable[[Any], Any]
read_arguments: Reader = attrgetter("_schema.arguments")
"""`name`, `type` and `default_value` of every argument of an operator's overload."""

read_next: Reader = attrgetter("next_functions")
"""(node, input number) of every slot a node passes gradients to."""
read_raw: Reader = attrgetter("unpack_hook", "data")
"""(hook, tensor) of a raw slot: what a hook has packed, or what was saved when the hook is None; unpacks nothing."""
read_tensor: Reader = attrgetter("shape", "dtype", "device", "_version", "_backward_hooks")
"""(shape, dtype, device, version, hooks); raises where a layout or an inference tensor lacks one of them."""
storage_key: Reader = attrgetter("_cdata")
"""Identity of a storage, valid while it lives."""
is_view: Reader = methodcaller("_is_view")
"""Whether autograd tracks a tensor as a view of another; also without gradients."""
view_base: Reader = attrgetter("_base")
"""The tensor at the root of a chain of views; None for one that is no view."""
read_sequence_nr: Reader = methodcaller("_sequence_nr")
"""Order of creation in the forward; LEAF_SEQUENCE or more for a node that was made without a number."""
read_metadata: Reader = attrgetter("shape", "dtype", "device")
"""(shape, dtype, device) of one incoming gradient; shape is a list, of SymInts under torch.compile."""
read_incoming: Reader = attrgetter("_input_metadata")
"""Metadata of every gradient a node receives, one per output of the forward operation."""
read_coo: Reader = attrgetter("_indices", "_values", "_nnz")
"""Methods that read a sparse tensor without asking it to be coalesced first; `_nnz` answers for every layout."""


class Slot(NamedTuple):
    """A saved tensor, or list of them, of a node class: its name, and the attributes that hold and unpack it."""

    name: str
    raw: str
    unpacking: str
    is_output: bool
    """PyTorch's derivative formulas call what the forward returned `result`, `result0`, `result1`, ..."""
    position: int | None = None

    def at(self, index: int) -> Slot:
        """One entry of a list of saved tensors."""
        return self._replace(name=f"{self.name}[{index}]", position=index)


class NodeLayout(NamedTuple):
    """What the class of a node offers: `name` is None when it must be asked of every node."""

    name: str | None
    slots: tuple[Slot, ...]
    read_slots: Reader
    """All raw slots at once (`SavedTensor` or tuple of them): `data` and `unpack_hook` read them without unpacking.

    The bare slot when there is one. Raises RuntimeError when backward has freed a list.
    """
    plain: tuple[tuple[str, str], ...]
    """(name, private attribute) of every saved value that is not a tensor."""
    read_plain: Reader
    """All plain values at once; the bare value when there is one."""
    custom: bool


def _read_nothing(node: Any) -> Any:
    return ()


_layouts: dict[type, NodeLayout] = {}


def layout_of(node: Any) -> NodeLayout:
    """The attribute names of a node's class; `dir` is slow, so PyTorch's own classes are read once per process."""
    kind = type(node)
    layout = _layouts.get(kind)
    if layout is None:
        layout = _read_layout(node, kind)
        if not layout.custom:
            _layouts[kind] = layout
    return layout


def _read_layout(node: Any, kind: type) -> NodeLayout:
    names = dir(kind)
    slots = tuple(_slot(name) for name in names if name.startswith("_raw_saved_"))
    tensors = {slot.unpacking for slot in slots}
    plain = [name for name in names if name.startswith("_saved_") and name not in tensors]
    return NodeLayout(
        name=None if kind.__name__ == "CppFunction" else node.name(),
        slots=slots,
        read_slots=attrgetter(*(slot.raw for slot in slots)) if slots else _read_nothing,
        plain=tuple((name.removeprefix("_saved_"), name) for name in plain),
        read_plain=attrgetter(*plain) if plain else _read_nothing,
        custom=isinstance(node, torch.autograd.function.BackwardCFunction),
    )


def is_closed(node: Any) -> bool:
    """Whether a node is a derivative formula whose class has no readers in Python (`ForeachMulBackward0List`)."""
    return type(node).__name__ == "CppFunction" and "::" not in node.name()


def _slot(raw: str) -> Slot:
    if raw == "_raw_saved_tensors":
        return Slot("saved_tensors", raw, "saved_tensors", is_output=False)
    name = raw.removeprefix("_raw_saved_")
    return Slot(name, raw, "_saved_" + name, is_output=_RESULT.fullmatch(name) is not None)


def unpack_hookless(node: Any, slot: Slot) -> Any:
    """What backward would read from a slot; only for slots without hooks, where nothing can be recomputed.

    Raises PyTorch's own RuntimeError when the tensor was changed in place or freed.
    """
    value = getattr(node, slot.unpacking)
    return value if slot.position is None else value[slot.position]


def version_of(tensor: torch.Tensor) -> int | None:
    """In-place version counter; None for inference tensors, which have none."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """(identity, bytes) of the storage, valid while it lives; raises where a tensor has no single storage."""
    storage = tensor.untyped_storage()
    return storage_key(storage), storage.nbytes()


Described = tuple[Any, ...]
"""shape, dtype, stride, device, bytes, storage bytes, storages (identity, bytes), version, why something is missing."""


def describe(tensor: torch.Tensor, why: str) -> Described:
    """What can be read of a tensor that `read_tensor` refuses: sparse, nested, inference, wrapped."""
    storages = storages_of(tensor)
    held = sum(size for _, size in storages)
    shape = shape_of(tensor)
    stride: tuple[int, ...] | None
    if len(storages) == 1 and tensor.layout is torch.strided and not tensor.is_nested and shape is not None:
        stride, size, why = plain_shape(tensor.stride()), tensor.nbytes, ""
    else:
        layout = str(tensor.layout).removeprefix("torch.")
        stride, size = None, held
        why = f"{layout}: kept in {len(storages)} storages, no strides of its own" if storages else why
    return shape, tensor.dtype, stride, tensor.device, size, held, storages, version_of(tensor), why


def storages_of(tensor: torch.Tensor) -> tuple[tuple[int, int], ...]:
    """(identity, bytes) of every storage a tensor keeps alive; several for sparse layouts, none if unreachable."""
    try:
        return (storage_of(tensor),)
    except (RuntimeError, NotImplementedError, TypeError):
        pass
    try:
        return tuple(dict.fromkeys(storage_of(part) for part in parts(tensor)))
    except (RuntimeError, NotImplementedError, TypeError):
        return ()


def parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The dense tensors a sparse or nested tensor stores; empty when they cannot be reached."""
    if tensor.layout is torch.sparse_coo:
        return (tensor._values(), tensor._indices())
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return (tensor.values(), tensor.crow_indices(), tensor.col_indices())
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return (tensor.values(), tensor.ccol_indices(), tensor.row_indices())
    return (tensor.values(),) if tensor.is_nested else ()


def producer(tensor: torch.Tensor) -> Any | None:
    """The node that made a tensor, or None; never regenerates the grad_fn of a view whose base has changed."""
    if tensor._is_view() and version_of(tensor):
        return None
    return tensor.grad_fn


# The dtype a Python number leaves when it meets the smallest tensor of its category; a tensor keeps its own.
_PROBES = {
    torch.float64: (torch.ones((), dtype=torch.float16), torch.float16),
    torch.int64: (torch.ones((), dtype=torch.int8), torch.int8),
    torch.complex128: (torch.ones((), dtype=torch.float16), torch.complex32),
}


def is_python_number(tensor: torch.Tensor) -> bool:
    """Whether a tensor without dimensions is a wrapped Python number, as 2.0 in `x * 2.0` (not told for True, False).

    PyTorch calls no saved-tensor hook for these; only type promotion tells them from tensors.
    """
    probe = _PROBES.get(tensor.dtype)
    return probe is not None and torch.result_type(tensor, probe[0]) is probe[1]


def base_of_view(tensor: torch.Tensor) -> str | None:
    """Type name of the tensor that autograd tracks this one as a view of; None when it is no view."""
    return type(tensor._base).__name__ if tensor._is_view() else None


def named_members(model: torch.nn.Module) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Parameters and buffers by name, each tensor under its first name, as `named_parameters` and `named_buffers` say.

    One pass without nested generators: on a network of 150 modules four times as fast as the two.
    """
    parameters: dict[str, torch.Tensor] = {}
    buffers: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    waiting = [("", model)]
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        for found, members in ((parameters, module._parameters), (buffers, module._buffers)):
            for name, tensor in members.items() if members else ():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    found[path + name] = tensor
        if module._modules:
            below = [(f"{path}{name}.", child) for name, child in module._modules.items() if child is not None]
            waiting += below[::-1]
    return parameters, buffers


def leaf_hooks(variable: torch.Tensor) -> bool:
    """Whether a leaf has hooks of either kind."""
    return bool(variable._backward_hooks or variable._post_accumulate_grad_hooks)


def tensor_hooks(tensor: torch.Tensor) -> tuple[str, ...]:
    """Hooks on one tensor: `register_hook` and `register_post_accumulate_grad_hook`, by function name."""
    found = [f"tensor hook {hook_name(hook)}" for hook in (tensor._backward_hooks or {}).values()]
    after = (tensor._post_accumulate_grad_hooks if tensor.is_leaf else None) or {}
    return (*found, *(f"post-accumulate hook {hook_name(hook)}" for hook in after.values()))


def is_view_operation(node_name: str) -> bool:
    """Whether the operation behind a node returns an alias of its argument, by PyTorch's own schemas.

    `SelectBackward0` -> schemas of aten::select and aten::_select; a view returns an alias that it does not write.
    """
    stem = _CAMEL.sub("_", _SUFFIX.sub("", node_name)).lower()
    schemas = torch._C._jit_get_schemas_for_operator
    return any(_returns_alias(schema) for name in (stem, "_" + stem) for schema in schemas(f"aten::{name}"))


def _returns_alias(schema: Any) -> bool:
    infos = [value.alias_info for value in schema.returns]
    return any(info is not None and not info.is_write for info in infos)
