"""Whole comparisons, small: what comes back is what ran."""

from __future__ import annotations

import msgspec
import pytest

from engine import Fault, run
from engine.figures.allocation_chart import as_found_words, cliff_words
from engine.models.spec import Expression, LinearStack, Mlp, ModelSpec
from engine.operators.load import Loaded
from engine.timing import prepared
from engine.timing.comparison import Comparison
from engine.timing.experiment import price
from engine.timing.results import Allocated, Allocations, Machine
from engine.timing.spec import AllocationSpec, TimingSpec, TimingSweepSpec
from engine.timing.sweep import possible_sizes
from engine.timing.variant import OperatorVariant, StepVariant

SMALL = OperatorVariant(rows=8, columns=8)
FEW = {"rounds": 5, "warm_up_rounds": 2}
TINY = ModelSpec(architecture=Mlp(layers=2, depth=2, width=8, in_features=4, out_features=3), batch=2)


def timed(a, b, **settings):
    return run(TimingSpec(a=a, b=b, **FEW | settings), inline=True)


def test_two_operators_are_timed_and_compared():
    found = timed(SMALL, msgspec.structs.replace(SMALL, operator="gelu_composed"))
    assert found.comparison is not None
    assert found.comparison.names == ("A", "B")
    assert found.comparison.rounds == 5
    assert len(found.comparison.warm_up_s[0]) == 2
    assert found.agreement.verdict == "equal up to rounding"
    assert found.a.to_reference is not None
    assert found.a.to_reference.verdict == "equal up to rounding"
    assert found.a.outputs == (("result", (8, 8), "float32"),)
    assert (found.a.output_bytes, found.a.least_bytes) == (256, 512)
    assert found.a.first_call_s > 0


def test_results_that_differ_are_said_to():
    found = timed(SMALL, msgspec.structs.replace(SMALL, operator="gelu_erf"))
    assert found.agreement.verdict == "different"
    assert found.agreement.absolute > 1e-5
    assert found.comparison is not None


def test_an_operator_and_a_step_can_be_timed_but_not_compared():
    found = timed(SMALL, StepVariant(model=TINY))
    assert found.agreement.verdict == "not comparable"
    assert found.comparison is not None


@pytest.mark.parametrize("work", ["forward", "forward and backward", "training step"])
def test_a_step_against_itself_is_identical(work):
    found = timed(StepVariant(model=TINY, work=work), StepVariant(model=TINY, work=work))
    assert found.agreement.verdict == "identical"
    names = [name for name, _, _ in found.a.outputs]
    assert names == (["output 0"] if work == "forward" else ["loss", *(f"gradient {n}" for n in range(6))])


def test_checkpointing_changes_no_gradient():
    plain = ModelSpec(architecture=LinearStack(layers=3, width=8))
    kept = msgspec.structs.replace(plain, checkpoint="each_block")
    assert timed(StepVariant(model=plain), StepVariant(model=kept)).agreement.verdict == "identical"


def test_what_pytorch_refuses_is_in_its_words_and_nothing_is_timed():
    raising = ModelSpec(architecture=Expression(name="in_place_after_save"))
    found = timed(SMALL, StepVariant(model=raising, work="forward and backward"))
    assert found.comparison is None
    assert found.b.refused.type == "RuntimeError"
    assert "modified by an inplace operation" in found.b.refused.message
    assert found.a.refused is None


def test_an_operator_that_is_not_built_says_why(monkeypatch):
    monkeypatch.setattr(prepared, "load", lambda: Loaded(compiled=False, reason="no compiler here"))
    found = timed(msgspec.structs.replace(SMALL, operator="atlas_gelu_tanh"), SMALL)
    assert found.comparison is None
    assert "no compiler here" in found.a.unavailable


def test_a_sweep_measures_every_size_and_leaves_out_what_is_too_large():
    sweep = TimingSweepSpec(
        a=OperatorVariant(operator="matmul"),
        b=OperatorVariant(operator="einsum"),
        smallest=2,
        largest=2048,
        points=2,
        rounds=5,
    )
    found = run(sweep, inline=True)
    assert (found.sizes, found.size_is) == ((2,), "rows and columns")
    assert [one.sizes for one in found.series] == [(2.0,), (2.0,)]
    assert "size 2048 left out" in found.notes[0]


def test_the_size_of_a_models_step_is_its_batch():
    step = StepVariant(model=TINY, work="forward")
    found = run(TimingSweepSpec(a=step, b=step, smallest=1, largest=4, points=2, rounds=5), inline=True)
    assert (found.sizes, found.size_is, len(found.verdicts)) == ((1, 4), "batch", 2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"smallest": 8, "largest": 8}, "smallest must be below largest"),
        ({"a": StepVariant(), "b": SMALL}, "must be of one kind"),
    ],
)
def test_a_sweep_of_nothing_is_refused_in_words(settings, words):
    with pytest.raises(ValueError, match=words):
        TimingSweepSpec(**settings)


def test_sizes_around_the_threshold_are_measured_where_they_lie_inside():
    assert AllocationSpec().sizes_mib() == (4, 8, 16, 31, 33, 64)
    assert AllocationSpec(smallest_mib=1, largest_mib=8, points=2).sizes_mib() == (1, 8)


