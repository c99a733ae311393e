"""What PyTorch recorded and keeps under private names: the only module that touches them (torch 2.11-2.14).

Nothing here unpacks a hooked saved tensor, so nothing is recomputed. A `SavedTensor` must not outlive its node: PyTorch
keeps only a bare pointer in it, so every reading below stays inside one call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

LEAF_SEQUENCE = 2**63
"""Sequence numbers from here up mean "not from the forward": accumulators carry UINT64_MAX."""

_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
_SUFFIX = re.compile(r"Backward\d*$")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class NodeLayout(NamedTuple):
    """What the class of a node offers: `name` is None when it must be asked of every node."""

    name: str | None
    raw: tuple[tuple[str, str, str], ...]
    """(slot name, raw attribute, unpacking attribute) of every saved tensor or list of saved tensors."""
    plain: tuple[tuple[str, str], ...]
    """(name, private attribute) of every saved value that is not a tensor."""
    custom: bool


def layout_of(node: Any) -> NodeLayout:
    """Read the attribute names of a node's class; `dir` is slow, so callers keep the answer per class."""
    kind = type(node)
    names = dir(kind)
    tensors = [name for name in names if name.startswith("_raw_saved_")]
    listed = {"_saved_" + name[len("_raw_saved_") :] for name in tensors}
    plain = [name for name in names if name.startswith("_saved_") and name not in listed]
    return NodeLayout(
        name=None if kind.__name__ == "CppFunction" else node.name(),
        raw=tuple(_slot_names(name) for name in tensors),
        plain=tuple((name[len("_saved_") :], name) for name in plain),
        custom=isinstance(node, torch.autograd.function.BackwardCFunction),
    )


def _slot_names(raw: str) -> tuple[str, str, str]:
    if raw == "_raw_saved_tensors":
        return "saved_tensors", raw, "saved_tensors"
    name = raw[len("_raw_saved_") :]
    return name, raw, "_saved_" + name


def sequence_nr(node: Any) -> int | None:
    """Order of creation in the forward; None for an accumulator, which carries UINT64_MAX."""
    number = node._sequence_nr()
    return None if number >= LEAF_SEQUENCE else int(number)


def next_sequence_nr() -> int:
    """The number the next node made by this thread will get."""
    return int(torch.autograd._get_sequence_nr())


def incoming(node: Any) -> tuple[Any, ...]:
    """Metadata objects (`shape`, `dtype`, `device`) of the gradients a node receives."""
    return node._input_metadata  # type: ignore[no-any-return]


def is_freed(error: Exception) -> bool:
    """Whether PyTorch says that a backward has freed what the node saved."""
    return "already been freed" in str(error)


def unpack_hookless(node: Any, attribute: str, index: int | None) -> Any:
    """What backward would read from a slot; only for slots without hooks, where nothing can be recomputed.

    Raises PyTorch's own RuntimeError when the tensor was changed in place or freed.
    """
    value = getattr(node, attribute)
    return value if index is None else value[index]


def versions_in(error: Exception) -> tuple[int, int] | None:
    """(version now, version saved) from PyTorch's in-place error; None for any other error."""
    found = _VERSIONS.search(str(error))
    return (int(found.group(1)), int(found.group(2))) if found else None


def hook_name(unpack_hook: Any) -> str:
    """The name a person knows a saved-tensor hook by: the class or function of torch, else the hook's own."""
    qualified: str = getattr(unpack_hook, "__qualname__", type(unpack_hook).__name__)
    module: str = getattr(unpack_hook, "__module__", "") or ""
    if module.startswith("torch."):
        return qualified.split(".")[0]
    return qualified.rsplit("<locals>.", 1)[-1]


def is_checkpoint_hook(unpack_hook: Any) -> bool:
    """Whether non-reentrant checkpointing keeps a recipe in this slot instead of the tensor."""
    return getattr(unpack_hook, "__module__", "") == "torch.utils.checkpoint"


def version_of(tensor: torch.Tensor) -> int | None:
    """In-place version counter; None for inference tensors, which have none."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def storage_of(tensor: torch.Tensor) -> tuple[int, int]:
    """(identity, bytes) of the storage, valid while it lives; raises where a tensor has no single storage."""
    storage = tensor.untyped_storage()
    return storage._cdata, storage.nbytes()


def storages_of(tensor: torch.Tensor) -> tuple[tuple[int, int], ...]:
    """(identity, bytes) of every storage a tensor keeps alive; several for sparse layouts, none where none is reachable."""
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
    if tensor.is_nested:
        return (tensor.values(),)
    return ()


def producer(tensor: torch.Tensor) -> Any | None:
    """The node that made a tensor, or None; never regenerates the grad_fn of a view whose base has changed."""
    if tensor._is_view() and version_of(tensor):
        return None
    return tensor.grad_fn


def is_view(tensor: torch.Tensor) -> bool:
    """Whether autograd tracks the tensor as a view of another."""
    return tensor._is_view()


def base_type(tensor: torch.Tensor) -> str:
    """Type name of the tensor a view looks into."""
    return type(tensor._base).__name__


def shape_of(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Shape as plain ints; None for a nested or symbolic tensor that has none."""
    try:
        return tuple(int(size) for size in tensor.shape)
    except (RuntimeError, NotImplementedError, TypeError):
        return None


def has_hooks(tensor: torch.Tensor) -> bool:
    """Whether `register_hook` was called on the tensor."""
    return bool(tensor._backward_hooks)


def tensor_hooks(tensor: torch.Tensor) -> tuple[str, ...]:
    """Hooks on one tensor: `register_hook` and `register_post_accumulate_grad_hook`, by function name."""
    found = [f"tensor hook {hook_name(hook)}" for hook in (tensor._backward_hooks or {}).values()]
    after = tensor._post_accumulate_grad_hooks if tensor.is_leaf else None
    found += [f"post-accumulate hook {hook_name(hook)}" for hook in (after or {}).values()]
    return tuple(found)


def anomaly_traceback(node: Any) -> list[str]:
    """The forward traceback that anomaly mode attached to a node; empty without it."""
    return list(node.metadata.get("traceback_", ()))


def is_view_operation(node_name: str) -> bool:
    """Whether the operation behind a node returns an alias of its argument, by PyTorch's own schemas.

    `SelectBackward0` -> schemas of aten::select and aten::_select; a view has an alias on a return that it does not write.
    """
    stem = _CAMEL.sub("_", _SUFFIX.sub("", node_name)).lower()
    return any(_returns_alias(schema) for name in (stem, "_" + stem) for schema in _schemas(name))


def _schemas(name: str) -> list[Any]:
    return torch._C._jit_get_schemas_for_operator(f"aten::{name}")  # type: ignore[no-any-return]


def _returns_alias(schema: Any) -> bool:
    infos = [value.alias_info for value in schema.returns]
    return any(info is not None and not info.is_write for info in infos)


def saved_slots(node: Any, layout: NodeLayout) -> Iterator[tuple[str, Any, str, int | None]]:
    """Yield (name, slot, unpacking attribute, index): slot is a `SavedTensor` or the error of reading it.

    Lists of saved tensors (cat, index, foreach, custom Functions) are flattened to `name[index]`.
    """
    for name, raw, unpacking in layout.raw:
        try:
            held = getattr(node, raw)
        except RuntimeError as error:
            yield name, error, unpacking, None
            continue
        if isinstance(held, tuple):
            for index, slot in enumerate(held):
                yield f"{name}[{index}]", slot, unpacking, index
        else:
            yield name, held, unpacking, None
