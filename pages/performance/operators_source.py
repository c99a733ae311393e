"""The source text of an operator beside what was measured: formulas, loops, CUDA, Python, schema, build log."""

from __future__ import annotations

import streamlit as st

from engine.operator_ladder.results import OperatorLadder
from engine.operator_ladder.row import Row
from engine.operator_ladder.sources import sources_of
from engine.operators.library import schemas
from engine.script.operator_ladder import way_source
from pages.performance.operators_cuda import draw_resources
from pages.shared.fields import common_arguments
from pages.shared.operators_build import build_log

HEIGHT = 520
WAYS, LOG = "The other ways, in PyTorch", "Build log"


def draw_source(row: Row, ladder: OperatorLadder) -> None:
    """Schemas, then one file at a time with line numbers, and the other ways in Python."""
    defined = {name: schema for name, schema in schemas().items() if name.startswith(row.operator.rstrip("_"))}
    st.code(
        "\n".join(f"torch.ops.atlas.{name}{schema}" for name, schema in defined.items()),
        language="cpp",
        wrap_lines=True,
    )
    why = f"built from these sources; loops run in `{ladder.instruction_set}`" if ladder.is_compiled else ladder.reason
    kind = "compiled code" if ladder.is_compiled else "its reference implementation in PyTorch"
    st.caption(f"Here `torch.ops.atlas.{row.operator}` is {kind}: {why}.")
    files = sources_of(row.operator)
    names = [f"{source.kind}: {source.path}" + f" ({source.about})" * bool(source.about) for source in files]
    chosen = st.selectbox("File", [*names, WAYS, LOG], **common_arguments(f"operators.{row.operator}.file", ""))
    if chosen == LOG:
        st.code(build_log() or "Nothing was built from the present sources yet.", language=None, height=HEIGHT)
    elif chosen in names:
        source = files[names.index(chosen)]
        st.code(source.text, language=source.language, line_numbers=True, height=HEIGHT)
    else:
        written = dict.fromkeys(way.function for way in row.ways)
        text = "\n\n\n".join(way_source(row.operator, name) for name in written)
        st.code(text, language="python", line_numbers=True)
    kernels = tuple(source.path.rpartition("/")[2] for source in files if source.kind == "CUDA")
    draw_resources(kernels)
    if not kernels:
        st.caption(f"There is no CUDA source of {row.operator} in csrc/cuda.")
