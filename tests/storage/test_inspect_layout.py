"""inspect_layout reads any tensor and never raises; what PyTorch refuses to say is None with its words."""

from __future__ import annotations

import warnings

import pytest
import torch

from engine.storage import inspect_layout


class Tagged(torch.Tensor):
    """A subclass as users write them."""


def coo():
    return torch.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [3.0, 4.0, 5.0], (2, 3), check_invariants=True)


def fake():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(3, 4).t()


STRANGE = {
    "coo": coo,
    "csr": lambda: coo().coalesce().to_sparse_csr(),
    "csc": lambda: coo().coalesce().to_sparse_csc(),
    "bsr": lambda: torch.eye(4).to_sparse_bsr((2, 2)),
    "meta": lambda: torch.ones(2, 3, device="meta"),
    "fake": fake,
    "quantised": lambda: torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8),
    "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "jagged": lambda: torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged),
    "subclass": lambda: torch.ones(2, 3).as_subclass(Tagged),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2, 3)),
    "inference": lambda: torch.inference_mode()(torch.ones)(2, 3),
    "zero_dim": lambda: torch.tensor(1.0),
    "zero_size": lambda: torch.ones(0, 3),
    "conj": lambda: torch.ones(2, dtype=torch.complex64).conj().imag,
    "freed": lambda: (x := torch.ones(2, 3), x.untyped_storage().resize_(0))[0],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n == "fake" else n for n in STRANGE],  # fake tensors load sympy
)
def test_every_kind_of_tensor_is_read(name):
    tensor = STRANGE[name]()
    layout = inspect_layout(tensor)
    assert layout.dtype == str(tensor.dtype).removeprefix("torch.")
    assert layout.layout == str(tensor.layout).removeprefix("torch.")
    assert layout.itemsize == tensor.itemsize
    assert layout.is_leaf == tensor.is_leaf
    if layout.stride is None or layout.storage_bytes is None:
        assert layout.unavailable
    elif -1 not in layout.shape:
        assert layout.stride == tensor.stride()
        assert layout.storage_bytes == tensor.untyped_storage().nbytes()


@pytest.mark.filterwarnings("ignore")
def test_what_pytorch_refuses_is_kept_in_its_words():
    assert "Sparse CSR tensors do not have strides" in inspect_layout(STRANGE["csr"]()).unavailable
    assert "NestedTensorImpl doesn't support strides" in inspect_layout(STRANGE["nested"]()).unavailable
    assert inspect_layout(STRANGE["nested"]()).shape == (2, -1)
    assert inspect_layout(STRANGE["jagged"]()).shape == (2, -1, 3)
    assert inspect_layout(torch.ones(2, 3)).unavailable == ""


def test_a_batched_tensor_inside_vmap_is_read():
    seen = []
    torch.vmap(lambda row: seen.append(inspect_layout(row)) or row)(torch.ones(3, 4))
    assert (seen[0].shape, seen[0].storage_bytes) == ((4,), None)
    assert "Cannot access storage of BatchedTensorImpl" in seen[0].unavailable


@pytest.mark.slow
def test_a_tensor_without_memory_has_no_pointer():
    for name in ("meta", "fake"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert inspect_layout(STRANGE[name]()).data_ptr_offset_bytes is None


EMPTY = [
    lambda x: x[4:],
    lambda x: x[1:1],
    lambda x: x[:, 3:3].t(),
    lambda x: x[1:1].clone(),
    lambda x: x.new_empty(0),
    lambda x: x.as_strided((0,), (1,), 7),
    lambda x: x[2:].narrow(0, 1, 0),
    lambda x: (y := x.clone(), y.untyped_storage().resize_(0))[0],
]


@pytest.mark.parametrize("make", EMPTY)
def test_a_tensor_without_elements_or_memory_has_no_pointer_either(make):
    """PyTorch's data_ptr() is 0 then: minus the storage's it would be an address of this process."""
    tensor = make(torch.zeros(4, 6))
    assert tensor.data_ptr() == 0
    assert inspect_layout(tensor).data_ptr_offset_bytes is None


@pytest.mark.slow
def test_symbolic_sizes_are_not_asked_for_their_value():
    """Asking would specialise the program: the guard of the symbol would then be an equality."""
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    environment = ShapeEnv()
    with FakeTensorMode(shape_env=environment) as mode:
        symbolic = mode.from_tensor(torch.ones(5, 3), static_shapes=False)
        before = len(environment.guards)
        layout = inspect_layout(symbolic)
    assert layout.shape[0] in (-1, 5)
    assert [guard for guard in environment.guards[before:] if "==" in str(guard.expr)] == []


def test_reading_changes_nothing():
    x = torch.ones(4, 6, requires_grad=True)
    view = (x * 1)[1:]
    node, version = view.grad_fn, view._version
    inspect_layout(view)
    assert (view.grad_fn, view._version) == (node, version)


def test_the_fields_of_a_strided_slice_by_hand():
    x = torch.zeros(4, 6, dtype=torch.float64)
    layout = inspect_layout(x.t()[1:, ::2])
    assert (layout.shape, layout.stride, layout.storage_offset) == ((5, 2), (1, 12), 1)
    assert (layout.numel, layout.view_bytes, layout.storage_bytes) == (10, 80, 192)
    assert (layout.data_ptr_offset_bytes, layout.is_view, layout.is_non_overlapping_and_dense) == (8, True, False)
    assert (layout.is_contiguous, layout.is_leaf, layout.grad_fn, layout.version) == (False, True, None, 0)
