"""Search, paths and the module tree as a reader uses them, and a graph with something of everything to look for."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from playwright.sync_api import Page

from engine.figures.index import index_of
from engine.figures.scene import draw, encode_scene, prepare
from engine.figures.view import GraphView
from engine.graph.spec import Graph, ModuleCall, Source, TensorMetadata
from tests.component.graph_visitor import Picture
from tests.figures.graphs import graph, leaf, node, saved

CLOSED = GraphView(expanded=(), maximum_boxes=20)


def encoded(made: Graph, view: GraphView = CLOSED, selected: str = "", modules: Sequence[ModuleCall] = ()) -> bytes:
    """The picture of a graph with its index, as the page sends it."""
    prepared = prepare(made, view, modules=modules)
    return encode_scene(draw(prepared, view, selected), index_of(made, prepared.folded, prepared.names))


def varied(layers: int = 34) -> Graph:
    """Layers of three operations with weights, in three dtypes, on two devices, of many shapes; the loss first."""
    count = 3 * layers
    nodes, edges = [], []
    for number in range(count):
        layer, place = divmod(count - 1 - number, 3)
        name = ("AddmmBackward0", "TBackward0", "GeluBackward0")[place]
        weight = f"layers.{layer}.attn.weight"
        owned = msgspec.structs.replace(saved(1000 + layer, 512, owner="parameter"), owner=weight)
        slots = ([owned, saved(number, 4 << layer % 24)], [], [saved(number, 1000)])[place]
        made = node(
            number, name, f"layers.{layer}.{('attn', 'attn', 'mlp')[place]}", sequence=count - number, slots=slots
        )
        dtype = ("float32", "bfloat16", "float16")[layer % 3]
        sizes = ((4, 64), (64,), (2, layer + 1, 64))[place] if layer else ()
        metadata = (TensorMetadata(sizes, dtype, "cuda:0" if layer % 2 else "cpu"),)
        source = Source("model.py", 10 + place, "forward", "x = self.mlp(x)")
        nodes.append(msgspec.structs.replace(made, inputs=metadata, source=source))
        if number + 1 < count:
            edges.append((number, 0, number + 1))
    for layer in range(layers):
        nodes.append(leaf(len(nodes), f"layers.{layer}.attn.weight", f"layers.{layer}.attn", (64, layer + 1)))
        edges.append((count - 1 - 3 * layer, 1, nodes[-1].id))
    return graph(nodes, edges)


class Reader(Picture):
    """A picture that is searched and followed."""

    def ask(self, words: str) -> list[int]:
        """Node ids the search finds."""
        asked = "(words) => { view.search.box.value = words; view.search.run(); return view.search.hits; }"
        found: list[int] = self.page.evaluate(asked, words)
        return found

    def type(self, words: str) -> dict[str, str]:
        self.page.locator("[data-atlas-search]").fill(words)
        return self.said

    @property
    def list_words(self) -> str:
        return self.page.locator("[data-atlas-hits-said]").inner_text()

    @property
    def rows(self) -> list[str]:
        return self.page.locator("[data-atlas-hits-list] [role=option]").all_inner_texts()

    def click_box(self, address: str) -> dict[str, str]:
        place = self.places[address]
        self.canvas.click(position={"x": place["x"] + 14, "y": place["y"] + min(12, place["height"] / 2)})
        return self.said

    def lit(self) -> tuple[list[int], list[str], list[tuple[str, str]]]:
        """Node ids, addresses of boxes and (source, target) addresses of wires on the path that is lit."""
        nodes, boxes, wires = self.page.evaluate(
            """() => {
              const { nodes, boxes, wires } = view.highlight ?? { nodes: [], boxes: [], wires: [] };
              const name = (number) => view.scene.boxes[number].address;
              return [[...(nodes ?? [])], [...boxes], [...wires].map((wire) => [name(wire.source), name(wire.target)])];
            }"""
        )
        return sorted(nodes), sorted(boxes), sorted(tuple(wire) for wire in wires)


def reading(page: Page, scene: bytes, theme: str = "light", height: int = 560) -> Reader:
    return Reader(page, scene, theme, height)  # type: ignore[arg-type]
