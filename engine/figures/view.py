"""How a graph is looked at: what is open, what is folded, colours and direction."""

from __future__ import annotations

from typing import Literal

import msgspec

ColourBy = Literal["kind", "saved bytes", "dtype", "device", "module", "gradient norm"]
Direction = Literal["forward", "backward"]


class GraphView(msgspec.Struct, frozen=True, kw_only=True):
    """One way to look at a graph. `expanded` None opens as much as `maximum_boxes` allows; else groups by address.

    `legible_in` (width, height in pixels) opens less, until the whole picture can be read at that size.
    Named groups open latest first until `ceiling_boxes` show; the rest stay closed and the scene says so.
    `inside` draws only what is in the group of that address. `show_removed` draws nodes that only run A has, as ghosts.
    """

    expanded: tuple[str, ...] | None = None
    fold_leaves: bool = True
    fold_transposes: bool = True
    fold_views: bool = True
    fold_copies: bool = False
    colour_by: ColourBy = "kind"
    direction: Direction = "forward"
    maximum_boxes: int = 60
    ceiling_boxes: int = 300
    columns: bool = True
    legible_in: tuple[int, int] | None = None
    inside: str = ""
    show_removed: bool = True

    def __post_init__(self) -> None:
        for name, low, high in (("maximum_boxes", 1, 5000), ("ceiling_boxes", 40, 5000)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(
                    f"GraphView.{name} must be between {low} and {high}; received {getattr(self, name)!r}. "
                    f"Choose a value inside the range."
                )
