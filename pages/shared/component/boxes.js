// Boxes on a 2D context, in world coordinates: plain fills from afar, with rim, words and marks when near.

const PATCHES = 0.2; // zoom below which boxes are patches of colour: no title could be read
const RING_COLOURS = new Set(["added", "removed", "changed"]);

class BoxPainter extends WordPainter {
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

  boxes(context, scene, seen, state) {
    const patches = new Map();
    for (const box of seen) {
      if (state.zoom >= PATCHES) this.box(context, scene, box, state);
      else this.sort(patches, scene, box, state);
    }
    this.patches(context, patches, state.zoom);
    context.globalAlpha = 1;
  }

  // Tiny boxes by colour and strength: one change of colour for many rectangles. Marks outdo kinds, and come last.
  sort(patches, scene, box, state) {
    const marked = RING_COLOURS.has(box.mark);
    const colour = marked ? this.named(scene, box.mark).accent : this.colour(scene, box.colour).accent;
    const calm = box.kind === "operation" && scene.colour_by === "kind" ? 0.55 : 0.92;
    const strength = (state.faded(box) ? 0.2 : marked ? 1 : state.compared ? 0.4 * calm : calm) * state.appearing(box);
    const key = `${marked ? 1 : 0}${strength}${colour}${box.mark === "removed"}`;
    if (!patches.has(key)) patches.set(key, { marked, colour, strength, hollow: box.mark === "removed", boxes: [] });
    patches.get(key).boxes.push(box);
  }

  patches(context, patches, zoom) {
    const least = 3 / zoom;
    for (const { marked, colour, strength, hollow, boxes } of [...patches.values()].sort((a, b) => a.marked - b.marked)) {
      context.globalAlpha = strength;
      context.fillStyle = context.strokeStyle = colour;
      context.lineWidth = 1 / zoom;
      for (const box of boxes) {
        const [width, height] = marked ? [Math.max(box.width, 2 * least), Math.max(box.height, least)] : [box.width, box.height];
        if (hollow) context.strokeRect(box.x, box.y, width, height);
        else context.fillRect(box.x, box.y, width, height);
      }
    }
  }

  box(context, scene, box, state) {
    if (box.mark === "removed") return this.ghost(context, scene, box, state);
    const { accent, fill, hatched } = this.colour(scene, box.colour);
    context.globalAlpha = (state.faded(box) ? 0.22 : 1) * state.appearing(box);
    if (box.stacked) this.stack(context, box, fill, accent);
    box.outline ??= roundedPath(box, RADIUS);
    context.fillStyle = fill;
    context.fill(box.outline);
    if (hatched || box.dropped) {
      context.fillStyle = this.hatch(context, this.named(scene, "dropped").accent);
      context.fill(box.outline);
    }
    this.rim(context, box, accent, state);
    if (state.faded(box)) context.globalAlpha = 0.3 * state.appearing(box);
    this.words(context, scene, box, accent, state);
    context.globalAlpha = state.faded(box) ? 0.3 : 1;
    this.marked(context, scene, box, state);
    return undefined;
  }

  // What only run A has: there to be seen, but plainly not there.
  ghost(context, scene, box, state) {
    const { accent, fill } = this.named(scene, "removed");
    const strength = (state.faded(box) ? 0.25 : 1) * state.appearing(box);
    box.outline ??= roundedPath(box, RADIUS);
    context.fillStyle = fill;
    context.globalAlpha = 0.45 * strength;
    context.fill(box.outline);
    context.globalAlpha = strength;
    context.strokeStyle = accent;
    context.lineWidth = Math.max(1.4, 1 / state.zoom);
    context.setLineDash([6, 4]);
    context.stroke(box.outline);
    context.setLineDash([]);
    context.globalAlpha = 0.86 * strength;
    this.words(context, scene, box, accent, state);
    context.globalAlpha = strength;
    this.badge(context, scene, "removed", box, accent, state);
  }

