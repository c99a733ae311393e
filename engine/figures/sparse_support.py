"""What every operation does to every layout, as a matrix of symbols and colours."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from engine.figures.chart_style import styled
from engine.figures.palette import SURFACE as SURFACES
from engine.figures.palette import TEXT, Theme, meaning, mix
from engine.sparse.results import Probe, ProbeOutcome, Support

MEANINGS: dict[ProbeOutcome, str] = {
    "sparse": "kept_sparse",
    "dense": "densified",
    "scalar": "scalar",
    "masked": "masked",
    "refused": "refused",
    "wrong": "wrong",
}
SYMBOLS: dict[ProbeOutcome, str] = {
    "sparse": "●",
    "dense": "■",
    "scalar": "◆",
    "masked": "[ ]",
    "refused": "✕",
    "wrong": "★",
}
ROW_PIXELS = 25


def cell_text(probe: Probe) -> str:
    """The symbol of the outcome, and the layout of a sparse result."""
    return (
        f"{SYMBOLS[probe.outcome]} {probe.layout}" if probe.outcome in ("sparse", "masked") else SYMBOLS[probe.outcome]
    )


def outcome_words(probe: Probe) -> str:
    """The outcome in words: what came back, or the error's first line."""
    if probe.outcome == "refused" and probe.error is not None:
        return f"refused: {probe.error.type}: {first_line(probe.error.message)}"
    words = meaning(MEANINGS[probe.outcome]).label
    if probe.nnz is not None:
        words += f" ({probe.layout}, nnz {probe.nnz})"
    return words + "".join(f"; warns: {warning}" for warning in probe.warnings)


def first_line(message: str) -> str:
    """The first line of an error."""
    return message.strip().split("\n")[0]


def draw_support(supports: Sequence[Support], theme: Theme = "light") -> go.Figure:
    """One column per layout, one row per operation; colour and symbol say the outcome, hover has the words."""
    operations = [probe.operation for probe in supports[0].probes]
    outcomes: tuple[ProbeOutcome, ...] = tuple(MEANINGS)
    colours = [mix(SURFACES[theme], meaning(MEANINGS[one]).accent(theme), 0.42) for one in outcomes]
    rows = [[support.probes[i] for support in supports] for i in range(len(operations))]
    figure = go.Figure(
        go.Heatmap(
            z=[[outcomes.index(probe.outcome) for probe in row] for row in rows],
            x=[support.layout.upper() for support in supports],
            y=operations,
            text=[[cell_text(probe) for probe in row] for row in rows],
            texttemplate="%{text}",
            textfont={"color": TEXT[theme], "size": 12},
            customdata=[[_hover(probe) for probe in row] for row in rows],
            hovertemplate="%{y} on %{x}<br>%{customdata}<extra></extra>",
            colorscale=_steps(colours),
            zmin=-0.5,
            zmax=len(outcomes) - 0.5,
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_yaxes(autorange="reversed", automargin=True, type="category", tickfont={"family": "monospace"})
    figure.update_xaxes(side="top", fixedrange=True)
    height = 60 + ROW_PIXELS * len(operations)
    return styled(figure, height, theme, margin={"l": 8, "r": 8, "t": 34, "b": 8})


def _steps(colours: Sequence[str]) -> list[tuple[float, str]]:
    """A colour scale of flat steps, one per outcome."""
    share = 1 / len(colours)
    return [(edge, colour) for i, colour in enumerate(colours) for edge in (i * share, (i + 1) * share)]


def _hover(probe: Probe) -> str:
    words = outcome_words(probe).replace("<", "&lt;")
    return "<br>".join(words[i : i + 90] for i in range(0, min(len(words), 360), 90))
