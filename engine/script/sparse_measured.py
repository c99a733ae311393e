"""Scripts of the sparse page that weigh, time and take gradients."""

from __future__ import annotations

from engine.script.sparse_matrix import dtype_of
from engine.sparse.spec import EmbeddingGradSpec, MatmulTimingSpec, WeightsSpec


def weights_script(spec: WeightsSpec) -> str:
    """Bytes of COO and CSR beside dense, with more and more entries of one random matrix."""
    narrow = spec.index_dtype == "int32"
    return f'''"""Bytes of a sparse matrix against density, from its arrays."""

import torch

ROWS, COLUMNS = {spec.rows}, {spec.columns}
cells = torch.randperm(ROWS * COLUMNS, generator=torch.Generator().manual_seed({spec.seed}))
dense_bytes = ROWS * COLUMNS * {dtype_of(spec.dtype)}.itemsize
print("dense", dense_bytes)
for density in (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
    kept = cells[: round(density * cells.numel())]
    values = torch.ones(kept.numel(), dtype={dtype_of(spec.dtype)})
    coo = torch.sparse_coo_tensor(torch.stack([kept // COLUMNS, kept % COLUMNS]), values, (ROWS, COLUMNS)).coalesce()
    csr = coo.to_sparse_csr()
    pointers, columns = csr.crow_indices(){".int()" if narrow else ""}, csr.col_indices(){".int()" if narrow else ""}
    coo_bytes = coo.indices().nbytes + coo.values().nbytes
    csr_bytes = pointers.nbytes + columns.nbytes + csr.values().nbytes
    print(density, "coo", coo_bytes, "csr", csr_bytes, "csr is smaller than dense:", csr_bytes < dense_bytes)
'''


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
