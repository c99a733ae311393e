"""Which module of this folder measures which spec; no torch here."""

from __future__ import annotations

from typing import Any

from engine.claims import spec as specs
from engine.runner.contract import Spec

MODULES: dict[type[Spec[Any]], str] = {
    specs.CubeSpec: "cube",
    specs.DepthSpec: "dynamic_depth",
    specs.ClippedSigmoidSpec: "clipped_sigmoid",
    specs.SafeSigmoidSpec: "safe_sigmoid",
    specs.ImageBytesSpec: "image_bytes",
    specs.OperandLayoutSpec: "operand_layout",
    specs.HessianProductSpec: "hessian_product",
    specs.CheckpointSpec: "checkpointed_stack",
    specs.RowSumsSpec: "row_sums",
    specs.ScriptedGeluSpec: "scripted_gelu",
    specs.DynamicBlockSpec: "dynamic_block",
    specs.LowRankSpec: "low_rank",
    specs.AutocastSpec: "autocast_step",
    specs.InferenceModeSpec: "inference_modes",
    specs.ConvolutionFormatSpec: "convolution_format",
    specs.SparseProductSpec: "sparse_product",
    specs.InPlaceUpdateSpec: "update_in_place",
    specs.WrappedMatmulSpec: "wrapped_matmul",
    specs.CompiledStepSpec: "compiled_step",
    specs.TwoRanksSpec: "two_ranks",
    specs.CombinedSpec: "combined",
}


def module_name(kind: type[Spec[Any]]) -> str:
    """Full name of the module with the functions that measure specs of `kind`."""
    return f"engine.claims.{MODULES[kind]}"
