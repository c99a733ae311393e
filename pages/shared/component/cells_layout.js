// Where every panel and cell lies, in pixels of the whole picture. Cells are as large as the room allows.

const SIZES = [44, 40, 36, 32, 28, 25, 22, 19, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4];
const PAD = 16;
const GAP = { panel: 36, row: 22, block: 16, head: 6 };
const LABEL_FONT = 11;

// Many cells may become small; few stay large enough to be read, and the picture scrolls instead.
function smallest(panel) {
  return panel.cells <= 64 ? 28 : panel.cells <= 400 ? 19 : panel.cells <= 2500 ? 8 : 4;
}

class CellLayout {
  constructor(scene, width, height, zoom, measure) {
    Object.assign(this, { scene, room: Math.max(120, width - 2 * PAD), zoom, measure });
    this.aspect = scene.panels.some((panel) => panel.texts.values) ? 1.35 : 1;
    this.sizes = scene.panels.map((panel) => this.widest(panel));
    this.place();
    while (this.height > height && this.shrink()) this.place();
    if (zoom !== 1) {
      this.sizes = this.sizes.map((size) => Math.max(3, size * zoom));
      this.place();
    }
    this.placeCells();
  }

  // The largest cells with which the panel is not wider than the room; a strip should hold a cache line in one line.
  widest(panel) {
    const whole = (size) => {
      const { columns, block } = this.shape(panel, size);
      return isStrip(panel) ? columns >= Math.min(panel.tick_every, panel.cells) || size <= 25 : block <= this.room;
    };
    return SIZES.find(whole) ?? SIZES[SIZES.length - 1];
  }

  // One step smaller for the panel that covers most; false when all are as small as they may be.
  shrink() {
    const { panels } = this.scene;
    const free = panels.filter((panel) => this.sizes[panel.number] > smallest(panel));
    if (!free.length) return false;
    const area = ({ number }) => this.places[number].bodyWidth * this.places[number].bodyHeight;
    const largest = free.reduce((a, b) => (area(b) > area(a) ? b : a));
    this.sizes[largest.number] = SIZES[SIZES.indexOf(this.sizes[largest.number]) + 1];
    return true;
  }

  // Columns, rows and blocks of a panel with cells of this height.
  shape(panel, size) {
    const cellHeight = size;
    const cellWidth = size >= 19 ? Math.round(size * this.aspect) : size;
    let { columns, rows } = panel;
    let wrapped = false;
    let left = this.labelWidth(panel, false);
    if (isStrip(panel) && left + panel.cells * cellWidth > this.room) {
      wrapped = true;
      left = this.labelWidth(panel, true);
      columns = Math.max(1, Math.floor((this.room - left) / cellWidth));
      const tick = panel.tick_every;
      if (tick && tick <= columns) columns -= columns % tick;
      rows = Math.ceil(panel.cells / columns);
    }
    const blockRows = panel.block_rows || Math.max(1, rows);
    const top = panel.column_labels.length && !wrapped ? 16 : 0;
    const named = panel.block_labels.length ? 17 : 0;
    return { cellWidth, cellHeight, columns, rows, blockRows, wrapped, left, top, named, block: left + columns * cellWidth };
  }

  labelWidth(panel, wrapped) {
    const key = wrapped ? "wrappedLabels" : "labels";
    if (this[key]?.has(panel)) return this[key].get(panel);
    const texts = wrapped ? [lineLabel(panel, panel.cells - 1)] : panel.row_labels;
    const width = texts.length ? Math.min(120, Math.max(...texts.map((text) => this.measure(text, LABEL_FONT, 400))) + 9) : 0;
    (this[key] ??= new Map()).set(panel, width);
    return width;
  }

  place() {
    this.places = [];
    this.width = 0;
    let y = PAD;
    this.scene.rows.forEach((row) => {
      let [x, tall] = [PAD, 0];
      row.forEach((number) => {
        const panel = this.scene.panels[number];
        const place = this.panel(panel, this.room / row.length - GAP.panel);
        if (x > PAD && x + place.width > PAD + this.room) {
          y += tall + GAP.row;
          [x, tall] = [PAD, 0];
        }
        Object.assign(place, { x, y, bodyX: x, bodyY: y + place.head });
        this.places[number] = place;
        x += place.width + GAP.panel;
        tall = Math.max(tall, place.height);
        this.width = Math.max(this.width, place.x + place.width + PAD);
      });
      y += tall + GAP.row;
    });
    this.height = y - GAP.row + PAD;
  }

