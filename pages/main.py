"""The frame: navigation over the section folders, the shared model controls, and the page itself."""

from __future__ import annotations

import streamlit as st

from pages.shared.frame import draw_title
from pages.shared.model_controls import draw_model_controls
from pages.shared.navigation import build_navigation

st.set_page_config(page_title="Torch Atlas", page_icon=":material/hub:", layout="wide")
page, entry = build_navigation()
if entry.section != "start":
    with st.sidebar:
        draw_model_controls()
    draw_title(entry.title, entry.question)
page.run()
