"""The page that explains a claim, with the settings that show the point, as link parameters."""

from __future__ import annotations

import streamlit as st

from engine.claims.claim import Claim, Link
from pages.shared.model_controls import link_values
from pages.shared.navigation import PageEntry, discover_pages
from pages.shared.section_cards import presets_of


def link_parameters(link: Link, page: PageEntry) -> dict[str, str | list[str]]:
    """Its settings, its model's, and all that its question sets; a question that is not asked there sets nothing."""
    asked = (preset for preset in presets_of(page) if preset.question == link.question)
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
            query_params=link_parameters(claim.link, page),
            help=f"Explained by {page.title}{about}",
        )
