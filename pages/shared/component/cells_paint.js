// Panels, cells and marks. Everything is drawn at its place in the whole picture; the caller moves the origin.

class CellPainter {
  constructor(scene, theme) {
    this.scene = scene;
    this.theme = theme;
    const mode = theme.dark ? "dark" : "light";
    this.ramp = scene.ramp?.[mode] ?? [];
    this.ink = scene.ink?.[mode] ?? [];
    this.marks = scene.marks.map((mark) => ({ ...mark, accent: mark[mode][0], fill: mark[mode][1] }));
    this.plain = theme.dark ? "#1c222d" : "#ffffff";
    this.edge = theme.dark ? "#4a5566" : "#b9c0ca";
  }

  font(weight, size) {
    return `${weight} ${size}px ${this.theme.font}`;
  }

  // What of the whole picture lies within the given sides.
  paint(context, layout, top, bottom, left, right) {
    layout.places.forEach((place) => {
      if (place.y > bottom || place.y + place.height < top || place.x > right || place.x + place.width < left) return;
      this.head(context, place);
      this.labels(context, layout, place, top, bottom);
      if (place.panel.cells) this.cells(context, layout, place, this.inSight(layout, place, top, bottom, left, right));
      else this.nothing(context, place);
      this.ticks(context, layout, place);
    });
  }

  inSight(layout, place, top, bottom, left, right) {
    const { first, cells } = place.panel;
    const seen = [];
    for (let cell = first; cell < first + cells; cell++) {
      const [x, y] = [layout.xs[cell], layout.ys[cell]];
      if (y < bottom && y + place.cellHeight > top && x < right && x + place.cellWidth > left) seen.push(cell);
    }
    return seen;
  }

  head(context, place) {
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    let y = place.y + 13;
    context.font = this.font(600, 13);
    context.fillStyle = this.theme.text;
    place.title.forEach((line) => {
      context.fillText(line, place.x, y);
      y += 18;
    });
    context.font = this.font(400, 12);
    context.fillStyle = this.theme.muted;
    place.caption.forEach((line) => {
      context.fillText(line, place.x, y);
      y += 16;
    });
  }

  nothing(context, place) {
    context.strokeStyle = this.edge;
    context.setLineDash([4, 3]);
    context.strokeRect(place.bodyX + 0.5, place.bodyY + 0.5, place.bodyWidth - 1, place.bodyHeight - 1);
    context.setLineDash([]);
    context.font = this.font(400, 12);
    context.fillStyle = this.theme.muted;
    context.textAlign = "center";
    context.fillText("no elements", place.bodyX + place.bodyWidth / 2, place.bodyY + place.bodyHeight / 2 + 4);
    context.textAlign = "left";
  }

  labels(context, layout, place, top, bottom) {
    const { panel } = place;
    context.font = this.font(400, LABEL_FONT);
    context.fillStyle = this.theme.muted;
    const blocks = Math.max(1, Math.ceil(place.rows / place.blockRows));
    for (let block = 0; block < blocks; block++) {
      const origin = layout.blockOrigin(place, block);
      if (origin.y > bottom || origin.y + place.blockHeight < top) continue;
      if (panel.block_labels[block]) {
        context.textAlign = "left";
        context.textBaseline = "alphabetic";
        context.fillText(this.cut(context, panel.block_labels[block], place.block + GAP.block - 4), origin.x + place.left, origin.y + 12);
      }
      if (place.top) this.columnLabels(context, place, origin);
      if (place.left) this.rowLabels(context, place, origin, block);
    }
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
  }

  columnLabels(context, place, origin) {
    const labels = place.panel.column_labels.slice(0, place.columns);
    const widest = Math.max(...labels.map((label) => context.measureText(label).width)) + 6;
    const every = Math.min(labels.length, Math.ceil(widest / place.cellWidth));
    context.textAlign = every > 1 ? "left" : "center";
    context.textBaseline = "alphabetic";
    for (let i = 0; i < labels.length; i += every) {
      const x = origin.x + place.left + i * place.cellWidth + (every > 1 ? 0 : place.cellWidth / 2);
      context.fillText(labels[i], x, origin.y + place.named + 11);
    }
  }

