// What stands around the cells: what is lit in words, the legend with marks and scale, and the tooltip.

const TOOLTIP_LINES = 12;

class CellChrome extends Tooltip {
  constructor(view) {
    super(view);
    this.saidBox = view.root.querySelector("[data-atlas-said]");
    this.said = "";
  }

  legend() {
    const { scene, painter } = this.view;
    const entries = [];
    if (scene.ramp) entries.push(this.scaleEntry(scene));
    scene.marks.forEach((mark, number) => entries.push(this.entry(mark.label, 16, (context) => this.markSample(context, number))));
    if (scene.tick_words) entries.push(this.entry(scene.tick_words, 16, (context) => this.tickSample(context, painter)));
    this.legendBox.hidden = !entries.length;
    this.legendBox.querySelector("ul").replaceChildren(...entries);
  }

  entry(label, width, draw) {
    const entry = document.createElement("li");
    const canvas = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    Object.assign(canvas, { width: width * ratio, height: 16 * ratio });
    canvas.style.width = `${width}px`;
    canvas.style.height = "16px";
    canvas.setAttribute("aria-hidden", "true");
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    draw(context);
    entry.append(canvas, label);
    return entry;
  }

  scaleEntry(scene) {
    const { ramp } = this.view.painter;
    const entry = this.entry(scene.scale[1], 110, (context) => {
      ramp.forEach((colour, i) => {
        context.fillStyle = colour;
        context.fillRect((i * 110) / ramp.length, 2, 110 / ramp.length + 1, 12);
      });
    });
    entry.prepend(scene.scale[0]);
    return entry;
  }

  markSample(context, number) {
    const { painter } = this.view;
    const mark = painter.marks[number];
    context.fillStyle = mark.fill;
    context.fillRect(0, 0, 16, 16);
    if (mark.hatched) painter.hatch(context, { xs: [0], ys: [0] }, [0], 16, 16, mark.accent);
    context.fillStyle = mark.accent;
    context.translate(3, 3);
    context.fill(mark.shape, "evenodd");
  }

  tickSample(context, painter) {
    context.fillStyle = painter.edge;
    context.fillRect(0, 4, 7, 8);
    context.fillRect(9, 4, 7, 8);
    context.fillStyle = this.view.theme.text;
    context.fillRect(7, 1, 2, 14);
  }

  // In words: what is lit, how much of it in which panel, and what of it lies outside of sight.
  say() {
    const { links, pinned } = this.view;
    const text = links ? this.describe(links, pinned) : this.hint();
    if (text === this.said) return;
    this.said = text;
    this.saidBox.textContent = text;
    this.saidBox.title = text;
  }

  hint() {
    const { scene } = this.view;
    if (!scene.cells) return "";
    return scene.ids > 0 ? "Point at a cell: what it shares or reads lights up. Click keeps it lit." : "Point at a cell to read it. Click keeps it.";
  }

  describe(links, pinned) {
    const { panel, cell, same, reads, readers } = links;
    const first = (textsOf(panel, "words")[cell - panel.first] || `${panel.title} · cell ${cell - panel.first}`).split("\n")[0];
    const parts = [];
    const cells = (list, what) => list.length && parts.push(`${what} ${list.length} ${list.length === 1 ? "cell" : "cells"}`);
    cells(same, "same as");
    cells(reads, "reads");
    cells(readers, "read by");
    const hidden = [...same, ...reads, ...readers].filter((one) => !this.view.inSight(one)).length;
    if (hidden) parts.push(`${hidden} outside of sight`);
    if (pinned) parts.push("Escape lets go");
    return [first, ...parts].join("  ·  ");
  }

  tip(x, y) {
    const { links } = this.view;
    if (!links) return this.tooltip(null);
    const { panel, cell } = links;
    const words = textsOf(panel, "words")[cell - panel.first];
    const value = textsOf(panel, "values")[cell - panel.first];
    const lines = words ? words.split("\n") : [`${panel.title} · cell ${cell - panel.first}`, ...(value ? [value] : [])];
    const shown = lines.length > TOOLTIP_LINES ? [...lines.slice(0, TOOLTIP_LINES - 1), `and ${lines.length - TOOLTIP_LINES + 1} more`] : lines;
    return this.tooltip(shown, x, y);
  }
}
