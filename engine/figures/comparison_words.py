"""A comparison told: one sentence, and every node that differs as rows and as CSV."""

from __future__ import annotations

import csv
import io

import msgspec

from engine.figures.comparison import Compared
from engine.figures.export import cell
from engine.figures.forward import forward_order
from engine.figures.units import MINUS, format_bytes, format_count

MARKED = {"added": "added", "removed": "gone", "changed": "changed"}
FEW_PAIRS = 0.5
"""Below this share of nodes with a partner the graphs are rather two models than one with a change."""


class ChangedNode(msgspec.Struct, frozen=True):
    """A node that differs: "added", "gone" or "changed", where it is, its address in the picture, and what differs."""

    mark: str
    module: str
    operation: str
    address: str
    words: tuple[str, ...]


def headline(compared: Compared, saved_a_bytes: int, saved_b_bytes: int) -> str:
    """ "12 nodes added, 3 gone, 5 changed; saved bytes 1.20 MiB → 820 KiB (−33 %)"."""
    counts = {mark: len(compared.ids(mark)) for mark in MARKED}
    saved = _saved(saved_a_bytes, saved_b_bytes)
    if not any(counts.values()):
        return f"no node differs; {saved}"
    told = [f"{format_count(count)} {MARKED[mark]}" for mark, count in counts.items() if count]
    first, _, kind = told[0].partition(" ")
    noun = "node" if first == "1" else "nodes"
    return f"{', '.join([f'{first} {noun} {kind}', *told[1:]])}; {saved}"


def _saved(a: int, b: int) -> str:
    if a == b:
        return f"saved bytes {format_bytes(b)}, as in A"
    share = f" ({'+' if b > a else MINUS}{abs(b - a) / a:.0%})" if a else ""
    return f"saved bytes {format_bytes(a)} → {format_bytes(b)}{share}"


def few_pairs(compared: Compared) -> str:
    """Why little corresponds, "" when enough does."""
    if compared.paired_share >= FEW_PAIRS:
        return ""
    paired = len(compared.a.nodes) - len(compared.ghosts)
    return (
        f"Only {format_count(paired)} of {format_count(len(compared.a.nodes))} nodes of A have a partner among "
        f"{format_count(len(compared.b.nodes))}: nodes correspond by module path and operation, and these models "
        "share few."
    )


def changed_nodes(compared: Compared) -> list[ChangedNode]:
    """Every node with a mark, in forward order."""
    union = compared.union
    order = forward_order(union.graph)
    marked = sorted((i for i, mark in enumerate(compared.marks) if mark), key=order.__getitem__)
    names, modules, variables = union.graph.node_names, union.graph.node_modules, union.graph.node_variables
    return [
        ChangedNode(
            MARKED[compared.marks[i]],
            modules[i],
            f"{names[i].rpartition('::')[2]} of {variables[i]}" if variables[i] else names[i],
            union.addresses[i],
            compared.changes.get(i, ()),
        )
        for i in marked
    ]


def changed_csv(compared: Compared) -> str:
    """Every node that differs; cells that a spreadsheet would run as a formula get a leading apostrophe."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(("against A", "module", "operation", "address", "what differs"))
    for node in changed_nodes(compared):
        values = (node.mark, node.module, node.operation, node.address, "; ".join(node.words))
        writer.writerow([cell(value) for value in values])
    return sink.getvalue()
