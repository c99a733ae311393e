// Where every panel and cell lies, in pixels of the whole picture. Cells are as large as the room allows.

const SIZES = [52, 44, 40, 36, 32, 28, 25, 22, 19, 16, 14, 12, 10, 9, 8, 7, 6, 5, 4, 3];
const READABLE = 25; // cells as small as this still hold a short value
const PAD = 16;
const GAP = { panel: 36, row: 22, block: 16, head: 6 };
const LABEL_FONT = 11;
const LEFT_SHARE = 0.55;

// Many cells may become small; few stay large enough to be read, and the picture scrolls instead.
function smallest(panel) {
  const inBlock = panel.block_rows * panel.columns;
  if (inBlock && inBlock <= 100 && panel.cells > 400) return 12; // between small blocks most of the room is labels
  return panel.cells <= 64 ? 25 : panel.cells <= 400 ? 19 : panel.cells <= 2500 ? 8 : panel.cells <= 6000 ? 4 : 3;
}

// The rows below one another; or, where that is too high, the first row left of the others, if that shows more.
function layOut(scene, width, height, zoom, measure) {
  const below = new CellLayout(scene, width, height, measure, false);
  const besides = () => new CellLayout(scene, width, height, measure, true);
  const beside = below.isWhole || scene.rows.length < 2 || width < 640 ? below : besides();
  const better = beside.hidden < below.hidden || (beside.hidden === below.hidden && beside.size > below.size);
  return (better ? beside : below).finish(zoom);
}

class CellLayout {
  constructor(scene, width, height, measure, beside) {
    Object.assign(this, { scene, room: Math.max(120, width - 2 * PAD), measure, beside, labelWidths: new Map() });
    this.aspect = scene.longest <= 2 ? 1 : scene.longest === 3 ? 1.2 : scene.longest <= 5 ? 1.35 : 1.7;
    this.rooms = [];
    this.giveRoom(scene.rows.flat(), this.room);
    if (beside) this.giveRoom(scene.rows[0], this.room * LEFT_SHARE);
    this.sizes = scene.panels.map((panel) => this.widest(panel));
    scene.rows.forEach((row) => this.closeUp(row));
    this.place();
    if (beside) this.fillRight();
    this.isWhole = this.height <= height;
    while (this.height > height && this.shrink()) this.place();
    this.hidden = Math.max(0, this.height - height) + Math.max(0, this.width - width);
    this.size = this.sizes.reduce((sum, size) => sum + Math.log(size), 0);
  }

  // Larger cells keep their lines: the room grows with them, and the picture scrolls.
  finish(zoom) {
    if (zoom !== 1) {
      const grown = Math.max(1, zoom);
      this.sizes = this.sizes.map((size) => Math.max(3, Math.round(size * zoom)));
      this.room *= grown;
      this.rooms = this.rooms.map((room) => room * grown);
      this.place();
    }
    this.placeCells();
    return this;
  }

  // Only when the left is placed is it known how wide the panels on the right may be.
  fillRight() {
    this.scene.rows.slice(1).flat().forEach((number) => (this.sizes[number] = this.widest(this.scene.panels[number])));
    this.place();
  }

  giveRoom(numbers, room) {
    numbers.forEach((number) => (this.rooms[number] = room));
  }

  // The largest cells with which the panel is not wider than the room; a strip is best in one line, or holds a cache line.
  widest(panel) {
    const columns = (size) => this.shape(panel, size).columns;
    const fits = isStrip(panel)
      ? (SIZES.find((size) => size >= READABLE && columns(size) >= panel.cells) ??
        SIZES.find((size) => size <= (panel.tick_every ? READABLE : 36) || (panel.tick_every && columns(size) >= panel.tick_every)))
      : SIZES.find((size) => this.shape(panel, size).block <= this.rooms[panel.number]);
    return fits ?? SIZES[SIZES.length - 1];
  }

  // Panels of one row stand beside each other where cells of a readable size allow it.
  closeUp(row) {
    if (row.length < 2) return;
    const panels = row.map((number) => this.scene.panels[number]);
    const least = Math.max(...panels.map(smallest));
    const sizes = (limit) => panels.map((panel) => Math.min(limit, this.sizes[panel.number]));
    const width = (limit) => sizes(limit).reduce((sum, size, i) => sum + this.panel(panels[i], 0, size).width + GAP.panel, -GAP.panel);
    const limit = SIZES.find((size) => size >= least && width(size) <= this.rooms[row[0]]);
    if (limit) row.forEach((number) => (this.sizes[number] = Math.min(limit, this.sizes[number])));
  }

