"""Start: See what PyTorch really recorded.

icon: hub
controls: own
"""

import streamlit as st

from pages.shared.machine_status import draw_machine_status
from pages.shared.section_cards import draw_section_cards

st.title("See what PyTorch really recorded", anchor=False)
st.markdown(
    "Build a tensor or a model, toggle what PyTorch lets you toggle, and look at the graph, the gradients and the "
    "memory that **this** PyTorch recorded while running it. Nothing is drawn from a model of PyTorch: every number is "
    "read from PyTorch's own objects. Start from a question:"
)
draw_section_cards()
st.subheader("This machine", anchor=False, divider="gray")
draw_machine_status()
