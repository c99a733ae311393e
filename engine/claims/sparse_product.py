"""A sparse matrix over its density: bytes of COO and CSR, and their product with a dense matrix."""

from __future__ import annotations

from functools import partial

import torch

from engine.claims.counting import Pairs

DENSITIES = {"0.1 %": 0.001, "5 %": 0.05, "20 %": 0.2, "50 %": 0.5}


def counts(size: int) -> dict[str, float]:
    """Bytes of every array together, as a share of the dense matrix."""
    found: dict[str, float] = {"dense bytes": 4 * size * size}
    for name, density in DENSITIES.items():
        matrix = draw(size, density)
        coo, csr = matrix.to_sparse(), matrix.to_sparse_csr()
        arrays = (csr.crow_indices(), csr.col_indices(), csr.values())
        found[f"COO bytes at {name}"] = coo.indices().nbytes + coo.values().nbytes
        found[f"CSR bytes at {name}"] = sum(array.nbytes for array in arrays)
        found[f"CSR share of dense at density {name}"] = found[f"CSR bytes at {name}"] / matrix.nbytes
        found[f"COO share of dense at density {name}"] = found[f"COO bytes at {name}"] / matrix.nbytes
    return found


def pairs(size: int, columns: int) -> Pairs:
    """The product with a dense matrix at every density."""
    right = torch.randn(size, columns)
    found: Pairs = {}
    for name, density in DENSITIES.items():
        dense = draw(size, density)
        coo, csr = dense.to_sparse(), dense.to_sparse_csr()
        found[name] = {
            "dense": partial(torch.matmul, dense, right),
            "CSR": partial(torch.matmul, csr, right),
            "COO": partial(torch.matmul, coo, right),
        }
    return found


def draw(size: int, density: float) -> torch.Tensor:
    """A dense matrix with so many cells in places drawn at random that are not zero."""
    matrix = torch.zeros(size * size)
    places = torch.randperm(size * size)[: max(1, round(density * size * size))]
    matrix[places] = torch.rand(len(places)) + 0.5
    return matrix.reshape(size, size)
