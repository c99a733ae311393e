"""Entry point: `streamlit run app.py` serves the pages and keeps the compute engine beside them."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from starlette.middleware import Middleware

from engine import start_engine, stop_engine, submit
from engine.machine.spec import MachineSpec
from engine.operators.background import stop_build
from pages.shared.security_headers import SecurityHeaders


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Start the fork server with the app and stop it, and a build of the operators, with the app."""
    start_engine()
    # The first visitor's device control and status panel then have their answer at once.
    submit(MachineSpec())
    # Streamlit collects garbage after every rerun; what is loaded now never becomes garbage.
    gc.collect()
    gc.freeze()
    yield
    stop_build()
    stop_engine()


app = st.App("pages/main.py", lifespan=lifespan, middleware=[Middleware(SecurityHeaders)])
