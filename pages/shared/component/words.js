// Words and marks on boxes. Small print goes away when it could not be read; titles then grow.

const READABLE = 6;
const RADIUS = 7;
const NARROWEST = 0.86; // letters of a title that is a little too long are set closer, down to this share
const MOST_FIT = 0.9; // of the titles of a picture: its one size is the largest at which so many are whole
const LEAST_MARKED = 8.5; // title size on the screen below which marks give their room to the letters
const CHANGE_LINES = 2; // at most, see engine/figures/labels.py

class WordPainter {
  constructor(theme) {
    this.theme = theme;
    this.patterns = new Map();
    this.widths = new Map();
    this.tints = new WeakMap();
    this.titles = new WeakMap();
  }

  colour(scene, index) {
    if (!this.tints.has(scene)) {
      const dark = this.theme.dark;
      const tint = (colour) => ({ accent: dark ? colour.dark : colour.light, fill: dark ? colour.dark_fill : colour.light_fill, hatched: colour.hatched });
      this.tints.set(scene, scene.colours.map(tint));
    }
    return this.tints.get(scene)[index];
  }

  named(scene, key) {
    return this.colour(scene, scene.colourOf.get(key));
  }

  font(weight, size) {
    return `${weight} ${size}px ${this.theme.font}`;
  }

  // Measured once at one size: widths grow with the size, and measuring is what costs.
  width(context, weight, size, text) {
    const key = weight + text;
    let known = this.widths.get(key);
    if (known === undefined) {
      if (this.widths.size > 20000) this.widths.clear();
      const before = context.font;
      context.font = this.font(weight, 20);
      known = context.measureText(text).width / 20;
      context.font = before;
      this.widths.set(key, known);
    }
    return known * size;
  }

  // Draws text cut with an ellipsis to `room`; returns what was drawn.
  text(context, weight, size, text, x, y, room) {
    const kept = this.fitted(context, weight, size, text, room);
    if (!kept) return kept;
    context.font = this.font(weight, size);
    context.fillText(kept, x, y);
    return kept;
  }

  fitted(context, weight, size, text, room) {
    const clean = plain(text);
    const width = this.width(context, weight, size, clean);
    if (width <= room) return clean;
    const kept = Math.floor((clean.length * room) / width) - 1;
    if (kept < 1) return "";
    const number = /\d+$/.exec(clean.slice(-kept + 1))?.[0] ?? ""; // told apart by it
    const tail = number.length < kept / 2 ? number : "";
    return `${clean.slice(0, kept - tail.length).replace(/[\ud800-\udbff]$/, "").trimEnd()}…${tail}`;
  }

  words(context, scene, box, accent, state) {
    const small = 11 * state.zoom >= READABLE;
    context.textBaseline = "middle";
    if (!small) return this.titleAlone(context, scene, box, accent, state);
    const group = box.role === "group";
    const top = box.y + 16;
    this.mark(context, scene.marks[box.colour], box.x + 12, top - 4.5, 0.9, accent);
    context.fillStyle = this.theme.text;
    const title = this.text(context, 650, 13, box.title, box.x + 25, top, box.width - (group ? 48 : 31));
    if (box.mark === "removed") this.strike(context, box.x + 25, top, this.width(context, 650, 13, title), 1.2);
    if (group) this.chevron(context, box.x + box.width - 13, top, 4, false, accent);
    this.smallPrint(context, scene, box);
    if (state.zoom > 0.5 && box.empty.length) this.stubs(context, box, state.backward);
    return undefined;
  }

  // Seen from afar a box has only its title, all in one size; half points keep letters crisp and few.
  titleAlone(context, scene, box, accent, state) {
    const { size, marked } = this.titleSize(context, scene, state.zoom);
    if (size > box.height * 0.72) return;
    const title = plain(box.title);
    const needed = this.width(context, 650, size, title);
    const middle = box.y + box.height / 2;
    const scale = size / 13;
    const markRoom = 2 + 12 * scale;
    const withMark = marked && box.width - 15 - markRoom >= needed * NARROWEST;
    if (withMark) this.mark(context, scene.marks[box.colour], box.x + 10, middle - 4.5 * scale, 0.9 * scale, accent);
    context.fillStyle = this.theme.text;
    const left = box.x + 10 + (withMark ? markRoom : 0);
    const width = this.narrowed(context, size, title, left, middle, box.x + box.width - 5 - left);
    if (box.mark === "removed") this.strike(context, left, middle, width, 1.2 * scale);
  }

  // Set closer, or shortened where that would be too close; returns the width that it took.
  narrowed(context, size, title, x, y, room) {
    const kept = this.fitted(context, 650, size, title, room / NARROWEST);
    const width = Math.min(room, this.width(context, 650, size, kept));
    context.font = this.font(650, size);
    context.fillText(kept, x, y, room);
    return width;
  }

