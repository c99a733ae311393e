"""Write your own kernel: a complete text to copy and run at home; nothing typed here is compiled."""

from __future__ import annotations

import streamlit as st

from engine.script.own_kernel import KERNEL_FILE, LOADER_FILE, kernel_text, loader_text


def draw_own_kernel() -> None:
    """Both files side by side, with a download each."""
    st.markdown(
        "A complete operator in one C++ file on PyTorch's stable ABI, and the Python that builds it, calls it and has "
        "it checked. Copy both into a folder and run the second. They are only shown here: this page compiles no text."
    )
    kernel, loader = st.columns([3, 2], gap="medium")
    for column, name, text, language in (
        (kernel, KERNEL_FILE, kernel_text(), "cpp"),
        (loader, LOADER_FILE, loader_text(), "python"),
    ):
        with column:
            st.markdown(f"`{name}`")
            st.code(text, language=language, line_numbers=True)
            st.download_button(
                f"Download {name}",
                text,
                file_name=name,
                key=f"operators.own.{name}",
                on_click="ignore",
                width="stretch",
            )
