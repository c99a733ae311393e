"""probe_support: try every operation on one layout, and hold what comes back against the dense operation."""

from __future__ import annotations

from typing import Any, Literal

import torch

from engine.pytorch_said import said
from engine.runner.contract import ProgressSink
from engine.sparse.build import TORCH_LAYOUTS, count_entries, to_layout
from engine.sparse.matrix import LayoutName
from engine.sparse.probed import PROBES, Operands, Operation
from engine.sparse.reading import comparable, listening
from engine.sparse.results import Probe, ProbeOutcome, Support, Supports
from engine.sparse.spec import SupportSpec

SIDE = 6
TOLERANCE = {torch.bfloat16: 0.05, torch.float32: 1e-4, torch.complex64: 1e-4}
"""Relative; sums in another order may differ by this much, wrong values by far more."""
BETA = "support is in beta state"


def probe_support(spec: SupportSpec, progress: ProgressSink) -> Supports:
    """Every operation of the list on a 6 x 6 matrix of each layout and this dtype."""
    reference = _dense_operands(getattr(torch, spec.dtype))
    return Supports(supports=tuple(_support(layout, spec, reference, progress) for layout in spec.layouts))


def _support(layout: LayoutName, spec: SupportSpec, reference: Operands, progress: ProgressSink) -> Support:
    try:
        operands = _sparse_operands(reference, layout)
    except Exception as error:
        return Support(layout=layout, dtype=spec.dtype, probes=(), error=said(error))
    tried = [(topic, name, run) for topic, operations in PROBES.items() for name, run in operations.items()]
    start = spec.layouts.index(layout)
    probes = []
    for number, (topic, name, run) in enumerate(tried):
        progress(f"{layout.upper()}: {name}", (start + number / len(tried)) / len(spec.layouts))
        probes.append(_probe(topic, name, run, operands, reference))
    return Support(layout=layout, dtype=spec.dtype, probes=tuple(probes))


def _dense_operands(dtype: torch.dtype) -> Operands:
    """Operands with two stored values in some rows, none in others; no value is 1, and none of d is 0."""
    x, y = torch.zeros(SIDE, SIDE), torch.zeros(SIDE, SIDE)
    x[0, 1], x[0, 4], x[2, 3], x[3, 0], x[5, 5] = 2, -3, 4, 5, -2
    y[0, 1], y[2, 2], y[3, 0], y[4, 5] = 7, 3, -4, 2
    d = torch.arange(1, SIDE * SIDE + 1).reshape(SIDE, SIDE) % 5 + 1
    return Operands(x.to(dtype), y.to(dtype), d.to(dtype), torch.arange(1, SIDE + 1).to(dtype))


def _sparse_operands(reference: Operands, layout: LayoutName) -> Operands:
    sparse = [to_layout(tensor.to_sparse(), layout, (2, 2)) for tensor in (reference.x, reference.y)]
    return Operands(sparse[0], sparse[1], reference.d, reference.v)


def _probe(topic: str, name: str, run: Operation, operands: Operands, reference: Operands) -> Probe:
    heard: list[str] = []
    try:
        with listening(heard):
            result = run(operands)
    except Exception as error:
        return Probe(operation=name, topic=topic, outcome="refused", error=said(error), warnings=_notable(heard))
    return Probe(
        operation=name,
        topic=topic,
        outcome=_outcome(result, run, reference),
        layout=_layout_name(result),
        nnz=count_entries(result) if _is_sparse(result) else None,
        warnings=_notable(heard),
    )


def _notable(heard: list[str]) -> tuple[str, ...]:
    return tuple(text for text in heard if BETA not in text)


def _outcome(result: Any, run: Operation, reference: Operands) -> ProbeOutcome:
    agreement = _agreement(result, run, reference)
    if agreement != "same":
        return agreement
    if _is_sparse(result):
        return "sparse"
    return "scalar" if isinstance(result, torch.Tensor) and result.dim() == 0 else "dense"


def _agreement(result: Any, run: Operation, reference: Operands) -> Literal["same", "masked", "wrong"]:
    """How the values compare with the dense operation's; "same" where there is no dense one to compare with."""
    try:
        with listening([]):
            expected = run(reference)
        got = result.to_dense() if _is_sparse(result) else result
    except Exception as error:
        said(error)
        return "same"
    if not isinstance(got, torch.Tensor) or not isinstance(expected, torch.Tensor):
        return "same" if got is expected else "wrong"
    tolerance = TOLERANCE.get(reference.x.dtype, 1e-9)
    if _is_close(got, expected, tolerance):
        return "same"
    is_masked = _is_sparse(result) and _is_close(got, expected * _stored_places(result).to(expected.dtype), tolerance)
    return "masked" if is_masked else "wrong"


def _stored_places(sparse: torch.Tensor) -> torch.Tensor:
    """1 where the tensor stores a value, 0 elsewhere."""
    coo = sparse.to_sparse().coalesce()
    return torch.sparse_coo_tensor(coo.indices(), torch.ones_like(coo.values()), coo.shape).to_dense()


def _is_close(got: torch.Tensor, expected: torch.Tensor, tolerance: float) -> bool:
    if got.shape != expected.shape:
        return False
    return torch.allclose(
        comparable(got).to(torch.complex128), comparable(expected).to(torch.complex128), tolerance, tolerance, True
    )


def _is_sparse(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout is not torch.strided


def _layout_name(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return ""
    return next((name for name, layout in TORCH_LAYOUTS.items() if value.layout is layout), "dense")
