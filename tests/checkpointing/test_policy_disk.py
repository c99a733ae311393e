"""Saved tensors in files: the same bits and strides come back, and no file is left behind."""

from __future__ import annotations

import gc
import tempfile

import pytest
import torch

from engine.checkpointing.on_disk import OnDisk
from engine.checkpointing.outcome import run_policies
from engine.checkpointing.policies import applied
from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import PolicySpec
from engine.models.build import build
from engine.models.spec import LinearStack, Mlp, ModelSpec

DISK = Policy(kind="save_on_disk")
TENSORS = {
    "transposed": torch.randn(4, 5).t(),
    "channels_last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "expanded": torch.randn(3, 1).expand(3, 7),
    "every other column": torch.randn(4, 6)[:, 1::2],
    "no dimension": torch.tensor(3.5),
    "bfloat16": torch.randn(5).bfloat16(),
    "bool": torch.randn(9) > 0,
    "complex": torch.randn(3, dtype=torch.complex64),
    "with a NaN": torch.tensor([float("nan"), -0.0]),
}


@pytest.mark.parametrize("name", TENSORS)
def test_a_tensor_comes_back_with_its_bits_and_strides(name, tmp_path):
    tensor, disk = TENSORS[name], OnDisk(tmp_path, frozenset())
    packed = disk.pack(tensor)
    assert len(list(tmp_path.iterdir())) == 1
    back = disk.unpack(packed)
    assert (back.dtype, back.shape, back.stride()) == (tensor.dtype, tensor.shape, tensor.stride())
    assert (
        back.contiguous().flatten().view(torch.uint8).tolist()
        == tensor.contiguous().flatten().view(torch.uint8).tolist()
    )
    assert disk.present_bytes == disk.written_bytes > 0
    del packed, back
    assert list(tmp_path.iterdir()) == []
    assert disk.present_bytes == 0


def test_what_stays_in_memory_is_not_written(tmp_path):
    weight, empty, sparse = torch.randn(3), torch.empty(0), torch.eye(3).to_sparse()
    disk = OnDisk(tmp_path, frozenset({weight.untyped_storage()._cdata}))
    assert all(disk.unpack(disk.pack(tensor)) is tensor for tensor in (weight, empty, sparse))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_files_live_from_forward_to_backward(temporary):
    built = build(ModelSpec(architecture=LinearStack(layers=3, width=8)))
    with applied(built, DISK) as one:
        loss = one.run()[1]
        (folder,) = temporary.iterdir()
        assert len(list(folder.iterdir())) == 2 + 3  # inputs of two blocks, results of three
        loss.backward()
        assert list(folder.iterdir()) == []
    assert list(temporary.iterdir()) == []


def test_a_graph_that_nobody_runs_leaves_no_file(temporary):
    built = build(ModelSpec(architecture=Mlp(dropout=0.5)))
    with applied(built, DISK) as one:
        kept = one.run()
        (folder,) = temporary.iterdir()
        assert list(folder.iterdir())
        del kept
        gc.collect()
        assert list(folder.iterdir()) == []


def test_more_than_the_job_may_write_is_refused_in_words(temporary, monkeypatch):
    monkeypatch.setattr(OnDisk.__init__, "__defaults__", (600,))
    model = ModelSpec(architecture=LinearStack(layers=4, width=32))  # 512 bytes each
    spec = PolicySpec(model=model, policies=(Policy(), DISK, Policy(kind="each_block")))
    _, refused, after = run_policies(spec, lambda *_: None).outcomes
    assert refused.error.type == "OSError"
    assert "may hold 600" in refused.error.message
    assert "Make the batch smaller" in refused.error.message
    assert after.gradients_identical
    assert list(temporary.iterdir()) == []
