"""The operators that the catalogue lists, as functions of their operands; the script shows these very lines."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812


def gelu_tanh(x: Tensor) -> Tensor:
    return F.gelu(x, approximate="tanh")


def gelu_tanh_out(x: Tensor, out: Tensor) -> Tensor:
    torch.ops.aten.gelu.out(x, approximate="tanh", out=out)
    return out


def gelu_erf(x: Tensor) -> Tensor:
    return F.gelu(x)


def gelu_erf_out(x: Tensor, out: Tensor) -> Tensor:
    torch.ops.aten.gelu.out(x, out=out)
    return out


def gelu_composed(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def add_number(x: Tensor) -> Tensor:
    return x + 1.0


def add_number_out(x: Tensor, out: Tensor) -> Tensor:
    return torch.add(x, 1.0, out=out)


def add(x: Tensor, y: Tensor) -> Tensor:
    return x + y


def add_out(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return torch.add(x, y, out=out)


def mul(x: Tensor, y: Tensor) -> Tensor:
    return x * y


def mul_out(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    return torch.mul(x, y, out=out)


def mul_in_place(x: Tensor) -> Tensor:
    return x.mul_(1.0)


def relu(x: Tensor) -> Tensor:
    return torch.relu(x)


def sigmoid(x: Tensor) -> Tensor:
    return torch.sigmoid(x)


def sigmoid_out(x: Tensor, out: Tensor) -> Tensor:
    return torch.sigmoid(x, out=out)


def tanh(x: Tensor) -> Tensor:
    return torch.tanh(x)


def tanh_out(x: Tensor, out: Tensor) -> Tensor:
    return torch.tanh(x, out=out)


def exp(x: Tensor) -> Tensor:
    return torch.exp(x)


def exp_out(x: Tensor, out: Tensor) -> Tensor:
    return torch.exp(x, out=out)


def copy(x: Tensor) -> Tensor:
    return x.clone(memory_format=torch.contiguous_format)


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=1)


def softmax_out(x: Tensor, out: Tensor) -> Tensor:
    return torch.softmax(x, dim=1, out=out)


def softmax_composed(x: Tensor) -> Tensor:
    e = torch.exp(x - x.amax(1, keepdim=True))
    return e / e.sum(1, keepdim=True)


def row_sum(x: Tensor) -> Tensor:
    return x.sum(dim=1)


def column_sum(x: Tensor) -> Tensor:
    return x.sum(dim=0)


def sort(x: Tensor) -> Tensor:
    return torch.sort(x, dim=1).values


def bias_gelu(x: Tensor, row: Tensor) -> Tensor:
    return F.gelu(x + row)


def weighted_row_sum(x: Tensor, row: Tensor) -> Tensor:
    return (x * row).sum(dim=1)


def weighted_row_sum_matmul(x: Tensor, row: Tensor) -> Tensor:
    return x @ row


def geglu(x: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=1)
    return a * F.gelu(b, approximate="tanh")


def layer_norm_residual(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x + residual, weight.shape, weight, bias)


def gelu_block(x: Tensor, row: Tensor, residual: Tensor) -> Tensor:
    return residual + F.dropout(F.gelu(x + row, approximate="tanh"), 0.1)


def gelu_block_eval(x: Tensor, row: Tensor, residual: Tensor) -> Tensor:
    return residual + F.dropout(F.gelu(x + row, approximate="tanh"), 0.1, training=False)


def matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def matmul_out(a: Tensor, b: Tensor, out: Tensor) -> Tensor:
    return torch.matmul(a, b, out=out)


def einsum(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("ij,jk->ik", a, b)


def linear(x: Tensor, weight: Tensor) -> Tensor:
    return F.linear(x, weight)


def cross_entropy(logits: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(logits, target)


def relu_images(images: Tensor) -> Tensor:
    return torch.relu(images)


def conv2d(images: Tensor, weight: Tensor) -> Tensor:
    return F.conv2d(images, weight, padding=1)


def max_pool2d(images: Tensor) -> Tensor:
    return F.max_pool2d(images, 2)


def batch_norm(images: Tensor) -> Tensor:
    return F.batch_norm(images, None, None, training=True)
