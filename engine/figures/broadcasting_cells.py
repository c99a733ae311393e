"""Broadcasting as linked cells: operands, their expanded forms (many cells, one address), and the result."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from engine.broadcasting.rule import NAMES, Shape, operation_alignment
from engine.broadcasting.spec import BroadcastSpec
from engine.figures.axes_panel import axes_panel
from engine.figures.broadcasting_sizes import address, contiguous_strides, drawn_shapes, expanded_strides, indices
from engine.figures.cells import CellScene, Panel
from engine.figures.units import format_shape


class Drawn(msgspec.Struct, frozen=True):
    """One operand as drawn: its shape and, where the shapes fit, the shape it is expanded to; ids from `first`."""

    name: str
    title: str
    shape: Shape
    target: Shape | None
    first: int
    is_number: bool = False

    @property
    def strides(self) -> tuple[int, ...]:
        return contiguous_strides(self.shape)

    def reading(self, index: Sequence[int]) -> int:
        """The id of the cell that an index of the expanded form reads."""
        return self.first + address(index, expanded_strides(self.shape, self.target or self.shape))


def broadcast_scene(spec: BroadcastSpec) -> CellScene:
    """Operands and result beside each other, expanded forms below; operands alone where the shapes do not fit."""
    operands, result = drawn_operands(spec)
    top = [_memory_panel(operand, _faulty_dims(spec, number)) for number, operand in enumerate(operands)]
    expanded: list[Panel] = []
    if result is not None:
        top.append(_output_panel(spec, operands, result))
        expanded = [_expanded_panel(operand) for operand in operands if operand.target != operand.shape]
    rows = tuple(tuple(panel.key for panel in line) for line in (top, expanded) if line)
    panels = (*top, *expanded)
    return CellScene(panels=panels, rows=rows, scale=("first element", "last element"))


def drawn_operands(spec: BroadcastSpec) -> tuple[tuple[Drawn, ...], Shape | None]:
    """The operands as small as they are drawn, and the result's shape then."""
    shapes = drawn_shapes(spec.operation, spec.shapes)
    fits = operation_alignment(spec.operation, spec.shapes).shape is not None
    alignment = operation_alignment(spec.operation, shapes)
    drawn, first = [], 0
    for number, shape in enumerate(shapes):
        target = _target(spec.operation, shape, alignment.shape, shapes) if fits else None
        is_number = spec.operands[number].is_number
        drawn.append(Drawn(NAMES[number], _title(spec, number), shape, target, first, is_number))
        first += math.prod(shape)
    return tuple(drawn), alignment.shape if fits else None


def _target(operation: str, shape: Shape, result: Shape | None, shapes: Sequence[Shape]) -> Shape | None:
    if operation != "matmul" or result is None:
        return result
    kept = sum(len(own) > 1 for own in shapes)
    return result[: len(result) - kept] + shape[-2:]


def _title(spec: BroadcastSpec, number: int) -> str:
    operand = spec.operands[number]
    return f"{NAMES[number]} · {operand.dtype if operand.is_number else format_shape(operand.shape)}"


def is_cut(spec: BroadcastSpec) -> bool:
    """Whether the picture is smaller than what was computed."""
    return tuple(operand.shape for operand in drawn_operands(spec)[0]) != spec.shapes


def _faulty_dims(spec: BroadcastSpec, number: int) -> tuple[int, ...]:
    """The dims of an operand whose sizes do not fit another operand's."""
    columns = operation_alignment(spec.operation, spec.shapes).columns
    own = [column for column in columns if column.sizes[number] is not None]
    return tuple(dim for dim, column in enumerate(own) if column.fault is not None and number in column.fault)


