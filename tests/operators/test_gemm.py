"""What is particular to gemm: edges of tiles and blocks, strides, memory around a matrix, threads, rounding, words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from torch import Tensor

from engine.operators import gemm
from engine.operators.definitions.gemm import KERNELS
from engine.operators.load import load
from tests.operators.case import FLOATING, maker

compiled_only = pytest.mark.skipif(not load().compiled, reason=load().reason or "compiled")

# Around 14, 6 and 4 rows, 32, 16 and 8 columns, 512 and 256 deep, and several blocks of each.
EDGES = ((1, 1, 1), (1, 513, 9), (9, 513, 1), (2, 1, 33), (13, 7, 31), (15, 33, 65), (29, 520, 17), (43, 1030, 40))
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "rows": lambda x: x,
    "columns": lambda x: x.t().contiguous().t(),
    "every second of both": lambda x: torch.full((2 * x.shape[0], 2 * x.shape[1]), torch.nan, dtype=x.dtype)[
        ::2, ::2
    ].copy_(x),
    "amid NaN": lambda x: torch.full((x.shape[0] + 4, x.shape[1] + 3), torch.nan, dtype=x.dtype)[2:-2, 1:-2].copy_(x),
    "amid NaN, columns": lambda x: (
        torch.full((x.shape[1] + 3, x.shape[0] + 4), torch.nan, dtype=x.dtype)[1:-2, 2:-2].t().copy_(x)
    ),
}


def instruction_sets() -> list[str]:
    """Those this CPU has; one name without compiled code, which has none."""
    if not load().compiled:
        return ["reference"]
    best: str = torch.ops.atlas.instruction_set()
    return ["baseline", "avx2", "avx512"][: ["baseline", "avx2", "avx512"].index(best) + 1]


@contextmanager
def using(name: str) -> Iterator[None]:
    if name == "reference":
        yield
        return
    best = torch.ops.atlas.instruction_set()
    torch.ops.atlas.instruction_set(name)
    try:
        yield
    finally:
        torch.ops.atlas.instruction_set(best)


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def assert_product(got: Tensor, a: Tensor, b: Tensor) -> None:
    """Within the bound of any order of summation: K eps (|a| |b|), and half an eps of the result for its rounding."""
    exact = a.double() @ b.double()
    summed = torch.float64 if a.dtype == torch.float64 else torch.float32
    bound = a.shape[1] * torch.finfo(summed).eps * (a.double().abs() @ b.double().abs())
    bound += torch.finfo(a.dtype).eps * exact.abs() + torch.finfo(a.dtype).smallest_normal
    assert got.dtype == a.dtype
    assert ((got.double() - exact).abs() <= bound).all()


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("kernel", KERNELS)
def test_edges_of_tiles_and_blocks(kernel: str, name: str):
    with using(name):
        for dtype in FLOATING:
            make = maker(dtype)
            for rows, depth, columns in EDGES:
                a, b = make(rows, depth), make(depth, columns)
                assert_product(gemm(a, b, kernel), a, b)


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
def test_any_strides_and_nothing_read_beyond_them(left: str, right: str, name: str):
    with using(name):
        for dtype in FLOATING:
            make = maker(dtype)
            for rows, depth, columns in ((17, 19, 35), (1, 600, 21), (21, 600, 1), (30, 40, 8), (33, 515, 34)):
                a, b = LAYOUTS[left](make(rows, depth)), LAYOUTS[right](make(depth, columns))
                assert_product(gemm(a, b), a, b)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_empty_sum_is_zero_and_an_empty_result_is_empty(kernel: str):
    for rows, depth, columns in ((3, 0, 2), (0, 4, 2), (3, 4, 0), (0, 0, 0)):
        a, b = torch.randn(rows, depth, requires_grad=True), torch.randn(depth, columns, requires_grad=True)
        c = gemm(a, b, kernel)
        assert torch.equal(c, torch.zeros(rows, columns))
        c.sum().backward()
        assert (a.grad.shape, b.grad.shape) == (a.shape, b.shape)


@pytest.mark.parametrize("shape", [(300, 700, 130), (3, 900, 700), (700, 900, 1), (1, 900, 700)], ids=str)
@pytest.mark.parametrize("dtype", FLOATING, ids=str)
def test_the_number_of_threads_changes_no_bit(shape: tuple[int, int, int], dtype: torch.dtype):
    rows, depth, columns = shape
    make = maker(dtype)
    for a in (make(rows, depth), make(depth, rows).t()):
        b = make(depth, columns)
        with threads(1):
            alone = gemm(a, b)
        for count in (2, 3):
            with threads(count):
                assert torch.equal(gemm(a, b), alone)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_sums_of_16_bit_values_are_rounded_once(dtype: torch.dtype):
    """Whole numbers, so that float sums are exact over two blocks of k: the result is the exact sum rounded."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randint(-3, 4, (20, 1100), generator=generator).to(dtype)
    b = torch.randint(-3, 4, (1100, 40), generator=generator).to(dtype)
    for kernel in ("naive", "ikj", "tiled", "packed"):
        assert torch.equal(gemm(a, b, kernel), (a.double() @ b.double()).to(dtype))


