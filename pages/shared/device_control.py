"""The device control: devices this machine has to choose from, the others with the reason they are absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from engine import Fault, submit
from engine.machine.spec import Machine, MachineSpec
from pages.shared.bound import bind, none_but

LONGEST_INSPECTION_S = 30


def draw_device(label: str, default: str, choices: Sequence[str], common: dict[str, Any]) -> None:
    """Choose among the devices that are there; name the absent ones and why."""
    linked = st.query_params.get(common["key"], default)
    # A link that asks for a device waits for the answer whether it is there; else the page is drawn before.
    absent = absent_devices(0 if linked == default else LONGEST_INSPECTION_S)
    present = [device for device in choices if device not in absent]
    bind(common["key"], why=lambda text: absent.get(text) or none_but(present)(text))
    st.segmented_control(label, present, default=default, required=True, **common)
    for device in choices:
        if device in absent:
            st.caption(f":gray[:material/block: **{device}** {absent[device]}]")


def absent_devices(patience_s: float = 0) -> dict[str, str]:
    """Device -> why it cannot be used; empty where the machine has not been inspected within that time."""
    machine = _machine(patience_s)
    return {device.kind: device.reason for device in machine.devices if not device.available} if machine else {}


def _machine(patience_s: float) -> Machine | None:
    job = submit(MachineSpec())
    if not job.wait(patience_s):
        return None
    try:
        return job.result()
    except Fault:
        return None
