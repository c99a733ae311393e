// What every canvas of the product shares: the theme, text that cannot garble its neighbours, the tooltip.

const LONGEST = 160;
// Control characters and those that turn the direction of what follows: shown as a sign instead of obeyed.
const UNRULY = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

// Text as it may be drawn: cut before anybody measures it, on one line, set apart from what stands beside it.
function plain(text, longest = LONGEST) {
  const cut = text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
  return cut.replace(/[\t\n\r]+/g, " ").replace(UNRULY, "\ufffd");
}

const HOVER_LINES = 24;
const HOVER_LETTERS = 300;

class Tooltip {
  constructor(view) {
    this.view = view;
    this.tooltipBox = view.root.querySelector("[data-atlas-tooltip]");
    this.legendBox = view.root.querySelector("[data-atlas-legend]");
  }

  tooltip(lines, x, y) {
    const { tooltipBox } = this;
    if (!lines || !lines.length) {
      tooltipBox.hidden = true;
      return;
    }
    const shown = lines.slice(0, HOVER_LINES).map((line) => plain(line, HOVER_LETTERS));
    const text = shown.join("\n");
    if (tooltipBox.dataset.text !== text) {
      tooltipBox.dataset.text = text;
      tooltipBox.replaceChildren(
        ...shown.map((line) => {
          const row = document.createElement("div");
          row.textContent = line;
          return row;
        }),
      );
    }
    tooltipBox.hidden = false;
    const { offsetWidth, offsetHeight } = tooltipBox;
    const left = x + 16 + offsetWidth > this.view.width ? x - 12 - offsetWidth : x + 16;
    const top = y + 18 + offsetHeight > this.view.height ? y - 12 - offsetHeight : y + 18;
    tooltipBox.style.left = `${Math.max(6, left)}px`;
    tooltipBox.style.top = `${Math.max(6, top)}px`;
  }
}

function readTheme(root) {
  const style = getComputedStyle(root);
  const value = (name, fallback) => {
    const found = style.getPropertyValue(name).trim();
    return found && found !== "unset" ? found : fallback;
  };
  const background = value("--st-background-color", "#fbfaf7");
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = background;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const dark = 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
  return {
    dark,
    background,
    frame: dark ? "#181d27" : "#f5f3ee",
    text: value("--st-text-color", dark ? "#e6e8ee" : "#1f2430"),
    muted: dark ? "#b3bdca" : "#566171",
    line: dark ? "#748194" : "#8a95a4",
    wireText: dark ? "#a2adbb" : "#64707f",
    saved: dark ? "#93a7ff" : "#3f56b8",
    found: dark ? "#f0ac33" : "#a86a00",
    primary: dark ? value("--st-link-color", "#a3b3ff") : value("--st-primary-color", "#3d53c6"),
    font: value("--st-font", "system-ui, sans-serif"),
  };
}
