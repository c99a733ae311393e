"""The product timed over density: break-even from made-up times, and that a real run holds together."""

from __future__ import annotations

import pytest

from engine import run
from engine.sparse.matmul import find_break_even
from engine.sparse.results import TimingPoint
from engine.sparse.spec import MatmulTimingSpec
from engine.timing.spec import Comparison, Ratio


def point(density, ratio, spread=1.1):
    comparison = Comparison(
        names=("dense", "csr"),
        calls=(1, 1),
        cpu_s=((1.0,), (ratio,)),
        wall_s=((1.0,), (ratio,)),
        threads=1,
        ratios=(Ratio("csr", "dense", ratio, ratio / spread, ratio * spread),),
        winner=None,
    )
    return TimingPoint(density, round(density * 1000), comparison)


def test_break_even_is_where_a_straight_line_between_logarithms_crosses_one():
    found = find_break_even("csr", [point(0.1, 0.5), point(0.4, 2.0)])
    assert found.verdict == "crosses"
    assert found.density == pytest.approx(0.2)
    assert found.between == (0.1, 0.4)


def test_a_band_that_straddles_one_decides_nothing():
    found = find_break_even("csr", [point(0.1, 0.25), point(0.2, 0.97), point(0.3, 1.03), point(0.4, 4.0)])
    assert found.between == (0.1, 0.4)
    assert find_break_even("csr", [point(0.1, 0.98), point(0.2, 1.02)]).verdict == "unclear"


def test_no_crossing_is_said_as_such():
    assert find_break_even("csr", [point(0.1, 0.2), point(0.5, 0.4)]).verdict == "always faster"
    assert find_break_even("csr", [point(0.1, 2.0), point(0.5, 4.0)]).verdict == "always slower"


def test_a_layout_that_was_left_out_of_some_densities_is_judged_by_the_others():
    without = point(0.5, 1.0)
    bare = Comparison(
        names=("dense", "dense again"),
        calls=(1, 1),
        cpu_s=((1.0,), (1.0,)),
        wall_s=((1.0,), (1.0,)),
        threads=1,
        ratios=(Ratio("dense again", "dense", 1.0, 0.9, 1.1),),
        winner=None,
    )
    points = [point(0.1, 0.5), point(0.4, 2.0), TimingPoint(0.5, without.nnz, bare)]
    assert find_break_even("csr", points).density == pytest.approx(0.2)


def test_a_real_run_has_every_layout_with_the_dense_product():
    stages = []
    spec = MatmulTimingSpec(size=64, right_columns=8, densities=(0.05, 0.5), layouts=("csr", "coo", "bsc"), rounds=5)
    found = run(spec, inline=True, on_progress=lambda stage, fraction: stages.append(fraction))
    assert [round(p.density * 64 * 64) for p in found.points] == [p.nnz for p in found.points] == [205, 2048]
    for p in found.points:
        assert p.comparison.names == ("dense", "csr", "coo")
        assert len(p.largest_difference) == 2
        assert max(p.largest_difference) < 1e-5
        assert p.comparison.rounds >= 5
    assert [layout for layout, _ in found.refused] == ["bsc"]
    assert [one.layout for one in found.break_even] == ["csr", "coo"]
    assert stages == sorted(stages)


def test_a_vector_on_the_right_is_timed_too():
    found = run(MatmulTimingSpec(size=32, right_columns=0, densities=(0.1,), layouts=("csr",), rounds=5), inline=True)
    assert found.points[0].comparison.names == ("dense", "csr")


@pytest.mark.parametrize("densities", [(), (0.0, 0.1), (0.2, 0.1), (0.1, 0.1), (0.5, 1.5), tuple(range(1, 30))])
def test_densities_that_make_no_sense_are_refused(densities):
    with pytest.raises(ValueError, match="rising numbers above 0"):
        MatmulTimingSpec(densities=densities)


def test_layouts_must_be_named_once():
    for layouts in ((), ("csr", "csr"), ("dense",)):
        with pytest.raises(ValueError, match="Choose at least one"):
            MatmulTimingSpec(layouts=layouts)