def _memory_panel(operand: Drawn, faulty: Sequence[int]) -> Panel:
    """The operand's own cells; the first ones along a dimension at fault are marked."""
    count = math.prod(operand.shape)
    marked = [
        any(not any(place for other, place in enumerate(index) if other != dim) for dim in faulty)
        for index in indices(operand.shape)
    ]
    return axes_panel(
        operand.name,
        operand.title,
        operand.shape,
        range(operand.first, operand.first + count),
        shades=[_shade(number, count) for number in range(count)],
        values=[str(number) for number in range(count)],
        marks=["conflict" if at_fault else "" for at_fault in marked],
        words=[f"{operand.name}{_listed(index)}: element {n}" for n, index in enumerate(indices(operand.shape))],
        caption="a number, no memory" if operand.is_number else "its memory",
    )


def _expanded_panel(operand: Drawn) -> Panel:
    """Cells of the expanded form own the id of the one address they read; those that repeat it are marked."""
    target = operand.target or operand.shape
    count = math.prod(operand.shape)
    strides = expanded_strides(operand.shape, target)
    owns = [operand.reading(index) for index in indices(target)]
    repeats = [any(p and not s for p, s in zip(index, strides, strict=True)) for index in indices(target)]
    return axes_panel(
        f"{operand.name} expanded",
        f"{operand.name} everywhere" if operand.is_number else f"{operand.name}.expand({', '.join(map(str, target))})",
        target,
        owns,
        shades=[_shade(owned - operand.first, count) for owned in owns],
        marks=["stretched" if again else "" for again in repeats],
        values=["" if again else str(owned - operand.first) for again, owned in zip(repeats, owns, strict=True)],
        words=[
            f"{_listed(index)} reads element {own - operand.first}"
            for index, own in zip(indices(target), owns, strict=True)
        ],
        caption=f"strides ({', '.join(map(str, strides))}{',' if len(strides) == 1 else ''}), no new memory",
    )


def _output_panel(spec: BroadcastSpec, operands: Sequence[Drawn], result: Shape) -> Panel:
    first = sum(math.prod(operand.shape) for operand in operands)
    reads = [tuple(dict.fromkeys(_reads(spec, operands, index))) for index in indices(result)]
    shape = operation_alignment(spec.operation, spec.shapes).shape or ()
    return axes_panel(
        "result",
        f"{spec.expression.replace('torch.nn.functional.', '')} · {format_shape(shape)}",
        result,
        range(first, first + len(reads)),
        reads=reads,
        marks=["output"] * len(reads),
        words=[
            f"result{_listed(index)} reads {_named(operands, read)}"
            for index, read in zip(indices(result), reads, strict=True)
        ],
        caption="new memory",
    )


def _reads(spec: BroadcastSpec, operands: Sequence[Drawn], index: tuple[int, ...]) -> Iterator[int]:
    """Ids that one element of the result is made of; of a matrix product a whole row and a whole column."""
    if spec.operation != "matmul":
        for operand in operands:
            yield operand.reading(index)
        return
    a, b = operands
    has_rows, has_columns = len(a.shape) > 1, len(b.shape) > 1
    batch = index[: len(index) - has_rows - has_columns]
    row = index[len(batch) : len(batch) + has_rows]
    column = index[len(index) - 1 :] if has_columns else ()
    for step in range(a.shape[-1]):
        yield a.reading((*batch, *row, step))
        yield b.reading((*batch, step, *column))


def _named(operands: Sequence[Drawn], ids: Sequence[int]) -> str:
    names = []
    for owned in ids[:8]:
        operand = next(o for o in reversed(operands) if owned >= o.first and 0 not in o.shape)
        names.append(f"{operand.name}{_listed(_index_of(owned - operand.first, operand.shape))}")
    return ", ".join(names) + (" …" if len(ids) > 8 else "")


def _index_of(element: int, shape: Shape) -> tuple[int, ...]:
    return tuple(element // stride % size for size, stride in zip(shape, contiguous_strides(shape), strict=True))


def _shade(number: int, count: int) -> float:
    return number / (count - 1) if count > 1 else 0.0


def _listed(index: Sequence[int]) -> str:
    return f"[{', '.join(map(str, index))}]"
