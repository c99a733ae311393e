"""Scenes for the component's tests and benchmark, by name; ids are worked out here by hand, not by the figures."""

from __future__ import annotations

from engine.figures.cells import CellScene, Panel

HOSTILE = "</div><img src=x onerror='window.hurt=1'><script>window.hurt=1</script>{{7*7}}"


def grid(key: str, rows: int, columns: int, ids: list[int], count: int, **fields) -> Panel:
    """A tensor whose cell n is memory `ids[n]` of `count`."""
    return Panel(
        key=key,
        title=f"{key} · {rows}×{columns}",
        columns=columns,
        owns=tuple(ids),
        shades=tuple(id_ / max(1, count - 1) for id_ in ids),
        words=tuple(f"{key}[{n // columns}, {n % columns}] · element {id_}" for n, id_ in enumerate(ids)),
        path=True,
        **fields,
    )


def strip(count: int, **fields) -> Panel:
    return Panel(
        key="storage",
        title=f"storage · {count} elements",
        columns=count,
        owns=tuple(range(count)),
        shades=tuple(n / max(1, count - 1) for n in range(count)),
        words=tuple(f"element {n} · byte {4 * n}" for n in range(count)),
        tick_every=16,
        **fields,
    )


def transposed(rows: int, columns: int, **fields) -> CellScene:
    count = rows * columns
    x = grid("x", rows, columns, list(range(count)), count, **fields)
    t = grid("t", columns, rows, [r * columns + c for c in range(columns) for r in range(rows)], count, **fields)
    return CellScene(panels=(x, t, strip(count)), rows=(("x", "t"), ("storage",)))


def product() -> CellScene:
    """c = a @ b, 2x3 and 3x4: c[i, j] reads row i of a and column j of b."""
    a = Panel(key="a", title="a", columns=3, owns=tuple(range(6)), values=tuple("123456"))
    b = Panel(key="b", title="b", columns=4, owns=tuple(range(6, 18)), marks=("input",) * 12)
    reads = tuple(
        (*(3 * i + k for k in range(3)), *(6 + 4 * k + j for k in range(3))) for i in range(2) for j in range(4)
    )
    c = Panel(key="c", title="c", columns=4, owns=tuple(range(18, 26)), reads=reads, marks=("output",) * 8)
    return CellScene(panels=(a, b, c), rows=(("a", "b", "c"),))


def hostile() -> CellScene:
    texts = {"title": HOSTILE, "caption": HOSTILE, "values": (HOSTILE,), "words": (HOSTILE,)}
    labels = {"row_labels": (HOSTILE,), "column_labels": (HOSTILE,), "block_rows": 1, "block_labels": (HOSTILE,)}
    panel = Panel(key=HOSTILE, columns=1, owns=(0,), shades=(0.5,), marks=("gap",), **texts, **labels)
    return CellScene(panels=(panel,), scale=(HOSTILE, HOSTILE), tick_words=HOSTILE)


def blocks() -> CellScene:
    labels = tuple(f"[{a}, {b}, :, :]" for a in range(2) for b in range(3))
    panel = grid("x", 24, 5, list(range(120)), 120, block_rows=4, block_columns=3, block_labels=labels)
    return CellScene(panels=(panel, strip(120)))


def many_panels() -> CellScene:
    return CellScene(
        panels=tuple(Panel(key=f"p{n}", title=f"panel {n}", columns=4, owns=(0, n, n + 1)) for n in range(14))
    )


def large() -> CellScene:
    """10,000 logical cells and the 10,000 of their storage."""
    ids = [r * 100 + c for c in range(100) for r in range(100)]
    return CellScene(panels=(grid("x", 100, 100, ids, 10_000), strip(10_000)))


def expanded() -> CellScene:
    """One element that 10,000 indices read."""
    return CellScene(panels=(grid("x", 100, 100, [0] * 10_000, 1), strip(1)))


SCENES = {
    "transposed": lambda: transposed(4, 6),
    "product": product,
    "hostile": hostile,
    "blocks": blocks,
    "many_panels": many_panels,
    "large": large,
    "expanded": expanded,
    "number": lambda: CellScene(panels=(grid("x", 1, 1, [2], 4), strip(4))),
    "empty": lambda: CellScene(panels=(Panel(key="z", title="z", caption="size 0", columns=1, owns=()),)),
}
