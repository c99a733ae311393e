"""The files the claims board saves: verdicts, everything measured, an offline report."""

from __future__ import annotations

import json
from collections.abc import Sequence

import msgspec

from engine.claims.outcome import Measured
from engine.claims.verdict import STATED
from engine.figures.claims_words import answer_words, found_words, rule_words, verdict_words
from engine.figures.csv_text import csv_text
from engine.figures.report import Table, report_html
from engine.runner.contract import Spec
from pages.performance.claims_results import Known, machine_words
from pages.shared.downloads import Download, as_json, spec_downloads

COLUMNS = ("claim", "article", "verdict", "condition", "claimed", "measured", "answer")


def board_downloads(spec: Spec[Measured], results: Sequence[Known]) -> tuple[Download, ...]:
    """All that ran, and the open claim's settings and script."""
    ran = [known for known in results if known.measured is not None]
    return (
        Download("Verdicts (CSV)", "claims.csv", "text/csv", lambda: verdicts_csv(ran)),
        Download("Everything measured (JSON)", "claims.json", "application/json", lambda: measured_json(ran)),
        Download("Report (HTML)", "claims.html", "text/html", lambda: claims_report(spec, ran)),
        *spec_downloads(spec, "claim"),
    )


def verdict_rows(ran: Sequence[Known]) -> list[tuple[str, ...]]:
    """One row per check of every claim that ran, one for a claim that could not."""
    rows: list[tuple[str, ...]] = []
    for known in ran:
        assert known.verdict is not None
        start = (known.claim.sentence, known.claim.article, verdict_words(known.verdict))
        checks = [
            (check.rule.clause, rule_words(check.rule), found_words(check), answer_words(check))
            for check in known.verdict.checks
        ]
        rows += [(*start, *check) for check in checks or [("", "", "", "")]]
    return rows


def verdicts_csv(ran: Sequence[Known]) -> str:
    """The rows with their titles."""
    return csv_text(COLUMNS, verdict_rows(ran))


def measured_json(ran: Sequence[Known]) -> str:
    """By key of the claim: its settings and everything measured, raw samples included."""
    found = {
        known.claim.key: {"spec": json.loads(as_json(known.spec)), "measured": msgspec.to_builtins(known.measured)}
        for known in ran
    }
    return json.dumps(found, indent=2)


def claims_report(spec: Spec[Measured], ran: Sequence[Known]) -> str:
    """One offline page: a table of verdicts, and one of every check."""
    verdicts = tuple((k.claim.title, k.claim.sentence, verdict_words(k.verdict)) for k in ran if k.verdict)
    checks = tuple((row[0], *row[3:]) for row in verdict_rows(ran))
    return report_html(
        "",
        "",
        title="Claims, measured",
        numbers=[("claims run", str(len(ran)))],
        notes=[f"Measured on {machine_words(spec)}.", STATED.replace("*", "")],
        tables=(
            Table("Verdicts", ("title", "claim", "verdict"), verdicts),
            Table("Checks", ("claim", "condition", "claimed", "measured", "answer"), checks),
        ),
    )
