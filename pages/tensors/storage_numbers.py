"""The key numbers of a chain: what its end shows, what it keeps alive, what was copied on the way."""

from __future__ import annotations

import math

from engine.figures.units import format_count
from engine.storage.addresses import CACHE_LINE_BYTES, AddressFacts, read_addresses
from engine.storage.spec import Layout, LayoutTrace
from pages.shared.key_numbers import KeyNumber


def key_numbers(trace: LayoutTrace) -> tuple[KeyNumber, ...]:
    """Of the last tensor that the chain reached."""
    if not trace.layouts:
        return ()
    end = trace.layouts[-1]
    copied = sum(outcome.copied_bytes for outcome in trace.outcomes)
    saved = trace.saved.file_bytes if trace.saved else None
    return (
        KeyNumber("Elements", end.numel, "count", "`tensor.numel()` of the last step"),
        KeyNumber("View bytes", end.view_bytes, "bytes", "`tensor.nbytes`: elements times itemsize"),
        KeyNumber("Storage bytes", end.storage_bytes, "bytes", "`tensor.untyped_storage().nbytes()`: what stays alive"),
        KeyNumber("Copied", copied, "bytes", "the new storages that steps of the chain made"),
        KeyNumber(
            "Saved file", saved, "bytes", "`torch.save` of the last tensor, which writes its whole storage", "too large"
        ),
        KeyNumber("Cache lines", _lines(end), "count", "64-byte lines that hold an element, from stride and offset"),
    )


def address_words(layout: Layout) -> str:
    """How the last tensor lies in its storage, in a sentence; "" where it has no strides or no element."""
    facts = _facts(layout)
    if facts is None or not facts.numel:
        return ""
    few, many = facts.fewest_lines_per_row, facts.most_lines_per_row
    lines = f"{many} cache line{'s' if many > 1 else ''}" if few == many else f"{few} to {many} cache lines"
    least = math.ceil(layout.view_bytes / CACHE_LINE_BYTES)
    words = [f"A row (last dimension) touches {lines} of {CACHE_LINE_BYTES} bytes"]
    if facts.rows_looked_at < facts.rows:
        words[0] += f", of the first {format_count(facts.rows_looked_at)} rows"
    if facts.lines is not None:
        words.append(f"all elements {format_count(facts.lines)}, where side by side {format_count(least)} would do")
    if facts.gaps:
        words.append(f"{format_count(facts.gaps)} places between the first and the last are not read")
    if facts.overlapping:
        places = "1 place is" if facts.overlapping == 1 else f"{format_count(facts.overlapping)} places are"
        most = facts.most_readers or "many"
        words.append(f"{places} read by more than one index, the most-read one is read by {most} indices")
    return "; ".join(words) + "."


def _facts(layout: Layout) -> AddressFacts | None:
    if layout.stride is None or layout.storage_offset is None:
        return None
    return read_addresses(layout.shape, layout.stride, layout.storage_offset, layout.itemsize)


def _lines(layout: Layout) -> int | None:
    facts = _facts(layout)
    return None if facts is None else facts.lines
