"""Consistency scan: device, dtype, layout, sharing and values of parameters, buffers and inputs, by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import torch
from torch import nn

from engine import recorded
from engine.diagnostics.births import is_finite
from engine.diagnostics.results import Finding
from engine.graph.texts import NAMES
from engine.recorded_diagnostics import NormWithStatistics


def scan(model: nn.Module, inputs: Mapping[str, torch.Tensor]) -> tuple[Finding, ...]:
    """Every finding, errors first; nothing is changed."""
    tensors = dict(model.named_parameters()) | dict(model.named_buffers())
    found = [
        *_devices(tensors, inputs),
        *_dtypes(tensors, inputs),
        *_tied(model),
        *_values(tensors | dict(inputs)),
        *_layouts(tensors | dict(inputs)),
        *_plain_attributes(model),
        *_statistics(model),
        *_modes(model),
    ]
    order = ("error", "warning", "notice")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def _devices(tensors: Mapping[str, torch.Tensor], inputs: Mapping[str, torch.Tensor]) -> Iterator[Finding]:
    where = Counter(str(one.device) for one in tensors.values())
    if not where:
        return
    usual = where.most_common(1)[0][0]
    for name, one in {**tensors, **inputs}.items():
        if str(one.device) != usual:
            yield Finding(name, "device", "error", f"on {one.device}; most parameters are on {usual}")


def _dtypes(tensors: Mapping[str, torch.Tensor], inputs: Mapping[str, torch.Tensor]) -> Iterator[Finding]:
    floating = {name: one for name, one in tensors.items() if one.is_floating_point() or one.is_complex()}
    kinds = Counter(one.dtype for one in floating.values())
    if not kinds:
        return
    usual = kinds.most_common(1)[0][0]
    for name, one in floating.items():
        if one.dtype != usual:
            words = f"{NAMES[one.dtype]}; most parameters are {NAMES[usual]}, and matrix products refuse to mix them"
            yield Finding(name, "dtype", "error", words)
    for name, one in inputs.items():
        if one.is_floating_point() and one.dtype != usual:
            yield Finding(name, "dtype", "error", f"input is {NAMES[one.dtype]}, the parameters are {NAMES[usual]}")


def _tied(model: nn.Module) -> Iterator[Finding]:
    names: dict[int, list[str]] = defaultdict(list)
    for name, one in model.named_parameters(remove_duplicate=False):
        names[id(one)].append(name)
    for shared in names.values():
        if len(shared) > 1:
            yield Finding(
                shared[0], "tied", "notice", f"the same parameter as {', '.join(shared[1:])}: gradients add up"
            )
    storages: dict[int, str] = {}
    for name, one in model.named_parameters():
        for key, _ in recorded.storages_of(one):
            if key in storages:
                yield Finding(name, "tied", "warning", f"another parameter over the memory of {storages[key]}")
            storages.setdefault(key, name)


def _values(tensors: Mapping[str, torch.Tensor]) -> Iterator[Finding]:
    for name, one in tensors.items():
        if not one.numel() or one.layout is not torch.strided or one.is_meta:
            continue
        if not is_finite(one):
            count = int((~torch.isfinite(one)).sum())
            yield Finding(name, "values", "error", f"{count} of {one.numel()} elements are NaN or infinite")
        elif one.dim() > 1 and one.numel() > 1 and one.is_floating_point() and _is_constant(one.detach()):
            value = float(one.detach().reshape(-1)[0])
            words = f"every element is {value:g}: equal units get equal gradients and stay equal"
            yield Finding(name, "values", "warning", words)


def _is_constant(tensor: torch.Tensor) -> bool:
    first = tensor[(0,) * (tensor.dim() - 1)]
    return bool((first == first[0]).all()) and bool((tensor == first[0]).all())


def _layouts(tensors: Mapping[str, torch.Tensor]) -> Iterator[Finding]:
    for name, one in tensors.items():
        if one.layout is torch.strided and not one.is_contiguous():
            known = one.dim() == 4 and one.is_contiguous(memory_format=torch.channels_last)
            words = "channels_last" if known else f"not contiguous, strides {tuple(one.stride())}"
            yield Finding(name, "layout", "notice", words)
        if one.requires_grad and not one.is_leaf:
            yield Finding(name, "leaf", "error", "requires a gradient but is no leaf: an operation made it")


def _plain_attributes(model: nn.Module) -> Iterator[Finding]:
    for path, module in model.named_modules():
        for name, one in vars(module).items():
            if isinstance(one, torch.Tensor) and not isinstance(one, nn.Parameter):
                words = "a plain attribute: .to(), state_dict() and optimizers do not see it; use register_buffer"
                if one.requires_grad:
                    words = "requires a gradient but is no nn.Parameter: parameters() and optimizers do not see it"
                yield Finding(f"{path}.{name}".lstrip("."), "registration", "warning", words)
        for name, buffer in module.named_buffers(recurse=False):
            if buffer.requires_grad:
                words = "a buffer that requires a gradient: optimizers do not see it; make it an nn.Parameter"
                yield Finding(f"{path}.{name}".lstrip("."), "registration", "warning", words)


def _statistics(model: nn.Module) -> Iterator[Finding]:
    for path, module in model.named_modules():
        if not isinstance(module, NormWithStatistics) or module.running_var is None:
            continue
        if (flat := int((module.running_var < 1e-12).sum())) > 0:
            words = (
                f"{flat} of {module.running_var.numel()} running variances are 0: eval divides by sqrt({module.eps:g})"
            )
            yield Finding(f"{path}.running_var", "statistics", "error", words)
        if not module.training and int(module.num_batches_tracked or 0) == 0:
            yield Finding(path, "statistics", "warning", "in eval, but its statistics have never seen a batch")


def _modes(model: nn.Module) -> Iterator[Finding]:
    modes = Counter(module.training for _, module in model.named_modules())
    if len(modes) == 2:
        for path, module in model.named_modules():
            if path and module.training != model.training:
                now, whole = ("train", "eval") if module.training else ("eval", "train")
                yield Finding(path, "mode", "notice", f"in {now} while the model is in {whole}")
    for name, one in model.named_parameters():
        if not one.requires_grad:
            yield Finding(name, "frozen", "notice", "requires_grad is False")
