"""What can be asked of the profiler, and what comes back: torch's own table, and every byte behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from engine.graph.rows import Row
from engine.graph.spec import PyTorchError
from engine.models.spec import LinearStack, ModelSpec
from engine.optimizer_names import OptimizerName
from engine.profiler.columns import Allocations, Operations
from engine.runner.contract import Limits, Result, Spec
from engine.timing.comparison import Comparison

Program = Literal["the model", "pytorch#70028"]
"""`pytorch#70028`: `G = (x @ x).relu().sum(); G.backward(retain_graph=True); del G`, x of 256 x 256."""
Part = Literal["forward", "forward and backward", "training step"]
"""A training step ends with the optimizer's."""

ARTICLE = ModelSpec(architecture=LinearStack(), batch=1, input_requires_grad=True, checkpoint="every_k", checkpoint_k=5)
"""The stack of 50 Linear(1024, 1024), every fifth under a checkpoint, that the article profiles."""
MEMORY_ROW = "[memory]"
"""What torch calls the row of everything allocated or freed outside of any operation."""


class Operation(Row, frozen=True, array_like=True, gc=False):
    """One row of `prof.key_averages()`, as torch gives it, and behind its last memory column what it is the sum of.

    `cpu_bytes` and `self_cpu_bytes` are `cpu_memory_usage` and `self_cpu_memory_usage`, the two `device_` ones those of
    an accelerator. Allocated and freed count the events in the operation itself, not those of operations it calls.
    """

    name: str
    calls: int
    cpu_time_s: float
    self_cpu_time_s: float
    cpu_bytes: int
    self_cpu_bytes: int
    device_time_s: float
    self_device_time_s: float
    device_bytes: int
    self_device_bytes: int
    flops: int
    shapes: str
    recomputed_calls: int
    backward_calls: int
    allocated_bytes: int
    allocations: int
    freed_bytes: int
    frees: int
    source: str
    """With with_stack, the Python line outside of torch that called it most often, as "file(line): function"."""


class Flow(Row, frozen=True, array_like=True, gc=False):
    """Blocks that one row allocated and one row freed; None: allocated before the profile, or still alive after it."""

    allocated_by: int | None
    freed_by: int | None
    blocks: int
    bytes: int


class Alive(Row, frozen=True, array_like=True, gc=False):
    """One block still alive at the end: what refers to it ("x.grad"), "" where nothing we can name does."""

    name: str
    bytes: int
    allocated_by: int | None


class Profiled(Result, frozen=True, kw_only=True):
    """One profiled run. All bytes are those of the allocator of the device the model is on.

    `alive_bytes` = allocated_bytes - freed_bytes + freed_earlier_bytes, where `freed_earlier_bytes` are blocks that had
    been allocated before the profile began; `peak_bytes` is the largest sum on the way, of both.
    """

    rows: tuple[Operation, ...]
    flows: tuple[Flow, ...]
    alive: tuple[Alive, ...]
    operations: Operations
    allocations: Allocations
    allocated_bytes: int
    freed_bytes: int
    freed_earlier_bytes: int
    alive_bytes: int
    peak_bytes: int
    unexplained_bytes: int
    """Sum over the rows of |torch's self memory - (allocated - freed)|: 0 when every row is explained."""
    wall_s: float
    """From the start of the first operation to the end of the last."""
    sort_by: str
    """`self_cpu_memory_usage` as in the article, or the accelerator's own column."""
    table: str
    """`prof.key_averages().table(sort_by=sort_by, row_limit=10)`, to the letter."""
    whole_table: str
    """The same with every row."""
    trace: bytes
    """What `prof.export_chrome_trace("trace.json.gz")` wrote; empty where it was too large."""
    trace_note: str = ""
    device_snapshot: bytes = b""
    """`torch.cuda.memory._snapshot()` of the run, pickled; empty without CUDA."""
    error: PyTorchError | None = None
    notes: tuple[str, ...] = ()

    @property
    def sum_self_bytes(self) -> int:
        """All rows of the last memory column added up."""
        return self.allocated_bytes - self.freed_bytes


class ProfileSpec(Spec[Profiled], frozen=True, kw_only=True):
    """Profile one run of `program` by torch.profiler with profile_memory and with_flops."""

    verb: ClassVar[str] = "profile_program"
    result: ClassVar[type[Result]] = Profiled
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=90.0)

    program: Program = "the model"
    model: ModelSpec = ARTICLE
    part: Part = "forward and backward"
    optimizer: OptimizerName = "AdamW"
    record_shapes: bool = True
    group_by_input_shape: bool = False
    with_stack: bool = False
    warm_up: bool = True
    """Run once before, unprofiled: the first call of an operation also pays for its preparation."""
    threads: Annotated[int, Meta(ge=1, le=2, description="torch.set_num_threads")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group_by_input_shape and not self.record_shapes:
            raise ValueError(
                "ProfileSpec.group_by_input_shape needs the shapes; received record_shapes=False. "
                "Turn record_shapes on."
            )


class ProfilingCost(Result, frozen=True, kw_only=True):
    """The same run plain and under the profiler in interleaved rounds, each setting against plain.

    `reading_s` are the seconds `key_averages()` took after the profile that records most, outside of every round.
    """

    comparison: Comparison
    events: int
    reading_s: float
    error: PyTorchError | None = None


class ProfilingCostSpec(Spec[ProfilingCost], frozen=True, kw_only=True):
    """Measure what profiling adds to forward and backward of `model`."""

    verb: ClassVar[str] = "measure_profiling_cost"
    result: ClassVar[type[Result]] = ProfilingCost
    measured: ClassVar[bool] = True
    limits: ClassVar[Limits] = Limits(wall_s=120.0, cpu_s=180)

    model: ModelSpec = ARTICLE
    rounds: Annotated[int, Meta(ge=5, le=101)] = 15
