"""Tensors of a chain as linked cells: every index beside the memory it reads, coloured by address."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from engine.figures.cells import CellScene, Panel
from engine.figures.cells_sampling import Sample, sample_indices
from engine.figures.storage_strip import Strip, Tensor, strip_panel
from engine.figures.units import format_shape
from engine.storage.addresses import addresses
from engine.storage.spec import Layout, LayoutTrace, StorageContents

MAXIMUM_CELLS = 10_000
"""Cells per panel; larger tensors are sampled and say so."""
TOGETHER = 3
"""All tensors together have at most so many times `maximum_cells`."""


def storage_scene(
    trace: LayoutTrace,
    steps: Sequence[int],
    *,
    names: Sequence[str] = (),
    maximum_cells: int = MAXIMUM_CELLS,
) -> CellScene:
    """The tensors of `steps` (numbers in `trace.layouts`) above the storages they live in.

    `names` has one name per layout of the trace, by default x, t1, t2 and so on. Gaps and overlaps of a storage are
    those of the last chosen tensor in it. Panels are keyed by `panel_key` and "storage 0", "storage 1" and so on.
    ValueError when a step is not in the trace.
    """
    wrong = [step for step in steps if not 0 <= step < len(trace.layouts)]
    if wrong or not steps:
        have = len(trace.layouts) - 1
        raise ValueError(f"Steps are numbers of tensors, 0 to {have}, at least one; received {list(steps)}.")
    chosen = tuple(dict.fromkeys(steps))
    tensors = []
    for step in chosen:
        layout = trace.layouts[step]
        # What a storage too long to draw shows is what is drawn of its tensors: they share its cells.
        is_long = (layout.storage_bytes or 0) > maximum_cells * layout.itemsize
        shared = maximum_cells if is_long else TOGETHER * maximum_cells
        limit = min(maximum_cells, max(64, shared // len(chosen)))
        tensors.append(_tensor(step, layout, _name(step, names), limit))
    strips = _strips(tensors, trace.storages)
    logical = tuple(_logical_panel(tensor, strips) for tensor in tensors)
    memory = tuple(strip_panel(strip, maximum_cells) for strip in strips.values())
    rows = (tuple(panel.key for panel in logical), *((panel.key,) for panel in memory))
    return CellScene(panels=(*logical, *memory), rows=rows, scale=("start of the storage", "its end"))


def panel_key(step: int) -> str:
    """Key of the panel that shows the tensor of a step."""
    return f"step {step}"


def step_of(key: str) -> int | None:
    """The step a panel's key stands for; None for a storage."""
    number = key.removeprefix("step ")
    return int(number) if number != key and number.isdecimal() else None


def _name(step: int, names: Sequence[str]) -> str:
    return names[step] if step < len(names) else f"t{step}" if step else "x"


def _tensor(step: int, layout: Layout, name: str, maximum_cells: int) -> Tensor:
    sample = sample_indices(layout.shape, maximum_cells)
    if layout.stride is None or layout.storage_offset is None or layout.storage_id is None:
        return Tensor(panel_key(step), name, layout, sample, (), ())
    elements = addresses(sample.shape, sample.stride(layout.stride), layout.storage_offset)
    return Tensor(panel_key(step), name, layout, sample, tuple(sample.indices()), tuple(elements))


def _strips(tensors: Sequence[Tensor], storages: Sequence[StorageContents]) -> dict[int, Strip]:
    """The storages that are read, in order of appearance, each with the first id of its cells."""
    strips: dict[int, Strip] = {}
    first = 0
    for number in dict.fromkeys(tensor.layout.storage_id for tensor in tensors):
        if number is None:
            continue
        inside = tuple(tensor for tensor in tensors if tensor.layout.storage_id == number)
        contents = next((found for found in storages if found.storage_id == number), None)
        sizes = [tensor.layout.itemsize for tensor in inside] + ([contents.itemsize] if contents else [])
        strips[number] = Strip(number, inside[0].layout.storage_bytes or 0, min(sizes), contents, inside, first)
        first += strips[number].units
    return strips


def _logical_panel(tensor: Tensor, strips: dict[int, Strip]) -> Panel:
    layout, sample = tensor.layout, tensor.sample
    title = f"{tensor.name} · {format_shape(layout.shape)}"
    if layout.storage_id is None or not tensor.indices:
        return Panel(key=tensor.key, title=title, caption=_nothing(layout), columns=1, owns=())
    strip = strips[layout.storage_id]
    per = layout.itemsize // strip.unit_bytes
    firsts = [strip.first_id + element * per for element in tensor.elements]
    last = max(1, strip.units - per)
    panel = Panel(
        key=tensor.key,
        title=title,
        caption=_caption(layout, sample, len(strips) > 1),
        columns=sample.shape[-1] if sample.shape else 1,
        owns=tuple(firsts),
        reads=tuple(tuple(range(first + 1, first + per)) for first in firsts) if per > 1 else (),
        shades=tuple(min(1.0, (first - strip.first_id) / last) for first in firsts),
        values=strip.values_of(tensor),
        words=tuple(strip.cell_words(tensor)),
        path=True,
    )
    return _with_axes(panel, sample)


def _with_axes(panel: Panel, sample: Sample) -> Panel:
    """Indices along the last two dimensions as labels; every outer index is a block."""
    if not sample.kept:
        return panel
    columns = tuple(map(str, sample.kept[-1]))
    if len(sample.kept) == 1:
        return msgspec.structs.replace(panel, column_labels=columns)
    rows = tuple(map(str, sample.kept[-2]))
    if len(sample.kept) == 2:
        return msgspec.structs.replace(panel, column_labels=columns, row_labels=rows)
    outer = itertools.product(*sample.kept[:-2])
    return msgspec.structs.replace(
        panel,
        column_labels=columns,
        row_labels=rows,
        block_rows=len(rows),
        block_columns=len(sample.kept[-3]),
        block_labels=tuple(f"[{', '.join(map(str, index))}, :, :]" for index in outer),
    )


def _caption(layout: Layout, sample: Sample, several: bool) -> str:
    parts = [f"stride {_numbers(layout.stride or ())}", f"offset {layout.storage_offset}", layout.dtype]
    if several:
        parts.append(f"storage {layout.storage_id}")
    return " · ".join(parts) + (f"\n{sample.words}" if sample.words else "")


def _numbers(values: Sequence[int]) -> str:
    return f"({', '.join(map(str, values))}{',' if len(values) == 1 else ''})"


def _nothing(layout: Layout) -> str:
    if layout.stride is None:
        return layout.unavailable or "PyTorch does not say where its elements lie."
    sizes = [str(dim) for dim, size in enumerate(layout.shape) if size == 0]
    return f"dim {', '.join(sizes)} has size 0: no index exists, so no memory is read."
