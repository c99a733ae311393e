// The whole picture on a 2D context: what rests is painted once and kept, what the pointer touches comes on top.

class Painter extends WirePainter {
  // Frames, wires, boxes, marks and what a search or a path lights: all but what the pointer and selection do.
  paint(context, scene, state) {
    context.direction = "ltr";
    const seen = state.within(scene);
    const frames = seen.filter((box) => box.role === "frame");
    const solid = seen.filter((box) => box.role !== "frame");
    frames.forEach((box) => this.frame(context, scene, box, state));
    this.wires(context, scene, state);
    this.boxes(context, scene, solid, state);
    this.wireWords(context, scene, state);
    frames.forEach((box) => this.header(context, scene, box, state));
    if (state.found.size) seen.forEach((box) => state.found.has(box.address) && this.ring(context, box, this.theme.found, 2.5, 3, state));
    if (state.found.size) solid.forEach((box) => state.found.has(box.address) && box.role === "group" && hitCount(this, context, box, state));
    if (state.highlight) solid.forEach((box) => state.highlight.boxes.has(box.address) && this.ring(context, box, this.theme.primary, 1.6, 1.5, state));
  }

  // The hovered and the selected box with their wires.
  touch(context, scene, state) {
    for (const wire of state.lit) this.litWire(context, scene, wire, state);
    const { hovered, selected } = state;
    const radius = (box) => (box.role === "frame" ? RADIUS + 4 : RADIUS);
    if (hovered) {
      context.globalAlpha = 0.7;
      this.ring(context, hovered, this.theme.primary, 1.4, 1, state, radius(hovered));
    }
    if (selected) {
      context.globalAlpha = 1;
      this.ring(context, selected, this.theme.primary, 2.4, 2.5, state, radius(selected));
      context.globalAlpha = 0.18;
      this.ring(context, selected, this.theme.primary, 6, 5, state, radius(selected));
    }
    context.globalAlpha = 1;
  }

  frame(context, scene, box, state) {
    const { accent } = this.colour(scene, box.colour);
    context.globalAlpha = state.faded(box) ? 0.3 : 1;
    context.fillStyle = this.theme.frame;
    context.strokeStyle = accent;
    context.lineWidth = Math.max(1, 0.8 / state.zoom);
    if (state.zoom < FAR) {
      context.lineWidth = 0.99 / state.scale;
      context.fillRect(box.x, box.y, box.width, box.height);
      context.globalAlpha *= 0.4;
      context.strokeRect(box.x, box.y, box.width, box.height);
    } else {
      box.outline ??= roundedPath(box, RADIUS + 4);
      context.fill(box.outline);
      context.globalAlpha *= 0.4;
      context.stroke(box.outline);
    }
    context.globalAlpha = 1;
  }

  // A frame's title keeps a readable size while its frame has room for it.
  header(context, scene, box, state) {
    const size = Math.max(12.5, Math.min(10.5 / state.zoom, 24));
    if (size * state.zoom < READABLE) return;
    const { accent } = this.colour(scene, box.colour);
    context.globalAlpha = state.faded(box) ? 0.35 : 1;
    context.textBaseline = "middle";
    const scale = size / 12.5;
    const [left, middle] = [box.x + 12 * scale, box.y + 20];
    this.chevron(context, left, middle, 4 * scale, true, accent);
    const room = box.width - 30 * scale;
    const title = this.fitted(context, 600, size, box.title, room);
    const width = this.width(context, 600, size, title);
    this.onFrame(context, 600, size, title, left + 10 * scale, middle, width, this.theme.text);
    if (scale < 1.25 && box.lines.length) {
      const rest = this.fitted(context, 400, 11, box.lines.map((line) => plain(line)).join(" · "), room - width - 14);
      if (rest) this.onFrame(context, 400, 11, rest, left + 20 + width, middle, this.width(context, 400, 11, rest), this.theme.muted);
    }
    if (box.mark && scene.colourOf.has(box.mark)) this.badge(context, scene, box.mark, box, this.named(scene, box.mark).accent, state);
    context.globalAlpha = 1;
  }

  // Words over wires that cross the title bar.
  onFrame(context, weight, size, text, x, y, width, colour) {
    context.fillStyle = this.theme.frame;
    context.fillRect(x - 3, y - size * 0.65, width + 6, size * 1.3);
    context.fillStyle = colour;
    context.font = this.font(weight, size);
    context.fillText(text, x, y);
  }
}
