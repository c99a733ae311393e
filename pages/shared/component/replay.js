// A recorded backward pass over the picture: which step is shown, and what had run and flowed by then. All of it is
// worked out here; the app only hears which step the reader stopped at.

const FLOW = { NOTHING: 0, ZERO: 1, FINITE: 2, NON_FINITE: 3 };
const TOLD_MS = 300; // after the last move until the app hears of the step
const STEP_KINDS = ["gradient", "gradient", "recomputed"]; // the palette's words for node, accumulate, recompute

// The replay of a scene that has one; else takes an earlier one away.
function replayOf(view, scene) {
  if (!scene?.replay) {
    view.replay?.remove();
    return null;
  }
  const replay = view.replay ?? new Replay(view);
  replay.receive(scene);
  return replay;
}

class Replay extends ReplayPaint {
  constructor(view) {
    super(view);
    this.done = 0; // steps that have run: the last of them is the current one
    this.playing = 0;
    this.follows = false;
    this.bar = new ReplayBar(this);
    this.onKey = (event) => this.bar.keyOfRoot(event);
    view.root.addEventListener("keydown", this.onKey);
  }

  remove() {
    this.halt();
    this.view.root.removeEventListener("keydown", this.onKey);
    this.bar.remove();
  }

  // Another picture of the same recording keeps the step; another recording starts at its end, or where the link says.
  receive(scene) {
    const another = this.told?.stamp !== scene.replay.stamp;
    const asked = !another && this.told.asked !== scene.replay.asked;
    if (another || asked) this.halt(); // the bar tells of it once all of the new recording is in its place
    Object.assign(this, { scene, told: scene.replay, columns: scene.columns });
    this.count = this.columns.step_place.length;
    const { start } = this.told;
    if (another || asked) this.done = start >= 0 && start < this.count ? start + 1 : this.count;
    this.done = Math.min(this.done, this.count);
    this.place();
    this.settle();
    this.bar.receive(another);
    if (asked) this.lookFor = this.current;
  }

  // After the picture has found its place: the step that the app asked for is in sight.
  arrive() {
    if (this.lookFor) this.view.reveal(this.lookFor);
    this.lookFor = null;
  }

  // Where steps and edges are in this picture: numbers of boxes and wires, -1 where it has none.
  place() {
    const { scene, columns } = this;
    const { index } = this.view;
    const { boxes } = index;
    const boxAt = (position) => boxes[position] ?? -1;
    this.boxOfStep = Int32Array.from(columns.step_place, (node) => (node < 0 ? -1 : boxAt(index.at[node])));
    scene.wires.forEach((wire, number) => (wire.order = number));
    const pairs = new Map(scene.wires.map((wire, number) => [wire.source * scene.boxes.length + wire.target, number]));
    this.wireOfEdge = new Int32Array(index.consumer.length).fill(-1);
    this.chips = []; // leaves on the boxes that use them, with what flowed into them
    this.chipOfEdge = new Map();
    for (let edge = 0; edge < index.consumer.length; edge++) {
      const [one, other] = [boxAt(index.producerAt(edge)), boxAt(index.at[index.consumer[edge]])];
      if (one === other) this.placeChip(edge, one);
      if (one === other || one < 0 || other < 0) continue;
      this.wireOfEdge[edge] = pairs.get(one * scene.boxes.length + other) ?? pairs.get(other * scene.boxes.length + one) ?? -1;
    }
    this.groups = scene.boxes.filter((box) => box.role === "group");
    this.ran = new Uint32Array(scene.boxes.length); // steps of this pass that ran, by box
    this.runs = new Uint32Array(scene.boxes.length); // steps of this pass at all
    this.states = new Uint8Array(scene.wires.length);
    this.norms = new Float64Array(scene.wires.length);
    this.bad = new Set(); // boxes with a gradient inside that is not finite
    this.settled = { pass: -1, done: 0 };
  }

  // A leaf that is drawn on the box that uses it: no wire carries its gradient, so its mark takes the colour.
  placeChip(edge, number) {
    const { index } = this.view;
    const box = this.scene.boxes[number];
    if (!box || !index.isLeaf(index.producer[edge])) return;
    const address = index.addressOf(index.producer[edge]);
    const leaf = box.leaves.find((one) => one.address === address);
    if (!leaf) return;
    const known = this.chips.find((chip) => chip.leaf === leaf);
    const chip = known ?? { box, leaf, state: FLOW.NOTHING, norm: 0 };
    if (!known) this.chips.push(chip);
    this.chipOfEdge.set(edge, chip);
  }

  get step() {
    return this.done - 1;
  }

  get pass() {
    const at = Math.max(0, this.step);
    return this.told.passes.findIndex(([, first, last]) => at >= first && at < last);
  }

  get current() {
    return this.step >= 0 ? (this.scene.boxes[this.boxOfStep[this.step]] ?? null) : null;
  }

