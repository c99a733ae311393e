// Frames, wires and boxes on a 2D context, in world coordinates.

class Painter extends WordPainter {
  hatch(context, colour) {
    if (!this.patterns.has(colour)) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 8;
      const pen = tile.getContext("2d");
      pen.strokeStyle = colour;
      pen.globalAlpha = 0.38;
      pen.lineWidth = 1.5;
      pen.beginPath();
      for (const shift of [-8, 0, 8]) {
        pen.moveTo(shift - 1, 9);
        pen.lineTo(shift + 9, -1);
      }
      pen.stroke();
      this.patterns.set(colour, context.createPattern(tile, "repeat"));
    }
    return this.patterns.get(colour);
  }

  paint(context, scene, state) {
    const { zoom } = state;
    scene.boxes.forEach((box) => {
      if (box.role === "frame" && state.sees(box)) this.frame(context, scene, box, state);
    });
    this.wires(context, scene, state);
    scene.boxes.forEach((box) => {
      if (box.role !== "frame" && state.sees(box)) this.box(context, scene, box, state);
    });
    this.outputNumbers(context, scene, state);
    scene.boxes.forEach((box) => {
      if (box.role === "frame" && state.sees(box)) this.header(context, scene, box, state, zoom);
    });
  }

  wires(context, scene, state) {
    context.save();
    context.globalAlpha = state.dimmed ? 0.35 : state.arrival;
    context.strokeStyle = context.fillStyle = this.theme.line;
    context.lineWidth = Math.max(1.25, 0.7 / state.zoom);
    context.lineCap = "round";
    const near = scene.wires.filter((wire) => state.seesBounds(wire.bounds));
    if (near.length > scene.wires.length / 2) context.stroke(scene.plain);
    else near.forEach((wire) => context.stroke(wire.path));
    if (state.zoom > 0.22) context.fill(scene.heads);
    context.globalAlpha = state.arrival;
    near.forEach((wire) => {
      if (wire.mark) this.wire(context, wire, this.named(scene, wire.mark).accent, 1.8, state);
      else if (wire.edges > 1) this.wire(context, wire, this.theme.line, Math.min(4, 1.2 + Math.log2(wire.edges) * 0.6), state);
    });
    state.lit.forEach((wire) => this.wire(context, wire, this.theme.primary, 2.2, state));
    context.restore();
  }

  // "#2" where a wire leaves its box by another output than the first.
  outputNumbers(context, scene, state) {
    if (state.zoom <= 0.5) return;
    context.font = this.font(600, 10);
    context.textBaseline = "middle";
    scene.wires.forEach((wire) => {
      if (!wire.outputs || !state.seesBounds(wire.bounds)) return;
      const [x, y] = state.backward ? wire.curve.slice(-2) : wire.curve;
      const middle = state.backward ? y - 12 : y + 9;
      context.fillStyle = this.theme.background;
      context.fillRect(x + 3, middle - 6, context.measureText(wire.outputs).width + 4, 12);
      context.fillStyle = this.theme.text;
      context.fillText(wire.outputs, x + 5, middle);
    });
  }

  wire(context, wire, colour, width, state) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = Math.max(width, 1.4 / state.zoom);
    context.stroke(wire.path);
    context.fill(arrowHeads([wire]));
  }

  frame(context, scene, box, state) {
    const { accent } = this.colour(scene, box.colour);
    const place = box;
    context.save();
    context.globalAlpha = state.faded(box) ? 0.3 : 1;
    rounded(context, place, RADIUS + 4);
    context.fillStyle = this.theme.frame;
    context.fill();
    context.strokeStyle = accent;
    context.globalAlpha *= 0.4;
    context.lineWidth = Math.max(1, 0.8 / state.zoom);
    context.stroke();
    context.restore();
    this.emphasis(context, scene, box, place, state, RADIUS + 4);
  }

  // A frame's title keeps a readable size while its frame has room for it.
  header(context, scene, box, state, zoom) {
    const place = box;
    const size = Math.max(12.5, Math.min(10.5 / zoom, 24));
    if (size * zoom < READABLE) return;
    const { accent } = this.colour(scene, box.colour);
    context.save();
    context.globalAlpha = state.faded(box) ? 0.35 : 1;
    const scale = size / 12.5;
    const left = place.x + 12 * scale;
    const middle = place.y + 20;
    this.chevron(context, left, middle, 4 * scale, true, accent);
    context.font = this.font(600, size);
    context.textBaseline = "middle";
    const room = place.width - 30 * scale;
    const title = this.fitted(context, box.title, room);
    const width = context.measureText(title).width;
    context.fillStyle = this.theme.frame;
    context.fillRect(left + 7 * scale, middle - size * 0.65, width + 8 * scale, size * 1.3);
    context.fillStyle = this.theme.text;
    context.fillText(title, left + 10 * scale, middle);
    if (scale < 1.25 && box.lines.length) {
      context.font = this.font(400, 11);
      const rest = this.fitted(context, box.lines.join(" · "), room - width - 14);
      if (rest) {
        context.fillStyle = this.theme.frame;
        context.fillRect(left + 18 + width, middle - 8, context.measureText(rest).width + 6, 16);
        context.fillStyle = this.theme.muted;
        context.fillText(rest, left + 20 + width, middle);
      }
    }
    context.restore();
  }

  box(context, scene, box, state) {
    const { accent, fill, hatched } = this.colour(scene, box.colour);
    const place = box;
    const tiny = place.height * state.zoom < 9;
    context.save();
    context.globalAlpha = (state.faded(box) ? 0.22 : 1) * state.appearing(box);
    if (box.stacked && !tiny) this.stack(context, place, fill, accent);
    rounded(context, place, RADIUS);
    context.fillStyle = tiny ? accent : fill;
    context.fill();
    if (!tiny) {
      if (hatched || box.dropped) {
        context.fillStyle = this.hatch(context, this.named(scene, "dropped").accent);
        context.fill();
      }
      this.rim(context, box, place, accent, state);
    }
    context.restore();
    if (tiny) return this.emphasis(context, scene, box, place, state, RADIUS);
    context.save();
    context.globalAlpha = (state.faded(box) ? 0.3 : 1) * state.appearing(box);
    this.words(context, scene, box, place, accent, state);
    context.restore();
    this.emphasis(context, scene, box, place, state, RADIUS);
  }

  stack(context, place, fill, accent) {
    context.lineWidth = 1;
    for (const shift of [6, 3]) {
      rounded(context, { x: place.x + shift, y: place.y + shift, width: place.width, height: place.height }, RADIUS);
      context.fillStyle = this.theme.background;
      context.fill();
      context.fillStyle = fill;
      context.fill();
      context.strokeStyle = accent;
      context.stroke();
    }
    rounded(context, place, RADIUS);
    context.fillStyle = this.theme.background;
    context.fill();
  }

  rim(context, box, place, accent, state) {
    context.strokeStyle = accent;
    context.lineWidth = Math.max(1.1, 0.8 / state.zoom);
    if (box.kind === "view") context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    context.clip();
    context.fillStyle = accent;
    context.fillRect(place.x, place.y, 4, place.height);
    if (box.saved_bytes && state.zoom > 0.3) {
      context.fillStyle = this.theme.saved;
      context.globalAlpha *= 0.85;
      const share = Math.max(0.02, box.saved_bytes / state.most);
      context.fillRect(place.x + 4, place.y + place.height - 3, (place.width - 4) * share, 3);
    }
  }

  stubs(context, box, place, backward) {
    const up = backward ? 1 : -1;
    const y = backward ? place.y + place.height : place.y;
    context.strokeStyle = this.theme.line;
    context.lineWidth = 1.2;
    const shown = box.empty.slice(0, 5);
    const step = 22;
    context.font = this.font(500, 9);
    context.fillStyle = this.theme.muted;
    shown.forEach((slot, i) => {
      const x = place.x + place.width - 18 - step * (shown.length - 1 - i);
      context.fillText(String(slot), x + 5, y + up * 8.5);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, y + up * 6);
      context.stroke();
      context.beginPath();
      context.arc(x, y + up * 8.5, 2.5, 0, 7);
      context.stroke();
    });
  }

  emphasis(context, scene, box, place, state, radius) {
    const ring = (colour, width, distance, alpha = 1) => {
      context.save();
      context.globalAlpha = alpha;
      const d = distance / Math.max(0.5, state.zoom);
      rounded(context, { x: place.x - d, y: place.y - d, width: place.width + 2 * d, height: place.height + 2 * d }, radius + d);
      context.strokeStyle = colour;
      context.lineWidth = width / Math.max(0.35, state.zoom);
      context.stroke();
      context.restore();
    };
    if (box.mark) {
      const { accent } = this.named(scene, box.mark);
      if (box.role !== "frame") ring(accent, 2, 2.5);
      this.badge(context, scene, box.mark, place, accent);
    }
    if (state.found.has(box.address)) ring(this.theme.found, 2.5, 3);
    if (box === state.hovered) ring(this.theme.primary, 1.4, 1, 0.7);
    if (box.address === state.selected) {
      ring(this.theme.primary, 2.4, 2.5);
      ring(this.theme.primary, 6, 5, 0.18);
    }
  }

  badge(context, scene, key, place, accent) {
    const x = place.x + place.width - 4;
    const y = place.y + 2;
    context.beginPath();
    context.arc(x, y, 8, 0, 7);
    context.fillStyle = accent;
    context.fill();
    this.mark(context, scene.marks[scene.colourOf.get(key)], x - 4, y - 4, 0.8, this.theme.background);
  }
}

function rounded(context, place, radius) {
  context.beginPath();
  context.roundRect(place.x, place.y, place.width, place.height, Math.min(radius, place.height / 2, place.width / 2));
}
