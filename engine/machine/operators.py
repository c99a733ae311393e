"""Whether the compiled operators run in this process, on which instruction set, and why not."""

from __future__ import annotations

import torch

from engine.machine.spec import Capability
from engine.operators.library import source_key
from engine.operators.load import is_loaded, load
from engine.operators.state import operators_state

NAME = "compiled operators"


def find_operators() -> Capability:
    """Loads them where they are built; where they are not, nothing is defined by asking."""
    state = operators_state()
    if not is_loaded() and state.kind != "built":
        return Capability(name=NAME, available=False, detail=f"{state.kind}: {state.detail}")
    loaded = load()
    if not loaded.compiled:
        return Capability(name=NAME, available=False, detail=loaded.reason)
    detail = f"{torch.ops.atlas.instruction_set()}, {state.detail}"
    if loaded.key != source_key():
        detail = f"{torch.ops.atlas.instruction_set()}, from sources that have changed since; restart the app"
    return Capability(name=NAME, available=True, detail=detail)