  // Counts what ran, and adds up what flowed, in this pass up to the current step.
  settle() {
    const pass = this.pass;
    const [, first, last] = this.told.passes[pass] ?? [0, 0, this.count];
    if (this.settled.pass !== pass || this.settled.done > this.done) {
      for (const list of [this.ran, this.runs, this.states, this.norms]) list.fill(0);
      for (const chip of this.chips) Object.assign(chip, { state: FLOW.NOTHING, norm: 0 });
      this.bad.clear();
      for (let step = first; step < last; step++) if (this.boxOfStep[step] >= 0) this.runs[this.boxOfStep[step]]++;
      this.settled = { pass, done: first };
    }
    for (let step = this.settled.done; step < this.done; step++) this.advance(step);
    this.settled.done = this.done;
  }

  advance(step) {
    if (this.boxOfStep[step] >= 0) this.ran[this.boxOfStep[step]]++;
    for (const flow of this.flowsOf(step)) {
      const [edge, state, norm] = [this.columns.flow_edge[flow], this.columns.flow_state[flow], this.columns.flow_norm[flow]];
      const wire = this.wireOfEdge[edge];
      if (wire < 0) {
        this.inside(step, edge, state, norm);
        continue;
      }
      this.states[wire] = Math.max(this.states[wire], state);
      this.norms[wire] = Math.hypot(this.norms[wire], norm);
    }
  }

  // What no wire shows: into a leaf of the box, or between two nodes of a closed group.
  inside(step, edge, state, norm) {
    if (state === FLOW.NON_FINITE && this.boxOfStep[step] >= 0) this.bad.add(this.boxOfStep[step]);
    const chip = this.chipOfEdge.get(edge);
    if (chip) Object.assign(chip, { state: Math.max(chip.state, state), norm: Math.hypot(chip.norm, norm) });
  }

  *flowsOf(step) {
    if (step < 0) return;
    for (let flow = this.columns.step_flows[step]; flow < this.columns.step_flows[step + 1]; flow++) yield flow;
  }

  // Wires along which the current step sent a gradient.
  get sent() {
    const numbers = [...this.flowsOf(this.step)].map((flow) => this.wireOfEdge[this.columns.flow_edge[flow]]);
    return new Set(numbers.filter((number) => number >= 0));
  }

  // By the reader: `done` steps have run, and the app hears of it once the reader rests.
  go(done) {
    this.pause();
    this.show(done);
    this.tellSoon();
  }

  show(done) {
    this.done = Math.min(this.count, Math.max(0, Math.round(done)));
    this.settle();
    this.bar.tell();
    const box = this.follows ? this.current : null;
    if (box) this.view.reveal(box);
    this.view.repaint();
  }

  play() {
    if (!this.count || this.playing) return;
    if (this.done >= this.count) this.show(0);
    let before = performance.now();
    let due = 0;
    const tick = (now) => {
      due += ((now - before) / 1000) * this.bar.rate;
      before = now;
      const whole = Math.floor(due);
      due -= whole;
      if (whole) this.show(this.done + whole);
      if (this.done >= this.count) this.go(this.count);
      else this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.bar.tell();
  }

  pause() {
    this.halt();
    this.bar.tell();
  }

  // What goes on by itself ends: playing, and word to the app of a step that is no longer shown.
  halt() {
    cancelAnimationFrame(this.playing);
    clearTimeout(this.telling);
    this.playing = 0;
  }

  toggle() {
    if (!this.playing) return this.play();
    return this.go(this.done);
  }

  tellSoon() {
    clearTimeout(this.telling);
    this.telling = setTimeout(() => {
      const { component } = this.view;
      if (component.key) noteInLink("step", String(this.step));
      component.setStateValue("step", this.step);
    }, TOLD_MS);
  }

  // A wire whose gradients the app should tell more of.
  choose(wire) {
    const { boxes } = this.scene;
    this.chosen = `${boxes[wire.source].address}\n${boxes[wire.target].address}`;
    this.view.component.setStateValue("wire", this.chosen);
    this.view.repaint();
  }

  get chosenWire() {
    const ends = this.chosen?.split("\n") ?? [];
    const [source, target] = ends.map((address) => this.scene.byAddress.get(address)?.index);
    return source === undefined ? undefined : this.scene.wires.find((wire) => wire.source === source && wire.target === target);
  }

  // The step that ran what is selected; of several the next one after the current, then the first again.
  goToSelected() {
    const { view, columns } = this;
    const { index } = view;
    const node = view.selected ? index.nodeOf(view.selected) : -1;
    const box = view.selectedBox()?.index ?? -1;
    const runs = (step) => (node >= 0 && index.isLeaf(node) ? columns.step_place[step] === node : this.boxOfStep[step] === box);
    const order = Array.from({ length: this.count }, (_, number) => (this.done + number) % this.count);
    const found = box < 0 ? undefined : order.find(runs);
    if (found === undefined) return view.chrome.say(box < 0 ? "Select a box first." : "No step ran it.");
    return this.go(found + 1);
  }
}
