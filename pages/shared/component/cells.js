// One instance per mounted component. State goes to Python only on user events: "selected".

const cellViews = new WeakMap();
const PATH_MS = 1400;

class CellView extends CellReport {
  constructor(root) {
    super();
    this.root = root;
    this.canvas = root.querySelector("[data-atlas-canvas]");
    this.scroller = root.querySelector("[data-atlas-scroller]");
    this.extent = root.querySelector("[data-atlas-extent]");
    this.chrome = new CellChrome(this);
    Object.assign(this, { scene: null, links: null, pinned: null, zoom: 1, showsPath: false, frame: 0 });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.scroller);
    listenToCells(this);
    root.atlasCellBox = (key, index) => this.boxOnCanvas(key, index);
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
  }

  get width() {
    return this.root.clientWidth;
  }

  get height() {
    return this.root.clientHeight;
  }

  show(component) {
    this.component = component;
    this.theme = readTheme(this.root);
    const bytes = component.data;
    const changed = bytes && (bytes.length !== this.bytes?.length || bytes.some((byte, i) => byte !== this.bytes[i]));
    const began = performance.now();
    if (changed) this.receive(bytes);
    if (!this.scene) return;
    this.painter = new CellLight(this.scene, this.theme);
    this.chrome.legend();
    this.resize(true);
    if (changed) this.root.dataset.atlasFirstDrawMs = (performance.now() - began).toFixed(1);
  }

  receive(bytes) {
    const held = this.pinned;
    this.bytes = bytes;
    this.scene = decodeCells(bytes);
    this.layout = this.links = this.pinned = null;
    if (!this.scene.panels.some((panel) => panel.path)) this.showsPath = false;
    const panel = held && this.scene.panels.find(({ key }) => key === held.panel);
    if (panel && held.index < panel.cells) {
      this.pinned = held;
      this.links = linksOf(this.scene, panel.first + held.index);
    }
    const button = this.root.querySelector('[data-atlas-action="path"]');
    button.hidden = !this.scene.panels.some(({ path, cells }) => path && cells > 1);
    this.describe();
  }

  describe() {
    const panels = this.scene.panels.map(({ title, cells }) => `${title} (${cells} ${cells === 1 ? "cell" : "cells"})`).join(", ");
    this.canvas.setAttribute("aria-label", `Linked cells: ${panels}. Arrow keys move over cells, Tab changes the panel, Enter keeps a cell lit, Escape lets go.`);
  }

  // Lays out anew for the room there is, and draws at once: waiting for a frame would show the old size.
  resize(force) {
    if (!this.scene) return;
    const { clientWidth, clientHeight } = this.scroller;
    const ratio = window.devicePixelRatio || 1;
    const same = clientWidth === this.seenWidth && clientHeight === this.seenHeight && ratio === this.ratio;
    if (!clientWidth || !clientHeight || (same && !force)) return;
    const laidOut = this.layout && clientWidth === this.seenWidth && clientHeight === this.seenHeight;
    [this.seenWidth, this.seenHeight, this.ratio] = [clientWidth, clientHeight, ratio];
    if (!laidOut) this.arrange();
    this.still = null;
    this.paint(performance.now());
  }

  arrange() {
    const context = this.canvas.getContext("2d");
    const measure = (text, size, weight) => {
      context.font = `${weight} ${size}px ${this.theme.font}`;
      return context.measureText(text).width;
    };
    this.layout = layOut(this.scene, this.seenWidth, this.seenHeight, this.zoom, measure);
    this.still = null;
    const fits = [this.layout.width <= this.seenWidth + 1, this.layout.height <= this.seenHeight + 1];
    this.extent.style.width = fits[0] ? "" : `${this.layout.width}px`;
    this.extent.style.height = fits[1] ? "" : `${this.layout.height}px`;
  }

  repaint() {
    if (!this.frame) {
      this.frame = requestAnimationFrame((now) => {
        this.frame = 0;
        this.paint(now);
      });
    }
  }

  sight() {
    const { scrollLeft, scrollTop } = this.scroller;
    return { left: scrollLeft, top: scrollTop, right: scrollLeft + this.seenWidth, bottom: scrollTop + this.seenHeight };
  }

  // The cells at rest are kept as a picture, so that hovering redraws only what is lit.
  paint(now) {
    if (!this.layout) return;
    const began = performance.now();
    const { canvas, ratio, layout, painter } = this;
    const [width, height] = [Math.round(this.seenWidth * ratio), Math.round(this.seenHeight * ratio)];
    const sight = this.sight();
    if (canvas.width !== width || canvas.height !== height) {
      Object.assign(canvas, { width, height });
      canvas.style.width = `${this.seenWidth}px`;
      canvas.style.height = `${this.seenHeight}px`;
    }
    if (!this.still) this.still = this.restingPicture(width, height, sight);
    const context = canvas.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.still, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, -sight.left * ratio, -sight.top * ratio);
    if (this.links) painter.light(context, layout, this.links, sight);
    if (this.showsPath) this.drawPath(context, now);
    this.chrome.say();
    this.tell(performance.now() - began);
  }

  restingPicture(width, height, sight) {
    const sheet = this.still ?? document.createElement("canvas");
    Object.assign(sheet, { width, height });
    const context = sheet.getContext("2d", { alpha: false });
    context.fillStyle = this.theme.background;
    context.fillRect(0, 0, width, height);
    context.setTransform(this.ratio, 0, 0, this.ratio, -sight.left * this.ratio, -sight.top * this.ratio);
    this.painter.paint(context, this.layout, sight.top, sight.bottom, sight.left, sight.right);
    return sheet;
  }

  drawPath(context, now) {
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const share = calm ? 1 : Math.min(1, (now - this.pathStart) / PATH_MS);
    this.painter.path(context, this.layout, Math.max(0, share));
    if (share < 1) this.repaint();
  }

  togglePath() {
    this.showsPath = !this.showsPath;
    this.pathStart = performance.now();
    this.root.querySelector('[data-atlas-action="path"]').setAttribute("aria-pressed", String(this.showsPath));
    this.repaint();
  }

  cellAt(x, y) {
    const { left, top } = this.sight();
    return this.layout ? this.layout.cellAt(x + left, y + top) : -1;
  }

  inSight(cell) {
    const { x, y, width, height } = this.layout.box(cell);
    const { left, top, right, bottom } = this.sight();
    return x + width > left && x < right && y + height > top && y < bottom;
  }

  focus(cell) {
    if (cell === (this.links?.cell ?? -1)) return;
    this.links = cell < 0 ? null : linksOf(this.scene, cell);
    this.repaint();
  }

  // Keeps a cell lit and tells Python; the same cell again, or none, lets go.
  pin(cell) {
    const panel = cell < 0 ? null : panelOf(this.scene, cell);
    const again = panel && this.pinned?.panel === panel.key && this.pinned.index === cell - panel.first;
    const next = panel && !again ? { panel: panel.key, index: cell - panel.first } : null;
    this.focus(next || again ? cell : -1);
    if (next !== this.pinned) {
      this.pinned = next;
      this.component.setStateValue("selected", next);
    }
    this.repaint();
  }

  firstCell() {
    return this.scene.cells ? 0 : -1;
  }

  nextPanel(cursor, step) {
    if (cursor < 0) return -1;
    const filled = this.scene.panels.filter((panel) => panel.cells);
    const next = filled[filled.indexOf(panelOf(this.scene, cursor)) + step];
    return next ? next.first : -1;
  }

  // The keyboard's cell: lit, in sight, with its tooltip. A pin moves along.
  moveTo(cell) {
    if (cell < 0) return;
    if (this.pinned) this.pin(cell);
    else this.focus(cell);
    if (this.links?.cell !== cell) this.focus(cell);
    const { x, y, width, height } = this.layout.box(cell);
    const { left, top, right, bottom } = this.sight();
    if (y < top + 20 || y + height > bottom - 20) this.scroller.scrollTop = y - this.seenHeight / 2;
    if (x < left + 20 || x + width > right - 20) this.scroller.scrollLeft = x - this.seenWidth / 2;
    const after = this.sight();
    requestAnimationFrame(() => this.tipAt(x + width - after.left, y + height - after.top));
  }

  tipAt(x, y) {
    const canvas = this.canvas.getBoundingClientRect();
    const root = this.root.getBoundingClientRect();
    this.chrome.tip(x + canvas.left - root.left, y + canvas.top - root.top);
  }

  resizeCells(factor) {
    this.zoom = Math.min(12, Math.max(0.25, this.zoom * factor));
    this.rearrange();
  }

  fit() {
    this.zoom = 1;
    this.rearrange();
  }

  // What is in the middle stays there.
  rearrange() {
    if (!this.layout) return;
    this.chrome.tooltip(null);
    const { scroller, layout: before } = this;
    const [x, y] = [scroller.scrollLeft + this.seenWidth / 2, scroller.scrollTop + this.seenHeight / 2];
    this.arrange();
    scroller.scrollLeft = (x * this.layout.width) / before.width - this.seenWidth / 2;
    scroller.scrollTop = (y * this.layout.height) / before.height - this.seenHeight / 2;
    this.repaint();
  }
}

export default function (component) {
  const root = component.parentElement.querySelector("[data-atlas-cells]");
  if (!root) return undefined;
  if (!cellViews.has(root)) cellViews.set(root, new CellView(root));
  const view = cellViews.get(root);
  view.show(component);
  return () => {
    view.destroy();
    cellViews.delete(root);
  };
}
