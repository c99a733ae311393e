"""Every claim of both articles, in the order they make them; no torch here."""

from __future__ import annotations

from engine.claims.claim import Claim
from engine.claims.core_api_claims import CORE_API_CLAIMS
from engine.claims.practice_claims import PRACTICE_CLAIMS

CLAIMS: tuple[Claim, ...] = (*CORE_API_CLAIMS, *PRACTICE_CLAIMS)
BY_KEY: dict[str, Claim] = {claim.key: claim for claim in CLAIMS}
BY_TITLE: dict[str, Claim] = {claim.title: claim for claim in CLAIMS}
