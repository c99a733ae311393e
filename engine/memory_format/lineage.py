"""Which order an image lies in, storage by storage, also while views give its dimensions other names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine import recorded
from engine.memory_format.order import format_of, hands_order_on, is_expanded, order_through_names, own_order
from engine.memory_format.spec import Event, Order

COPYING = frozenset(
    {
        *("aten::clone", "aten::copy_", "aten::_to_copy", "aten::_reshape_copy"),
        # Dispatched as such in inference_mode only; elsewhere what they call is.
        *("aten::contiguous", "aten::reshape", "aten::reshape_as", "aten::flatten", "aten::to", "aten::type_as"),
    }
)
"""Operations whose whole work is a copy, where they do any."""


@dataclass
class Known:
    """What is known of a storage: order of its image, the operation that wrote it, and whether that order is settled.

    Unsettled is what a copy wrote under other dimensions, as (N, groups, C / groups, H, W): only the view that makes
    it an image again tells. `before` is the order the copy read.
    """

    order: Order
    writer: int
    settled: bool = True
    before: Order = ""


@dataclass
class Verdict:
    """What an operation did to the order; with `blamed`, the event belongs to that earlier operation."""

    order: Order = ""
    event: Event = ""
    blamed: int | None = None


class Lineage:
    """Follows every storage from the operation that writes it; parameters and their gradients are no images."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}
        self._parameters: set[int] = set()

    def learn_parameter(self, tensor: torch.Tensor) -> None:
        """Leave this storage out."""
        self._parameters.add(key_of(tensor))

    def learn_input(self, tensor: torch.Tensor) -> None:
        """An image that was there before the first operation."""
        self._known[key_of(tensor)] = Known(own_order(format_of(tensor)), -1)

    def is_parameter(self, tensor: torch.Tensor) -> bool:
        return key_of(tensor) in self._parameters

    def order_of(self, tensor: torch.Tensor) -> Order:
        """Order of the image behind a tensor; "" for what is none or was expanded."""
        key = key_of(tensor)
        if key in self._parameters or is_expanded(tensor):
            return ""
        known = self._known.get(key)
        return known.order if known is not None else ""

    def judge(
        self, number: int, name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[tuple[torch.Tensor, int]]
    ) -> Verdict:
        """What operation `number` did; outputs come with the position of the input they alias, -1 for new memory."""
        images = [tensor for tensor in inputs if self.order_of(tensor)]
        before = {self.order_of(tensor) for tensor in images}
        if name == "aten::copy_" and len(inputs) > 1:
            before = {self.order_of(inputs[1])} - {""}
        verdict = Verdict()
        for tensor, aliases in outputs:
            found = self._see_view(tensor) if aliases >= 0 else self._see_new(number, name, tensor, images)
            if not verdict.order:
                verdict = found
        if verdict.blamed is None and not verdict.event and outputs:
            verdict.event = _event(before, verdict.order, outputs[0][1] >= 0 and name != "aten::copy_")
        return verdict

    def forget(self, tensor: torch.Tensor) -> None:
        """A gradient of a parameter: no image."""
        self._known.pop(key_of(tensor), None)

    def _see_view(self, tensor: torch.Tensor) -> Verdict:
        known = self._known.setdefault(key_of(tensor), Known("", -1))
        own = "" if is_expanded(tensor) or key_of(tensor) in self._parameters else own_order(format_of(tensor))
        if not known.settled and own:
            known.order, known.settled = own, True
            event = _event({known.before}, own, is_view=False)
            return Verdict(own, event, known.writer) if event in ("loses", "gains") else Verdict(own)
        if own == "channels_last" and known.order != own:
            event = "gains" if known.order and known.writer >= 0 else ""
            known.order = own
            return Verdict(own, event)
        if not known.order and own:
            known.order = own
        return Verdict("" if is_expanded(tensor) else known.order)

    def _see_new(self, number: int, name: str, tensor: torch.Tensor, images: Sequence[torch.Tensor]) -> Verdict:
        own = own_order(format_of(tensor))
        verdict, settled = Verdict(own), True
        if own != "channels_last":
            handed = self._handed_on(tensor, images)
            if handed is not None:
                verdict = Verdict(handed)
            elif name in COPYING and tensor.dim() != 4 and images and images[0].numel() == tensor.numel():
                verdict, settled = Verdict("", "converts"), False
        before = "" if settled else self.order_of(images[0])
        self._known[key_of(tensor)] = Known(verdict.order, number, settled, before)
        return verdict

    def _handed_on(self, tensor: torch.Tensor, images: Sequence[torch.Tensor]) -> Order | None:
        """The order of new memory where its own strides do not name it; None where no image gives it one."""
        for image in images:
            order = order_through_names(image, self.order_of(image), tensor)
            if order is not None:
                return order
        source = next((image for image in images if hands_order_on(image, tensor)), None)
        if source is None:
            return None
        order = self.order_of(source)
        return "" if format_of(tensor) == "both" and order != "channels_last" else order


def key_of(tensor: torch.Tensor) -> int:
    """Identity of a tensor's storage while it lives; of the tensor itself where there is none."""
    storages = recorded.storages_of(tensor)
    return storages[0][0] if storages else id(tensor)


def _event(before: set[Order], after: Order, is_view: bool) -> Event:
    before = before - {""}
    if not before or not after:
        return ""
    if after == "channels_last":
        return "keeps" if "channels_last" in before else "gains"
    return "loses" if "channels_last" in before and not is_view else ""
