"""What can be asked of each claim: the sizes it is measured at. One spec per claim, one verb for all."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.claims.outcome import Measured
from engine.runner.contract import GIBIBYTE, Limits, Need, Result, Spec

Batch = Annotated[int, Meta(ge=1, le=512)]
Width = Annotated[int, Meta(ge=4, le=2048)]
Side = Annotated[int, Meta(ge=8, le=4096)]
Seed = Annotated[int, Meta(ge=0, le=2**31 - 1)]
BUILDS: frozenset[Need] = frozenset({"compiler"})


class _Claim(Spec[Measured], frozen=True, kw_only=True):
    """What every claim has."""

    result: ClassVar[type[Result]] = Measured
    verb: ClassVar[str] = "measure_claim"
    seed: Seed = 0


class TimedClaim(_Claim, frozen=True, kw_only=True):
    """A claim about time: rounds of interleaved samples, and the threads of torch."""

    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=240, threads=2)
    rounds: Annotated[int, Meta(ge=5, le=41, description="interleaved rounds")] = 15
    threads: Annotated[int, Meta(ge=1, le=2, description="torch threads; with two, wall time is judged")] = 1


class CubeSpec(_Claim, frozen=True, kw_only=True):
    """The first and second derivative of x ** 3."""

    verb: ClassVar[str] = "measure_claim"
    x: Annotated[float, Meta(ge=-1000.0, le=1000.0, description="where the derivatives are taken")] = 2.0


class DepthSpec(_Claim, frozen=True, kw_only=True):
    """Nodes of a model whose depth is an argument of forward."""

    verb: ClassVar[str] = "measure_claim"
    hidden: Width = 256
    batch: Batch = 32


class ClippedSigmoidSpec(_Claim, frozen=True, kw_only=True):
    """A sigmoid whose derivative is clipped."""

    verb: ClassVar[str] = "measure_claim"
    beta: Annotated[float, Meta(ge=0.1, le=20.0)] = 2.0
    clip: Annotated[float, Meta(ge=0.01, le=10.0)] = 0.1


class SafeSigmoidSpec(_Claim, frozen=True, kw_only=True):
    """A hand-written sigmoid at large inputs, and its clamped gradient."""

    verb: ClassVar[str] = "measure_claim"
    largest: Annotated[float, Meta(ge=1.0, le=500.0, description="inputs reach from minus to plus this")] = 100.0
    scale: Annotated[float, Meta(ge=0.01, le=1000.0, description="factor on the loss")] = 10.0


class ImageBytesSpec(_Claim, frozen=True, kw_only=True):
    """Bytes of one large image, as a view and as a contiguous copy."""

    verb: ClassVar[str] = "measure_claim"
    height: Annotated[int, Meta(ge=1, le=16_384)] = 7680
    width: Annotated[int, Meta(ge=1, le=16_384)] = 4320
    channels: Annotated[int, Meta(ge=1, le=16)] = 3


class OperandLayoutSpec(TimedClaim, frozen=True, kw_only=True):
    """The same operation on a contiguous and on a transposed matrix."""

    verb: ClassVar[str] = "measure_claim"
    size: Annotated[int, Meta(ge=16, le=4000, description="rows and columns of the matrix")] = 1500


class HessianProductSpec(TimedClaim, frozen=True, kw_only=True):
    """A product of the Hessian with a vector against the whole Hessian."""

    verb: ClassVar[str] = "measure_claim"
    inputs: Annotated[int, Meta(ge=2, le=32, description="inputs and outputs of the MLP")] = 16
    hidden: Annotated[int, Meta(ge=2, le=80)] = 32


class CheckpointSpec(TimedClaim, frozen=True, kw_only=True):
    """A deep stack with and without checkpoints."""

    verb: ClassVar[str] = "measure_claim"
    limits: ClassVar[Limits] = Limits(wall_s=180.0, cpu_s=400, threads=2)
    layers: Annotated[int, Meta(ge=5, le=60)] = 50
    width: Annotated[int, Meta(ge=8, le=1024)] = 256
    batch: Annotated[int, Meta(ge=1, le=128)] = 32
    every: Annotated[int, Meta(ge=1, le=20, description="every how many layers one is checkpointed")] = 5


class RowSumsSpec(TimedClaim, frozen=True, kw_only=True):
    """A weighted sum of every row: a loop over elements against einsum."""

    verb: ClassVar[str] = "measure_claim"
    rows: Annotated[int, Meta(ge=1, le=1000)] = 100
    columns: Annotated[int, Meta(ge=1, le=200)] = 50


class ScriptedGeluSpec(TimedClaim, frozen=True, kw_only=True):
    """A scripted tanh-GELU with an approximate backward against F.gelu."""

    verb: ClassVar[str] = "measure_claim"
    size: Annotated[int, Meta(ge=16, le=3000, description="rows and columns")] = 1000


class DynamicBlockSpec(TimedClaim, frozen=True, kw_only=True):
    """A block with and without its second linear layer."""

    verb: ClassVar[str] = "measure_claim"
    width: Width = 512
    batch: Batch = 64
    tiny: Annotated[int, Meta(ge=1, le=64, description="width of the tiny block, batch 1")] = 8


class LowRankSpec(TimedClaim, frozen=True, kw_only=True):
    """A training step of a linear layer, all of it or only its LoRA matrices."""

    verb: ClassVar[str] = "measure_claim"
    width: Width = 768
    rank: Annotated[int, Meta(ge=1, le=64)] = 4
    small_batch: Batch = 16
    large_batch: Batch = 256


class AutocastSpec(TimedClaim, frozen=True, kw_only=True):
    """A training step in float32 and under bfloat16 autocast."""

    verb: ClassVar[str] = "measure_claim"
    width: Width = 1024
    batch: Batch = 256
    small_width: Annotated[int, Meta(ge=4, le=256)] = 32
    layers: Annotated[int, Meta(ge=1, le=8)] = 3


class InferenceModeSpec(TimedClaim, frozen=True, kw_only=True):
    """Forward with gradients recorded, under no_grad and under inference_mode."""

    verb: ClassVar[str] = "measure_claim"
    tiny: Annotated[int, Meta(ge=1, le=64)] = 8
    wide: Width = 1024
    layers: Annotated[int, Meta(ge=1, le=32)] = 8
    batch: Annotated[int, Meta(ge=1, le=256)] = 32


class ConvolutionFormatSpec(TimedClaim, frozen=True, kw_only=True):
    """A convolution in both memory formats."""

    verb: ClassVar[str] = "measure_claim"
    batch: Annotated[int, Meta(ge=1, le=16)] = 4
    channels: Annotated[int, Meta(ge=1, le=128)] = 32
    size: Annotated[int, Meta(ge=4, le=128)] = 56


class SparseProductSpec(TimedClaim, frozen=True, kw_only=True):
    """Bytes and products of a sparse matrix over its density."""

    verb: ClassVar[str] = "measure_claim"
    size: Annotated[int, Meta(ge=16, le=2000)] = 1000
    columns: Annotated[int, Meta(ge=1, le=256)] = 64


class InPlaceUpdateSpec(TimedClaim, frozen=True, kw_only=True):
    """A gradient step in place and out of place."""

    verb: ClassVar[str] = "measure_claim"
    tensors: Annotated[int, Meta(ge=1, le=300)] = 50
    width: Annotated[int, Meta(ge=1, le=1024)] = 256


class WrappedMatmulSpec(TimedClaim, frozen=True, kw_only=True):
    """A C++ extension that calls at::matmul against torch.matmul."""

    verb: ClassVar[str] = "measure_claim"
    needs: ClassVar[frozenset[Need]] = BUILDS
    limits: ClassVar[Limits] = Limits(wall_s=300.0, cpu_s=400, memory_bytes=6 * GIBIBYTE, threads=2)
    rows: Side = 1024
    inner: Side = 512
    columns: Side = 256


class CompiledStepSpec(TimedClaim, frozen=True, kw_only=True):
    """A training step, eager and compiled."""

    verb: ClassVar[str] = "measure_claim"
    needs: ClassVar[frozenset[Need]] = BUILDS
    limits: ClassVar[Limits] = Limits(wall_s=420.0, cpu_s=800, memory_bytes=8 * GIBIBYTE, threads=2)
    width: Width = 256
    batch: Batch = 64


class TwoRanksSpec(TimedClaim, frozen=True, kw_only=True):
    """A training step over two processes that average their gradients, against one process."""

    verb: ClassVar[str] = "measure_claim"
    needs: ClassVar[frozenset[Need]] = frozenset({"loopback", "processes"})
    limits: ClassVar[Limits] = Limits(wall_s=180.0, cpu_s=240, threads=2)
    threads: Literal[2] = 2
    width: Annotated[int, Meta(ge=4, le=1024)] = 256
    small_batch: Batch = 8
    large_batch: Batch = 512


class CombinedSpec(TimedClaim, frozen=True, kw_only=True):
    """A small training run as it stands, and with every remedy of the article together."""

    verb: ClassVar[str] = "measure_claim"
    limits: ClassVar[Limits] = Limits(wall_s=300.0, cpu_s=600, memory_bytes=6 * GIBIBYTE, threads=2)
    width: Annotated[int, Meta(ge=16, le=256, description="a multiple of 4, one share per head")] = 64
    layers: Annotated[int, Meta(ge=1, le=8)] = 4
    steps: Annotated[int, Meta(ge=10, le=300, description="training steps of each run")] = 30
    batch: Annotated[int, Meta(ge=8, le=128)] = 32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width % 4:
            raise ValueError(
                f"CombinedSpec.width must be a multiple of 4, as 4 heads share it; received {self.width}. "
                f"Use {self.width // 4 * 4}."
            )
