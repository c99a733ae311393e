// Where words along wires find room: beside no box, no title of a frame, no other words and no wire. Worked out once
// for every wire, when it is first seen from near.

const TRIES = [0.5, 0.36, 0.64, 0.2, 0.8];
// Beside a point of the wire: to the right, or left of it where negative, and down.
const OFFSETS = [[4, 0], [-4, 0], [4, -9], [-4, -9], [4, 9], [-4, 9], [13, 0], [-13, 0]];

function placeWords(painter, context, scene, wires, backward) {
  scene.words ??= { taken: new Grid(), told: new Map() };
  const { taken, told } = scene.words;
  for (const wire of wires) {
    if (wire.said !== undefined) continue;
    wire.said = [];
    if (wire.outputs) wire.said.push(outputNumber(painter, context, scene, wire, backward));
    const tensor = `${wire.source} ${wire.outputs} ${wire.label}`; // one tensor that many read is told once
    const shape = wire.label && !told.has(tensor) && roomAlong(painter, context, scene, wire, taken);
    if (shape) {
      told.set(tensor, wire);
      taken.add(shape, boundsOf(shape));
      wire.said.push(shape);
    }
  }
}

// "#2" where a wire leaves its box by another output than the first.
function outputNumber(painter, context, scene, wire, backward) {
  const [x, y] = backward ? wire.curve.slice(-2) : wire.curve;
  const place = sized(painter, context, plain(wire.outputs), x + 2, backward ? y - 17 : y + 2);
  return { ...place, framed: isFramed(scene, place) };
}

// Right or left of the curve, near its middle first, and further off where it runs askew.
function roomAlong(painter, context, scene, wire, taken) {
  for (const share of TRIES) {
    for (const offset of OFFSETS) {
      const place = beside(painter, context, wire, share, offset);
      if (isFree(scene, place, taken) && !wire.said.some((other) => overlap(boundsOf(place), boundsOf(other)))) return { ...place, framed: isFramed(scene, place) };
    }
  }
  return null;
}

function isFree(scene, place, taken) {
  const bounds = boundsOf(place);
  const holds = (box) => box.x < bounds.left && box.x + box.width > bounds.right && box.y + 34 < bounds.top && box.y + box.height > bounds.bottom;
  if (scene.grid.boxes.find(bounds, (box) => box.role !== "frame" || !holds(box)) || taken.find(bounds)) return false;
  return !scene.grid.wires.find(bounds, ({ curve }) => curveTouches(curve, bounds));
}

// Whether a curve runs through these bounds: looks closely only at pieces whose four points surround some of them.
function curveTouches(curve, bounds) {
  for (let i = 0; i + 7 < curve.length; i += 6) {
    const [x0, x1, x2, x3] = [curve[i], curve[i + 2], curve[i + 4], curve[i + 6]];
    if (Math.max(x0, x1, x2, x3) < bounds.left || Math.min(x0, x1, x2, x3) > bounds.right) continue;
    const [y0, y1, y2, y3] = [curve[i + 1], curve[i + 3], curve[i + 5], curve[i + 7]];
    if (Math.max(y0, y1, y2, y3) < bounds.top || Math.min(y0, y1, y2, y3) > bounds.bottom) continue;
    const steps = Math.min(60, 2 + Math.hypot(x3 - x0, y3 - y0) / 5);
    for (let step = 0; step <= steps; step++) {
      const [x, y] = pointOf(curve, i, step / steps);
      if (x > bounds.left && x < bounds.right && y > bounds.top && y < bounds.bottom) return true;
    }
  }
  return false;
}

function besideCurve(painter, context, scene, wire) {
  const place = beside(painter, context, wire, 0.5, OFFSETS[0]);
  return { ...place, framed: isFramed(scene, place) };
}

function beside(painter, context, wire, share, [across, down]) {
  const [x, y] = pointAlong(wire.curve, share);
  const place = sized(painter, context, plain(wire.label, 26), x, y + down - 7);
  return { ...place, x: x + across - (across < 0 ? place.width : 0) };
}

function sized(painter, context, text, x, y) {
  return { text, x, y, width: painter.width(context, 650, LABEL, text) + 6, height: 14 };
}

function boundsOf({ x, y, width, height }) {
  return { left: x, top: y, right: x + width, bottom: y + height };
}

function overlap(a, b) {
  return a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
}

function isFramed(scene, place) {
  const middle = { left: place.x + place.width / 2, right: place.x + place.width / 2, top: place.y + 7, bottom: place.y + 7 };
  return Boolean(scene.grid.boxes.find(middle, (box) => box.role === "frame"));
}

// The point at a share of the curve's pieces, each taken as long as the straight line between its ends.
function pointAlong(curve, share) {
  const lengths = [];
  for (let i = 0; i + 7 < curve.length; i += 6) lengths.push(Math.hypot(curve[i + 6] - curve[i], curve[i + 7] - curve[i + 1]));
  let rest = share * lengths.reduce((sum, length) => sum + length, 0);
  let piece = 0;
  while (piece < lengths.length - 1 && rest > lengths[piece]) rest -= lengths[piece++];
  const t = lengths[piece] ? rest / lengths[piece] : 0;
  return pointOf(curve, 6 * piece, t);
}
