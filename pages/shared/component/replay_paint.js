// The replay on top of the kept picture: a veil over what has not run, gradients on the wires, a ring around the step.

const MANY_PARTS = 500; // boxes and wires from which on what rests is kept
const VEIL = 0.66;
const THICK = [1.8, 2.4, 3, 3.7, 4.5]; // of a wire, by step of the scale of norms: colour never stands alone

class ReplayPaint {
  constructor(view) {
    this.view = view;
    this.layers = new ReplayLayers(this);
  }

  // Onto the canvas; a large picture by way of layers that are kept from step to step.
  paint(context) {
    if (this.scene.wires.length + this.scene.boxes.length > MANY_PARTS) {
      this.layers.paint(context);
      this.view.turnTo(context, 0);
    } else this.paintResting(context);
    this.paintCurrent(context);
    this.view.root.dataset.atlasStep = String(this.step);
  }

  // Everything, onto any sheet that is turned to the world.
  paintWhole(context) {
    this.paintResting(context);
    this.paintCurrent(context);
  }

  paintResting(context) {
    const seen = inSight(this.sight());
    const near = seen.near(this.scene.wires);
    this.faint(context, near.filter((wire) => this.states[wire.order] === FLOW.NOTHING));
    this.wires(context, near);
    this.veils(context, seen.within(this.scene));
  }

  // What is different at every step.
  paintCurrent(context) {
    const chosen = this.chosen && this.chosenWire;
    if (chosen) this.halo(context, chosen, this.view.theme.primary, 10);
    for (const number of this.sent) this.sentWire(context, this.scene.wires[number]);
    this.bars(context);
    this.paintChips(context);
    this.paintBad(context);
    this.ring(context);
    this.sentWords(context);
    context.globalAlpha = 1;
    context.setLineDash([]);
  }

  sight() {
    const { camera, width, height } = this.view;
    const [left, top] = camera.toWorld(-20, -20);
    const [right, bottom] = camera.toWorld(width + 20, height + 20);
    return { left, top, right, bottom };
  }

  // Painted over by the ground: fainter where nothing of it has run.
  veils(context, boxes) {
    const patches = this.view.camera.zoom < PATCHES;
    context.fillStyle = this.view.theme.background;
    context.globalAlpha = VEIL;
    for (const box of boxes) {
      if (box.role === "frame" || this.ran[box.index]) continue;
      if (patches) context.fillRect(box.x, box.y, box.width, box.height);
      else context.fill((box.outline ??= roundedPath(box, RADIUS)));
    }
    context.globalAlpha = 1;
  }

  // How much of every closed group has run.
  bars(context) {
    const { zoom } = this.view.camera;
    context.fillStyle = this.view.painter.named(this.scene, "gradient").accent;
    for (const box of this.groups) {
      const [ran, runs] = [this.ran[box.index], this.runs[box.index]];
      if (ran) context.fillRect(box.x + RADIUS, box.y - 1.5, (box.width - 2 * RADIUS) * (ran / runs), Math.max(3, 2 / zoom));
    }
  }

  // In the order of FLOW, zeros below, what is not finite on top: wires share parts of their way.
  wires(context, near) {
    const flowed = near.filter((wire) => this.states[wire.order] !== FLOW.NOTHING);
    flowed.sort((a, b) => this.states[a.order] - this.states[b.order]);
    for (const wire of flowed) this.wire(context, wire, this.states[wire.order], this.norms[wire.order]);
  }

  sentWire(context, wire) {
    const [state, norm] = [this.states[wire.order], this.norms[wire.order]];
    if (state === FLOW.NOTHING) return;
    const { colour, thick } = this.look(state, norm);
    this.halo(context, wire, colour, thick + 7);
    this.wire(context, wire, state, norm);
  }

  // Wires that carried nothing yet, under a veil like the boxes.
  faint(context, wires) {
    const { zoom } = this.view.camera;
    context.strokeStyle = this.view.theme.background;
    context.lineCap = "round";
    context.globalAlpha = 0.5;
    context.lineWidth = Math.max(2.2, 1.4 / zoom);
    for (const wire of wires) context.stroke(wire.path);
    context.globalAlpha = 1;
  }

  wire(context, wire, state, norm) {
    const { zoom } = this.view.camera;
    const { colour, thick, mark } = this.look(state, norm);
    context.strokeStyle = context.fillStyle = colour;
    context.lineCap = "round";
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
    const [x, y] = (wire.middle ??= pointAlong(wire.curve, 0.5));
    this.markAt(context, x, y, name, colour);
  }

  markAt(context, x, y, name, colour) {
    const { view, scene } = this;
    const scale = 1.1 / Math.max(0.6, view.camera.zoom);
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

  // Leaves in the colour of what flowed into them, where they can be read.
  paintChips(context) {
    const { camera } = this.view;
    if (11 * camera.zoom < READABLE) return;
    const bounds = this.sight();
    for (const { box, leaf, state, norm } of this.chips) {
      const { place } = leaf;
      if (state === FLOW.NOTHING || !place || !overlap({ left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height }, bounds)) continue;
      const { colour, mark } = this.look(state, norm);
      context.beginPath();
      context.roundRect(place.x, place.y, place.width, 16, 8);
      context.strokeStyle = colour;
      context.lineWidth = 2.2;
      if (state === FLOW.ZERO) context.setLineDash([4, 3]);
      context.stroke();
      context.setLineDash([]);
      if (mark) this.markAt(context, place.x + place.width - 3, place.y + 2, mark, colour);
    }
  }

  // Boxes with a gradient that is not finite and that no wire shows.
  paintBad(context) {
    if (!this.bad.size) return;
    const { accent } = this.view.painter.named(this.scene, "non_finite");
    for (const number of this.bad) {
      const box = this.scene.boxes[number];
      this.markAt(context, box.x + box.width - 4, box.y + box.height - 4, "non_finite", accent);
    }
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
