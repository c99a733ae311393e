"""The frame: navigation over the section folders, the shared model controls, and the page itself."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared.frame import draw_title
from pages.shared.model_controls import draw_model_controls
from pages.shared.navigation import build_navigation

SHARED = Path(__file__).parent / "shared"

st.set_page_config(page_title="Torch Atlas", page_icon=str(SHARED / "icon.png"), layout="wide")
st.html(SHARED / "frame.css")
page, entry = build_navigation()
if entry.has_model_controls:
    with st.sidebar:
        draw_model_controls()
if entry.section != "start":
    draw_title(entry.title, entry.question)
page.run()
