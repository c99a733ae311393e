"""The ladder's computations, each written in every way; plain torch, and what "Show the code" shows."""

from __future__ import annotations

import torch


def weighted_row_sum_element_loop(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    result = torch.zeros_like(x[:, 0])
    for i in range(x.size(0)):
        for j in range(x.size(1)):
            result[i] += x[i, j] * weights[j]
    return result


def weighted_row_sum_row_loop(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    result = torch.zeros_like(x[:, 0])
    for i in range(x.size(0)):
        result[i] = (x[i] * weights).sum()
    return result


def weighted_row_sum_broadcast(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return (x * weights).sum(1)  # (rows, columns) * (columns,)


def weighted_row_sum_einsum(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ij,j->i", x, weights)


def weighted_row_sum_matmul(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    return x @ weights


def matmul_element_loop(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    result = a.new_zeros(a.size(0), b.size(1))
    for i in range(a.size(0)):
        for j in range(b.size(1)):
            for k in range(a.size(1)):
                result[i, j] += a[i, k] * b[k, j]
    return result


def matmul_row_loop(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    result = a.new_zeros(a.size(0), b.size(1))
    for i in range(a.size(0)):
        result[i] = (a[i, :, None] * b).sum(0)
    return result


def matmul_broadcast(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a[:, :, None] * b).sum(1)  # (rows, columns, 1) * (columns, rows)


def matmul_einsum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ik,kj->ij", a, b)


def matmul_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def pairwise_distance_element_loop(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    squared = x.new_zeros(x.size(0), y.size(0))
    for i in range(x.size(0)):
        for j in range(y.size(0)):
            for k in range(x.size(1)):
                squared[i, j] += (x[i, k] - y[j, k]) ** 2
    return squared.sqrt()


def pairwise_distance_row_loop(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    squared = x.new_zeros(x.size(0), y.size(0))
    for i in range(x.size(0)):
        squared[i] = ((x[i] - y) ** 2).sum(1)
    return squared.sqrt()


def pairwise_distance_broadcast(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((x[:, None] - y) ** 2).sum(2).sqrt()  # (rows, 1, columns) - (rows, columns)


def pairwise_distance_einsum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    squares = (x**2).sum(1)[:, None] + (y**2).sum(1)
    return (squares - 2 * torch.einsum("ik,jk->ij", x, y)).clamp(min=0).sqrt()


def pairwise_distance_matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    squares = (x**2).sum(1)[:, None] + (y**2).sum(1)
    return (squares - 2 * (x @ y.T)).clamp(min=0).sqrt()


def outer_sum_element_loop(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    result = u.new_empty(u.size(0), v.size(0))
    for i in range(u.size(0)):
        for j in range(v.size(0)):
            result[i, j] = u[i] + v[j]
    return result


def outer_sum_row_loop(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    result = u.new_empty(u.size(0), v.size(0))
    for i in range(u.size(0)):
        result[i] = u[i] + v
    return result


def outer_sum_broadcast(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return u[:, None] + v  # (rows, 1) + (columns,)


def outer_sum_einsum(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    left = torch.stack([u, torch.ones_like(u)])  # (2, rows)
    right = torch.stack([torch.ones_like(v), v])  # (2, columns)
    return torch.einsum("ki,kj->ij", left, right)


def outer_sum_matmul(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    left = torch.stack([u, torch.ones_like(u)])  # (2, rows)
    right = torch.stack([torch.ones_like(v), v])  # (2, columns)
    return left.T @ right


def squared_diagonal_element_loop(m: torch.Tensor) -> torch.Tensor:
    return sum(m[i, i] * m[i, i] for i in range(m.size(0)))  # type: ignore[return-value]  # rows is at least 1


def squared_diagonal_broadcast(m: torch.Tensor) -> torch.Tensor:
    return (m.diagonal() ** 2).sum()


def squared_diagonal_einsum(m: torch.Tensor) -> torch.Tensor:
    return torch.einsum("ii,ii->", m, m)


def squared_diagonal_matmul(m: torch.Tensor) -> torch.Tensor:
    return m.diagonal() @ m.diagonal()
