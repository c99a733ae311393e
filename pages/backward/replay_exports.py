"""The files this page saves: the picture with its gradients, to play offline too, and everything that was recorded."""

from __future__ import annotations

from collections.abc import Callable

from engine.figures.interactive_html import interactive_html
from engine.figures.palette import Theme
from engine.figures.replay_export import replay_json, replay_report, steps_csv
from engine.figures.replay_svg import replay_svg
from engine.figures.units import format_count
from engine.models.shape import describe
from engine.replay.spec import Replay, ReplaySpec
from engine.script import script_for
from pages.backward.replay_pictures import Drawable, picture, track_of
from pages.backward.replay_view import current_view
from pages.shared.canvas_files import canvas_files
from pages.shared.downloads import Download, as_json, spec_downloads


def downloads(spec: ReplaySpec, replay: Replay, pinned: ReplaySpec | None) -> tuple[Download, ...]:
    """Every file is made when its button is clicked; a PNG is saved by the picture's own toolbar."""
    view = current_view()
    title = f"Backward of {describe(spec.model.architecture)}, step by step"

    def svg(theme: Theme) -> str:
        return replay_svg(picture(spec, pinned, view)[0], replay, theme)

    def page() -> str:
        return interactive_html(
            Drawable(spec, pinned, view).prepared,
            view,
            canvas_files(),
            title=title,
            leaves=replay.leaves,
            track=track_of(spec),
            spec=as_json(spec),
            script=script_for(spec),
        )

    def report() -> str:
        scene = picture(spec, pinned, view)[0]
        notes = (f"{scene.nodes_shown} of {scene.nodes_total} nodes shown.", *scene.notes)
        texts = {"spec": as_json(spec), "script": script_for(spec)}
        return replay_report(svg("light"), svg("dark"), replay, title=title, notes=notes, **texts)

    files: tuple[tuple[str, str, str, Callable[[], str | bytes]], ...] = (
        ("Picture as folded now, to play offline (HTML)", "replay.html", "text/html", page),
        ("Picture with gradients, light (SVG)", "replay.svg", "image/svg+xml", lambda: svg("light")),
        ("Picture with gradients, dark (SVG)", "replay-dark.svg", "image/svg+xml", lambda: svg("dark")),
        ("Report with picture and tables (HTML)", "report.html", "text/html", report),
        (f"All {format_count(len(replay.steps))} steps (CSV)", "steps.csv", "text/csv", lambda: steps_csv(replay)),
        ("Steps and gradients, every field (JSON)", "replay.json", "application/json", lambda: replay_json(replay)),
    )
    return (*(Download(*file) for file in files), *spec_downloads(spec, "replay"))
