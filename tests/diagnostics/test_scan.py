"""The consistency scan on modules with one fault each."""

from __future__ import annotations

import torch
from torch import nn

from engine.diagnostics.scan import scan


def findings(model: nn.Module, **inputs: torch.Tensor) -> set[tuple[str, str, str]]:
    return {(one.subject, one.check, one.severity) for one in scan(model, inputs)}


def test_a_sound_model_has_no_findings():
    assert findings(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), x=torch.rand(2, 3)) == set()


def test_dtypes_that_do_not_fit():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(2, 1).double())
    found = findings(model, x=torch.rand(2, 3).double())
    assert found == {("2.weight", "dtype", "error"), ("2.bias", "dtype", "error"), ("x", "dtype", "error")}


def test_devices_that_do_not_fit():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2), nn.Linear(2, 1, bias=False, device="meta"))
    assert ("2.weight", "device", "error") in findings(model)


def test_tied_parameters_and_shared_memory():
    model = nn.Sequential(nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False))
    model[1].weight = model[0].weight
    model[2].weight = nn.Parameter(model[0].weight.data)
    assert findings(model) == {("0.weight", "tied", "notice"), ("2.weight", "tied", "warning")}


def test_values_that_are_not_finite_or_all_equal():
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.Linear(4, 4, bias=False))
    with torch.no_grad():
        model[0].weight[1, 2] = torch.nan
        model[1].weight.fill_(0.5)
    assert findings(model) == {("0.weight", "values", "error"), ("1.weight", "values", "warning")}


def test_layouts_are_noticed():
    model = nn.Sequential(nn.Conv2d(2, 3, 2, bias=False)).to(memory_format=torch.channels_last)
    assert findings(model, x=torch.rand(3, 2).t()) == {("0.weight", "layout", "notice"), ("x", "layout", "notice")}


class Forgotten(nn.Module):
    """Tensors that are no parameters and no buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.ones(3, requires_grad=True)
        self.offset = torch.zeros(3)
        self.register_buffer("learned", torch.ones(2, requires_grad=True))


def test_tensors_that_are_not_registered():
    found = scan(Forgotten(), {})
    assert {(one.subject, one.check) for one in found} == {
        ("scale", "registration"),
        ("offset", "registration"),
        ("learned", "registration"),
    }
    assert "nn.Parameter" in next(one.words for one in found if one.subject == "scale")


def test_running_statistics_and_modes():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    model[1].eval()
    model[1].running_var[:2] = 0.0
    assert findings(model) == {
        ("1.running_var", "statistics", "error"),
        ("1", "statistics", "warning"),
        ("1", "mode", "notice"),
    }


def test_frozen_parameters_are_noticed_and_errors_come_first():
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1).double())
    model[0].requires_grad_(False)
    found = scan(model, {})
    assert [one.severity for one in found] == sorted((one.severity for one in found), key=("error", "notice").index)
    assert {one.subject for one in found if one.check == "frozen"} == {"0.weight", "0.bias"}
