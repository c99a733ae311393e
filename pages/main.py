"""The frame: navigation over the section folders, the shared model controls, and the page itself."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from pages.shared.frame import draw_title
from pages.shared.model_controls import draw_model_controls
from pages.shared.navigation import build_navigation
from pages.shared.opened_link import draw_refused, note_opened
from pages.shared.presets import ask_by_link
from pages.shared.section_cards import presets_of

SHARED = Path(__file__).parent / "shared"

st.set_page_config(page_title="Torch Atlas", page_icon=str(SHARED / "icon.png"), layout="wide")
st.html(SHARED / "frame.css")
page, entry = build_navigation()
opened = note_opened(entry.url_path)
if opened:
    ask_by_link(presets_of(entry))
if entry.has_model_controls:
    with st.sidebar:
        draw_model_controls()
if entry.section != "start":
    draw_title(entry.title, entry.question)
refused, ended = st.empty(), None
try:
    page.run()
except StopException as end:
    ended = end
if opened and st.query_params:
    # A control has its link's value once it is drawn: what those drawn before it offer is only known now.
    st.rerun()
draw_refused(refused, whole=ended is None)
if ended is not None:
    raise ended  # Streamlit then keeps the values of what was not drawn