  // In world units; with marks where that leaves the letters large enough.
  titleSize(context, scene, zoom) {
    if (!this.titles.has(scene)) this.titles.set(scene, this.fittingSizes(context, scene));
    const { beside, alone } = this.titles.get(scene);
    const onScreen = (size) => Math.max(READABLE, Math.floor(2 * zoom * Math.min(size, 11.5 / zoom)) / 2);
    const marked = onScreen(beside) >= LEAST_MARKED;
    return { size: onScreen(marked ? beside : alone) / zoom, marked };
  }

  // The largest sizes at which most titles fit their boxes: beside their marks, and alone.
  fittingSizes(context, scene) {
    const solid = scene.boxes.filter((box) => box.role !== "frame");
    const sizes = (fits) => solid.map((box) => Math.min(box.height * 0.52, fits(box.width, NARROWEST * this.width(context, 650, 1, plain(box.title))))).sort((a, b) => b - a);
    const most = (sorted) => sorted[Math.min(sorted.length - 1, Math.ceil(MOST_FIT * sorted.length) - 1)] ?? READABLE;
    return {
      beside: most(sizes((width, letters) => (width - 17) / (letters + 12 / 13))),
      alone: most(sizes((width, letters) => (width - 15) / Math.max(letters, 0.01))),
    };
  }

  strike(context, x, y, width, thick) {
    context.fillRect(x - 2, y - thick / 2 + 0.5, width + 4, thick);
  }

  smallPrint(context, scene, box) {
    let y = box.y + 33;
    box.lines.forEach((line, number) => {
      const change = saysChange(box, line, number);
      context.fillStyle = change ? this.named(scene, box.mark === "removed" ? "removed" : box.mark === "added" ? "added" : "changed").accent : this.theme.muted;
      this.text(context, change ? 600 : 400, 11, line, box.x + 13, y, box.width - 22);
      y += 15;
    });
    if (box.leaves.length) y = this.leaves(context, scene, box, y - 7);
    if (box.outputs.length) {
      const star = scene.colourOf.get("output");
      this.mark(context, scene.marks[star], box.x + 12, y - 4.5, 0.9, this.colour(scene, star).accent);
      context.fillStyle = this.theme.text;
      this.text(context, 600, 11, box.outputs.map((name) => plain(name)).join(", "), box.x + 26, y + 1, box.width - 36);
    }
  }

  leaves(context, scene, box, top) {
    const room = box.width - 16;
    let [x, y] = [0, top];
    box.leaves.slice(0, 4).forEach((leaf, number) => {
      const width = Math.min(room, leaf.width);
      if (number && x + width > room) [x, y] = [0, y + 19];
      leaf.place = { x: box.x + 10 + x, y, width, height: 16 };
      this.leaf(context, scene, leaf);
      x += width + 4;
    });
    if (box.leaves.length > 4) {
      y += 19;
      context.fillStyle = this.theme.muted;
      this.text(context, 400, 11, `and ${box.leaves.length - 4} more`, box.x + 13, y + 8, room);
    }
    return y + 28;
  }

  leaf(context, scene, leaf) {
    const { place } = leaf;
    const index = scene.colourOf.get(leaf.kind) ?? scene.colourOf.get("parameter");
    const { accent, fill } = this.colour(scene, index);
    const empty = leaf.kind === "empty";
    context.beginPath();
    context.roundRect(place.x, place.y, place.width, 16, 8);
    context.fillStyle = empty ? this.theme.background : fill;
    context.fill();
    context.strokeStyle = accent;
    context.lineWidth = 1;
    if (empty) context.setLineDash([3, 2]);
    context.stroke();
    if (empty) context.setLineDash([]);
    this.mark(context, scene.marks[index], place.x + 6, place.y + 4.2, 0.76, accent);
    context.fillStyle = empty ? this.theme.muted : this.theme.text;
    this.text(context, 500, 11, leaf.text, place.x + 17, place.y + 8.5, place.width - 22);
  }

  // Undone by hand: saving and restoring the whole state for each mark is what costs.
  mark(context, path, x, y, scale, colour) {
    context.fillStyle = colour;
    context.translate(x, y);
    context.scale(scale, scale);
    context.fill(path, "evenodd");
    context.scale(1 / scale, 1 / scale);
    context.translate(-x, -y);
  }

  chevron(context, x, y, size, open, colour) {
    context.strokeStyle = colour;
    context.lineWidth = size * 0.45;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    if (open) {
      context.moveTo(x - size, y - size / 2);
      context.lineTo(x, y + size / 2);
      context.lineTo(x + size, y - size / 2);
    } else {
      context.moveTo(x - size / 2, y - size);
      context.lineTo(x + size / 2, y);
      context.lineTo(x - size / 2, y + size);
    }
    context.stroke();
  }
}

// Lines on a box that say what differs from run A: its last ones, and the counts of a group.
function saysChange(box, line, number) {
  return line.endsWith(" since A") || number >= box.lines.length - Math.min(CHANGE_LINES, box.changes.length);
}
