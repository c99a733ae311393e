"""In a table nan, inf and nothing are told apart, and columns that have none of them stay numbers."""

import math

import pandas as pd

from pages.shared.number_columns import number_columns


def test_only_columns_with_something_unusual_become_texts() -> None:
    told = {"loss": [0.5, math.nan, -math.inf], "norm": [65536.0, None, 1e-9], "scale": [2.0, 1.0, 0.5]}
    told |= {"bytes": [45360, None, 7]}
    rest = {"step": [1, 2, 3], "taken": [True, False, True], "event": ["growth", "", "–"]}
    shown, columns = number_columns(pd.DataFrame(told | rest, dtype=object), digits=5, looks={"norm": {"width": 66}})
    assert list(shown["loss"]) == ["0.5", "nan", "-inf"]
    assert list(shown["norm"]) == ["65536", "–", "1e-09"]
    assert list(shown["bytes"]) == ["45360", "–", "7"]
    assert list(shown["scale"]) == told["scale"]
    assert shown["scale"].dtype.kind == "f"
    assert shown["step"].dtype.kind == "i"
    assert [columns[name]["alignment"] for name in ("loss", "norm")] == ["right", "right"]
    assert columns["norm"]["width"] == 66
    assert set(columns) == set(told)
    assert [list(shown[name]) for name in rest] == list(rest.values())
