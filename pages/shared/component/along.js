// Where words along wires find room: beside no box, no title of a frame, no other words and no wire. Worked out once
// for every wire, when it is first seen from near.

const TRIES = [0.5, 0.36, 0.64, 0.2, 0.8];
// Beside a point of the wire: to the right, or left of it where negative, and down.
const OFFSETS = [[3, 0], [-3, 0], [3, -9], [-3, -9], [3, 9], [-3, 9], [12, 0], [-12, 0]];
const STARTS = [9, 18, 28, 40, 54, 70, 90, 115, 140]; // from the producer along the wire: where an output number may stand
const WORDS_MS = 8; // of a frame for finding room; the rest of the words follows in the next ones

// Returns the wires whose words are still to be placed when the time is over.
function placeWords(painter, context, scene, wires, backward, until = Infinity) {
  scene.words ??= { taken: new Grid(), told: new Set() };
  const unsaid = wires.filter((wire) => wire.said === undefined);
  for (const wire of unsaid) {
    if (!wire.outputs || wire.number) continue;
    if (performance.now() > until) return unsaid;
    placeNumber(painter, context, scene, wire, backward);
  }
  for (const [place, wire] of unsaid.entries()) {
    if (wire.said !== undefined) continue;
    if (performance.now() > until) return unsaid.slice(place);
    wire.said = wire.number ? [wire.number] : [];
    const tensor = `${wire.source} ${wire.outputs} ${wire.label}`; // one tensor that many read is told once
    const shape = wire.label && !scene.words.told.has(tensor) && roomAlong(painter, context, scene, wire);
    if (!shape) continue;
    scene.words.told.add(tensor);
    wire.said.push(keep(scene, shape));
  }
  return [];
}

// "#2" where a wire leaves its box by another output than the first: near there, where wires have parted.
function placeNumber(painter, context, scene, wire, backward) {
  const text = plain(wire.outputs);
  const places = STARTS.flatMap((far) => {
    const [x, y] = pointFrom(wire.curve, far, backward);
    return [[3, 0], [-3, 0], [0, 0]].map(([across]) => ({ across, place: shifted(sized(painter, context, text, x, y - 7), across) }));
  });
  const free = places.find(({ across, place }) => isFree(scene, place, across ? null : wire)) ?? places.find(({ place }) => !scene.words.taken.find(boundsOf(place)) && !onBox(scene, boundsOf(place)));
  wire.number = keep(scene, (free ?? places[0]).place);
}

function keep(scene, place) {
  scene.words.taken.add(place, boundsOf(place));
  return { ...place, framed: isFramed(scene, place) };
}

// Right or left of the curve, near its middle first, and further off where it runs askew.
function roomAlong(painter, context, scene, wire) {
  for (const share of TRIES) {
    for (const offset of OFFSETS) {
      const place = beside(painter, context, wire, share, offset);
      if (isFree(scene, place)) return place;
    }
  }
  return null;
}

// Free of boxes, words and wires, but for the one that the words may stand on.
function isFree(scene, place, own = null) {
  const bounds = boundsOf(place);
  if (onBox(scene, bounds) || scene.words.taken.find(bounds)) return false;
  return !scene.grid.wires.find(bounds, (wire) => wire !== own && curveTouches(wire.curve, bounds));
}

function onBox(scene, bounds) {
  const holds = (box) => box.x < bounds.left && box.x + box.width > bounds.right && box.y + 34 < bounds.top && box.y + box.height > bounds.bottom;
  return scene.grid.boxes.find(bounds, (box) => box.role !== "frame" || !holds(box));
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
  return shifted(sized(painter, context, plain(wire.label, 36), x, y + down - 7), across);
}

// Right of where it is, left of it where negative, or astride.
function shifted(place, across) {
  return { ...place, x: place.x + across - (across < 0 ? place.width : across ? 0 : place.width / 2) };
}

function sized(painter, context, text, x, y) {
  return { text, x, y, width: painter.width(context, 500, LABEL, text) + 4, height: 14 };
}

function boundsOf({ x, y, width, height }) {
  return { left: x, top: y, right: x + width, bottom: y + height };
}

function isFramed(scene, place) {
  const middle = { left: place.x + place.width / 2, right: place.x + place.width / 2, top: place.y + 7, bottom: place.y + 7 };
  return Boolean(scene.grid.boxes.find(middle, (box) => box.role === "frame"));
}

// The point at a share of the curve's pieces, each taken as long as the straight line between its ends.
function pointAlong(curve, share) {
  return pointAt(curve, share * lengthsOf(curve).reduce((sum, length) => sum + length, 0));
}

// The point so far from the producer, at most two thirds of the way.
function pointFrom(curve, far, backward) {
  const whole = lengthsOf(curve).reduce((sum, length) => sum + length, 0);
  const rest = Math.min(far, (2 * whole) / 3);
  return pointAt(curve, backward ? whole - rest : rest);
}

function pointAt(curve, length) {
  const lengths = lengthsOf(curve);
  let [piece, rest] = [0, length];
  while (piece < lengths.length - 1 && rest > lengths[piece]) rest -= lengths[piece++];
  return pointOf(curve, 6 * piece, lengths[piece] ? Math.min(1, rest / lengths[piece]) : 0);
}

function lengthsOf(curve) {
  const lengths = [];
  for (let i = 0; i + 7 < curve.length; i += 6) lengths.push(Math.hypot(curve[i + 6] - curve[i], curve[i + 7] - curve[i + 1]));
  return lengths;
}
