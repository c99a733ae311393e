"""Sparse gradients of an embedding: pytorch/pytorch#4666."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from engine import run
from engine.sparse.embedding import OPTIMIZERS, lookups_of
from engine.sparse.spec import EmbeddingGradSpec


def test_the_public_case_of_a_row_that_is_looked_up_twice():
    found = run(EmbeddingGradSpec(num_embeddings=5, embedding_dim=2, indices=(1, 3, 1)), inline=True)
    assert found.layout == "torch.sparse_coo"
    assert found.is_coalesced is False
    assert (found.nnz, found.nnz_coalesced) == (3, 2)
    assert found.raw_indices == (1, 3, 1)
    assert found.raw_values == ("1", "10", "100")
    assert dict(zip(found.merged_indices, found.merged_values, strict=True)) == {1: "101", 3: "10"}
    assert (found.dense_bytes, found.sparse_bytes) == (5 * 2 * 4, 3 * 8 + 3 * 2 * 4)
    assert found.dense_rows_of_zeros == 3
    adam = next(trial for trial in found.optimizers if trial.name == "Adam")
    assert adam.error.message == "Adam does not support sparse gradients, please consider SparseAdam instead"


@pytest.mark.parametrize("lookups", ["random", "power law"])
def test_counts_and_bytes_of_drawn_lookups(lookups):
    spec = EmbeddingGradSpec(num_embeddings=100, embedding_dim=8, lookups=lookups, batch=64)
    found = run(spec, inline=True)
    counted = Counter(lookups_of(spec).tolist())
    assert dict(found.row_sums) == counted
    assert (found.nnz, found.nnz_coalesced) == (64, len(counted))
    assert found.coalesced_bytes == len(counted) * (8 + 8 * 4)
    assert found.dense_rows_of_zeros == 100 - len(counted)
    assert found.equals_dense


def test_optimizers_that_take_it_move_just_the_rows_with_a_gradient():
    found = run(EmbeddingGradSpec(), inline=True)
    assert [trial.name for trial in found.optimizers] == list(OPTIMIZERS)
    accepted = {trial.name: trial for trial in found.optimizers if trial.accepted}
    assert accepted.keys() >= {"SGD", "SGD, momentum", "Adagrad", "SparseAdam"}
    assert {trial.rows_changed for trial in accepted.values()} == {2}
    assert accepted["SGD"].difference == 0.0
    assert accepted["SparseAdam"].difference is None
    refused = [trial for trial in found.optimizers if not trial.accepted]
    assert all(trial.error.message for trial in refused)


def test_sparse_adam_itself_refuses_a_dense_gradient():
    weight = torch.nn.Parameter(torch.ones(2, 2))
    weight.grad = torch.ones(2, 2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        torch.optim.SparseAdam([weight]).step()


@pytest.mark.parametrize("indices", [(), (5,), (-1,), (1,) * 513, (1.5,), (True,)])
def test_rows_that_the_table_does_not_have_are_refused(indices):
    with pytest.raises(ValueError, match="whole numbers from 0 to 4"):
        EmbeddingGradSpec(num_embeddings=5, indices=indices)
