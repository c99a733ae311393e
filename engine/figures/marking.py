"""What a comparison says about the boxes and wires of a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from engine.figures.comparison import Compared
from engine.figures.units import MINUS, format_count
from engine.graph.columns import Integers
from engine.graph.spec import Edge, Graph

WORDS = ("", "added", "removed", "changed")
SIGNS = {"added": "+", "removed": MINUS}


class Marking:
    """The `graph` to draw, B's `own` graph, and the mark of everything; without a comparison nothing is marked.

    Ghosts (nodes that only A has) are drawn with `show_removed`; else the groups they were in count them.
    """

    def __init__(self, graph: Graph, compared: Compared | None = None, show_removed: bool = True) -> None:
        self.compared = compared
        self.real = len(graph.nodes)
        self.graph = compared.union.graph if compared is not None and show_removed else graph
        words = compared.marks if compared else ()
        self._marks: Integers = np.array([WORDS.index(word) for word in words], np.int64)
        self.own = graph
        self._gone = Counter[str]() if compared is None or show_removed else _by_path(compared)

    @property
    def addresses(self) -> list[str] | None:
        """Addresses of the graph to draw, where they are not simply its own."""
        return list(self.compared.union.addresses) if self.compared and self.graph is not self.own else None

    @property
    def marks(self) -> list[str]:
        """The mark of every node to draw; [] without a comparison."""
        return list(self.compared.marks[: len(self.graph.nodes)]) if self.compared else []

    def gone(self, nodes: Integers | list[int]) -> tuple[str, ...]:
        """The line that tells so, where only A has all of these nodes."""
        return ("only in A",) if len(nodes) and np.min(nodes) >= self.real else ()

    def is_ghost(self, node: int) -> bool:
        """Whether only A has the node."""
        return node >= self.real

    def of(self, node: int) -> str:
        """ "added", "removed", "changed" or ""."""
        return WORDS[int(self._marks[node])] if self.compared else ""

    def words(self, nodes: Iterable[int]) -> tuple[str, ...]:
        """What differs in these nodes, each difference once."""
        if self.compared is None:
            return ()
        return tuple(dict.fromkeys(word for node in nodes for word in self.compared.changes.get(node, ())))

    def counts(self, nodes: Integers, path: str | None = None) -> Counter[str]:
        """How many of these nodes have which mark; `path` adds what is gone from that module and not drawn."""
        if self.compared is None:
            return Counter()
        numbers = np.bincount(self._marks[nodes], minlength=len(WORDS)).tolist()
        found = Counter({word: count for word, count in zip(WORDS, numbers, strict=True) if word and count})
        gone = self._gone[path] if path is not None else 0
        return found + Counter(removed=gone) if gone else found

    def removed_in(self, nodes: Integers | None, path: str) -> tuple[str, ...]:
        """Addresses in A of what only A has: all, or of a group of `nodes`; its `path` tells what is not drawn."""
        names = self.compared.removed if self.compared else ()
        if self.compared is None or nodes is None:
            return names
        if self.graph is not self.own:
            return tuple(names[node - self.real] for node in nodes.tolist() if node >= self.real)
        paths = (self.compared.a.nodes[node].module for node in self.compared.ghosts)
        return tuple(name for name, of in zip(names, paths, strict=True) if f"{of}.".startswith(f"{path}."))

    def box(self, nodes: Integers) -> str:
        """The mark of a box: that of its own node, the first, else "changed" when something folded into it differs."""
        if self.compared is None or not nodes.size:
            return ""
        return self.of(int(nodes[0])) or ("changed" if self.counts(nodes) else "")

    def group(self, nodes: Integers, path: str) -> str:
        """The mark of a group: "added" or "removed" when all of it is, "changed" with any difference, else ""."""
        found, whole = self.counts(nodes, path), nodes.size + self._gone[path]
        for mark in ("added", "removed"):
            if found[mark] and found[mark] == whole:
                return mark
        return "changed" if found else ""

    def wire(self, edges: Iterable[Edge]) -> str:
        """ "added" or "removed" when all edges of the wire are."""
        if self.compared is None:
            return ""
        union = self.compared.union
        ends = {(edge.source, edge.target) for edge in edges}
        return "removed" if ends <= union.gone else "added" if ends <= union.added else ""

    def before(self, by_position: tuple[Integers, Integers]) -> list[int]:
        """For every position of the forward order how many nodes before it differ.

        `by_position` are the nodes of all boxes one after the other, and where those of each position begin.
        """
        nodes, starts = by_position
        before: list[int] = np.concatenate(([0], np.cumsum(self._marks[nodes] > 0)))[starts].tolist()
        return before


def counts_line(found: Counter[str]) -> str:
    """ "+3, −2, 1 changed since A"."""
    parts = [f"{sign}{format_count(found[mark])}" for mark, sign in SIGNS.items() if found[mark]]
    parts += [f"{format_count(found['changed'])} changed"] if found["changed"] else []
    return f"{', '.join(parts)} since A" if parts else ""


def _by_path(compared: Compared) -> Counter[str]:
    """Nodes that only A has, under every module path around them."""
    found: Counter[str] = Counter()
    for node in compared.ghosts:
        path = compared.a.nodes[node].module
        while path:
            found[path] += 1
            path = path.rpartition(".")[0]
    return found


class Part(Mapping[str, tuple[int, ...]]):
    """Node ids by address: B's own, or with `ghosts` those that only A has, by their ids there."""

    def __init__(self, members: Mapping[str, tuple[int, ...]], marking: Marking, ghosts: bool = False) -> None:
        self._members, self._marking, self._ghosts = members, marking, ghosts

    def __getitem__(self, address: str) -> tuple[int, ...]:
        found, real = self._members[address], self._marking.real
        if not self._ghosts:
            return tuple(node for node in found if node < real) if self._marking.compared else found
        gone = self._marking.compared.ghosts if self._marking.compared else ()
        return tuple(gone[node - real] for node in found if node >= real)

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
