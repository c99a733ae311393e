"""amount_of: the few numbers that every gradient and value is told by, in passes that cost little."""

from __future__ import annotations

import math

import torch

from engine.diagnostics.results import Amount


def amount_of(tensor: torch.Tensor) -> Amount:
    """Norm, zeros and non-finite elements, of any dtype and layout; nan or inf among them makes the norm so."""
    given = tensor.detach()
    if given.layout is torch.sparse_coo:
        given = given.coalesce().values()
    elif given.layout is not torch.strided:
        given = given.values()
    zeros = tensor.numel() - int(torch.count_nonzero(given))
    if not (given.is_floating_point() or given.is_complex()):
        return Amount(float(torch.linalg.vector_norm(given.double())), tensor.numel(), zeros, 0, 0)
    norm = float(torch.linalg.vector_norm(given))
    if 0 < norm < math.inf or zeros == tensor.numel():
        return Amount(norm, tensor.numel(), zeros, 0, 0)
    nans, infinities = int(torch.isnan(given).sum()), int(torch.isinf(given).sum())
    if nans or infinities:
        return Amount(math.nan if nans else math.inf, tensor.numel(), zeros, nans, infinities)
    wide = torch.linalg.vector_norm(given.to(torch.complex128 if given.is_complex() else torch.float64))
    return Amount(float(wide), tensor.numel(), zeros, 0, 0)
