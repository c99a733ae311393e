"""The two Jacobians that gradcheck compares: rows of backward, and central differences of forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from engine.custom_function.building import Tensors

Values = list[np.ndarray[tuple[int], np.dtype[np.float64]]]
Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


class Pair(NamedTuple):
    """Rows: elements of an output, columns: elements of an input, both real (re, im of complex ones in turn)."""

    output: int
    input: int
    analytical: Matrix
    numerical: Matrix

    def outside(self, atol: float, rtol: float) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Entries beyond atol + rtol * |numerical|; those that are not finite in one of the two, too."""
        with np.errstate(invalid="ignore"):
            inside = np.abs(self.analytical - self.numerical) <= atol + rtol * np.abs(self.numerical)
        return np.asarray(~(inside | (self.analytical == self.numerical)))


def flat(tensor: torch.Tensor) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """All elements as float64, of complex ones real and imaginary part in turn."""
    given = tensor.detach().resolve_conj()
    real = torch.view_as_real(given) if given.is_complex() else given
    return real.to(torch.float64).reshape(-1).numpy().copy()


def tracked(tensors: Tensors) -> list[int]:
    return [number for number, one in enumerate(tensors) if one.requires_grad]


def analytical(call: Callable[..., Tensors], inputs: Tensors) -> dict[tuple[int, int], Matrix]:
    """Jacobians by backward: one call for every element of every output that requires grad."""
    outputs = call(*inputs)
    asked = tracked(inputs)
    found: dict[tuple[int, int], Matrix] = {}
    for number in tracked(outputs):
        rows = [_row(outputs[number], inputs, asked, seed) for seed in _seeds(outputs[number])]
        for place, one in enumerate(asked):
            width = flat(inputs[one]).size
            found[number, one] = np.array([row[place] for row in rows]).reshape(len(rows), width)
    return found


def _seeds(output: torch.Tensor) -> list[torch.Tensor]:
    units: tuple[complex, ...] = (1.0, 1j) if output.is_complex() else (1.0,)
    seeds = []
    for element in range(output.numel()):
        for unit in units:
            seed = torch.zeros(output.numel(), dtype=output.dtype)
            seed[element] = unit  # type: ignore[assignment]
            seeds.append(seed.view(output.shape))
    return seeds


def _row(output: torch.Tensor, inputs: Tensors, asked: list[int], seed: torch.Tensor) -> Values:
    leaves = [inputs[one] for one in asked]
    grads = torch.autograd.grad(output, leaves, seed, retain_graph=True, allow_unused=True)
    return [flat(torch.zeros_like(leaf) if grad is None else grad) for grad, leaf in zip(grads, leaves, strict=True)]


def numerical(call: Callable[..., Tensors], inputs: Tensors, eps: float) -> dict[tuple[int, int], Matrix]:
    """Jacobians by central differences, each element moved where it lies in memory, as gradcheck does."""
    found: dict[tuple[int, int], Matrix] = {}
    for one in tracked(inputs):
        columns = [
            [(up - down) / (2 * eps) for up, down in zip(*_moved(call, inputs, one, index, step), strict=True)]
            for index in np.ndindex(*inputs[one].shape)
            for step in _steps(inputs[one], eps)
        ]
        outputs = [flat(output) for output in forward_values(call, inputs)]
        for number, output in enumerate(outputs):
            found[number, one] = np.array([column[number] for column in columns]).reshape(-1, output.size).T
    return found


def _steps(tensor: torch.Tensor, eps: float) -> tuple[complex, ...]:
    return (eps, eps * 1j) if tensor.is_complex() else (eps,)


def forward_values(call: Callable[..., Tensors], inputs: Tensors) -> Tensors:
    with torch.no_grad():
        return call(*(one.detach() for one in inputs))


def _moved(
    call: Callable[..., Tensors], inputs: Tensors, one: int, index: tuple[int, ...], step: complex
) -> tuple[Values, Values]:
    """Outputs with one element of one input moved up, and down; the memory is as before afterwards."""
    memory = inputs[one].detach()
    before = memory[index].clone()
    try:
        memory[index] = before + step
        up = [flat(output) for output in forward_values(call, inputs)]
        memory[index] = before - step
        return up, [flat(output) for output in forward_values(call, inputs)]
    finally:
        memory[index] = before


def central(call: Callable[..., Tensors], inputs: Tensors, one: int, column: int, step: float) -> Values:
    """Central differences of every output by one real element (real or imaginary part) of an input."""
    parts = 2 if inputs[one].is_complex() else 1
    index = np.unravel_index(column // parts, tuple(inputs[one].shape))
    move = step * 1j if column % parts else step
    up, down = _moved(call, inputs, one, tuple(int(i) for i in index), move)
    return [(a - b) / (2 * step) for a, b in zip(up, down, strict=True)]


def one_sided(call: Callable[..., Tensors], inputs: Tensors, one: int, column: int, step: float) -> tuple[float, float]:
    """How far left and right differences of all outputs by one real element are apart, and the larger of them."""
    index = np.unravel_index(column, tuple(inputs[one].shape))
    here = [flat(output) for output in forward_values(call, inputs)]
    up, down = _moved(call, inputs, one, tuple(int(i) for i in index), step)
    right = np.concatenate([(a - b) / step for a, b in zip(up, here, strict=True)])
    left = np.concatenate([(b - a) / step for a, b in zip(down, here, strict=True)])
    gap = np.abs(right - left)
    return float(gap.max(initial=0.0)), float(max(np.abs(right).max(initial=0.0), np.abs(left).max(initial=0.0)))


def pairs(call: Callable[..., Tensors], inputs: Tensors, eps: float) -> list[Pair]:
    """Both Jacobians of every output that requires grad by every input that does."""
    by_backward, by_differences = analytical(call, inputs), numerical(call, inputs, eps)
    return [Pair(*key, matrix, by_differences[key]) for key, matrix in sorted(by_backward.items())]
