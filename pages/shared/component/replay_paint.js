// The replay on top of the kept picture: a veil over what has not run, gradients on the wires, a ring around the step.

const VEIL = 0.66;
const LAST = [0, 1, 0, 2]; // order of painting, by flow
const THICK = [1.8, 2.4, 3, 3.7, 4.5]; // of a wire, by step of the scale of norms: colour never stands alone

class ReplayPaint {
  constructor(view) {
    this.view = view;
  }

  paint(context) {
    const { view, scene } = this;
    const seen = inSight(this.sight());
    this.wires(context, seen.near(scene.wires));
    this.veils(context, seen.within(scene));
    this.ring(context);
    this.sentWords(context);
    context.globalAlpha = 1;
    context.setLineDash([]);
    view.root.dataset.atlasStep = String(this.step);
  }

  sight() {
    const { camera, width, height } = this.view;
    const [left, top] = camera.toWorld(-20, -20);
    const [right, bottom] = camera.toWorld(width + 20, height + 20);
    return { left, top, right, bottom };
  }

  // Painted over by the ground: fainter where nothing of it has run, and a bar for how much of a group has.
  veils(context, boxes) {
    const { zoom } = this.view.camera;
    const { painter, theme } = this.view;
    const patches = zoom < PATCHES;
    for (const box of boxes) {
      if (box.role === "frame" || this.ran[box.index]) continue;
      context.fillStyle = theme.background;
      context.globalAlpha = VEIL;
      if (patches) context.fillRect(box.x, box.y, box.width, box.height);
      else context.fill((box.outline ??= roundedPath(box, RADIUS)));
    }
    context.globalAlpha = 1;
    context.fillStyle = painter.named(this.scene, "gradient").accent;
    for (const box of boxes) {
      const [ran, runs] = [this.ran[box.index], this.runs[box.index]];
      if (box.role !== "group" || !ran) continue;
      context.fillRect(box.x + RADIUS, box.y - 1.5, (box.width - 2 * RADIUS) * (ran / runs), Math.max(3, 2 / zoom));
    }
  }

  wires(context, near) {
    const sent = this.sent;
    context.lineCap = "round";
    const chosen = this.chosen && this.chosenWire;
    if (chosen) this.halo(context, chosen, this.view.theme.primary, 10);
    this.faint(context, near.filter((wire) => this.states[wire.order] === FLOW.NOTHING));
    // What is not finite comes last: wires share parts of their way.
    const inOrder = near.filter((wire) => this.states[wire.order] !== FLOW.NOTHING).sort((a, b) => LAST[this.states[a.order]] - LAST[this.states[b.order]] || sent.has(a.order) - sent.has(b.order));
    for (const wire of inOrder) this.wire(context, wire, this.states[wire.order], this.norms[wire.order], sent.has(wire.order));
  }

  // Wires that carried nothing yet, under a veil like the boxes.
  faint(context, wires) {
    const { zoom } = this.view.camera;
    context.strokeStyle = this.view.theme.background;
    context.globalAlpha = 0.5;
    context.lineWidth = Math.max(2.2, 1.4 / zoom);
    for (const wire of wires) context.stroke(wire.path);
    context.globalAlpha = 1;
  }

  wire(context, wire, state, norm, isSent) {
    const { zoom } = this.view.camera;
    const { colour, thick, mark } = this.look(state, norm);
    context.strokeStyle = context.fillStyle = colour;
    if (isSent) this.halo(context, wire, colour, thick + 7);
    context.lineWidth = Math.max(thick, (0.45 * thick) / zoom);
    if (state === FLOW.ZERO) context.setLineDash([5 / Math.min(1, zoom * 1.4), 4 / Math.min(1, zoom * 1.4)]);
    context.stroke(wire.path);
    if (state === FLOW.ZERO) context.setLineDash([]);
    if (zoom >= FAR) context.fill(headOf(wire));
    if (mark) this.mark(context, wire, mark, colour);
  }

  halo(context, wire, colour, thick) {
    context.strokeStyle = colour;
    context.globalAlpha = 0.28;
    context.lineWidth = thick / Math.max(0.5, this.view.camera.zoom);
    context.stroke(wire.path);
    context.globalAlpha = 1;
  }

  // A gradient that is 0 or not finite has a mark of its own in the middle of its wire.
  mark(context, wire, name, colour) {
    const { view, scene } = this;
    const scale = 1.1 / Math.max(0.6, view.camera.zoom);
    const [x, y] = (wire.middle ??= pointAlong(wire.curve, 0.5));
    context.fillStyle = view.theme.background;
    context.beginPath();
    context.arc(x, y, 8 * scale, 0, 7);
    context.fill();
    view.painter.mark(context, scene.marks[scene.colourOf.get(name)], x - 5 * scale, y - 5 * scale, scale, colour);
  }

  look(state, norm) {
    const { painter } = this.view;
    if (state === FLOW.NON_FINITE) return { colour: painter.named(this.scene, "non_finite").accent, thick: 3, mark: "non_finite" };
    if (state === FLOW.ZERO) return { colour: painter.named(this.scene, "zero_gradient").accent, thick: 1.6, mark: "zero_gradient" };
    const at = this.shadeOf(norm);
    const shade = this.told.scale[at];
    return { colour: this.view.theme.dark ? shade.dark : shade.light, thick: this.told.scale.length > 1 ? THICK[at] : THICK[2] };
  }

  // Which step of the scale; several edges of one wire together can be above the last.
  shadeOf(norm) {
    const { scale } = this.told;
    const at = scale.findIndex(({ top }) => norm <= top * (1 + 1e-12));
    return at < 0 ? scale.length - 1 : at;
  }

  ring(context) {
    const box = this.current;
    if (!box) return;
    const { view, scene } = this;
    const meaning = STEP_KINDS[this.columns.step_kind[this.step]];
    const { accent } = view.painter.named(scene, meaning);
    const state = { zoom: view.camera.zoom };
    view.painter.ring(context, box, accent, 3, 4, state);
    context.globalAlpha = 0.22;
    view.painter.ring(context, box, accent, 9, 8, state);
    context.globalAlpha = 1;
    if (view.camera.zoom >= PATCHES) view.painter.badge(context, scene, meaning, box, accent, state);
    this.chip(context, box, accent);
  }

  // The leaf that an accumulation wrote to, on its box.
  chip(context, box, accent) {
    const { index, camera } = this.view;
    const node = this.columns.step_place[this.step];
    if (11 * camera.zoom < READABLE || !index.isLeaf(node)) return;
    const name = index.addressOf(node);
    for (const leaf of box.leaves) {
      if (leaf.address !== name || !leaf.place) continue;
      context.beginPath();
      context.roundRect(leaf.place.x - 1, leaf.place.y - 1, leaf.place.width + 2, 18, 9);
      context.strokeStyle = accent;
      context.lineWidth = 2.4;
      context.stroke();
    }
  }

  // Norms beside the wires that the current step sent something along, where they can be read.
  sentWords(context) {
    const { view } = this;
    if (LABEL * view.camera.zoom < READABLE) return;
    context.textBaseline = "middle";
    for (const number of this.sent) {
      const wire = this.scene.wires[number];
      const state = this.states[number];
      const text = state === FLOW.FINITE ? significant(this.norms[number]) : "";
      if (!text) continue;
      const [x, y] = pointAlong(wire.curve, 0.5);
      const place = shifted(sized(view.painter, context, text, x, y - 7), 0);
      view.painter.wireWord(context, { ...place, framed: isFramed(this.scene, place) }, this.look(state, this.norms[number]).colour);
    }
  }
}
