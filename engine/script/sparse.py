"""The scripts of the sparse page, one per question."""

from __future__ import annotations

from typing import Any

from engine.runner.contract import Spec
from engine.script.sparse_invariants import invariants_script
from engine.script.sparse_matrix import ARRAYS, INT32, build_lines, conversion, dtype_of
from engine.script.sparse_measured import embedding_script, matmul_script, weights_script
from engine.sparse.matrix import LAYOUTS
from engine.sparse.spec import (
    EmbeddingGradSpec,
    InvariantsSpec,
    MatmulTimingSpec,
    SparseSpec,
    SupportSpec,
    UncheckedSpec,
    WeightsSpec,
)

_TRIED = (
    "x.relu()",
    "x.exp()",
    "x + 1",
    "x + x",
    "x + d",
    "d + x",
    "x * d",
    "x @ d",
    "d @ x",
    "x.sum(1)",
    "x[1]",
    "x[1:3]",
    "x.t()",
    "x.to_dense()",
)


def script(spec: Spec[Any]) -> str:
    """A script that needs torch alone and prints what the page shows for this question."""
    if isinstance(spec, SparseSpec):
        return _layouts(spec)
    if isinstance(spec, InvariantsSpec | UncheckedSpec):
        return invariants_script(spec)
    if isinstance(spec, SupportSpec):
        return _support(spec)
    if isinstance(spec, WeightsSpec):
        return weights_script(spec)
    if isinstance(spec, MatmulTimingSpec):
        return matmul_script(spec)
    if isinstance(spec, EmbeddingGradSpec):
        return embedding_script(spec)
    raise ValueError(f"The sparse page has no script for {type(spec).__name__}. Add it to engine/script/sparse.py.")


def _layouts(spec: SparseSpec) -> str:
    matrix = spec.matrix
    lines = [
        *build_lines(matrix),
        f'print("dense bytes", coo.numel() * {dtype_of(matrix.dtype)}.itemsize)',
        "layouts = {",
        *(f'    "{layout}": lambda: {conversion(matrix, layout)},' for layout in LAYOUTS),
        "}",
        "for name, convert in layouts.items():",
        "    try:",
        "        tensor = convert()",
        "    except (RuntimeError, NotImplementedError) as error:",
        '        print(name, "refused:", error)',
        "        continue",
        "    arrays = arrays_of(tensor)",
        '    print(name, "nnz", tensor._nnz(), "bytes", sum(array.nbytes for array in arrays))',
        "    for array in arrays:",
        "        print(array.detach())",
    ]
    if matrix.index_dtype == "int32":
        lines.insert(0, INT32)
    return _text("One matrix in every layout, and the arrays PyTorch keeps.", [ARRAYS, ""], lines)


def _support(spec: SupportSpec) -> str:
    sides = {"coo": "to_sparse()", "bsr": "to_sparse_bsr((2, 2))", "bsc": "to_sparse_bsc((2, 2))"}
    lines = [
        "d = (torch.arange(1, 37).reshape(6, 6) % 5 + 1).to(" + dtype_of(spec.dtype) + ")",
        f"dense = torch.zeros(6, 6, dtype={dtype_of(spec.dtype)})",
        "for row, column, value in ((0, 1, 2), (0, 4, -3), (2, 3, 4), (3, 0, 5), (5, 5, -2)):",
        "    dense[row, column] = value",
        "layouts = {",
        *(f'    "{layout}": dense.{sides.get(layout, f"to_sparse_{layout}()")},' for layout in spec.layouts),
        "}",
        "operations = {",
        *(f'    "{tried}": lambda x: {tried},' for tried in _TRIED),
        "}",
        "for layout, x in layouts.items():",
        "    for name, operation in operations.items():",
        "        try:",
        "            print(layout, name, operation(x).layout)",
        "        except (RuntimeError, NotImplementedError, IndexError) as error:",
        '            print(layout, name, "refused:", str(error).splitlines()[0])',
    ]
    return _text("What some operations make of sparse tensors in every layout.", [], lines)


def _text(title: str, definitions: list[str], lines: list[str]) -> str:
    return "\n".join([f'"""{title}"""', "", "import torch", "", *definitions, *lines, ""])
