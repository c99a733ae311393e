// One instance per mounted component. State goes to Python only on user events: "selected" and "toggled".

const instances = new WeakMap();
const ARRIVAL_MS = 240;
const LISTED_PLACES = 300;
const SLOW_MS = 7;
const AHEAD = 260;

class GraphView {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("[data-atlas-canvas]");
    this.camera = new Camera(() => {
      this.moving = true;
      this.repaint();
    });
    this.cost = 0;
    this.chrome = new Chrome(this);
    this.selected = null;
    this.hovered = null;
    this.found = new Map();
    this.pending = null;
    this.scene = null;
    this.old = null;
    this.frameRequest = 0;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(root);
    listen(this);
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frameRequest);
    clearTimeout(this.settle);
  }

  show(component) {
    this.component = component;
    this.theme = readTheme(this.root);
    this.painter = new Painter(this.theme);
    this.still = null;
    const bytes = component.data;
    const stamp = bytes ? fingerprint(bytes) : "";
    if (stamp !== this.stamp) {
      this.stamp = stamp;
      this.receive(bytes ? decodeScene(bytes) : null);
    }
    this.chrome.legend();
    this.chrome.drawMinimap();
    this.repaint();
  }

  receive(scene) {
    const before = this.scene;
    this.scene = scene;
    this.still = null;
    if (!scene) return;
    this.chrome.legend();
    this.hovered = null;
    if (this.selected && !scene.byAddress.has(this.selected) && !this.ownerOf(this.selected)) this.selected = null;
    this.resize(true);
    if (before && this.width) this.keepPlace(before, scene);
    else if (this.width) this.firstLook();
    this.old = before && scene.boxes.length < 800 ? { scene: before, start: performance.now() } : null;
    this.chrome.search();
    this.chrome.status();
    this.describe();
  }

  describe() {
    const { scene } = this;
    this.canvas.setAttribute("aria-label", `${scene.summary}. Arrow keys follow edges, Enter opens or closes a module.`);
    Object.assign(this.root.dataset, { atlasBoxes: scene.boxes.length, atlasWires: scene.wires.length });
  }

  // Everything in sight; the legend is only made room for where it would hide something.
  fitting() {
    const fit = this.camera.fitting(this.scene, this.width, this.height);
    const legend = this.chrome.legendBox;
    const left = -fit.x * fit.zoom;
    const bottom = (this.scene.height - fit.y) * fit.zoom;
    const hides = left < legend.offsetLeft + legend.offsetWidth && bottom > this.height - legend.offsetHeight - 14;
    return hides ? this.camera.fitting(this.scene, this.width, this.height, legend.offsetHeight + 18) : fit;
  }

  // The whole picture when it can be read; else its beginning, with the minimap for the rest.
  firstLook() {
    const fit = this.fitting();
    const readable = 0.34;
    if (fit.zoom < readable) {
      const zoom = 0.6;
      Object.assign(fit, { zoom, x: Math.min(-18 / zoom, (this.scene.width - this.width / zoom) / 2), y: -48 / zoom });
      if (this.scene.width * zoom > this.width) fit.x = -18 / zoom;
    }
    this.looked = true;
    this.camera.flyTo(fit, true);
  }

  // New data, same graph: whatever the reader was looking at stays where it was on the screen.
  keepPlace(before, scene) {
    const shared = scene.boxes.filter((box) => before.byAddress.has(box.address)).length;
    if (shared < 0.3 * Math.min(before.boxes.length, scene.boxes.length) && !scene.byAddress.has(this.pending)) {
      this.pending = null;
      return this.firstLook();
    }
    const anchor = this.anchor(before, scene);
    this.pending = null;
    if (!anchor) return this.firstLook();
    const [was, now] = [before.byAddress.get(anchor), scene.byAddress.get(anchor)];
    const [left, top] = this.camera.toScreen(was.x, was.y);
    let [x, y] = [left, top];
    const { zoom } = this.camera;
    if (now.width * zoom <= this.width - 40) x = Math.min(Math.max(20, x - ((now.width - was.width) * zoom) / 2), this.width - 20 - now.width * zoom);
    else x = 20;
    if (now.role === "frame" && was.role !== "frame") y = Math.min(Math.max(56, y), Math.max(56, this.height - 20 - now.height * zoom));
    this.camera.flight = null;
    this.camera.x += now.x - was.x - (x - left) / zoom;
    this.camera.y += now.y - was.y - (y - top) / zoom;
  }

  anchor(before, scene) {
    const both = (address) => address && before.byAddress.has(address) && scene.byAddress.has(address);
    for (const address of [this.pending, this.selected]) if (both(address)) return address;
    const [x, y] = this.camera.toWorld(this.width / 2, this.height / 2);
    const distance = (box) => Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
    const candidates = before.boxes.filter((box) => box.role !== "frame" && scene.byAddress.has(box.address));
    return candidates.sort((a, b) => distance(a) - distance(b))[0]?.address;
  }

  resize(quiet) {
    const { clientWidth, clientHeight } = this.root;
    const ratio = window.devicePixelRatio || 1;
    const changed = clientWidth !== this.width || clientHeight !== this.height || ratio !== this.ratio;
    if (!changed || !clientWidth || !clientHeight) return;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    this.still = null;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (quiet || !this.scene) return;
    if (!this.looked) this.firstLook();
    this.chrome.drawMinimap();
    this.paint(performance.now());
  }

  repaint() {
    if (this.frameRequest) return;
    this.frameRequest = requestAnimationFrame((now) => {
      this.frameRequest = 0;
      const moving = this.camera.advance(now);
      this.paint(now);
      if (moving || this.old) this.repaint();
    });
  }

  // Scenes that take long to draw are drawn with a margin, and that picture is moved while the reader moves.
  paint(now) {
    if (!this.scene || !this.width) return;
    const context = this.canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, this.width, this.height);
    if (!this.scene.boxes.length) return this.sayNothing(context);
    if (this.still && this.moving && this.covers()) this.paintStill(context);
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

  selectedBox() {
    return this.selected ? (this.scene?.byAddress.get(this.selected) ?? this.ownerOf(this.selected)) : null;
  }

  ownerOf(leafAddress) {
    return this.scene?.boxes.find((box) => box.leaves.some((leaf) => leaf.address === leafAddress));
  }

  // Where things are, for tests and assistive tools: JSON of visible boxes in pixels of the canvas.
  tell() {
    const { scene, camera } = this;
    if (!scene) return;
    const seen = scene.boxes.filter((box) => {
      const [x, y] = camera.toScreen(box.x, box.y);
      return x < this.width && y < this.height && x + box.width * camera.zoom > 0 && y + box.height * camera.zoom > 0;
    });
    const places = seen.slice(0, LISTED_PLACES).map((box) => {
      const [x, y] = camera.toScreen(box.x, box.y);
      return { address: box.address, role: box.role, x: Math.round(x), y: Math.round(y), width: Math.round(box.width * camera.zoom), height: Math.round(box.height * camera.zoom) };
    });
    Object.assign(this.root.dataset, {
      atlasZoom: camera.zoom.toFixed(3),
      atlasSelected: this.selected ?? "",
      atlasFound: String(this.found.size),
      atlasTheme: this.theme.dark ? "dark" : "light",
      atlasPlaces: JSON.stringify(places),
    });
  }

  boxAt(screenX, screenY) {
    const [x, y] = this.camera.toWorld(screenX, screenY);
    const inside = (place) => x >= place.x && x <= place.x + place.width && y >= place.y && y <= place.y + place.height;
    const boxes = this.scene?.boxes ?? [];
    for (let i = boxes.length - 1; i >= 0; i--) {
      const box = boxes[i];
      if (!inside(box)) continue;
      if (box.role !== "frame") {
        const leaf = 11 * this.camera.zoom >= READABLE ? box.leaves.find((one) => one.place && inside(one.place)) : null;
        return { box, leaf, chevron: box.role === "group" && x > box.x + box.width - 26 && y < box.y + 32 };
      }
      const header = Math.max(30, 20 / this.camera.zoom);
      if (y < box.y + header) return { box, leaf: null, chevron: x < box.x + header };
    }
    return null;
  }

  wireAt(screenX, screenY) {
    const [x, y] = this.camera.toWorld(screenX, screenY);
    const reach = 6 / this.camera.zoom;
    let [best, bestDistance] = [null, reach * reach];
    for (const wire of this.scene?.wires ?? []) {
      const { left, right, top, bottom } = wire.bounds;
      if (x < left - reach || x > right + reach || y < top - reach || y > bottom + reach) continue;
      const distance = curveDistance(wire.curve, x, y);
      if (distance < bestDistance) [best, bestDistance] = [wire, distance];
    }
    return best;
  }

  select(address) {
    const value = address ?? null;
    if (value !== this.selected) {
      this.selected = value;
      this.component.setStateValue("selected", value);
    }
    this.repaint();
    this.tell();
  }

  toggle(box) {
    if (!box || box.role === "node") return;
    this.pending = box.address;
    this.component.setTriggerValue("toggled", box.address);
  }

  reveal(box) {
    const { camera } = this;
    const [x, y] = camera.toScreen(box.x, box.y);
    const margin = 60;
    const hidden = x < margin || y < margin || x + box.width * camera.zoom > this.width - margin || y + box.height * camera.zoom > this.height - margin;
    if (hidden) camera.flyTo(camera.centring(box, this.width, this.height, Math.max(camera.zoom, 0.6)));
  }

  fit() {
    if (this.scene) this.camera.flyTo(this.fitting());
  }

  // The neighbour an arrow key leads to: along an edge where there is one, else the nearest box that way.
  neighbour(key) {
    const { scene } = this;
    const here = this.selectedBox();
    const boxes = scene.boxes.filter((box) => box.role !== "frame");
    if (!here) return boxes[0];
    const wires = key === "ArrowDown" ? here.out : key === "ArrowUp" ? here.in : [];
    const ends = wires.map((wire) => scene.boxes[key === "ArrowDown" ? wire.target : wire.source]);
    const centre = (box) => [box.x + box.width / 2, box.y + box.height / 2];
    const [hx, hy] = centre(here);
    const far = (box) => Math.abs(centre(box)[0] - hx) + Math.abs(centre(box)[1] - hy);
    if (ends.length) return ends.sort((a, b) => far(a) - far(b))[0];
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const [wx, wy] = ways[key];
    const score = (box) => {
      const [dx, dy] = [centre(box)[0] - hx, centre(box)[1] - hy];
      const along = dx * wx + dy * wy;
      return along <= 2 ? Infinity : along + 2.5 * Math.abs(dx * wy + dy * wx);
    };
    const best = boxes.filter((box) => box !== here && score(box) < Infinity).sort((a, b) => score(a) - score(b))[0];
    return best ?? here;
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

// Cheap and good enough to tell two scenes apart: length and a running hash of all bytes.
function fingerprint(bytes) {
  let hash = 2166136261;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
  return `${bytes.length}:${hash}`;
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

export default function (component) {
  const root = component.parentElement.querySelector("[data-atlas-graph]");
  if (!root) return undefined;
  if (!instances.has(root)) instances.set(root, new GraphView(root));
  const view = instances.get(root);
  view.show(component);
  return () => {
    view.destroy();
    instances.delete(root);
  };
}