@pytest.mark.parametrize("settings", [{"operator": "matmul"}, {"smallest_mib": 64, "largest_mib": 64}])
def test_an_allocation_that_cannot_be_is_refused_in_words(settings):
    with pytest.raises(ValueError, match="received"):
        AllocationSpec(**settings)


def test_fresh_and_reused_outputs_are_measured_at_every_size():
    found = run(AllocationSpec(smallest_mib=1, largest_mib=2, points=2, rounds=5), inline=True)
    assert [point.output_bytes for point in found.points] == [1 << 20, 2 << 20]
    assert [point.moved_bytes for point in found.points] == [2 << 20, 4 << 20]
    assert found.points[0].comparison.names == ("fresh output", "reused output")
    assert found.points[0].reused_faults < 10


def allocated(mib: int, faults: float, fresh_s: float = 2.0, reused_s: float = 1.0) -> Allocated:
    times = ((fresh_s,) * 5, (reused_s,) * 5)
    comparison = Comparison(
        names=("fresh output", "reused output"),
        calls=(1, 1),
        cpu_s=times,
        wall_s=times,
        threads=1,
        ratios=(),
        winner=None,
        faults=((faults,) * 5, (0.0,) * 5),
    )
    return Allocated(output_bytes=mib << 20, moved_bytes=mib << 21, comparison=comparison)


def test_the_cliff_lies_between_the_sizes_where_pages_begin_to_fault():
    points = (allocated(16, 0.0), allocated(31, 2.0), allocated(33, 8449.0), allocated(64, 16385.0))
    found = Allocations(points=points, page_bytes=4096, allocator="glibc", machine=Machine(cores=2))
    assert found.cliff == (31 << 20, 33 << 20)
    assert points[2].allocator_share == 0.5
    flat = Allocations(points=points[:2], page_bytes=4096, allocator="glibc", machine=Machine(cores=2))
    assert flat.cliff is None


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({4: 1026.0, 8: 0.0, 16: 4096.0, 31: 1.0, 33: 8449.0}, "faulted at 4.00 MiB, 16.0 MiB and 33.0 MiB; not at 8"),
        ({16: 0.0, 31: 2000.0, 33: 8449.0}, "partly faulted at 31.0 MiB; not at 16.0 MiB"),
        ({8: 0.0, 31: 1.0}, "At no size were pages given anew"),
        ({33: 8449.0, 64: 16385.0}, "At every size nearly every page"),
        ({31: 0.0, 33: 8449.0, 64: 16385.0}, "Up to 31.0 MiB"),
    ],
)
def test_the_words_on_a_cliff_hold_for_every_row_of_the_table(faults, words):
    points = tuple(allocated(mib, count) for mib, count in faults.items())
    found = Allocations(points=points, page_bytes=4096, allocator="glibc", machine=Machine(cores=2))
    assert words in cliff_words(found)
    assert (found.cliff is not None) is cliff_words(found).startswith("Up to")


def test_faults_with_the_heap_as_it_was_found_are_told():
    point = msgspec.structs.replace(allocated(16, 0.0), faults_as_found=4096.0)
    found = Allocations(points=(point,), page_bytes=4096, allocator="glibc", machine=Machine(cores=2))
    assert "4\u202f096 faults a call at 16.0 MiB" in as_found_words(found)
    assert as_found_words(msgspec.structs.replace(found, points=(allocated(16, 1.0),))) == ""


def test_a_price_grows_with_size_and_counts_the_reference():
    small = price(TimingSpec(a=SMALL, b=SMALL)).predicted_bytes
    large = OperatorVariant(rows=4096, columns=4096)
    assert price(TimingSpec(a=large, b=large)).predicted_bytes > 2 * 4096 * 4096 * (4 + 8)
    assert small < 1 << 20


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (
            OperatorVariant(rows=8192, columns=8192),
            "Choose fewer rows or columns for the operator, or a narrower dtype",
        ),
        (OperatorVariant(operator="relu_images", rows=256, columns=8192), "Choose fewer images or channels"),
        (StepVariant(), "Reduce the batch, the width or the number of layers of the model"),
    ],
)
def test_a_price_says_what_to_make_smaller(variant, words):
    assert words in price(TimingSpec(a=variant, b=variant)).remedy


@pytest.mark.slow
def test_a_refused_operator_is_told_in_its_own_terms():
    large = OperatorVariant(operator="sort", rows=8192, columns=8192, dtype="float64")
    with pytest.raises(Fault) as caught:
        run(TimingSpec(a=large, b=large, seed=5))
    assert caught.value.kind == "refused"
    assert "Choose fewer rows or columns" in caught.value.report.remedy


def test_what_a_sweep_leaves_out_names_the_side():
    sweep = TimingSweepSpec(a=SMALL, b=OperatorVariant(operator="geglu"), smallest=2, largest=3, points=2, rounds=5)
    kept, notes = possible_sizes(sweep)
    assert kept == (2,)
    assert notes == (
        "size 3 left out: B: columns of GEGLU of halves must be even, as it halves them; received 3. Choose 4.",
    )
