// The picture told to others: a PNG for the reader, places and what is lit for tests and assistive tools.

class CellReport {
  boxOnCanvas(key, index) {
    const panel = this.scene?.panels.find((one) => one.key === key);
    if (!panel || !this.layout || index >= panel.cells) return null;
    const { x, y, width, height } = this.layout.box(panel.first + index);
    const { left, top } = this.sight();
    return { x: x - left, y: y - top, width, height };
  }

  // For tests and assistive tools: where the panels are in pixels of the canvas, and what is lit.
  tell(cost) {
    const { links, layout, scene } = this;
    const { left, top } = this.sight();
    const name = (cell) => `${panelOf(scene, cell).key}:${cell - panelOf(scene, cell).first}`;
    const panels = layout.places.map((place) => ({
      key: place.panel.key,
      cells: place.panel.cells,
      x: Math.round(place.x - left),
      y: Math.round(place.y - top),
      width: Math.round(place.bodyWidth),
      height: Math.round(place.height),
      cell: place.cellHeight,
    }));
    const lit = links ? 1 + links.same.length + links.reads.length + links.readers.length : 0;
    const hovered = links ? [links.cell, ...links.same, ...links.reads, ...links.readers].slice(0, 100).map(name) : [];
    const theme = this.theme.dark ? "dark" : "light";
    this.root.dataset.atlasCells = JSON.stringify({ panels, hovered, lit, pinned: this.pinned, path: this.showsPath, theme, zoom: this.zoom, content: [layout.width, layout.height], room: [this.seenWidth, this.seenHeight], paint_ms: Number(cost.toFixed(2)) });
  }

  savePng() {
    const { layout, painter } = this;
    const scale = Math.min(2, 12000 / Math.max(layout.width, layout.height));
    const sheet = document.createElement("canvas");
    const width = Math.max(layout.width, this.seenWidth);
    Object.assign(sheet, { width: Math.ceil(width * scale), height: Math.ceil(layout.height * scale) });
    const context = sheet.getContext("2d");
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, sheet.width, sheet.height);
    context.scale(scale, scale);
    const all = { left: 0, top: 0, right: width, bottom: layout.height };
    painter.paint(context, layout, all.top, all.bottom, all.left, all.right);
    if (this.links) painter.light(context, layout, this.links, all);
    if (this.showsPath) painter.path(context, layout, 1);
    sheet.toBlob((blob) => {
      const anchor = document.createElement("a");
      anchor.href = URL.createObjectURL(blob);
      anchor.download = "cells.png";
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
    });
  }
}
