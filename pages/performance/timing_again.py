"""Measure again: how old a result is, and the button that asks for another run of the same settings."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import streamlit as st

from engine.figures.timing_words import age_words, machine_words
from engine.runner.contract import Spec
from engine.timing.results import Machine
from pages.shared.jobs import run_again


def draw_again(spec: Spec[Any], machine: Machine, slot: str = "main") -> None:
    """The button, the age of the result, and what the machine did; the engine keeps results of the same settings."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"timing.again.{slot}"):
        st.button(
            "Measure again",
            icon=":material/replay:",
            key=f"timing.again.{slot}.button",
            help="The same settings in a new process, as this result came from one run",
            on_click=run_again,
            args=(spec, slot),
        )
        others = msgspec.structs.replace(machine, load_average=None)  # which the age has said
        words = [word for word in (age_words(machine, time.time()), machine_words(others)) if word]
        st.caption(". ".join(word[0].upper() + word[1:] for word in words) + ".", width="stretch")
