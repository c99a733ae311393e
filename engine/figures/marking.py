"""What a comparison says about the boxes and wires of a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate

from engine.figures.comparison import Compared
from engine.figures.units import MINUS, format_count
from engine.graph.spec import Edge, Graph

SIGNS = {"added": "+", "removed": MINUS, "changed": "~"}


class Marking:
    """The graph to draw and the mark of everything in it; without a comparison nothing is marked.

    Ghosts (nodes that only A has) are drawn with `show_removed`; else the groups they were in count them.
    """

    def __init__(self, graph: Graph, compared: Compared | None = None, show_removed: bool = True) -> None:
        self.compared = compared
        self.real = len(graph.nodes)
        self.graph = compared.union.graph if compared is not None and show_removed else graph
        self._marks: Sequence[str] = compared.marks if compared else ()
        self._gone = Counter[str]() if compared is None or show_removed else _by_path(compared)

    @property
    def addresses(self) -> list[str] | None:
        """Addresses of the graph to draw, where they are not simply its own."""
        return list(self.compared.union.addresses[: len(self.graph.nodes)]) if self.compared else None

    def is_ghost(self, node: int) -> bool:
        """Whether only A has the node."""
        return node >= self.real

    def of(self, node: int) -> str:
        """ "added", "removed", "changed" or ""."""
        return self._marks[node] if self._marks else ""

    def words(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """What differs in these nodes, each difference once."""
        if self.compared is None:
            return ()
        return tuple(dict.fromkeys(word for node in nodes for word in self.compared.changes.get(node, ())))

    def counts(self, nodes: Iterable[int], path: str | None = None) -> Counter[str]:
        """How many of these nodes have which mark; `path` adds what is gone from that module and not drawn."""
        if not self._marks:
            return Counter()
        found = Counter(mark for node in nodes if (mark := self._marks[node]))
        gone = self._gone[path] if path is not None else 0
        return found + Counter(removed=gone) if gone else found

    def box(self, node: int, others: Iterable[int]) -> str:
        """The mark of a box: its node's own, else "changed" when something folded into it differs."""
        return self.of(node) or ("changed" if self.counts(others) else "")

    def group(self, nodes: Sequence[int], path: str) -> str:
        """The mark of a group: "added" or "removed" when all of it is, "changed" with any difference, else ""."""
        found = self.counts(nodes, path)
        for mark in ("added", "removed"):
            if found[mark] and found[mark] == len(nodes):
                return mark
        return "changed" if found else ""

    def wire(self, edges: Iterable[Edge]) -> str:
        """ "added" or "removed" when all edges of the wire are."""
        if self.compared is None:
            return ""
        union = self.compared.union
        ends = {(edge.source, edge.target) for edge in edges}
        return "removed" if ends <= union.gone else "added" if ends <= union.added else ""

    def before(self, order: Sequence[int], boxes: Sequence[Iterable[int]]) -> list[int]:
        """For every position of the forward order: how many boxes before it differ; one more entry for the end."""
        marked = (bool(self.counts(boxes[place])) for place in range(len(order)))
        return [0, *accumulate(marked)]


def counts_line(found: Counter[str]) -> str:
    """ "+3  −2  ~4 since A"."""
    parts = [f"{sign}{format_count(found[mark])}" for mark, sign in SIGNS.items() if found[mark]]
    return f"{'  '.join(parts)} since A" if parts else ""


def _by_path(compared: Compared) -> Counter[str]:
    """Nodes that only A has, under every module path around them."""
    found: Counter[str] = Counter()
    for node in compared.ghosts:
        path = compared.a.nodes[node].module
        while path:
            found[path] += 1
            path = path.rpartition(".")[0]
    return found
