"""The key numbers of a chain: what its end shows, what it keeps alive, what was copied on the way."""

from __future__ import annotations

from engine.storage.addresses import cache_lines
from engine.storage.spec import LayoutTrace
from pages.shared.key_numbers import KeyNumber


def key_numbers(trace: LayoutTrace) -> tuple[KeyNumber, ...]:
    """Of the last tensor that the chain reached."""
    if not trace.layouts:
        return ()
    end = trace.layouts[-1]
    copied = sum(outcome.copied_bytes for outcome in trace.outcomes)
    views = sum(outcome.kind == "view" for outcome in trace.outcomes)
    return (
        KeyNumber("Elements", end.numel, "count", "`tensor.numel()` of the last step"),
        KeyNumber("View bytes", end.view_bytes, "bytes", "`tensor.nbytes`: elements times itemsize"),
        KeyNumber("Storage bytes", end.storage_bytes, "bytes", "`tensor.untyped_storage().nbytes()`: what stays alive"),
        KeyNumber("Copied", copied, "bytes", "the new storages that steps of the chain made"),
        KeyNumber("Views", views, "count", "steps whose tensor shares the storage it was given"),
        KeyNumber("Cache lines", _lines(trace), "count", "64-byte lines that hold an element, from stride and offset"),
    )


def _lines(trace: LayoutTrace) -> int | None:
    end = trace.layouts[-1]
    if end.stride is None or end.storage_offset is None:
        return None
    return cache_lines(end.shape, end.stride, end.storage_offset, end.itemsize)
