"""Show the code: a spec becomes the plain torch script that prints what its page shows; no torch import here."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from engine.runner.contract import Spec


def script_for(spec: Spec[Any]) -> str:
    """A script that needs torch alone (and torchviz where the page draws with it) and computes what `spec` asks.

    engine/script/<topic>.py writes it for the specs of engine/<topic>/spec.py. ValueError for a topic without one.
    """
    topic = type(spec).__module__.split(".")[-2]
    try:
        writer = import_module(f"{__name__}.{topic}")
    except ModuleNotFoundError as error:
        raise ValueError(
            f"engine/script has no module for {type(spec).__name__} of topic {topic!r}. Add engine/script/{topic}.py "
            f"with script(spec) -> str."
        ) from error
    text: str = writer.script(spec)
    return text
