"""A comparison told: one sentence, and every node that differs as rows and as CSV."""

from __future__ import annotations

import msgspec

from engine.figures.comparison import Compared
from engine.figures.csv_text import csv_text
from engine.figures.export import cell
from engine.figures.forward import forward_order
from engine.figures.units import MINUS, format_bytes, format_count, format_significant, shorten
from engine.graph.spec import Graph, Traced

MARKED = {"added": "added", "removed": "gone", "changed": "changed"}
MESSAGE, REASON, REASONS = 240, 120, 3
"""Letters of PyTorch's message and of one reason for an empty graph that are told beside the headline; how many."""
TIMES, NEARLY_ALL = 10, 0.995
"""Above so many times A a factor is told, and from this share on that all but nothing is gone."""
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
    share = f" ({difference_share(a, b)})" if a else ""
    return f"saved bytes {format_bytes(a)} → {format_bytes(b)}{share}"


def difference_share(a: int, b: int) -> str:
    """How far `b` is from a positive `a`: "−33%", "<1%", "×105" above ten times as much, "to <1% of A"."""
    if b > TIMES * a:
        return f"×{format_significant(b / a)}"
    share = abs(b - a) / a
    if 0 < b < a and share >= NEARLY_ALL:
        return "to <1% of A"
    return f"{'+' if b > a else MINUS}{share:.0%}" if share >= 1 - NEARLY_ALL else "<1%"


def few_pairs(compared: Compared) -> str:
    """Why little corresponds, or nothing does because a run recorded no graph; "" when enough does."""
    empty = [f"{name} recorded no graph{_why_empty(graph)}." for name, graph in _runs(compared) if not graph.nodes]
    if empty or compared.paired_share >= FEW_PAIRS:
        return " ".join(empty)
    paired = len(compared.a.nodes) - len(compared.ghosts)
    return (
        f"Only {format_count(paired)} of {format_count(len(compared.a.nodes))} nodes of A have a partner among "
        f"{format_count(len(compared.b.nodes))}: nodes correspond by module path and operation, and these models "
        "share few."
    )


def _runs(compared: Compared) -> tuple[tuple[str, Graph], ...]:
    return ("A", compared.a), ("This run", compared.b)


def _why_empty(graph: Graph) -> str:
    """ " (loss and output: made under inference_mode ...)": every reason once, with the outputs it is told of."""
    names: dict[str, list[str]] = {}
    for root in graph.roots:
        names.setdefault(shorten(root.note, REASON), []).append(shorten(root.name, 40))
    told = [f"{' and '.join(of)}: {note}" if any(of) else note for note, of in names.items() if note]
    told += [shorten(note, REASON) for note in graph.notes]
    return f" ({'; '.join(told[:REASONS])})" if told else ""


def failed_run(before: Traced) -> str:
    """What PyTorch raised in run A, short, and what it means for the comparison; "" when A ran through."""
    if before.error is None:
        return ""
    error, message = before.error, shorten(before.error.message, MESSAGE)
    has = "its gradients are not complete" if error.stage == "backward" else "it has only what was recorded until then"
    return f"In A, PyTorch raised {error.type} in {error.stage} ({message.rstrip('.')}); {has}."


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
    rows = (
        (node.mark, node.module, node.operation, node.address, "; ".join(node.words))
        for node in changed_nodes(compared)
    )
    columns = ("against A", "module", "operation", "address", "what differs")
    return csv_text(columns, (map(cell, row) for row in rows))
