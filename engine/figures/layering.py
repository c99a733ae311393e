"""The layer of every box: longest path from the top, then boxes moved along to where edges are shorter in all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine.figures.level import Level

PASSES = 6
"""Rounds of moves down and up at most; few boxes still move after the third."""
TOGETHER = 60
"""Boxes that move as one; where more would have to, none does."""
Beside = list[list[int]]


def assign_layers(level: Level, deadline: Callable[[], None]) -> list[int]:
    """Every link leads to a higher layer; upper ports stand in layer 0, lower ports in the last."""
    above: Beside = [[] for _ in level.sizes]
    below: Beside = [[] for _ in level.sizes]
    for link in level.links:
        above[link.target].append(link.source)
        below[link.source].append(link.target)
    layer = [0] * len(level.sizes)
    for item in range(len(layer)):
        top = 1 if level.upper and item not in level.upper else 0
        layer[item] = max([top, *(layer[near] + 1 for near in above[item])])
    last = max((layer[i] for i in range(len(layer)) if i not in level.lower), default=0)
    for item in level.lower:
        layer[item] = last + 1
    moves = _Moves(layer, level.upper | level.lower, 1 if level.upper else 0, last)
    _shorten(moves, above, below, deadline)
    return layer


class _Moves(NamedTuple):
    """Layers, boxes that stay, and the first and the last layer for all others."""

    layer: list[int]
    fixed: frozenset[int]
    first: int
    last: int


def _shorten(moves: _Moves, above: Beside, below: Beside, deadline: Callable[[], None]) -> None:
    """Move boxes, with all that would be in their way, while the sum of the layers that edges span gets smaller."""
    movable = [item for item in range(len(above)) if item not in moves.fixed and len(above[item]) != len(below[item])]
    for _ in range(PASSES):
        moved = 0
        for item in reversed(movable):
            deadline()
            moved += len(below[item]) > len(above[item]) and _move(moves, item, below, above, 1)
        for item in movable:
            deadline()
            moved += len(above[item]) > len(below[item]) and _move(moves, item, above, below, -1)
        if not moved:
            break


def _move(moves: _Moves, item: int, ahead: Beside, behind: Beside, by: int) -> bool:
    """Move a box and what touches it ahead as far as there is room, where more edges get shorter than longer."""
    layer = moves.layer
    block, queue = {item}, [item]
    for one in queue:
        for near in ahead[one]:
            if (layer[near] - layer[one]) * by == 1 and near not in block:
                if near in moves.fixed or len(block) == TOGETHER:
                    return False
                block.add(near)
                queue.append(near)
    shorter = [(layer[near] - layer[one]) * by for one in queue for near in ahead[one] if near not in block]
    longer = sum(near not in block for one in queue for near in behind[one])
    if len(shorter) <= longer:
        return False
    room = min((moves.last - layer[one]) if by > 0 else (layer[one] - moves.first) for one in queue)
    step = min(room, min(shorter) - 1)
    for one in queue:
        layer[one] += step * by
    return step > 0
