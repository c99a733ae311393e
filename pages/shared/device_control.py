"""The device control: devices this machine has to choose from, the others with the reason they are absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from engine import Fault, submit
from engine.machine.spec import Machine, MachineSpec


def draw_device(label: str, default: str, choices: Sequence[str], common: dict[str, Any]) -> None:
    """Choose among the devices that are there; name the absent ones and why."""
    absent = absent_devices()
    present = [device for device in choices if device not in absent]
    st.segmented_control(label, present, default=default, required=True, **common)
    for device in choices:
        if device in absent:
            st.caption(f":gray[:material/block: **{device}** {absent[device]}]")


def absent_devices() -> dict[str, str]:
    """Device -> why it cannot be used; empty while the machine has not been inspected yet."""
    machine = _machine()
    return {device.kind: device.reason for device in machine.devices if not device.available} if machine else {}


def _machine() -> Machine | None:
    job = submit(MachineSpec())
    if not job.wait(0):
        return None
    try:
        return job.result()
    except Fault:
        return None
