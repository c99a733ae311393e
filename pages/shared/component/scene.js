// The scene that Python sends: rows of fields become objects, with paths and neighbours worked out once.

const COLUMN_TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array, float32: Float32Array, float64: Float64Array };

// JSON for structure and words, then typed columns; see engine/figures/payload.py.
function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const content = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  const own = bytes.slice(start).buffer; // typed arrays want aligned memory
  const columns = Object.entries(content.columns).map(([name, [dtype, offset, count]]) => [name, new COLUMN_TYPES[dtype](own, offset, count)]);
  return { ...content, columns: Object.fromEntries(columns) };
}

function decodeScene(bytes) {
  const scene = unpack(bytes);
  const rows = (names, list) => list.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
  const { boxes, wires, leaves, modules } = scene.fields;
  scene.boxes = rows(boxes, scene.boxes);
  scene.wires = rows(wires, scene.wires);
  scene.modules = rows(modules, scene.modules);
  scene.byAddress = new Map();
  scene.boxes.forEach((box, index) => {
    box.index = index;
    box.leaves = rows(leaves, box.leaves);
    box.words = [box.title, box.address, ...box.lines, ...box.tooltip, ...box.leaves.map((leaf) => leaf.tooltip)]
      .join("\n")
      .toLowerCase();
    box.in = [];
    box.out = [];
    scene.byAddress.set(box.address, box);
  });
  scene.grid = { boxes: new Grid(), wires: new Grid() };
  scene.boxes.forEach((box) => scene.grid.boxes.add(box, { left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height }));
  scene.wires.forEach((wire) => {
    wire.path = curvePath(wire.curve);
    wire.bounds = curveBounds(wire.curve);
    scene.grid.wires.add(wire, wire.bounds);
    scene.boxes[wire.source].out.push(wire);
    scene.boxes[wire.target].in.push(wire);
  });
  const unmarked = scene.wires.filter((wire) => !wire.mark);
  scene.plain = new Path2D();
  unmarked.forEach((wire) => scene.plain.addPath(wire.path));
  scene.heads = arrowHeads(unmarked);
  scene.coarse = coarsePath(unmarked);
  scene.compared = scene.boxes.some((box) => RING_COLOURS.has(box.mark));
  scene.most = Math.max(1, ...scene.boxes.filter((box) => box.role !== "frame").map((box) => box.saved_bytes));
  scene.marks = scene.colours.map((colour) => new Path2D(colour.mark));
  scene.colourOf = new Map(scene.colours.map((colour, index) => [colour.key, index]));
  return scene;
}

function curvePath(curve) {
  const path = new Path2D();
  path.moveTo(curve[0], curve[1]);
  for (let i = 2; i + 5 < curve.length; i += 6) {
    path.bezierCurveTo(curve[i], curve[i + 1], curve[i + 2], curve[i + 3], curve[i + 4], curve[i + 5]);
  }
  return path;
}

function curveBounds(curve) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i + 1 < curve.length; i += 2) {
    left = Math.min(left, curve[i]);
    right = Math.max(right, curve[i]);
    top = Math.min(top, curve[i + 1]);
    bottom = Math.max(bottom, curve[i + 1]);
  }
  return { left, top, right, bottom };
}

// The same curves in straight pieces of about this length: what can be told apart from afar.
const COARSE = 90;

function coarsePath(wires) {
  const path = new Path2D();
  for (const { curve } of wires) {
    path.moveTo(curve[0], curve[1]);
    for (let i = 0; i + 7 < curve.length; i += 6) {
      const steps = Math.min(8, Math.max(1, Math.round(Math.hypot(curve[i + 6] - curve[i], curve[i + 7] - curve[i + 1]) / COARSE)));
      for (let step = 1; step < steps; step++) path.lineTo(...pointOf(curve, i, step / steps));
      path.lineTo(curve[i + 6], curve[i + 7]);
    }
  }
  return path;
}

function pointOf(curve, i, t) {
  const u = 1 - t;
  const at = (k) => u * u * u * curve[i + k] + 3 * u * u * t * curve[i + 2 + k] + 3 * u * t * t * curve[i + 4 + k] + t * t * t * curve[i + 6 + k];
  return [at(0), at(1)];
}

// Every curve ends vertically, so all heads point straight down.
function arrowHeads(wires) {
  const heads = new Path2D();
  wires.forEach((wire) => {
    const [x, y] = wire.curve.slice(-2);
    heads.moveTo(x, y);
    heads.lineTo(x - 3.6, y - 7);
    heads.lineTo(x + 3.6, y - 7);
    heads.closePath();
  });
  return heads;
}

// Squared distance from a point to a curve, sampled; good to a pixel for the gentle curves drawn here.
function curveDistance(curve, x, y) {
  let best = Infinity;
  for (let i = 0; i + 7 < curve.length; i += 6) {
    const steps = Math.min(48, 6 + Math.hypot(curve[i + 6] - curve[i], curve[i + 7] - curve[i + 1]) / 12);
    for (let s = 0; s <= steps; s++) {
      const [px, py] = pointOf(curve, i, s / steps);
      best = Math.min(best, (px - x) ** 2 + (py - y) ** 2);
    }
  }
  return best;
}
