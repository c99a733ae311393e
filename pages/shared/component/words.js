// Words and marks on boxes. Small print goes away when it could not be read; titles then grow.

const READABLE = 6.4;
const RADIUS = 7;

class WordPainter {
  constructor(theme) {
    this.theme = theme;
    this.patterns = new Map();
    this.widths = new Map();
  }

  colour(scene, index) {
    const colour = scene.colours[index];
    const dark = this.theme.dark;
    return { accent: dark ? colour.dark : colour.light, fill: dark ? colour.dark_fill : colour.light_fill, hatched: colour.hatched };
  }

  named(scene, key) {
    return this.colour(scene, scene.colourOf.get(key));
  }

  font(weight, size) {
    return `${weight} ${size}px ${this.theme.font}`;
  }

  // Text cut with an ellipsis to `room`; widths are cached because measuring is what costs.
  fitted(context, text, room) {
    const key = `${context.font}|${text}`;
    if (!this.widths.has(key)) {
      if (this.widths.size > 20000) this.widths.clear();
      this.widths.set(key, context.measureText(text).width);
    }
    const width = this.widths.get(key);
    if (width <= room) return text;
    const kept = Math.floor((text.length * room) / width) - 1;
    return kept < 1 ? "" : `${text.slice(0, kept).trimEnd()}…`;
  }

  words(context, scene, box, place, accent, state) {
    const small = 11 * state.zoom >= READABLE;
    const group = box.role === "group";
    const size = small ? 13 : Math.max(this.grown(context, box, place, state.zoom), READABLE / state.zoom);
    if (size > place.height * 0.7) return;
    context.textBaseline = "middle";
    const top = small ? place.y + 16 : place.y + place.height / 2;
    const scale = size / 13;
    const marked = small || scale < 1.2;
    if (marked) this.mark(context, scene.marks[box.colour], place.x + 12, top - 4.5 * scale, 0.9 * scale, accent);
    context.font = this.font(650, size);
    context.fillStyle = this.theme.text;
    const indent = marked ? 13 + 12 * scale : 10;
    const room = place.width - indent - (group && marked ? 22 * scale : 6);
    context.fillText(this.fitted(context, box.title, room), place.x + indent, top);
    if (group && marked) this.chevron(context, place.x + place.width - 13 * scale, top, 4 * scale, false, accent);
    if (small) this.smallPrint(context, scene, box, place);
    if (state.zoom > 0.5 && box.empty.length) this.stubs(context, box, place, state.backward);
  }

  // The largest title that fits the box when small print is hidden.
  grown(context, box, place, zoom) {
    context.font = this.font(650, 13);
    const width = context.measureText(box.title).width;
    return Math.min(((place.width - 30) / width) * 13, place.height * 0.5, 11.5 / zoom);
  }

  smallPrint(context, scene, box, place) {
    let y = place.y + 33;
    context.font = this.font(400, 11);
    box.lines.forEach((line) => {
      context.fillStyle = this.theme.muted;
      context.fillText(this.fitted(context, line, place.width - 22), place.x + 13, y);
      y += 15;
    });
    if (box.leaves.length) y = this.leaves(context, scene, box, place, y - 7);
    if (box.outputs.length) {
      const star = scene.colourOf.get("output");
      this.mark(context, scene.marks[star], place.x + 12, y - 4.5, 0.9, this.colour(scene, star).accent);
      context.font = this.font(600, 11);
      context.fillStyle = this.theme.text;
      context.fillText(this.fitted(context, box.outputs.join(", "), place.width - 36), place.x + 26, y + 1);
    }
  }

  leaves(context, scene, box, place, top) {
    const room = place.width - 16;
    let [x, y] = [0, top];
    const shown = box.leaves.slice(0, 4);
    shown.forEach((leaf, number) => {
      context.font = this.font(500, 11);
      const width = Math.min(room, leaf.width);
      if (number && x + width > room) [x, y] = [0, y + 19];
      const index = scene.colourOf.get(leaf.kind) ?? scene.colourOf.get("parameter");
      const { accent, fill } = this.colour(scene, index);
      leaf.place = { x: place.x + 10 + x, y, width, height: 16 };
      rounded(context, leaf.place, 8);
      const empty = leaf.kind === "empty";
      context.fillStyle = empty ? this.theme.background : fill;
      context.fill();
      context.strokeStyle = accent;
      context.lineWidth = 1;
      if (empty) context.setLineDash([3, 2]);
      context.stroke();
      context.setLineDash([]);
      this.mark(context, scene.marks[index], leaf.place.x + 6, y + 4.2, 0.76, accent);
      context.fillStyle = empty ? this.theme.muted : this.theme.text;
      context.fillText(this.fitted(context, leaf.text, width - 22), leaf.place.x + 17, y + 8.5);
      x += width + 4;
    });
    if (box.leaves.length > 4) {
      y += 19;
      context.fillStyle = this.theme.muted;
      context.fillText(`and ${box.leaves.length - 4} more`, place.x + 13, y + 8);
    }
    return y + 28;
  }

  mark(context, path, x, y, scale, colour) {
    context.save();
    context.translate(x, y);
    context.scale(scale, scale);
    context.fillStyle = colour;
    context.fill(path, "evenodd");
    context.restore();
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
