"""Data-parallel training over two gloo processes on this machine against one process with the whole batch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

from engine.claims.counting import Pairs, Work

SECOND_RANK = """
import os, sys
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

store, width, *batches = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{store}", rank=1, world_size=2)
model = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
model = DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters())
inputs, told = [torch.randn(batch, width) for batch in batches], torch.zeros(1, dtype=torch.int64)
while True:
    distributed.broadcast(told, 0)
    if told.item() < 0:
        break
    optimizer.zero_grad()
    model(inputs[told.item()]).mean().backward()
    optimizer.step()
"""


def counts(small_batch: int, large_batch: int) -> dict[str, float]:
    """What the article's sampler hands to each rank, and how many processes its last lines start without a GPU."""
    data = torch.zeros(1000, 1)
    found: dict[str, float] = {"processes that the article starts here": torch.cuda.device_count()}
    for rank in range(2):
        sampler: DistributedSampler[torch.Tensor] = DistributedSampler(data, num_replicas=2, rank=rank)  # type: ignore[arg-type]
        found[f"samples of rank {rank}"] = len(sampler)
    return found | {"steps per epoch at batch 32": -(-500 // 32)}


def pairs(width: int, small_batch: int, large_batch: int, stack: ExitStack) -> Pairs:
    """One process with one and with two threads, and two ranks of one thread with half the batch each."""
    batches = (max(1, small_batch // 2), max(1, large_batch // 2))
    start_second_rank(width, batches, stack)
    ranked = DistributedDataParallel(_model(width))
    return {
        name: {
            "one process, 1 thread": _alone(width, 2 * half, threads=1),
            "one process, 2 threads": _alone(width, 2 * half, threads=2),
            "two ranks, 1 thread each": _together(ranked, torch.randn(half, width), number),
        }
        for number, (name, half) in enumerate(zip(("small batch", "large batch"), batches, strict=True))
    }


def start_second_rank(width: int, batches: tuple[int, ...], stack: ExitStack) -> None:
    """Start the other process and join it; leaving `stack` tells it to end."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    store = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "store")
    arguments = [sys.executable, "-c", SECOND_RANK, store, str(width), *map(str, batches)]
    child = stack.enter_context(subprocess.Popen(arguments))
    stack.callback(child.terminate)
    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=2)
    stack.callback(distributed.destroy_process_group)
    stack.callback(distributed.broadcast, torch.tensor([-1]), 0)


def _model(width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))


def _alone(width: int, batch: int, threads: int) -> Work:
    model, x = _model(width), torch.randn(batch, width)
    optimizer = torch.optim.Adam(model.parameters())

    def run() -> None:
        torch.set_num_threads(threads)
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()

    return run


def _together(model: nn.Module, x: torch.Tensor, number: int) -> Work:
    optimizer, told = torch.optim.Adam(model.parameters()), torch.tensor([number])

    def run() -> None:
        torch.set_num_threads(1)
        distributed.broadcast(told, 0)
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()

    return run
