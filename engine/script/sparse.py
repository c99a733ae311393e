"""The scripts of the sparse page, one per question."""

from __future__ import annotations

from typing import Any

from engine.runner.contract import Spec
from engine.script.sparse_matrix import ARRAYS, build_lines, conversion, dtype_of
from engine.script.sparse_measured import embedding_script, matmul_script, weights_script
from engine.sparse.matrix import COMPRESSED, LAYOUTS, LayoutName
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
        return _invariants(spec)
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
        lines.insert(0, _INT32)
    return _text("One matrix in every layout, and the arrays PyTorch keeps.", [ARRAYS, ""], lines)


_INT32 = '''\
def int32(tensor: torch.Tensor) -> torch.Tensor:
    """The same compressed tensor with 32-bit indices."""
    pointers, plain, values = arrays_of(tensor)
    return torch.sparse_compressed_tensor(pointers.int(), plain.int(), values, tensor.shape, layout=tensor.layout)

'''


def _invariants(spec: InvariantsSpec | UncheckedSpec) -> str:
    layout: LayoutName = spec.layout
    if layout in COMPRESSED:
        edit = ["pointers, plain, values = (array.clone() for array in arrays_of(tensor))", "plain[-1] = 10**6"]
        edit.append("arguments = (pointers, plain, values, tensor.shape)")
        call = "torch.sparse_compressed_tensor(*arguments, layout=tensor.layout, "
    else:
        edit = ["indices, values = (array.clone() for array in arrays_of(tensor.coalesce()))", "indices[0, -1] = 10**6"]
        call = "torch.sparse_coo_tensor(indices, values, tensor.shape, "
    lines = [
        *build_lines(spec.matrix),
        f"tensor = {conversion(spec.matrix, layout, wrap=False)}",
        *edit,
        "try:",
        f"    {call}check_invariants=True)",
        "except (RuntimeError, IndexError) as error:",
        '    print("with the check:", error)',
        f"broken = {call}check_invariants=False)",
        'print("without it: constructed, nnz", broken._nnz())',
    ]
    return _text("An index out of range, with PyTorch's check and without.", [ARRAYS, ""], lines)


def _support(spec: SupportSpec) -> str:
    convert = {"coo": "to_sparse()", "bsr": "to_sparse_bsr((2, 2))", "bsc": "to_sparse_bsc((2, 2))"}
    lines = [
        "d = (torch.arange(1, 37).reshape(6, 6) % 5 + 1).to(" + dtype_of(spec.dtype) + ")",
        f"x = torch.zeros(6, 6, dtype={dtype_of(spec.dtype)})",
        "for row, column, value in ((0, 1, 2), (0, 4, -3), (2, 3, 4), (3, 0, 5), (5, 5, -2)):",
        "    x[row, column] = value",
        f"x = x.{convert.get(spec.layout, f'to_sparse_{spec.layout}()')}",
        "operations = {",
        *(f'    "{tried}": lambda: {tried},' for tried in _TRIED),
        "}",
        "for name, operation in operations.items():",
        "    try:",
        "        print(name, operation().layout)",
        "    except (RuntimeError, NotImplementedError, IndexError) as error:",
        '        print(name, "refused:", str(error).splitlines()[0])',
    ]
    return _text(f"What some operations make of a {spec.layout.upper()} tensor.", [], lines)


def _text(title: str, definitions: list[str], lines: list[str]) -> str:
    return "\n".join([f'"""{title}"""', "", "import torch", "", *definitions, *lines, ""])
