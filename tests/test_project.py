"""The project's own files: clean under its tools, themed readably, and free of anything only one machine has."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.source_tree import ROOT, imports, product_files, project_files, relative

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
FRONTEND = [path for path in project_files() if path.suffix in {".js", ".css", ".html", ".svg"}]
ALLOWED_ADDRESS = re.compile(r"https?://www\.w3\.org/\S+")
ADDRESS = re.compile(r"(https?:)?//[\w-]+(\.[\w-]+)+/?", re.ASCII)
READABLE = 4.5
VISIBLE = 3.0


def run_tool(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_ruff_finds_nothing():
    run_tool("ruff", "check", "--no-cache", ".")


def test_ruff_format_changes_nothing():
    run_tool("ruff", "format", "--no-cache", "--check", ".")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mypy_finds_nothing():
    run_tool("mypy")


@pytest.mark.parametrize("path", FRONTEND, ids=relative)
def test_component_files_load_nothing_from_the_network(path):
    text = ALLOWED_ADDRESS.sub("", path.read_text(encoding="utf-8"))
    assert [m.group() for m in ADDRESS.finditer(text) if not m.group().startswith("//") or "'" in m.group()] == []
    assert len(text.splitlines()) <= 800


def test_python_files_write_no_html_that_loads_from_the_network():
    loads = r"""(src|href)\s*=\s*\\?["']https?:|@import|url\(["']?https?:|include_plotlyjs\s*=\s*["']cdn|cdn\."""
    texts = {relative(path): path.read_text(encoding="utf-8") for path in product_files()}
    assert [name for name, text in texts.items() if re.search(loads, text)] == []


MACHINE = re.compile(r"""(?<![\w.~}-])/(root|home|Users|work|opt|mnt|srv|tmp)/[\w.-]+|\.\./shared\b""")
REGISTRY = re.compile(
    r"extra-index-url|index-url|find-links|--trusted-host|https?://[\w.-]*(pypi|registry|mirror)", re.I
)


def test_no_file_names_this_machine_or_a_registry():
    with_patterns = {"test_project.py", "LICENSE"}
    found = [
        f"{relative(path)}: {match.group()}"
        for path in project_files()
        if path.name not in with_patterns
        for pattern in (MACHINE, REGISTRY)
        for match in pattern.finditer(path.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.slow
def test_every_imported_distribution_is_required_and_explained():
    required = {re.split(r"[<>=~!]", line)[0] for line in requirement_lines("requirements.txt")}
    own = {"engine", "pages", "benchmarks", "tests", "app", ""}
    imported = {
        module.split(".")[0]
        for path in product_files()
        if path.parent.name != "benchmarks"
        for found in imports(path)
        for module in found.modules
    }
    # Streamlit itself brings these; it pins the versions it works with.
    from_streamlit = {"starlette", "uvicorn"}
    assert imported - set(sys.stdlib_module_names) - own - from_streamlit <= required
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(required) if f"`{name}`" not in readme] == []


def requirement_lines(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_requirement_has_an_upper_bound(name):
    assert [line for line in requirement_lines(name) if not re.search(r"<|==|~=", line)] == []


def test_the_server_keeps_to_itself():
    server = CONFIG["server"]
    assert server["address"] == "localhost"
    assert server["enableXsrfProtection"]
    assert server["enableCORS"]
    assert not server["enableStaticServing"]
    assert server["maxUploadSize"] <= 5
    assert CONFIG["client"]["showErrorDetails"] == "type"
    assert not CONFIG["browser"]["gatherUsageStats"]
    assert not CONFIG["runner"]["fastReruns"]


def test_streamlit_knows_every_option():
    done = subprocess.run(
        [sys.executable, "-m", "streamlit", "config", "show"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "is not a valid config option" not in done.stdout + done.stderr
    for section, options in CONFIG.items():
        for name in options if section != "theme" else ():
            assert re.search(rf"^{name} = ", re.sub(r"\x1b\[[\d;]*m", "", done.stdout), re.M), f"{section}.{name}"


def luminance(colour: str) -> float:
    """Relative luminance of "#rrggbb", WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_on_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_theme_is_readable(mode):
    theme = CONFIG["theme"][mode]
    grounds = [theme["backgroundColor"], theme["secondaryBackgroundColor"], theme["sidebar"]["backgroundColor"]]
    text = ["textColor", "linkColor", "codeTextColor", "dataframeHeaderTextColor"]
    marks = ["redColor", "orangeColor", "yellowColor", "greenColor", "blueColor", "violetColor", "grayColor"]
    faint = [(k, g) for k in text + marks for g in grounds if contrast(theme[k], g) < READABLE]
    assert faint == []
    # As text it marks the active tab and a slider's value; white on it, only large marks.
    assert all(contrast(theme["primaryColor"], ground) >= READABLE for ground in grounds)
    assert contrast(theme["primaryColor"], "#ffffff") >= VISIBLE
    charted = theme["chartCategoricalColors"]
    assert [c for c in charted if contrast(c, theme["backgroundColor"]) < VISIBLE] == []
    assert len(set(charted)) == len(charted)
    assert len(theme["chartSequentialColors"]) == len(theme["chartDivergingColors"]) == 10


def test_fonts_come_from_the_system():
    theme = CONFIG["theme"]
    assert not any(":" in theme[name] for name in ("font", "headingFont", "codeFont"))
    assert "fontFaces" not in theme