@pytest.mark.parametrize("kernel", KERNELS)
def test_infinity_and_nan_reach_the_sums_they_belong_to(kernel: str):
    a, b = torch.ones(20, 30), torch.ones(30, 37)
    a[3, 4], b[5, 6], b[4, 36] = torch.inf, torch.nan, 0.0
    torch.testing.assert_close(gemm(a, b, kernel), a @ b, equal_nan=True)


def test_only_what_the_gradient_needs_is_saved():
    a, b = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
    saved: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: saved.append(x) or x, lambda x: x):
        gemm(a, b).sum().backward()
    assert [x.shape for x in saved] == [a.shape]


@pytest.mark.parametrize(
    ("left", "right"),
    [((6, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((0, 3, 4), (4, 5))],
    ids=str,
)
def test_leading_dimensions_broadcast_as_in_matmul(left: tuple[int, ...], right: tuple[int, ...]):
    a, b = torch.randn(left, requires_grad=True), torch.randn(right, requires_grad=True)
    torch.testing.assert_close(gemm(a, b), a @ b)
    upstream = torch.randn_like(a @ b)
    expected = torch.autograd.grad(a @ b, (a, b), upstream)
    torch.testing.assert_close(torch.autograd.grad(gemm(a, b), (a, b), upstream), expected)


@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (1, 2), (2, 0)], ids=str)
def test_vmap_over_either_side(in_dims: tuple[int | None, int | None]):
    a = torch.randn(3, 4) if in_dims[0] is None else torch.stack([torch.randn(3, 4) for _ in range(2)], in_dims[0])
    b = torch.randn(4, 5) if in_dims[1] is None else torch.stack([torch.randn(4, 5) for _ in range(2)], in_dims[1])
    torch.testing.assert_close(torch.vmap(gemm, in_dims)(a, b), torch.vmap(torch.matmul, in_dims)(a, b))


def test_autocast_lowers_as_it_does_matmul():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert gemm(a, b).dtype == (a @ b).dtype == torch.bfloat16


@compiled_only
@pytest.mark.parametrize(
    ("a", "b", "kernel", "words"),
    [
        (torch.ones(2, 3), torch.ones(2, 3), "packed", r"as many rows as a has columns, 3; received a \(2, 3\)"),
        (torch.ones(2, 3), torch.ones(3, 2).double(), "packed", "of the dtype of a, float32; received float64"),
        (torch.ones(2, 3), torch.ones(3, 2), "fast", "kernel naive, ikj, tiled, packed or matmul; received fast"),
    ],
)
def test_refusals_say_what_was_expected_and_received(a: Tensor, b: Tensor, kernel: str, words: str):
    with pytest.raises(RuntimeError, match=f"^gemm: expected .*{words}"):
        gemm(a, b, kernel)


def test_a_vector_is_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"gemm: expected a .* received shapes \(3,\) and \(3, 2\).* unsqueeze"):
        gemm(torch.ones(3), torch.ones(3, 2))


@compiled_only
@pytest.mark.parametrize("name", instruction_sets())
def test_the_fma_rate_counts_what_it_does(name: str):
    """Two operations per lane and step; a register of float64 has half as many lanes."""
    with using(name), threads(1):
        once = torch.ops.atlas.fma_rate(1, False)
        assert torch.ops.atlas.fma_rate(3, False) == 3 * once == 6 * torch.ops.atlas.fma_rate(1, True)
    with using(name), threads(2):
        assert torch.ops.atlas.fma_rate(1, False) == 2 * once


@compiled_only
def test_the_fma_rate_needs_a_round():
    with pytest.raises(RuntimeError, match=r"^fma_rate: expected at least 1 round; received 0"):
        torch.ops.atlas.fma_rate(0, False)
