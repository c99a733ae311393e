"""The page that explains a claim, with the settings that show the point, as link parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from engine.claims.claim import Claim, Link
from pages.graph import autograd_graph_presets
from pages.performance import operators_presets, timing_presets
from pages.shared.model_controls import link_values
from pages.shared.navigation import discover_pages
from pages.shared.presets import Preset
from pages.tensors import (
    broadcasting_presets,
    memory_formats_presets,
    sparse_layouts_presets,
    storage_and_views_presets,
)

QUESTIONS: Mapping[str, Sequence[Preset]] = {
    "autograd-graph": autograd_graph_presets.PRESETS,
    "broadcasting": broadcasting_presets.PRESETS,
    "memory-formats": memory_formats_presets.PRESETS,
    "operators": operators_presets.PRESETS,
    "sparse-layouts": sparse_layouts_presets.PRESETS,
    "storage-and-views": storage_and_views_presets.PRESETS,
    "timing": timing_presets.PRESETS,
}


def link_parameters(link: Link) -> dict[str, str | list[str]]:
    """Its settings, its model's, and all that its question sets; a question that is not asked there sets nothing."""
    asked = (preset for preset in QUESTIONS.get(link.address, ()) if preset.question == link.question)
    question = next((preset.link_values() for preset in asked), {})
    return question | (link_values(link.model) if link.model else {}) | dict(link.settings)


def draw_link(claim: Claim) -> None:
    """The icon of the page that explains the claim; nothing while there is no such page."""
    page = {entry.url_path: entry for entry in discover_pages()}.get(claim.link.address)
    if page is not None:
        about = f": {claim.link.question}" if claim.link.question else ""
        st.page_link(
            page.path,
            label="",
            icon=page.icon,
            query_params=link_parameters(claim.link),
            help=f"Explained by {page.title}{about}",
        )
