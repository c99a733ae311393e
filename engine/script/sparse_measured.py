"""Scripts of the sparse page that weigh, time and take gradients."""

from __future__ import annotations

from engine.script.sparse_matrix import ARRAYS, dtype_of
from engine.sparse.matrix import LAYOUTS
from engine.sparse.spec import EmbeddingGradSpec, MatmulTimingSpec, WeightsSpec


def weights_script(spec: WeightsSpec) -> str:
    """Bytes of every layout against dense, and the most entries with which it is smaller, by bisection."""
    index = ".int()" if spec.index_dtype == "int32" else ""
    clustered = _CLUSTERED if spec.clustered else ""
    return f'''"""Up to which density every sparse layout takes fewer bytes than dense, from real arrays."""

import torch

{ARRAYS}

ROWS, COLUMNS, BLOCK = {spec.rows}, {spec.columns}, {spec.block}
generator = torch.Generator().manual_seed({spec.seed})
order = torch.randperm(ROWS * COLUMNS, generator=generator)
{clustered}dense_bytes = ROWS * COLUMNS * {dtype_of(spec.dtype)}.itemsize


def weigh(layout: str, nnz: int) -> int:
    """Bytes of all arrays with the first nnz cells of the order stored."""
    values = torch.ones(nnz, dtype={dtype_of(spec.dtype)})
    places = torch.stack([order[:nnz] // COLUMNS, order[:nnz] % COLUMNS])
    coo = torch.sparse_coo_tensor(places, values, (ROWS, COLUMNS), check_invariants=False)
    if layout == "coo":
        return sum(array.nbytes for array in arrays_of(coo))
    block = [(BLOCK, BLOCK)] if layout in ("bsr", "bsc") else []
    pointers, plain, values = arrays_of(getattr(coo, f"to_sparse_{{layout}}")(*block))
    return pointers{index}.nbytes + plain{index}.nbytes + values.nbytes


print("dense", dense_bytes, "blocks", BLOCK, "x", BLOCK)
for layout in {LAYOUTS}:
    low, high = -1, order.numel() + 1
    try:
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if weigh(layout, middle) < dense_bytes else (low, middle)
    except RuntimeError as error:
        print(layout, "refused:", error)
        continue
    print(layout, "smaller than dense up to", low, f"entries, {{100 * max(low, 0) / order.numel():.3g}} %")
'''


_CLUSTERED = """\
blocks = order // COLUMNS // BLOCK * -(-COLUMNS // BLOCK) + order % COLUMNS // BLOCK
rank = torch.randperm(int(blocks.max()) + 1, generator=generator)
order = order[rank[blocks].argsort(stable=True)]
"""


def matmul_script(spec: MatmulTimingSpec) -> str:
    """Time the product at every density; what it prints depends on the machine."""
    right = f"SIZE, {spec.right_columns}" if spec.right_columns else "SIZE"
    convert = {
        "coo": "dense.to_sparse()",
        "bsr": f"dense.to_sparse_bsr(({spec.block}, {spec.block}))",
        "bsc": f"dense.to_sparse_bsc(({spec.block}, {spec.block}))",
    }
    lines = [f'        "{layout}": {convert.get(layout, f"dense.to_sparse_{layout}()")},' for layout in spec.layouts]
    return f'''"""sparse @ dense against dense @ dense over density; times vary from run to run."""

import torch
from torch.utils.benchmark import Timer

SIZE = {spec.size}
torch.set_num_threads({spec.threads})
right = torch.rand({right}, dtype={dtype_of(spec.dtype)})
for density in {spec.densities}:
    dense = torch.rand(SIZE, SIZE, dtype={dtype_of(spec.dtype)}) + 0.5
    dense *= torch.rand(SIZE, SIZE) < density
    operands = {{
        "dense": dense,
{chr(10).join(lines)}
    }}
    for name, left in operands.items():
        timer = Timer("left @ right", globals={{"left": left, "right": right}}, num_threads={spec.threads})
        print(density, name, timer.blocked_autorange(min_run_time=0.05).median)
'''


def embedding_script(spec: EmbeddingGradSpec) -> str:
    """Both gradients of the embedding, and what Adam says to the sparse one."""
    drawn = {
        "typed": f"torch.tensor({list(spec.indices)})",
        "random": f"torch.randint(0, {spec.num_embeddings}, ({spec.batch},), generator=generator)",
        "power law": f"torch.multinomial(1 / torch.arange(1, {spec.num_embeddings} + 1), {spec.batch}, "
        "replacement=True, generator=generator)",
    }[spec.lookups]
    return f'''"""The gradient of an embedding, sparse and dense."""

import torch

generator = torch.Generator().manual_seed({spec.seed})
indices = {drawn}
scale = torch.tensor([1.0, 10.0, 100.0]).repeat(-(-indices.numel() // 3))[: indices.numel(), None]
for sparse in (True, False):
    table = torch.nn.Embedding({spec.num_embeddings}, {spec.embedding_dim}, sparse=sparse)
    (table(indices) * scale).sum().backward()
    gradient = table.weight.grad
    if not sparse:
        print("dense bytes", gradient.nbytes)
        continue
    print("coalesced", gradient.is_coalesced(), "nnz", gradient._nnz(), "after coalesce", gradient.coalesce()._nnz())
    print("raw indices", gradient._indices().tolist()[0][:16])
    print("sparse bytes", gradient._indices().nbytes + gradient._values().nbytes)
    try:
        torch.optim.Adam(table.parameters()).step()
    except RuntimeError as error:
        print("Adam:", error)
'''
