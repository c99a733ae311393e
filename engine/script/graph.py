"""The script of the autograd graph page."""

from __future__ import annotations

from engine.graph.spec import ClassicSpec, GraphSpec
from engine.models.spec import describe
from engine.script.model import model_script, outputs_of

WALK = '''\
def walk(*tensors: torch.Tensor) -> list:
    """Every autograd node behind the tensors, each once."""
    nodes, waiting = {}, [tensor.grad_fn for tensor in tensors]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in nodes:
            nodes[node] = True
            waiting += [following for following, _ in node.next_functions]
    return list(nodes)'''

SAVED_BYTES = '''\
def is_number(tensor: torch.Tensor) -> bool:
    """A Python number, as 2.0 in `x * 2.0`: any tensor outranks its dtype, and no saved-tensor hook sees it."""
    probes = {torch.float64: torch.float16, torch.int64: torch.int8, torch.complex128: torch.complex32}
    probe = probes.get(tensor.dtype)
    if tensor.dim() or probe is None:
        return False
    return torch.result_type(tensor, torch.ones((), dtype=probe, device=tensor.device)) != tensor.dtype


def saved_bytes(nodes: list) -> int:
    """Bytes kept for backward, each storage once; what a checkpoint's hook has packed away is not counted."""
    storages = {}
    for node in nodes:
        for name in dir(node):
            if name.startswith("_raw_saved_"):
                slots = getattr(node, name)
                for slot in slots if isinstance(slots, (list, tuple)) else [slots]:
                    if slot.unpack_hook is None and slot.data is not None and not is_number(slot.data):
                        storage = slot.data.untyped_storage()
                        storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())'''

NORMS = """\
for name, leaf in [*model.named_parameters(), *inputs.items()]:
    wide = torch.promote_types(leaf.dtype, torch.float64)
    print(name, None if leaf.grad is None else leaf.grad.to_dense().to(wide).norm().item())"""


def script(spec: GraphSpec | ClassicSpec) -> str:
    """Trace the graph, print its nodes, saved bytes and loss, run backward and print each leaf's gradient norm."""
    return _classic(spec) if isinstance(spec, ClassicSpec) else _traced(spec)


def _traced(spec: GraphSpec) -> str:
    parts = model_script(spec.model)
    parts.definitions += [WALK, SAVED_BYTES]
    parts.recipe += [
        "",
        f"nodes = walk(loss, {outputs_of(spec.model)})",
        'print("nodes", len(nodes))',
        'print("saved bytes", saved_bytes(nodes))',
        'print("loss", loss.item())',
    ]
    if spec.backward:
        parts.recipe += ["", "loss.backward()", NORMS]
    return parts.text(f"{describe(spec.model.architecture)}: the autograd graph it records, in plain torch.")


def _classic(spec: ClassicSpec) -> str:
    parts = model_script(spec.model)
    parts.imports.add(("torchviz", "make_dot", ""))
    parts.recipe += [
        "",
        "named = {**dict(model.named_parameters()), **inputs}",
        f"dot = make_dot(loss, named, show_attrs={spec.show_attrs}, show_saved={spec.show_saved})",
        "print(dot.source)",
    ]
    return parts.text(f"{describe(spec.model.architecture)}: its graph drawn by torchviz.")
