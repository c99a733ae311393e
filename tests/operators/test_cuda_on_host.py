"""The CUDA kernels' bodies, run on the CPU over the same table as every operator. Tensor-core kernels cannot be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.operators import test_contract as contract
from tests.operators import test_layouts as layouts
from tests.operators import test_refusals as refusals
from tests.operators.case import Case
from tests.operators.cases import CASES
from tests.operators.host import cuda_kernels_on_the_host, implemented, load_operators

pytestmark = pytest.mark.slow
# The launcher is compiled for any CPU: without the fused multiply-add that a GPU has, some cases round once more.
with_kernel = [replace(case, relative=2 * case.relative) for case in CASES if case.operator in implemented()]
by_case = pytest.mark.parametrize("case", with_kernel, ids=str)


@pytest.fixture(autouse=True, scope="module")
def _built():
    load_operators()


@pytest.fixture(autouse=True)
def on_host():
    with cuda_kernels_on_the_host() as ran:
        yield
    assert ran


@by_case
def test_values(case: Case):
    contract.test_values_agree_with_pytorch_in_float64(case, "cpu")


@pytest.mark.parametrize("case", [case for case in with_kernel if case.differentiable], ids=str)
def test_gradients(case: Case):
    contract.test_gradients_agree_with_pytorch_in_float64(case, "cpu")


@pytest.mark.parametrize("layout", layouts.SAME_VALUES)
@by_case
def test_layouts(case: Case, layout: str):
    layouts.test_layouts_change_neither_values_nor_gradients(case, layout)


@pytest.mark.parametrize("case", [case for case in with_kernel if case.elementwise], ids=str)
def test_any_shape(case: Case):
    layouts.test_elementwise_operators_take_any_shape(case)


@by_case
def test_a_wrong_dtype_is_refused_by_name(case: Case):
    refusals.test_a_wrong_dtype_is_refused_by_name(case)