  // One step smaller for the panel that covers most; false when all are as small as they may be.
  shrink() {
    const free = this.scene.panels.filter((panel) => this.sizes[panel.number] > smallest(panel));
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
    const room = this.rooms[panel.number];
    if (isStrip(panel) && left + panel.cells * cellWidth > room) {
      wrapped = true;
      left = this.labelWidth(panel, true);
      columns = inStep(Math.max(1, Math.floor((room - left) / cellWidth)), panel.tick_every);
      rows = Math.ceil(panel.cells / columns);
    }
    const blockRows = panel.block_rows || Math.max(1, rows);
    const top = panel.column_labels.length && !wrapped ? 16 : 0;
    const named = panel.block_labels.length ? 17 : 0;
    return { cellWidth, cellHeight, columns, rows, blockRows, wrapped, left, top, named, block: left + Math.max(columns * cellWidth, this.nameWidth(panel)) };
  }

  labelWidth(panel, wrapped) {
    const key = `${panel.number}/${wrapped}`;
    if (!this.labelWidths.has(key)) {
      const texts = wrapped ? [lineLabel(panel, panel.cells - 1)] : panel.row_labels;
      const widths = texts.map((text) => this.measure(text, LABEL_FONT, 400));
      this.labelWidths.set(key, texts.length ? Math.min(120, Math.max(...widths)) + 9 : 0);
    }
    return this.labelWidths.get(key);
  }

  // A block is at least as wide as its label.
  nameWidth(panel) {
    if (!panel.block_labels.length) return 0;
    panel.nameWidth ??= Math.min(150, this.measure(panel.block_labels[panel.block_labels.length - 1], LABEL_FONT, 400) + 4);
    return panel.nameWidth;
  }

  place() {
    this.places = [];
    const { rows } = this.scene;
    if (!this.beside) {
      Object.assign(this, this.stack(rows, PAD));
      return;
    }
    const left = this.stack(rows.slice(0, 1), PAD);
    const start = left.width - PAD + GAP.panel;
    this.giveRoom(rows.slice(1).flat(), Math.max(160, this.room + PAD - start));
    const right = this.stack(rows.slice(1), start);
    Object.assign(this, { width: Math.max(left.width, right.width), height: Math.max(left.height, right.height) });
  }

  // Rows below one another from `start`; a row that is too wide goes on below.
  stack(rows, start) {
    let width = 0;
    let y = PAD;
    rows.forEach((row) => {
      let [x, tall] = [start, 0];
      row.forEach((number) => {
        const room = this.rooms[number];
        const place = this.panel(this.scene.panels[number], (room + GAP.panel) / row.length - GAP.panel, this.sizes[number]);
        if (x > start && x + place.width > start + room) {
          y += tall + GAP.row;
          [x, tall] = [start, 0];
        }
        Object.assign(place, { x, y, bodyX: x, bodyY: y + place.head });
        this.places[number] = place;
        x += place.width + GAP.panel;
        tall = Math.max(tall, place.height);
        width = Math.max(width, place.x + place.width + PAD);
      });
      y += tall + GAP.row;
    });
    return { width, height: y - GAP.row + PAD };
  }

  panel(panel, share, size) {
    const shape = this.shape(panel, size);
    const room = this.rooms[panel.number];
    const blocks = panel.block_rows ? Math.ceil(panel.rows / panel.block_rows) : 1;
    const fitting = Math.max(1, Math.floor((room + GAP.block) / (shape.block + GAP.block)));
    const across = blocksAcross(blocks, panel.block_columns, fitting);
    const deep = Math.ceil(blocks / across);
    const blockHeight = shape.named + shape.top + Math.min(shape.blockRows, Math.max(1, shape.rows)) * shape.cellHeight;
    const bodyWidth = panel.cells ? across * (shape.block + GAP.block) - GAP.block : 96;
    const bodyHeight = panel.cells ? deep * (blockHeight + GAP.block) - GAP.block : 40;
    const headWidth = Math.max(bodyWidth, share, Math.min(room, 260));
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

// Blocks in a line: whole groups of the innermost outer dimension, as many as fit.
function blocksAcross(blocks, group, fitting) {
  if (!group || group >= blocks) return Math.min(group || blocks, blocks, fitting);
  return group <= fitting ? group * Math.max(1, Math.min(Math.floor(fitting / group), Math.ceil(blocks / group))) : fitting;
}

// So many columns or a few less that ticks stand below one another: whole cache lines, or an even part of one.
function inStep(columns, tick) {
  if (!tick) return columns;
  if (tick <= columns) return columns - (columns % tick);
  for (let part = columns; part >= columns * 0.6; part--) if (tick % part === 0) return part;
  return columns;
}

// A single row wraps to the width.
function isStrip(panel) {
  return panel.rows === 1 && !panel.block_rows;
}

// Before a line of a wrapped strip: the label of its first cell, or its number.
function lineLabel(panel, index) {
  return panel.column_labels[index] ?? String(index);
}
