"""Gradient values: How large is every gradient, and what changes it?

icon: bar_chart
"""

from collections.abc import Callable
from typing import Any

import streamlit as st

from engine.gradients.spec import GradientsSpec
from pages.backward.gradient_values_accumulation import draw_accumulation
from pages.backward.gradient_values_checks import draw_checks
from pages.backward.gradient_values_clipping import draw_clipping
from pages.backward.gradient_values_controls import QUANTITIES, QUANTITY, current_spec, draw_controls, draw_section
from pages.backward.gradient_values_exports import downloads
from pages.backward.gradient_values_presets import PRESETS
from pages.backward.gradient_values_two_runs import draw_two_runs
from pages.backward.gradient_values_values import draw_values
from pages.backward.gradient_values_zero_grad import draw_zero_grad
from pages.shared.frame import draw_exports, draw_toolbar, model_or_stop, spec_or_stop
from pages.shared.jobs import compute, compute_beside
from pages.shared.pin import pinned_spec

DRAW: dict[str, Callable[[Any, Any, Any], None]] = {
    "Two runs": draw_two_runs,
    "Finite differences": draw_checks,
    "Accumulation": draw_accumulation,
    "Clipping": draw_clipping,
    "zero_grad": draw_zero_grad,
}

toolbar, choices = st.container(), st.container(gap="small")
with choices:
    # Drawn before they are read: a link gives a widget its value when it is drawn.
    section = draw_section()
    draw_controls(section)
with toolbar:
    model = model_or_stop(PRESETS)
    spec = spec_or_stop(lambda: current_spec(section, model), PRESETS)
    exports = draw_toolbar(spec, PRESETS)
outcome: Any = compute(spec)
pinned: Any = pinned_spec(type(spec))
before: Any = compute_beside(pinned, "A", slot="pinned") if pinned else None
draw_exports(exports, downloads(spec, outcome, str(st.session_state.get(QUANTITY) or QUANTITIES[0])))
if isinstance(spec, GradientsSpec):
    draw_values(spec, outcome, pinned, before)
else:
    DRAW[section](spec, outcome, before)
