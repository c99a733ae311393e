// The canvas as a sheet: painted whole, or painted ahead and moved while the reader moves.

const ARRIVAL_MS = 240;
const SLOW_MS = 7;
const AHEAD = 260;

class Sheet {
  // Scenes that take long to draw are drawn with a margin, and that picture is moved while the reader moves.
  // Not while boxes arrive: the kept picture would show them half arrived, and nothing would end the arrival.
  paint(now) {
    if (!this.scene || !this.width) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, this.width, this.height);
    if (!this.scene.boxes.length) return this.sayNothing(context);
    if (this.still && this.moving && !this.old && this.covers()) this.paintStill(context);
    else if (this.cost > SLOW_MS) this.paintAhead(context, now);
    else this.paintScene(context, now, 0);
    this.chrome.drawViewport();
    clearTimeout(this.settle);
    this.settle = setTimeout(() => this.rest(), 110);
  }

  paintScene(context, now, margin) {
    const start = performance.now();
    const { zoom, x, y } = this.camera;
    const scale = zoom * this.ratio;
    context.setTransform(scale, 0, 0, scale, margin * this.ratio - x * scale, margin * this.ratio - y * scale);
    this.painter.paint(context, this.scene, this.state(now, margin));
    this.cost = performance.now() - start;
  }

  paintAhead(context, now) {
    const sheet = this.still?.sheet ?? document.createElement("canvas");
    const margin = AHEAD;
    const [width, height] = [this.width, this.height].map((side) => Math.round((side + 2 * margin) * this.ratio));
    if (sheet.width !== width || sheet.height !== height) Object.assign(sheet, { width, height });
    const pen = sheet.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.fillStyle = this.theme.background;
    pen.fillRect(0, 0, width, height);
    this.paintScene(pen, now, margin);
    const { x, y, zoom } = this.camera;
    this.still = { sheet, x: x - margin / zoom, y: y - margin / zoom, zoom };
    this.paintStill(context);
  }

  paintStill(context) {
    const { sheet, x, y, zoom } = this.still;
    const [left, top] = this.camera.toScreen(x, y);
    const grown = this.camera.zoom / zoom / this.ratio;
    context.drawImage(sheet, left, top, sheet.width * grown, sheet.height * grown);
  }

  // Whether the kept picture still fills the view, or all of the scene that there is to see.
  covers() {
    const { sheet, x, y, zoom } = this.still;
    const [left, top] = this.camera.toWorld(0, 0);
    const [right, bottom] = this.camera.toWorld(this.width, this.height);
    const [farX, farY] = [x + sheet.width / this.ratio / zoom, y + sheet.height / this.ratio / zoom];
    const { width, height } = this.scene;
    const near = this.camera.zoom < zoom * 2.5 && this.camera.zoom > zoom * 0.4;
    return near && x <= Math.max(0, left) && y <= Math.max(0, top) && farX >= Math.min(width, right) && farY >= Math.min(height, bottom);
  }

  // After the last move: draw sharply once more and say where things are.
  rest() {
    const blurred = this.moving && this.still;
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
    const { camera, scene } = this;
    const [left, top] = camera.toWorld(-30 - margin, -30 - margin);
    const [right, bottom] = camera.toWorld(this.width + margin + 30, this.height + margin + 30);
    const t = this.old ? Math.min(1, (now - this.old.start) / ARRIVAL_MS) : 1;
    const eased = 1 - (1 - t) ** 3;
    const past = this.old;
    if (t === 1) this.old = null;
    const focus = this.hovered ?? this.selectedBox();
    return {
      zoom: camera.zoom,
      most: scene.most,
      backward: scene.direction === "backward",
      selected: this.selectedBox()?.address,
      hovered: this.hovered,
      found: this.found,
      dimmed: this.found.size > 0,
      arrival: eased,
      lit: this.litWire ? [this.litWire] : focus && focus.role !== "frame" ? [...focus.in, ...focus.out] : [],
      sees: (box) => box.x < right && box.x + box.width > left && box.y < bottom && box.y + box.height > top,
      seesBounds: (b) => b.left < right && b.right > left && b.top < bottom && b.bottom > top,
      faded: (box) => this.found.size > 0 && !this.found.has(box.address) && box.role !== "frame",
      appearing: (box) => (past && !past.scene.byAddress.has(box.address) ? eased : 1),
    };
  }

  savePng() {
    const { scene } = this;
    const margin = 24;
    const scale = Math.min(2, 12000 / (Math.max(scene.width, scene.height) + 2 * margin));
    const sheet = document.createElement("canvas");
    sheet.width = Math.ceil((scene.width + 2 * margin) * scale);
    sheet.height = Math.ceil((scene.height + 2 * margin) * scale);
    const context = sheet.getContext("2d");
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, sheet.width, sheet.height);
    context.setTransform(scale, 0, 0, scale, margin * scale, margin * scale);
    const everything = { ...this.state(performance.now()), zoom: Math.max(1, scale), sees: () => true, seesBounds: () => true, hovered: null, arrival: 1 };
    this.painter.paint(context, scene, everything);
    sheet.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = "autograd-graph.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    });
  }
}

function wrapped(context, text, room) {
  const lines = [""];
  text.split(/\s+/).forEach((word) => {
    const longer = `${lines[lines.length - 1]} ${word}`.trim();
    if (context.measureText(longer).width > room) lines.push(word);
    else lines[lines.length - 1] = longer;
  });
  return lines;
}
