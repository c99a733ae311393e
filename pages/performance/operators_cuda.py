"""The CUDA kernels of an operator as nvcc reports them, or why there is no report."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from engine.figures.units import format_bytes
from engine.operators.library import find_nvcc
from engine.operators.resources import KernelResources, built_resources

COLUMNS = ("kernel", "for", "registers a thread", "shared memory a block", "stack", "spilled", "file")


def draw_resources(files: tuple[str, ...]) -> None:
    """One row per kernel and architecture of the operator's .cu files, given by name."""
    if not files:
        return
    found = built_resources()
    if found is None:
        where = "`engine.operators.resources.kernel_resources()` makes it" if find_nvcc() else "there is no nvcc here"
        st.caption(f"CUDA: no table of resources, as the kernels were not compiled on this machine; {where}.")
        return
    st.markdown("**CUDA kernels**, from `nvcc --resource-usage`: no GPU is needed for these numbers")
    rows = [_row(one) for one in found if one.source in files]
    st.dataframe(pd.DataFrame(rows, columns=list(COLUMNS)), hide_index=True, width="stretch")


def _row(one: KernelResources) -> tuple[object, ...]:
    sizes = (one.shared_bytes, one.stack_bytes, one.spilled_bytes)
    return (one.kernel, one.architecture, one.registers, *map(format_bytes, sizes), one.source)