  panel(panel, share) {
    const shape = this.shape(panel, this.sizes[panel.number]);
    const blocks = panel.block_rows ? Math.ceil(panel.rows / panel.block_rows) : 1;
    const fitting = Math.max(1, Math.floor((this.room + GAP.block) / (shape.block + GAP.block)));
    const across = Math.max(1, Math.min(panel.block_columns || fitting, blocks, fitting));
    const deep = Math.ceil(blocks / across);
    const blockHeight = shape.named + shape.top + Math.min(shape.blockRows, Math.max(1, shape.rows)) * shape.cellHeight;
    const bodyWidth = panel.cells ? across * (shape.block + GAP.block) - GAP.block : 96;
    const bodyHeight = panel.cells ? deep * (blockHeight + GAP.block) - GAP.block : 40;
    const headWidth = Math.max(bodyWidth, share, Math.min(this.room, 260));
    const title = this.wrap(panel.title, 13, 600, headWidth);
    const caption = this.wrap(panel.caption, 12, 400, headWidth);
    const head = title.length * 18 + caption.length * 16 + GAP.head;
    const words = Math.max(0, ...title.map((line) => this.measure(line, 13, 600)), ...caption.map((line) => this.measure(line, 12, 400)));
    return { panel, ...shape, across, blockHeight, bodyWidth, bodyHeight, title, caption, head, width: Math.max(bodyWidth, words), height: head + bodyHeight };
  }

  wrap(text, size, weight, room) {
    const lines = [];
    text.split("\n").forEach((part) => {
      let line = "";
      part.split(/\s+/).forEach((word) => {
        const longer = line ? `${line} ${word}` : word;
        if (line && this.measure(longer, size, weight) > room) {
          lines.push(line);
          line = word;
        } else line = longer;
      });
      if (line) lines.push(line);
    });
    return lines;
  }

  // Left top corners of all cells, over all panels.
  placeCells() {
    this.xs = new Float32Array(this.scene.cells);
    this.ys = new Float32Array(this.scene.cells);
    this.places.forEach((place) => {
      const { first, cells } = place.panel;
      for (let i = 0; i < cells; i++) {
        const row = Math.floor(i / place.columns);
        const origin = this.blockOrigin(place, Math.floor(row / place.blockRows));
        this.xs[first + i] = origin.x + place.left + (i % place.columns) * place.cellWidth;
        this.ys[first + i] = origin.y + place.named + place.top + (row % place.blockRows) * place.cellHeight;
      }
    });
  }

  blockOrigin(place, block) {
    const x = place.bodyX + (block % place.across) * (place.block + GAP.block);
    return { x, y: place.bodyY + Math.floor(block / place.across) * (place.blockHeight + GAP.block) };
  }

  box(cell) {
    const place = this.places[panelOf(this.scene, cell).number];
    return { x: this.xs[cell], y: this.ys[cell], width: place.cellWidth, height: place.cellHeight };
  }

  // The cell at a point of the whole picture, or -1.
  cellAt(x, y) {
    const inside = (p) => x >= p.bodyX && x < p.bodyX + p.bodyWidth && y >= p.bodyY && y < p.bodyY + p.bodyHeight;
    const place = this.places.find(inside);
    if (!place || !place.panel.cells) return -1;
    const [acrossStep, downStep] = [place.block + GAP.block, place.blockHeight + GAP.block];
    const [bx, by] = [Math.floor((x - place.bodyX) / acrossStep), Math.floor((y - place.bodyY) / downStep)];
    const column = Math.floor((x - place.bodyX - bx * acrossStep - place.left) / place.cellWidth);
    const line = Math.floor((y - place.bodyY - by * downStep - place.named - place.top) / place.cellHeight);
    if (column < 0 || column >= place.columns || line < 0 || line >= place.blockRows) return -1;
    const index = ((by * place.across + bx) * place.blockRows + line) * place.columns + column;
    return index < place.panel.cells ? place.panel.first + index : -1;
  }

  // Where an arrow key leads from a cell: by rows and columns of its panel, as drawn.
  step(cell, key) {
    const place = this.places[panelOf(this.scene, cell).number];
    const { first, cells } = place.panel;
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -place.columns, ArrowDown: place.columns, Home: first - cell, End: first + cells - 1 - cell }[key];
    const next = cell - first + by;
    return next < 0 || next >= cells ? cell : first + next;
  }
}

// A single row wraps to the width.
function isStrip(panel) {
  return panel.rows === 1 && !panel.block_rows;
}

// Before a line of a wrapped strip: the label of its first cell, or its number.
function lineLabel(panel, index) {
  return panel.column_labels[index] ?? String(index);
}
