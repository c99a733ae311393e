"""read_gradients: value and gradient of every leaf in forward order, and why one has none."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from engine.gradients.results import GradientRow, Gradients, trained
from engine.gradients.spec import GradientsSpec
from engine.graph.cut import cut_of
from engine.graph.leaves import Backward, leaf_table, uses_of
from engine.graph.model_run import ModelRun
from engine.graph.spec import Leaf
from engine.graph.walk import read_graph
from engine.models.build import build
from engine.pytorch_said import PyTorchSaid
from engine.recorded import read_coo
from engine.runner.contract import ProgressSink
from engine.summarise import summarise
from engine.summary import TensorSummary


def read_gradients(spec: GradientsSpec, progress: ProgressSink) -> Gradients:
    """One forward and backward, every leaf summarised; an error PyTorch raises is part of the result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        progress("building the model", 0.0)
        run = ModelRun(build(spec.model))
        progress("forward", 0.2)
        run.forward()
        leaves = _run_backward(spec, run, progress)
    progress("summarising", 0.7)
    rows = _rows(run, leaves)
    return Gradients(
        rows=rows,
        loss=None if run.loss is None else _number(run.loss),
        total_norm=total_norm(one for row in trained(rows) if (one := row.gradient) is not None),
        error=None if run.error is None else PyTorchSaid(run.error.type, run.error.message),
        stage="" if run.error is None else run.error.stage,
        warnings=tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught)),
    )


def total_norm(gradients: Iterable[TensorSummary]) -> float:
    """2-norm of all these as one vector, from their own in float64; nan where one has an element that is not finite."""
    return math.hypot(*(math.nan if one.non_finite else one.norm for one in gradients))


def _number(loss: torch.Tensor) -> float:
    return float(loss.detach().real if loss.is_complex() else loss.detach())


def _run_backward(spec: GradientsSpec, run: ModelRun, progress: ProgressSink) -> tuple[Leaf, ...]:
    graph, ids = read_graph(run.roots(), run.built.model, run.built.inputs)
    uses = uses_of(graph, ids, run.extra())
    ids.clear()
    progress("backward", 0.4)
    run.backward()
    cut = cut_of(spec.model, run.built.model, run.recording.calls)
    told = Backward(ran=True, error=run.error, calls=run.recording.calls, cut=cut, uses=uses)
    return leaf_table(run.built.model, run.built.inputs, run.extra(), told)


def _rows(run: ModelRun, leaves: tuple[Leaf, ...]) -> tuple[GradientRow, ...]:
    tensors: dict[tuple[str, str], torch.Tensor] = {
        **{("parameter", name): parameter for name, parameter in run.built.model.named_parameters()},
        **{("input", name): tensor for name, tensor in run.built.inputs.items()},
        **{("intermediate", name): tensor for name, tensor in run.extra().items()},
    }
    aliases = _aliases(run.built.model)
    order = {path: number for number, path in enumerate(run.recording.calls)}
    ranked = sorted(leaves, key=lambda leaf: _rank(leaf, order))
    return tuple(_row(leaf, tensors[leaf.kind, leaf.name], aliases.get(leaf.name, ())) for leaf in ranked)


def _rank(leaf: Leaf, order: Mapping[str, int]) -> tuple[int, int]:
    """Inputs, then parameters by the first call of their module (those never called last), then what was made."""
    kinds = {"input": 0, "parameter": 1}
    module = leaf.name.rpartition(".")[0]
    return kinds.get(leaf.kind, 2), order.get(module, len(order)) if leaf.kind == "parameter" else 0


def _aliases(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """First name -> the other names of the same parameter."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {first: tuple(rest) for first, *rest in names.values()}


def _row(leaf: Leaf, tensor: torch.Tensor, aliases: tuple[str, ...]) -> GradientRow:
    grad = tensor.grad if tensor.is_leaf or tensor.retains_grad else None
    is_sparse = grad is not None and grad.layout == torch.sparse_coo
    return GradientRow(
        name=leaf.name,
        kind=leaf.kind,  # type: ignore[arg-type]  # leaf_table has no buffers
        aliases=aliases,
        requires_grad=leaf.requires_grad,
        uses=leaf.uses,
        value=summarise(tensor),
        gradient=None if grad is None else summarise(grad),
        why=leaf.why,
        explanation=leaf.explanation,
        stored=_stored(grad) if is_sparse and grad is not None else None,
        is_coalesced=not is_sparse or (grad is not None and grad.is_coalesced()),
    )


def _stored(grad: torch.Tensor) -> int:
    """Entries as backward left them, several of one row counted one by one."""
    return int(read_coo(grad)[2]())