  rowLabels(context, place, origin, block) {
    const { panel } = place;
    const rows = Math.min(place.blockRows, place.rows - block * place.blockRows);
    const every = Math.ceil(13 / place.cellHeight);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let i = 0; i < rows; i += every) {
      const row = block * place.blockRows + i;
      const label = place.wrapped ? lineLabel(panel, row * place.columns) : panel.row_labels[row % panel.row_labels.length];
      const y = origin.y + place.named + place.top + i * place.cellHeight + Math.min(place.cellHeight * every, 13 + place.cellHeight) / 2;
      context.fillText(this.cut(context, label, place.left - 8), origin.x + place.left - 7, every > 1 ? y - 1 : origin.y + place.named + place.top + (i + 0.5) * place.cellHeight);
    }
  }

  cut(context, text, room) {
    const width = context.measureText(text).width;
    return width <= room ? text : `${text.slice(0, Math.max(1, Math.floor((text.length * room) / width) - 1))}…`;
  }

  // Some cells of one panel. Cells of one colour are drawn together: changing the colour is what costs.
  cells(context, layout, place, cells) {
    const { panel } = place;
    const [width, height] = [place.cellWidth, place.cellHeight];
    const gap = gapOf(height);
    if (gap) this.fills(context, layout, panel, cells, width - gap, height - gap);
    else this.runs(context, layout, panel, cells, width, height);
    if (height >= 8) this.edges(context, layout, place, cells, gap);
    if (panel.marks) this.markCells(context, layout, place, cells, gap);
    if (height >= 19 && panel.texts.values) this.values(context, layout, place, cells, gap);
  }

  fills(context, layout, panel, cells, width, height) {
    const groups = new Map();
    for (const cell of cells) {
      const fill = this.fillOf(panel, cell - panel.first);
      const group = groups.get(fill);
      if (group) group.push(cell);
      else groups.set(fill, [cell]);
    }
    groups.forEach((group, fill) => {
      context.fillStyle = fill;
      for (const cell of group) context.fillRect(layout.xs[cell], layout.ys[cell], width, height);
    });
  }

  // Cells without gaps: neighbours of one colour are one rectangle.
  runs(context, layout, panel, cells, width, height) {
    let [start, end, colour] = [-1, -1, ""];
    const draw = () => {
      if (start < 0) return;
      context.fillStyle = colour;
      context.fillRect(layout.xs[start], layout.ys[start], layout.xs[end] - layout.xs[start] + width, height);
    };
    for (const cell of cells) {
      const fill = this.fillOf(panel, cell - panel.first);
      const goesOn = cell === end + 1 && fill === colour && layout.ys[cell] === layout.ys[end] && layout.xs[cell] - layout.xs[end] <= width + 0.5;
      if (!goesOn) {
        draw();
        [start, colour] = [cell, fill];
      }
      end = cell;
    }
    draw();
  }

  fillOf(panel, index) {
    const shade = panel.shades ? panel.shades[index] : NO_SHADE;
    if (shade !== NO_SHADE) return this.ramp[shade];
    const mark = panel.marks ? panel.marks[index] : NO_SHADE;
    return mark === NO_SHADE ? this.plain : this.marks[mark].fill;
  }

  edges(context, layout, place, cells, gap) {
    context.strokeStyle = this.edge;
    context.lineWidth = 1;
    context.beginPath();
    for (const cell of cells) context.rect(layout.xs[cell] + 0.5, layout.ys[cell] + 0.5, place.cellWidth - gap - 1, place.cellHeight - gap - 1);
    context.stroke();
  }

  // Small cells: a stripe or a dot in the colour of the mark; larger ones also carry its shape.
  markCells(context, layout, place, cells, gap) {
    const { panel, cellWidth, cellHeight } = place;
    const [width, height] = [cellWidth - gap, cellHeight - gap];
    this.marks.forEach((mark, number) => {
      const marked = cells.filter((cell) => panel.marks[cell - panel.first] === number);
      if (!marked.length) return;
      if (mark.hatched) this.hatch(context, layout, marked, width, height, mark.accent);
      if (height >= 14) marked.forEach((cell) => this.badge(context, mark, layout.xs[cell] + width, layout.ys[cell], height));
      else if (!mark.hatched) this.dots(context, layout, marked, width, height, mark.accent);
    });
  }

  hatch(context, layout, cells, width, height, colour) {
    context.strokeStyle = colour;
    context.lineWidth = height >= 14 ? 1.2 : 1;
    const step = height >= 14 ? 7 : Math.max(4, height);
    context.beginPath();
    for (const cell of cells) {
      const [x, y] = [layout.xs[cell], layout.ys[cell]];
      for (let s = step; s < width + height; s += step) {
        context.moveTo(x + Math.min(s, width), y + Math.max(0, s - width));
        context.lineTo(x + Math.max(0, s - height), y + Math.min(s, height));
      }
    }
    context.globalAlpha = height >= 14 ? 0.55 : 0.85;
    context.stroke();
    context.globalAlpha = 1;
  }

  dots(context, layout, cells, width, height, colour) {
    const size = Math.max(2, Math.min(width, height) * 0.45);
    context.fillStyle = this.theme.background;
    for (const cell of cells) context.fillRect(layout.xs[cell] + (width - size) / 2 - 1, layout.ys[cell] + (height - size) / 2 - 1, size + 2, size + 2);
    context.fillStyle = colour;
    for (const cell of cells) context.fillRect(layout.xs[cell] + (width - size) / 2, layout.ys[cell] + (height - size) / 2, size, size);
  }

  // The mark in the upper right corner, on ground of its own so that it reads on every shade.
  badge(context, mark, right, top, height) {
    const size = Math.min(10, height * 0.36);
    context.fillStyle = this.theme.background;
    context.fillRect(right - size - 4, top + 1, size + 3, size + 3);
    context.save();
    context.translate(right - size - 2.5, top + 2.5);
    context.scale(size / 10, size / 10);
    context.fillStyle = mark.accent;
    context.fill(mark.shape, "evenodd");
    context.restore();
  }

  values(context, layout, place, cells, gap) {
    const { panel, cellWidth, cellHeight } = place;
    const texts = textsOf(panel, "values");
    panel.longest ??= Math.max(1, Math.min(9, texts.reduce((most, text) => Math.max(most, text.length), 0)));
    const { longest } = panel;
    const size = Math.max(9, Math.min(14, cellHeight * 0.38, (cellWidth - gap - 5) / (longest * 0.57)));
    context.font = this.font(500, size);
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const cell of cells) {
      const index = cell - panel.first;
      const text = texts[index];
      if (!text || text.length * size * 0.57 > cellWidth - gap - 3) continue;
      const shade = panel.shades ? panel.shades[index] : NO_SHADE;
      context.fillStyle = shade === NO_SHADE ? this.theme.text : this.ink[shade];
      const low = panel.marks && panel.marks[index] !== NO_SHADE ? 2.5 : 0;
      context.fillText(text, layout.xs[cell] + (cellWidth - gap) / 2, layout.ys[cell] + (cellHeight - gap) / 2 + 0.5 + low);
    }
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
  }

  // A line between the last cell of a cache line and the first of the next, longer than the cells.
  ticks(context, layout, place) {
    const { panel, cellWidth, cellHeight } = place;
    if (!panel.tick_every || cellHeight < 3) return;
    context.strokeStyle = this.theme.text;
    context.lineWidth = cellHeight >= 12 ? 2 : 1;
    const reach = cellHeight >= 12 ? 3 : 0;
    context.beginPath();
    for (let i = 0; i <= panel.cells; i += panel.tick_every) {
      const after = i % place.columns === 0 && i > 0;
      const cell = panel.first + (after ? i - 1 : Math.min(i, panel.cells - 1));
      const x = layout.xs[cell] + (after || i === panel.cells ? cellWidth : 0) - (cellHeight >= 6 ? 1 : 0);
      context.moveTo(x, layout.ys[cell] - reach);
      context.lineTo(x, layout.ys[cell] + cellHeight + reach - 2);
    }
    context.stroke();
    context.lineWidth = 1;
  }
}

function gapOf(height) {
  return height >= 19 ? 2 : height >= 6 ? 1 : 0;
}
