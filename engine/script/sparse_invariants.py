"""The script that breaks one invariant of a sparse tensor: with PyTorch's check, and without."""

from __future__ import annotations

from engine.script.sparse_matrix import ARRAYS, INT32, build_lines, conversion
from engine.sparse.matrix import LayoutName, Matrix
from engine.sparse.spec import InvariantsSpec, UncheckedSpec

Edit = tuple[str, str, tuple[str, ...]]
"""A condition under which the matrix can be broken in this way ("" for always), the words without it, the edit."""

_PAIR = "rows = (pointers.diff() >= 2).nonzero().flatten()"
_MIDDLE = "middle = (pointers[1:-1] > 0).nonzero().flatten()"
_ALONE = "needs two entries that share a row (or column), this matrix has none"
_FLAT = "needs a pointer in the middle with entries in front of it, this matrix has none"


def invariants_script(spec: InvariantsSpec | UncheckedSpec) -> str:
    """A script that prints the complaint for the chosen corruption, then what `to_dense()` does without the check.

    Reading a broken tensor may end the interpreter by a memory fault, as it ends the worker process of the page.
    """
    matrix, layout = spec.matrix, spec.layout
    edits = _coo_edits(matrix) if layout == "coo" else _compressed_edits(matrix, layout)
    if spec.corruption in edits:
        body = _broken(layout, edits[spec.corruption], spec.corruption == "called coalesced")
    else:
        body = [f'print("not possible here: {_absent(spec.corruption, layout)}")']
    int32 = [INT32] if matrix.index_dtype == "int32" and layout != "coo" else []
    title = f'"""{layout.upper()} with {spec.corruption}: PyTorch\'s check, and what happens without it."""'
    return "\n".join([title, "", "import torch", "", ARRAYS, "", *int32, *_sound(matrix, layout), *body, ""])


def _absent(corruption: str, layout: LayoutName) -> str:
    if layout != "coo":
        return "only COO tensors are coalesced or not"
    return "COO has no pointers" if "pointer" in corruption else "COO always keeps int64 indices"


def _sound(matrix: Matrix, layout: LayoutName) -> list[str]:
    converted = conversion(matrix, layout).replace("coo", "coo.coalesce()", 1)
    return [
        *build_lines(matrix),
        "try:",
        f"    tensor = {converted}",
        "except (RuntimeError, NotImplementedError) as error:",
        '    print("refused:", error)',
        "    raise SystemExit from None",
    ]


def _broken(layout: LayoutName, edit: Edit, call_coalesced: bool) -> list[str]:
    names, call = "pointers, plain, values", "torch.sparse_compressed_tensor(*arguments, layout=tensor.layout, "
    if layout == "coo":
        names, call = "indices, values", "torch.sparse_coo_tensor(*arguments, "
        call += "is_coalesced=True, " if call_coalesced else ""
    condition, words, lines = edit
    said = f'{"f" * ("{" in words)}"not possible here: {words}"'
    prepared = [_PAIR] if "rows" in condition else [_MIDDLE] if "middle" in condition else []
    guard = [f"if not ({condition}):", f"    print({said})", "    raise SystemExit"] if condition else []
    return [
        f"{names} = (array.clone() for array in arrays_of(tensor))",
        *prepared,
        *guard,
        *lines,
        f"arguments = ({names}, tensor.shape)",
        "try:",
        f"    {call}check_invariants=True)",
        '    print("with the check: constructed", flush=True)',
        "except (RuntimeError, IndexError) as error:",
        '    print("with the check:", error, flush=True)',
        *_unchecked(call),
    ]


def _unchecked(call: str) -> list[str]:
    return [
        "try:",
        f"    broken = {call}check_invariants=False)",
        '    print("without it: constructed", flush=True)',
        "    read, expected = broken.to_dense(), tensor.to_dense()  # may end by a memory fault",
        "except (RuntimeError, IndexError) as error:",
        '    print("without it:", error)',
        "    raise SystemExit from None",
        "differing = (read.to(torch.complex128) != expected.to(torch.complex128)).nonzero().tolist()",
        'print("without it: to_dense() is", "silently other values" if differing else "right this time")',
        "for row, column in differing[:6]:",
        '    print(f"[{row}, {column}] is {read[row, column].item()}, was {expected[row, column].item()}")',
    ]


def _needs(array: str, at_least: int, what: str) -> tuple[str, str]:
    """The condition that an array has so many, and the words without it."""
    return f"{array} >= {at_least}", f"needs at least {at_least} {what}, this matrix has {{{array}}}"


def _values_edits(index: str) -> dict[str, Edit]:
    return {
        "one value missing": (*_needs("len(values)", 1, "entries"), ("values = values[:-1].clone()",)),
        "one value too many dimensions": ("", "", ("values = values[..., None].clone()",)),
        "float indices": ("", "", (f"{index} = {index}.float()",)),
    }


def _coo_edits(matrix: Matrix) -> dict[str, Edit]:
    entries = "indices.shape[1]"
    one, two = _needs(entries, 1, "entries"), _needs(entries, 2, "entries")
    return {
        "index out of range": (*one, (f"indices[0, -1] = {matrix.rows}",)),
        "negative index": (*one, ("indices[0, -1] = -1",)),
        "unsorted indices": (*two, ("indices[:, :2] = indices[:, :2].flip(1)",)),
        "duplicate index": (*two, ("indices[:, 1] = indices[:, 0]",)),
        "called coalesced": (*two, ("indices[:, 1] = indices[:, 0]",)),
        **_values_edits("indices"),
    }


def _compressed_edits(matrix: Matrix, layout: LayoutName) -> dict[str, Edit]:
    one, pair = _needs("len(plain)", 1, "entries"), ("len(rows)", _ALONE)
    other = "long" if matrix.index_dtype == "int32" else "int"
    return {
        "index out of range": (*one, (f"plain[-1] = {_plain_limit(matrix, layout)}",)),
        "negative index": (*one, ("plain[0] = -1",)),
        "unsorted indices": (*pair, (_FIRST, "plain[first : first + 2] = plain[first : first + 2].flip(0)")),
        "duplicate index": (*pair, (_FIRST, "plain[first + 1] = plain[first]")),
        "first pointer not 0": ("", "", ("pointers[0] = 1",)),
        "last pointer not nnz": ("", "", ("pointers[-1] += 1",)),
        "pointers not monotonic": ("len(middle) and len(pointers) >= 4", _FLAT, _FALL),
        "one pointer missing": (*_needs("len(pointers)", 2, "pointers"), ("pointers = pointers[:-1].clone()",)),
        "int32 mixed with int64": ("", "", (f"plain = plain.{other}()",)),
        **_values_edits("plain"),
    }


_FIRST = "first = pointers[rows[0]]"
_FALL = (
    "here = middle[0] + 1",
    "if here + 1 < len(pointers) - 1:",
    "    pointers[here + 1] = -1",
    "else:",
    "    pointers[here - 1] = pointers[here] + 1",
)


def _plain_limit(matrix: Matrix, layout: LayoutName) -> int:
    """How many plain indices there are: columns of row layouts, rows of column layouts, in blocks if any."""
    by_row = layout in ("csr", "bsr")
    whole = matrix.columns if by_row else matrix.rows
    block = (matrix.block_columns if by_row else matrix.block_rows) if layout in ("bsr", "bsc") else 1
    return whole // block
