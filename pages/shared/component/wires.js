// Wires and the words along them.

const FAR = 0.22; // zoom below which wires are plain thin lines
const LABEL = 10; // size of the words along a wire

class WirePainter extends BoxPainter {
  wires(context, scene, state) {
    context.lineCap = "round";
    const near = state.near(scene.wires);
    this.markedWires(context, scene, near.filter((wire) => wire.mark === "removed"), state);
    context.strokeStyle = context.fillStyle = this.theme.line;
    context.globalAlpha = (state.dimmed ? 0.35 : 1) * state.arrival;
    if (state.zoom < FAR) this.farWires(context, scene, state);
    else this.nearWires(context, scene, near, state);
    this.markedWires(context, scene, near.filter((wire) => wire.mark !== "removed"), state);
    context.globalAlpha = state.arrival;
    for (const wire of near) if (state.highlight?.wires.has(wire)) this.wire(context, wire, this.theme.primary, 2.8, state);
    context.globalAlpha = 1;
  }

  // What only A has lies below all that is there, so it is drawn first.
  markedWires(context, scene, wires, state) {
    context.globalAlpha = state.arrival * (state.dimmed && !state.highlight ? 0.35 : 1);
    for (const wire of wires) {
      if (!wire.mark || !scene.colourOf.has(wire.mark) || state.highlight?.wires.has(wire)) continue;
      this.markedWire(context, scene, wire, state);
    }
  }

  // A line of one pixel is drawn many times faster than a wider one.
  farWires(context, scene, state) {
    context.lineWidth = 0.99 / state.scale;
    context.globalAlpha *= 0.8;
    context.stroke(scene.coarse);
  }

  nearWires(context, scene, near, state) {
    context.lineWidth = Math.max(1.25, 0.7 / state.zoom);
    if (near.length > scene.wires.length / 2) {
      context.stroke(scene.plain);
      context.fill(scene.heads);
    }
    for (const wire of near) {
      if (wire.mark) continue;
      const several = wire.edges > 1;
      if (near.length > scene.wires.length / 2 && !several) continue;
      context.lineWidth = Math.max(several ? Math.min(4, 1.2 + Math.log2(wire.edges) * 0.6) : 1.25, 0.7 / state.zoom);
      context.stroke(wire.path);
      context.fill(headOf(wire));
    }
  }

  markedWire(context, scene, wire, state) {
    const { accent } = this.named(scene, wire.mark);
    const strength = context.globalAlpha;
    if (state.highlight) context.globalAlpha = 0.25 * strength;
    if (wire.mark === "removed") context.setLineDash([6 / Math.min(1, state.zoom * 1.6), 5 / Math.min(1, state.zoom * 1.6)]);
    this.wire(context, wire, accent, 1.8, state);
    context.setLineDash([]);
    context.globalAlpha = strength;
  }

  wire(context, wire, colour, width, state) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = Math.max(width, 1.4 / state.zoom);
    context.stroke(wire.path);
    context.setLineDash([]);
    context.fill(headOf(wire));
  }

  // Output number beside the producer, shape along the curve, where there is room; lit wires say it in any case.
  wireWords(context, scene, state) {
    if (LABEL * state.zoom < READABLE) return;
    const near = state.near(scene.wires);
    const late = placeWords(this, context, scene, near, state.backward, state.hurried ? performance.now() + WORDS_MS : Infinity);
    if (late.length) state.hurried(late);
    context.textBaseline = "middle";
    for (const wire of near) {
      if (!wire.said?.length) continue;
      const faded = state.dimmed && !state.highlight?.wires.has(wire);
      context.globalAlpha = faded ? 0.25 : state.arrival;
      for (const place of wire.said) this.wireWord(context, place, wire.mark === "removed" ? this.theme.muted : this.theme.wireText);
    }
    context.globalAlpha = 1;
  }

  wireWord(context, place, colour) {
    context.fillStyle = place.framed ? this.theme.frame : this.theme.background;
    context.fillRect(place.x, place.y, place.width, place.height);
    context.fillStyle = colour;
    this.text(context, 500, LABEL, place.text, place.x + 2, place.y + place.height / 2 + 0.5, place.width);
  }

  // A lit wire and its words, over everything else.
  litWire(context, scene, wire, state) {
    this.wire(context, wire, this.theme.primary, 2.2, state);
    if (LABEL * state.zoom < READABLE) return;
    placeWords(this, context, scene, [wire], state.backward);
    context.textBaseline = "middle";
    const words = wire.said.length || !wire.label ? wire.said : [besideCurve(this, context, scene, wire)];
    for (const place of words) this.wireWord(context, place, this.theme.primary);
  }
}

function headOf(wire) {
  wire.head ??= arrowHeads([wire]);
  return wire.head;
}
