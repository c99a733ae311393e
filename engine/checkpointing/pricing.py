"""What running a model under policies will need, refused before it starts where it is too much."""

from __future__ import annotations

from engine.checkpointing.spec import ForecastSpec, PolicyGraphSpec, PolicySpec, PolicyTimingSpec, SearchSpec
from engine.models.build import price as price_model
from engine.runner.contract import Price


def price(spec: PolicySpec | PolicyTimingSpec | PolicyGraphSpec | ForecastSpec | SearchSpec) -> Price | None:
    """The plain model's price: no policy needs more than keeping everything; a forecast allocates nothing."""
    return None if isinstance(spec, ForecastSpec) else price_model(spec.model)
