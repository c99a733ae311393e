"""Write your own kernel: a complete text to copy and run at home; nothing typed here is compiled."""

from __future__ import annotations

import streamlit as st

from engine.script.own_kernel import KERNEL_FILE, LOADER_FILE, kernel_text, loader_text


def draw_own_kernel() -> None:
    """Both files, each over the whole width with its download."""
    st.markdown(
        "A complete operator in one C++ file on PyTorch's stable ABI, and the Python that builds it, compares it with "
        "PyTorch and has it checked. Save both into a folder and run the second. They are only shown here: this page "
        "compiles no text."
    )
    for name, text, language in ((KERNEL_FILE, kernel_text(), "cpp"), (LOADER_FILE, loader_text(), "python")):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"`{name}`", width="stretch")
            st.download_button(
                "Download", text, file_name=name, icon=":material/download:", key=f"own.{name}", on_click="ignore"
            )
        st.code(text, language=language, line_numbers=True)
