"""The source text of an operator beside what was measured: formulas, loops, CUDA, Python, schema, build log."""

from __future__ import annotations

import streamlit as st

from engine.operator_ladder.catalogue import Row
from engine.operator_ladder.results import OperatorLadder
from engine.operator_ladder.sources import sources_of
from engine.operators.library import schemas
from engine.script.operator_ladder import way_source
from pages.shared.fields import common_arguments

HEIGHT = 520


def draw_source(row: Row, ladder: OperatorLadder) -> None:
    """Schemas, then one file at a time with line numbers, and the other ways in Python."""
    defined = {name: schema for name, schema in schemas().items() if name.startswith(row.operator.rstrip("_"))}
    st.code("\n".join(f"torch.ops.atlas.{name}{schema}" for name, schema in defined.items()), language="cpp")
    ran = f"compiled code, `{ladder.instruction_set}`" if ladder.is_compiled else "the reference implementation"
    why = "built for this machine from the sources below" if ladder.is_compiled else ladder.reason
    st.caption(
        f"Here `torch.ops.atlas.{row.operator}` runs {ran}, because it is {why}."
        if ladder.is_compiled
        else f"Here `torch.ops.atlas.{row.operator}` runs {ran}, because {why}."
    )
    files = sources_of(row.operator)
    names = [f"{source.kind}: {source.path}" for source in files]
    ways = "Other ways: PyTorch"
    chosen = st.selectbox("File", [*names, ways], **common_arguments(f"operators.{row.operator}.file", ""))
    if chosen == ways or chosen not in names:
        written = dict.fromkeys(way.function for way in row.ways)
        st.code("\n\n\n".join(way_source(row.operator, name) for name in written), language="python", line_numbers=True)
        return
    source = files[names.index(chosen)]
    st.code(source.text, language=source.language, line_numbers=True, height=HEIGHT)
    if not any(source.kind == "CUDA" for source in files):
        st.caption(f"There is no CUDA source of {row.operator} in csrc/cuda.")
