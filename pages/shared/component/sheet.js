// The canvas as a sheet: what rests is painted ahead with a margin, kept, and moved while the reader moves.

const ARRIVAL_MS = 240;
const SLOW_MS = 7;
const MANY_BOXES = 100;
const AHEAD = 260;

class Sheet {
  // Small pictures are painted anew every time; large or slow ones are kept. Not while boxes arrive: the kept picture
  // would show them half arrived, and nothing would end the arrival.
  paint(now) {
    if (!this.scene || !this.width) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, this.width, this.height);
    if (!this.scene.boxes.length) return this.sayNothing(context);
    if (!this.old && (this.cost > SLOW_MS || this.scene.boxes.length > MANY_BOXES)) this.paintKept(context, now);
    else this.paintScene(context, now, 0);
    this.turnTo(context, 0);
    this.replay?.paint(context);
    this.painter.touch(context, this.scene, this.touched());
    this.chrome.drawViewport();
    clearTimeout(this.settle);
    this.settle = setTimeout(() => {
      this.settle = 0;
      this.rest();
    }, 110);
  }

  // Words that found no time in a frame find room in the next ones; then all are painted.
  sayLater(wires) {
    const { scene } = this;
    this.unsaid.push(...wires);
    if (this.saying) return;
    const more = () => {
      this.unsaid = this.scene === scene ? placeWords(this.painter, this.canvas.getContext("2d"), scene, this.unsaid, scene.direction === "backward", performance.now() + WORDS_MS) : [];
      this.saying = this.unsaid.length ? requestAnimationFrame(more) : 0;
      if (this.saying) return;
      this.still = null;
      this.repaint();
    };
    this.saying = requestAnimationFrame(more);
  }

  turnTo(context, margin) {
    const { zoom, x, y } = this.camera;
    const scale = zoom * this.ratio;
    context.setTransform(scale, 0, 0, scale, margin * this.ratio - x * scale, margin * this.ratio - y * scale);
  }

  paintScene(context, now, margin) {
    const start = performance.now();
    this.turnTo(context, margin);
    this.painter.paint(context, this.scene, { ...this.state(now, margin), hurried: (wires) => this.sayLater(wires) });
    this.cost = performance.now() - start;
  }

  paintKept(context, now) {
    const { still, camera } = this;
    const fresh = still && still.scene === this.scene && still.found === this.found && still.highlight === this.highlight;
    const sharp = fresh && still.zoom === camera.zoom;
    if (sharp && !this.covers()) this.shift(now);
    else if (!sharp && !(fresh && this.moving && this.covers())) this.paintAhead(now);
    this.paintStill(context);
  }

  paintAhead(now) {
    this.kept ??= document.createElement("canvas");
    const sheet = this.kept;
    const [width, height] = [this.width, this.height].map((side) => Math.round((side + 2 * AHEAD) * this.ratio));
    if (sheet.width !== width || sheet.height !== height) Object.assign(sheet, { width, height });
    const pen = sheet.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = this.theme.background;
    pen.fillRect(0, 0, width, height);
    this.paintScene(pen, now, AHEAD);
    const { x, y, zoom } = this.camera;
    const { scene, found, highlight } = this;
    this.still = { sheet, x: x - AHEAD / zoom, y: y - AHEAD / zoom, zoom, scene, found, highlight };
  }

  // The same picture a little further: what is there moves by whole pixels, only the new edges are painted.
  shift(now) {
    const { still, camera, ratio } = this;
    const { sheet, zoom } = still;
    const scale = zoom * ratio;
    const dx = Math.round((camera.x - AHEAD / zoom - still.x) * scale);
    const dy = Math.round((camera.y - AHEAD / zoom - still.y) * scale);
    if (Math.abs(dx) >= sheet.width || Math.abs(dy) >= sheet.height) return this.paintAhead(now);
    const pen = sheet.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.globalCompositeOperation = "copy";
    pen.drawImage(sheet, -dx, -dy);
    pen.globalCompositeOperation = "source-over";
    Object.assign(still, { x: still.x + dx / scale, y: still.y + dy / scale });
    if (dx) this.paintPart(pen, dx > 0 ? sheet.width - dx : 0, 0, Math.abs(dx), sheet.height, now);
    if (dy) this.paintPart(pen, 0, dy > 0 ? sheet.height - dy : 0, sheet.width, Math.abs(dy), now);
    return undefined;
  }

  // One rectangle of the kept picture, in its pixels.
  paintPart(pen, left, top, width, height, now) {
    const { still, ratio } = this;
    const scale = still.zoom * ratio;
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.fillStyle = this.theme.background;
    pen.fillRect(left, top, width, height);
    pen.setTransform(scale, 0, 0, scale, -still.x * scale, -still.y * scale);
    const near = 30 / still.zoom;
    const [x, y] = [still.x + left / scale, still.y + top / scale];
    const bounds = { left: x - near, top: y - near, right: x + width / scale + near, bottom: y + height / scale + near };
    this.painter.paint(pen, this.scene, { ...this.state(now), ...inSight(bounds), hurried: (wires) => this.sayLater(wires) });
    pen.restore();
  }

  paintStill(context) {
    const { sheet, x, y, zoom } = this.still;
    const grown = this.camera.zoom / zoom;
    let [left, top] = this.camera.toScreen(x, y).map((place) => place * this.ratio);
    if (grown === 1) [left, top] = [Math.round(left), Math.round(top)];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.imageSmoothingQuality = "low";
    context.drawImage(sheet, left, top, sheet.width * grown, sheet.height * grown);
  }

  // Whether the kept picture still fills the view, or all of the scene that there is to see.
  covers() {
    const { sheet, x, y, zoom } = this.still;
    const slack = 1 / zoom;
    const [left, top] = this.camera.toWorld(0, 0);
    const [right, bottom] = this.camera.toWorld(this.width, this.height);
    const [farX, farY] = [x + sheet.width / this.ratio / zoom + slack, y + sheet.height / this.ratio / zoom + slack];
    const { width, height } = this.scene;
    const near = this.camera.zoom < zoom * 2.5 && this.camera.zoom > zoom * 0.4;
    return near && x - slack <= Math.max(0, left) && y - slack <= Math.max(0, top) && farX >= Math.min(width, right) && farY >= Math.min(height, bottom);
  }

  // After the last move: draw sharply once more and say where things are.
  rest() {
    const blurred = this.moving && this.still && this.still.zoom !== this.camera.zoom;
    this.moving = false;
    if (blurred) this.repaint();
    this.tell();
  }

  sayNothing(context) {
    context.font = this.painter.font(500, 14);
    context.textAlign = "center";
    context.fillStyle = this.theme.muted;
    wrapped(context, this.scene.summary, this.width - 80).forEach((line, i) => context.fillText(line, this.width / 2, this.height / 2 + 20 * i));
    context.textAlign = "left";
    this.tell();
  }

  state(now, margin = 0) {
    const { camera, scene, found, highlight } = this;
    const [left, top] = camera.toWorld(-30 - margin, -30 - margin);
    const [right, bottom] = camera.toWorld(this.width + margin + 30, this.height + margin + 30);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const t = this.old && !calm ? Math.min(1, (now - this.old.start) / ARRIVAL_MS) : 1;
    const eased = 1 - (1 - t) ** 3;
    const past = this.old;
    if (t === 1) this.old = null;
    const outside = (box) => box.role !== "frame" && ((found.size > 0 && !found.has(box.address)) || Boolean(highlight && !highlight.boxes.has(box.address)));
    return {
      zoom: camera.zoom,
      scale: camera.zoom * this.ratio,
      most: scene.most,
      backward: scene.direction === "backward",
      found,
      highlight: highlight ?? null,
      compared: scene.compared,
      dimmed: found.size > 0 || Boolean(highlight),
      arrival: eased,
      faded: outside,
      appearing: (box) => (past && !past.scene.byAddress.has(box.address) ? eased : 1),
      ...inSight({ left, top, right, bottom }),
    };
  }

  // What the pointer and the selection light, on top of the kept picture.
  touched() {
    const { hovered, litWire, scene } = this;
    const selected = this.selectedBox();
    const focus = hovered ?? selected;
    const lit = litWire ? [litWire] : focus && focus.role !== "frame" ? [...focus.in, ...focus.out] : [];
    return { zoom: this.camera.zoom, scale: this.camera.zoom * this.ratio, backward: scene.direction === "backward", hovered, selected, lit };
  }
}

// What of a scene touches these bounds: boxes in their own order, frames first; wires in no order that matters.
function inSight(bounds) {
  return {
    within: (scene) => [...scene.grid.boxes.within(bounds)].sort((a, b) => a.index - b.index),
    near: (wires) => wires.filter(({ bounds: its }) => its.left < bounds.right && its.right > bounds.left && its.top < bounds.bottom && its.bottom > bounds.top),
  };
}

function wrapped(context, text, room) {
  const lines = [""];
  plain(text, 400).split(/\s+/).forEach((word) => {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (context.measureText(longer).width > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  });
  return lines;
}