  stack(context, place, fill, accent) {
    context.lineWidth = 1;
    for (const shift of [6, 3, 0]) {
      rounded(context, { x: place.x + shift, y: place.y + shift, width: place.width, height: place.height }, RADIUS);
      context.fillStyle = this.theme.background;
      context.fill();
      if (!shift) return;
      context.fillStyle = fill;
      context.fill();
      context.strokeStyle = accent;
      context.stroke();
    }
  }

  rim(context, box, accent, state) {
    box.band ??= bandPath(box);
    context.fillStyle = accent;
    context.fill(box.band);
    if (box.saved_bytes && state.zoom > 0.3) {
      const strength = context.globalAlpha;
      context.fillStyle = this.theme.saved;
      context.globalAlpha = 0.85 * strength;
      const room = box.width - 4 - RADIUS * 0.6;
      context.fillRect(box.x + 4, box.y + box.height - 3, room * Math.max(0.02, box.saved_bytes / state.most), 3);
      context.globalAlpha = strength;
    }
    context.strokeStyle = accent;
    context.lineWidth = Math.max(1.1, 0.8 / state.zoom);
    if (box.kind === "view") context.setLineDash([4, 3]);
    context.stroke(box.outline);
    if (box.kind === "view") context.setLineDash([]);
  }

  stubs(context, box, backward) {
    const up = backward ? 1 : -1;
    const y = backward ? box.y + box.height : box.y;
    context.strokeStyle = this.theme.line;
    context.lineWidth = 1.2;
    const shown = box.empty.slice(0, 5);
    const step = 22;
    context.fillStyle = this.theme.muted;
    shown.forEach((slot, i) => {
      const x = box.x + box.width - 18 - step * (shown.length - 1 - i);
      this.text(context, 500, 9, String(slot), x + 5, y + up * 8.5, 40);
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x, y + up * 6);
      context.stroke();
      context.beginPath();
      context.arc(x, y + up * 8.5, 2.5, 0, 7);
      context.stroke();
    });
  }

  ring(context, place, colour, width, distance, state, radius = RADIUS) {
    const d = distance / Math.max(0.5, state.zoom);
    rounded(context, { x: place.x - d, y: place.y - d, width: place.width + 2 * d, height: place.height + 2 * d }, radius + d);
    context.strokeStyle = colour;
    context.lineWidth = width / Math.max(0.35, state.zoom);
    context.stroke();
  }

  // Rings and badges of what differs, and of what a search found.
  marked(context, scene, box, state) {
    if (box.mark && scene.colourOf.has(box.mark)) {
      const { accent } = this.named(scene, box.mark);
      if (box.role !== "frame") this.ring(context, box, accent, 2, 2.5, state);
      this.badge(context, scene, box.mark, box, accent, state);
    }
  }

  badge(context, scene, key, place, accent, state) {
    const scale = Math.min(1.8, Math.max(1, 0.62 / state.zoom));
    const [x, y] = [place.x + place.width - 4, place.y + 2];
    context.beginPath();
    context.arc(x, y, 8 * scale, 0, 7);
    context.fillStyle = accent;
    context.fill();
    this.mark(context, scene.marks[scene.colourOf.get(key)], x - 4.5 * scale, y - 4.5 * scale, 0.9 * scale, this.theme.background);
  }
}

function rounded(context, place, radius) {
  context.beginPath();
  context.roundRect(place.x, place.y, place.width, place.height, Math.min(radius, place.height / 2, place.width / 2));
}

function roundedPath(place, radius) {
  const path = new Path2D();
  path.roundRect(place.x, place.y, place.width, place.height, Math.min(radius, place.height / 2, place.width / 2));
  return path;
}

// The coloured left edge, following the round corners: what a clip would do, many times cheaper.
function bandPath({ x, y, width, height }, thick = 4) {
  const radius = Math.min(RADIUS, height / 2, width / 2);
  const turn = Math.acos(Math.max(-1, Math.min(1, (radius - thick) / radius)));
  const path = new Path2D();
  path.arc(x + radius, y + radius, radius, Math.PI, Math.PI + turn);
  path.arc(x + radius, y + height - radius, radius, Math.PI - turn, Math.PI);
  path.closePath();
  return path;
}
