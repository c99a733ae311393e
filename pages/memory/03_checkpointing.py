"""Checkpointing: Which policy frees how much, at what price?

icon: recycling
"""

import streamlit as st

from engine.checkpointing.policy import Policy
from engine.checkpointing.spec import ForecastSpec
from pages.memory.checkpointing_controls import (
    SECTIONS,
    draw_controls,
    draw_section,
    plain_model,
    policy_spec,
    rules_spec,
    search_spec,
)
from pages.memory.checkpointing_policies import draw_policies
from pages.memory.checkpointing_presets import PRESETS
from pages.memory.checkpointing_rules import draw_rules
from pages.memory.checkpointing_search import draw_search
from pages.shared.frame import draw_toolbar, spec_or_stop
from pages.shared.jobs import compute, compute_meanwhile
from pages.shared.model_controls import current_model

section = draw_section()
top = st.container(key="policies.top")
draw_controls(section)
with top:
    model = spec_or_stop(plain_model, PRESETS)
    if current_model() != model:
        st.caption(
            ":material/info: The sidebar's own checkpoint does not apply here, the policies do: the model is looked at "
            "with *checkpoint* off."
        )
if section == SECTIONS[1]:
    plain = ForecastSpec(model=model, policies=(Policy(),))
    if compute_meanwhile(plain, slot="budget.off") is None:  # a share of what is not known yet: no budget so far
        with top:
            draw_toolbar(plain, PRESETS)
        compute(plain, slot="budget.off")
        st.rerun()
    off = compute(plain, slot="budget.off")
    with top:
        budgeted = spec_or_stop(lambda: search_spec(model, off), PRESETS)
        exports = draw_toolbar(budgeted, PRESETS)
    draw_search(budgeted, exports)
else:
    with top:
        spec = spec_or_stop(lambda: policy_spec(model) if section == SECTIONS[0] else rules_spec(model), PRESETS)
        exports = draw_toolbar(spec, PRESETS)
    if section == SECTIONS[0]:
        draw_policies(spec, exports)
    else:
        draw_rules(spec, exports)
