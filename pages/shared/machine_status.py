"""The status of this machine as a worker sees it: versions, devices, compiler, operators, sandbox, engine."""

from __future__ import annotations

import streamlit as st

from engine import EngineStatus, engine_status
from engine.figures.units import format_bytes
from engine.machine.spec import Capability, Device, Machine, MachineSpec
from engine.operators.background import current_state, start_build
from pages.shared.jobs import compute

BUILD_POLL_S = 1.0


def draw_machine_status() -> None:
    """Draw the status; every absent feature says why."""
    machine = compute(MachineSpec(), slot="machine", height=240)
    versions, devices, sandbox = st.columns(3, gap="large")
    with versions:
        st.markdown("**PyTorch**")
        _draw_facts(machine)
        _draw_engine(engine_status())
    with devices:
        st.markdown("**Devices and precision**")
        for device in machine.devices:
            _draw_capability(Capability(name=device.kind, available=device.available, detail=_describe(device)))
        for capability in machine.autocast:
            _draw_capability(capability)
    with sandbox:
        st.markdown("**Compiler and sandbox**")
        _draw_capability(machine.compiler)
        _draw_operators(machine)
        for capability in machine.sandbox:
            _draw_capability(capability)


def _draw_facts(machine: Machine) -> None:
    st.markdown(
        f"`torch {machine.torch_version}` on Python {machine.python_version}  \n"
        f"{machine.platform}  \n{machine.cpu}  \n"
        f"{machine.cores} cores, {format_bytes(machine.memory_bytes)} of memory"
    )


def _draw_engine(status: EngineStatus) -> None:
    state = "running" if status.alive else "not running; the next job starts it"
    warm_up = f", warmed up in {status.warm_s:.1f} s" if status.warm_s else ""
    restarts = f", restarted {status.restarts} times" if status.restarts else ""
    jobs = f"jobs: {status.running} running, {status.waiting + status.measured_waiting} waiting"
    _draw_capability(
        Capability(
            name="compute engine",
            available=status.alive,
            detail=f"{state} ({status.start_method}{warm_up}{restarts}); {jobs}",
        )
    )


@st.fragment(run_every=BUILD_POLL_S)
def _draw_operators(machine: Machine) -> None:
    """As they are now: `machine` may have been read before they were built."""
    state = current_state()
    if state.kind == "built" and machine.operators.available:
        _draw_capability(machine.operators)
        return
    detail = state.detail if state.kind == "built" else f"{state.kind}: {state.detail}"
    _draw_capability(Capability(name=machine.operators.name, available=state.kind == "built", detail=detail))
    if state.kind in ("not built", "failed"):
        st.button("Build the operators", icon=":material/build:", on_click=start_build, key="build-operators")


def _describe(device: Device) -> str:
    if not device.available:
        return device.reason
    memory = f", {format_bytes(device.memory_bytes)}" if device.memory_bytes else ""
    return f"{device.name}{memory}"


def _draw_capability(capability: Capability) -> None:
    mark = ":green[:material/check_circle:]" if capability.available else ":gray[:material/do_not_disturb_on:]"
    st.markdown(f"{mark} **{capability.name}** :gray[{_plain(capability.detail)}]")


def _plain(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace("*", "").replace("`", "'").replace("$", "")
