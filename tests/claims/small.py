"""Every claim at sizes that take no time, and its spec class's module."""

from __future__ import annotations

from engine.claims import spec as specs
from engine.claims.catalogue import CLAIMS

SMALL = (
    specs.CubeSpec(x=3.0),
    specs.DepthSpec(hidden=8, batch=2),
    specs.ClippedSigmoidSpec(beta=4.0, clip=0.25),
    specs.SafeSigmoidSpec(),
    specs.ImageBytesSpec(height=5, width=7, channels=2),
    specs.OperandLayoutSpec(size=16, rounds=5),
    specs.HessianProductSpec(inputs=2, hidden=3, rounds=5),
    specs.CheckpointSpec(layers=10, width=8, batch=4, rounds=5),
    specs.RowSumsSpec(rows=3, columns=4, rounds=5),
    specs.ScriptedGeluSpec(size=16, rounds=5),
    specs.DynamicBlockSpec(width=8, batch=2, tiny=2, rounds=5),
    specs.LowRankSpec(width=16, rank=2, small_batch=2, large_batch=4, rounds=5),
    specs.AutocastSpec(width=16, batch=4, small_width=4, layers=1, rounds=5),
    specs.InferenceModeSpec(tiny=2, wide=8, layers=2, batch=2, rounds=5),
    specs.ConvolutionFormatSpec(batch=1, channels=4, size=8, rounds=5),
    specs.SparseProductSpec(size=64, columns=4, rounds=5),
    specs.InPlaceUpdateSpec(tensors=3, width=4, rounds=5),
    specs.WrappedMatmulSpec(rows=8, inner=8, columns=8, rounds=5),
    specs.CompiledStepSpec(width=8, batch=4, rounds=5),
    specs.TwoRanksSpec(width=8, small_batch=2, large_batch=4, rounds=5),
    specs.CombinedSpec(width=16, layers=1, steps=10, batch=8, rounds=5),
)
COUNTED = tuple(spec for spec in SMALL if not spec.measured)
IN_THIS_PROCESS = tuple(spec for spec in SMALL if not spec.needs)
CLAIM_OF = {claim.kind: claim for claim in CLAIMS}


def name_of(spec: object) -> str:
    return type(spec).__name__
