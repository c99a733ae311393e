// Where words along wires find room: beside no box, no title of a frame and no other words. Worked out once a scene.

const TRIES = [0.5, 0.36, 0.64, 0.24, 0.76];

function placeWords(painter, context, scene, backward) {
  if (scene.wordsPlaced) return;
  scene.wordsPlaced = true;
  const taken = new Grid();
  for (const wire of scene.wires) {
    const found = [];
    if (wire.outputs) found.push(outputNumber(painter, context, scene, wire, backward));
    const shape = wire.label && roomAlong(painter, context, scene, wire, taken, found);
    if (shape) found.push(shape);
    found.forEach((place) => taken.add(place, boundsOf(place)));
    if (found.length) wire.said = found;
  }
}

// "#2" where a wire leaves its box by another output than the first.
function outputNumber(painter, context, scene, wire, backward) {
  const [x, y] = backward ? wire.curve.slice(-2) : wire.curve;
  const place = sized(painter, context, plain(wire.outputs), x + 2, backward ? y - 17 : y + 2);
  return { ...place, framed: isFramed(scene, place) };
}

function roomAlong(painter, context, scene, wire, taken, own) {
  for (const share of TRIES) {
    const place = centred(painter, context, wire, share);
    const bounds = boundsOf(place);
    const free = !scene.grid.boxes.find(bounds, (box) => box.role !== "frame" || bounds.top < box.y + 34) && !taken.find(bounds) && !own.some((other) => overlap(bounds, boundsOf(other)));
    if (free) return { ...place, framed: isFramed(scene, place) };
  }
  return null;
}

function besideCurve(painter, context, scene, wire) {
  const place = centred(painter, context, wire, 0.5);
  return { ...place, framed: isFramed(scene, place) };
}

function centred(painter, context, wire, share) {
  const [x, y] = pointAlong(wire.curve, share);
  const place = sized(painter, context, plain(wire.label, 26), x, y - 7);
  return { ...place, x: x - place.width / 2 };
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
