"""trace_embedding_grad: the gradient of an embedding, sparse and dense, and what optimizers make of it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable

import torch

from engine.pytorch_said import said
from engine.recorded import read_coo
from engine.runner.contract import Price, ProgressSink
from engine.sparse.build import count_entries
from engine.sparse.reading import value_text
from engine.sparse.results import EmbeddingGrad, OptimizerTrial
from engine.sparse.spec import EmbeddingGradSpec

SHOWN = 512
"""Lookups whose raw index and value are returned."""
WEIGHTS_OF_LOOKUPS = (1.0, 10.0, 100.0)
"""What the loss multiplies lookup 0, 1, 2, 3, ... with, over and over, so that sums show who was added to whom."""

Optimizer = Callable[[Iterable[torch.Tensor]], torch.optim.Optimizer]

OPTIMIZERS: dict[str, Optimizer] = {
    "SGD": lambda weights: torch.optim.SGD(weights, lr=0.1),
    "SGD, momentum": lambda weights: torch.optim.SGD(weights, lr=0.1, momentum=0.9),
    "SGD, weight_decay": lambda weights: torch.optim.SGD(weights, lr=0.1, weight_decay=0.1),
    "Adagrad": lambda weights: torch.optim.Adagrad(weights, lr=0.1),
    "SparseAdam": lambda weights: torch.optim.SparseAdam(weights, lr=0.1),
    "Adam": lambda weights: torch.optim.Adam(weights, lr=0.1),
    "AdamW": lambda weights: torch.optim.AdamW(weights, lr=0.1),
    "Adamax": lambda weights: torch.optim.Adamax(weights, lr=0.1),
    "NAdam": lambda weights: torch.optim.NAdam(weights, lr=0.1),
    "RAdam": lambda weights: torch.optim.RAdam(weights, lr=0.1),
    "RMSprop": lambda weights: torch.optim.RMSprop(weights, lr=0.1),
    "Adadelta": lambda weights: torch.optim.Adadelta(weights, lr=0.1),
    "ASGD": lambda weights: torch.optim.ASGD(weights, lr=0.1),
    "Rprop": lambda weights: torch.optim.Rprop(weights, lr=0.1),
    "Adafactor": lambda weights: torch.optim.Adafactor(weights, lr=0.1),
}


def price_embedding(spec: EmbeddingGradSpec) -> Price:
    """Weight, dense gradient, and an optimizer's copies of both for two tables."""
    table = spec.num_embeddings * spec.embedding_dim * 4
    return Price(predicted_bytes=12 * table, what="two tables with gradients and optimizer state")


def trace_embedding_grad(spec: EmbeddingGradSpec, progress: ProgressSink) -> EmbeddingGrad:
    """Both gradients, then one step of every optimizer on fresh copies."""
    indices = lookups_of(spec)
    weight = torch.randn(spec.num_embeddings, spec.embedding_dim, generator=torch.Generator().manual_seed(spec.seed))
    sparse, dense = (_gradient(weight, indices, is_sparse) for is_sparse in (True, False))
    trials = []
    for number, name in enumerate(OPTIMIZERS):
        progress(f"one step of {name}", number / len(OPTIMIZERS))
        trials.append(_trial(name, weight, sparse, dense))
    return _described(indices, sparse, dense, tuple(trials))


def lookups_of(spec: EmbeddingGradSpec) -> torch.Tensor:
    """The rows that are looked up, one dimension."""
    if spec.lookups == "typed":
        return torch.tensor(spec.indices)
    generator = torch.Generator().manual_seed(spec.seed)
    if spec.lookups == "random":
        return torch.randint(0, spec.num_embeddings, (spec.batch,), generator=generator)
    weights = 1 / torch.arange(1, spec.num_embeddings + 1)
    return torch.multinomial(weights, spec.batch, replacement=True, generator=generator)


def _gradient(weight: torch.Tensor, indices: torch.Tensor, is_sparse: bool) -> torch.Tensor:
    rows, columns = weight.shape
    table = torch.nn.Embedding(rows, columns, sparse=is_sparse)
    table.weight = torch.nn.Parameter(weight.clone())
    scale = torch.tensor(WEIGHTS_OF_LOOKUPS).repeat(-(-indices.numel() // 3))[: indices.numel(), None]
    (table(indices) * scale).sum().backward()
    gradient = table.weight.grad
    if gradient is None:
        raise RuntimeError("backward left no gradient on the embedding's weight")
    return gradient


def _described(
    indices: torch.Tensor, sparse: torch.Tensor, dense: torch.Tensor, trials: tuple[OptimizerTrial, ...]
) -> EmbeddingGrad:
    raw_indices, raw_values = (read() for read in read_coo(sparse)[:2])
    merged = sparse.coalesce()
    counted = Counter(indices.tolist())
    return EmbeddingGrad(
        layout=str(sparse.layout),
        is_coalesced=sparse.is_coalesced(),
        nnz=count_entries(sparse),
        nnz_coalesced=count_entries(merged),
        raw_indices=tuple(raw_indices[0, :SHOWN].tolist()),
        raw_values=tuple(value_text(value) for value in raw_values[:SHOWN, 0].tolist()),
        row_sums=tuple(counted.most_common(SHOWN)),
        merged_indices=tuple(merged.indices()[0, :SHOWN].tolist()),
        merged_values=tuple(value_text(value) for value in merged.values()[:SHOWN, 0].tolist()),
        sparse_bytes=raw_indices.nbytes + raw_values.nbytes,
        coalesced_bytes=merged.indices().nbytes + merged.values().nbytes,
        dense_bytes=dense.nbytes,
        dense_rows_of_zeros=int((dense == 0).all(1).sum()),
        equals_dense=torch.allclose(sparse.to_dense(), dense, rtol=1e-5),
        optimizers=trials,
    )


def _trial(name: str, weight: torch.Tensor, sparse: torch.Tensor, dense: torch.Tensor) -> OptimizerTrial:
    try:
        moved = _step(name, weight, sparse)
    except Exception as error:
        return OptimizerTrial(name=name, accepted=False, error=said(error))
    try:
        difference = float((moved - _step(name, weight, dense)).abs().max())
    except Exception as error:
        said(error)
        difference = None
    rows_changed = int((moved != weight).any(1).sum())
    return OptimizerTrial(name=name, accepted=True, rows_changed=rows_changed, difference=difference)


def _step(name: str, weight: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """The weight after two steps with this gradient: the second one shows what state does to rows without any."""
    parameter = torch.nn.Parameter(weight.clone())
    optimizer = OPTIMIZERS[name]([parameter])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            parameter.grad = gradient.clone()
            optimizer.step()
    return parameter.data
