"""What search and paths read: every node and every edge of the real graph as columns, also of what no box shows.

One row per node, by id: numbers into `tables` of words, saved bytes, and the place of the box that shows it; one row
per edge. The canvas answers questions about the whole graph from this, without a new job.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from engine.figures.fold import Folded, box_kind, is_leaf, leaf_kind
from engine.figures.units import format_shape
from engine.graph.spec import Graph, Source, TensorMetadata
from engine.runner.contract import Array

NAMED_OWNERS = ("parameter", "input", "buffer")
"""Owners of saved tensors that have a name of their own."""
Numbers = npt.NDArray[Any]


class GraphIndex(msgspec.Struct, frozen=True, kw_only=True):
    """Columns over nodes and edges, and the words they number.

    `tables`: "operation" (`Node.name`), "module", "variable" (leaves), "tensor" (leaf, owners of what a node saved and
    traced outputs, one a line), "kind" and "source" are texts; "inputs" are (shapes, dtypes, devices), one a line each.
    Columns over nodes: `operation module variable tensor kind source inputs`, `saved_bytes`, `count` (the number at the
    end of the address), `at` (position in `Folded.order` of the box that shows it; a leaf's first use). Over edges that
    lead somewhere: `consumer producer slot`. `use_edge use_at`: leaves drawn as boxes, by number of such an edge.
    `roots` are names and node ids of traced outputs, `boxes` counts positions, `stamp` tells two indexes apart. Nodes
    from `real` on are ghosts that only run A has; no edge leads to or from them.
    """

    tables: dict[str, tuple[Any, ...]]
    columns: dict[str, Array]
    roots: tuple[tuple[str, int], ...]
    boxes: int
    real: int
    stamp: str


def index_of(
    graph: Graph,
    folded: Folded,
    names: Sequence[str],
    kinds: Mapping[str, str] | None = None,
    own: Graph | None = None,
) -> GraphIndex:
    """The index of `graph` drawn with `folded`; `names` are its addresses, `kinds` maps leaf names to owner kinds.

    `own` is what was traced where `graph` also has, after it, nodes and edges that only run A has.
    """
    own = own or graph
    coded = graph.node_columns
    tables: dict[str, tuple[Any, ...]] = {
        "operation": coded.name.table,
        "module": coded.module.table,
        "variable": coded.variable.table,
        "source": tuple(map(_source, coded.source.table)),
        "inputs": tuple(map(_described, coded.inputs.table)),
    }
    columns = {"operation": coded.name.codes, "module": coded.module.codes, "variable": coded.variable.codes}
    columns |= {"source": coded.source.codes, "inputs": coded.inputs.codes}
    tables["kind"], columns["kind"] = _kinds(graph, kinds or {})
    tables["tensor"], columns["tensor"] = _tensors(graph)
    columns["saved_bytes"] = _packed(_saved_bytes(graph))
    columns["count"] = _packed(np.array([int(name[name.rindex("#") + 1 :]) for name in names], np.int64))
    columns |= {name: _packed(values) for name, values in _edges(graph, folded, len(own.edges)).items()}
    return GraphIndex(
        tables=tables,
        columns=columns,
        roots=tuple((root.name, root.node) for root in graph.roots if root.node is not None),
        boxes=len(folded.order),
        real=len(own.nodes),
        stamp=_stamp(tables, columns),
    )


def _source(source: Source | None) -> str:
    return "" if source is None else f"{source.file}:{source.line} {source.text}"


def _described(inputs: tuple[TensorMetadata, ...]) -> tuple[str, str, str]:
    return (
        "\n".join(format_shape(one.shape) for one in inputs),
        "\n".join(dict.fromkeys(one.dtype.removeprefix("torch.") for one in inputs)),
        "\n".join(dict.fromkeys(one.device for one in inputs)),
    )


def _kinds(graph: Graph, kinds: Mapping[str, str]) -> tuple[tuple[str, ...], Array]:
    """The palette's word for every node, of a leaf "leaf" and whose it is; asked once for every combination."""
    coded = graph.node_columns
    parts = np.stack([_codes(one.codes) for one in (coded.name, coded.kind, coded.variable)])
    sizes = (len(coded.name.table), len(coded.kind.table), len(coded.variable.table))
    if not parts.size:
        return (), _packed(np.zeros(0, np.int64))
    _, first, combination = np.unique(np.ravel_multi_index(tuple(parts), sizes), return_index=True, return_inverse=True)
    words = [graph.nodes[number] for number in first.tolist()]
    texts = [f"leaf {leaf_kind(node, kinds)}" if is_leaf(node) else box_kind(node) for node in words]
    known = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return tuple(known), _packed(np.array([known[text] for text in texts])[combination])


def _tensors(graph: Graph) -> tuple[tuple[str, ...], Array]:
    """Names of tensors that have to do with a node: its leaf, whose storages it saved, the traced output it made."""
    coded, slots = graph.node_columns.variable, graph.slots
    named = np.array([kind.owner_kind in NAMED_OWNERS for kind in slots.kinds], bool)
    more: dict[int, dict[str, None]] = {}
    for slot in np.flatnonzero(named[slots.kind_codes]).tolist() if len(slots) else ():
        more.setdefault(int(slots.nodes[slot]), {})[slots.owners[slot]] = None
    for root in graph.roots:
        if root.node is not None:
            more.setdefault(root.node, {})[root.name] = None
    known = {word: number for number, word in enumerate(coded.table)}
    codes = _codes(coded.codes)
    for node, words in more.items():
        text = "\n".join(dict.fromkeys(word for word in (graph.node_variables[node], *words) if word))
        codes[node] = known.setdefault(text, len(known))
    return tuple(known), _packed(codes)


def _saved_bytes(graph: Graph) -> Numbers:
    """Bytes every node keeps alive, each storage once per node."""
    slots = graph.slots
    total = np.zeros(len(graph.nodes), np.int64)
    if not len(slots):
        return total
    lost = np.array([kind.dropped or bool(kind.unavailable) for kind in slots.kinds], bool)[slots.kind_codes]
    loose = np.flatnonzero(~lost & (slots.storage_ids < 0))
    np.add.at(total, slots.nodes[loose], slots.bytes[loose])
    kept = np.flatnonzero(~lost & (slots.storage_ids >= 0))
    pairs = slots.nodes[kept] * (int(slots.storage_ids.max()) + 1) + slots.storage_ids[kept]
    once = kept[np.unique(pairs, return_index=True)[1]]
    np.add.at(total, slots.nodes[once], slots.storage_bytes[once])
    return total


def _edges(graph: Graph, folded: Folded, own: int) -> dict[str, Numbers]:
    """Edges among the first `own` that lead somewhere, where leaves drawn as boxes are, every node's box's position."""
    number = np.flatnonzero(graph.edge_targets >= 0)
    consumer, producer = graph.edge_sources[number], graph.edge_targets[number]
    place = np.zeros(len(graph.nodes) + len(folded.copies) + 1, np.int64)
    place[list(folded.order)] = np.arange(len(folded.order))
    host = np.array(folded.host, np.int64)
    use = np.full(number.size, -1)
    if folded.uses:
        use = np.array([folded.uses.get(edge, -1) for edge in number.tolist()], np.int64)
    use_edge = np.flatnonzero(use >= 0)
    shown = place[host[consumer]]
    shown[use_edge] = place[use[use_edge]]
    at = place[host]
    lost = host[producer] == -1
    at[producer[lost]] = len(folded.order)
    np.minimum.at(at, producer[lost], shown[lost])
    kept = int(np.searchsorted(number, own))
    use_edge = use_edge[use_edge < kept]
    slot = graph.edge_output_nrs[number]
    ends = {"consumer": consumer[:kept], "producer": producer[:kept], "slot": slot[:kept]}
    return {"at": at, **ends, "use_edge": use_edge, "use_at": shown[use_edge]}


def _codes(column: Array) -> Numbers:
    return np.frombuffer(column.data, np.dtype(column.dtype).newbyteorder("<")).astype(np.int64)


def _packed(values: Numbers) -> Array:
    """As few bytes as hold the largest value; float64 above 32 bits, exact to 2**53."""
    largest = int(values.max(initial=0))
    dtype = next((name for name, bits in (("uint8", 8), ("uint16", 16), ("uint32", 32)) if largest < 1 << bits), "")
    dtype = dtype or "float64"
    return Array(dtype, values.shape, values.astype(np.dtype(dtype).newbyteorder("<")).tobytes())


def _stamp(tables: Mapping[str, Any], columns: Mapping[str, Array]) -> str:
    digest = hashlib.blake2b(msgspec.json.encode(tables), digest_size=8)
    for column in columns.values():
        digest.update(column.data)
    return digest.hexdigest()
