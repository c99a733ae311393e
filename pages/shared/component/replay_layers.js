// What rests in a large picture that plays, kept as layers: the veil, and one for each kind of gradient on the wires. A step
// changes a box and a few wires of them; all is painted anew only when the reader moves or steps back.

const KINDS = [1, 2, 3]; // of FLOW, from the lowest layer to the highest

class ReplayLayers {
  constructor(replay) {
    this.replay = replay;
    this.drawn = null; // what the layers show, and from where they look
    this.before = null; // where the last frame looked
  }

  paint(context) {
    const { replay } = this;
    const look = this.look();
    const rests = same(look.camera, this.before);
    this.before = look.camera;
    if (rests && !replay.view.camera.flight) replay.view.moving = false; // playing goes on: no other rest will come
    const kept = this.drawn && same(this.drawn.about, look.about) && this.drawn.done <= replay.done;
    if (kept && same(this.drawn.camera, look.camera)) this.advance();
    else if (!kept || rests) this.redraw(look);
    this.put(context);
  }

  look() {
    const { view, scene, settled } = this.replay;
    const { x, y, zoom } = view.camera;
    const about = { scene, pass: settled.pass, theme: view.theme, width: view.width, height: view.height, ratio: view.ratio };
    return { camera: { x, y, zoom }, about };
  }

  redraw(look) {
    const { replay } = this;
    const { view, scene } = replay;
    this.veil ??= newPen();
    this.flows ??= KINDS.map(newPen);
    for (const pen of [this.veil, ...this.flows]) {
      Object.assign(pen.canvas, { width: view.canvas.width, height: view.canvas.height });
      view.turnTo(pen, 0);
    }
    const seen = inSight(replay.sight());
    const near = seen.near(scene.wires);
    replay.faint(this.veil, near.filter((wire) => replay.states[wire.order] === FLOW.NOTHING));
    replay.veils(this.veil, seen.within(scene));
    for (const wire of near) this.wire(wire);
    this.drawn = { ...look, done: replay.done };
  }

  // The steps since: their boxes come out of the veil, their wires take their colours.
  advance() {
    const { replay, drawn } = this;
    const bounds = replay.sight();
    for (let step = drawn.done; step < replay.done; step++) {
      const box = replay.scene.boxes[replay.boxOfStep[step]];
      if (box) this.veil.clearRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
      for (const flow of replay.flowsOf(step)) {
        const wire = replay.scene.wires[replay.wireOfEdge[replay.columns.flow_edge[flow]]];
        if (wire && overlap(wire.bounds, bounds)) this.wire(wire);
      }
    }
    drawn.done = replay.done;
  }

  // On the layer of its kind: whichever comes later, zeros stay below, and what is not finite on top.
  wire(wire) {
    const { states, norms } = this.replay;
    const state = states[wire.order];
    if (state !== FLOW.NOTHING) this.replay.wire(this.flows[KINDS.indexOf(state)], wire, state, norms[wire.order]);
  }

  // While the reader moves, the layers move along.
  put(context) {
    const { view } = this.replay;
    const { x, y, zoom } = this.drawn.camera;
    const grown = view.camera.zoom / zoom;
    const [left, top] = view.camera.toScreen(x, y).map((place) => place * view.ratio);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    for (const { canvas } of [this.veil, ...this.flows]) context.drawImage(canvas, left, top, canvas.width * grown, canvas.height * grown);
  }
}

function newPen() {
  return document.createElement("canvas").getContext("2d");
}

function same(one, other) {
  return Boolean(one && other) && Object.keys(one).every((name) => one[name] === other[name]);
}

function overlap(one, other) {
  return one.left < other.right && one.right > other.left && one.top < other.bottom && one.bottom > other.top;
}
