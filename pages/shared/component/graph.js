// One instance per mounted component. State goes to Python only on user events: "selected", "toggled" and "revealed".

const instances = new WeakMap();
const LISTED_PLACES = 300;

class GraphView extends Reading {
  constructor(root) {
    super();
    this.root = root;
    this.stage = root.querySelector("[data-atlas-stage]");
    this.canvas = root.querySelector("[data-atlas-canvas]");
    this.camera = new Camera(() => {
      this.moving = true;
      this.repaint();
    });
    this.cost = 0;
    this.chrome = new Chrome(this);
    this.paths = new Paths(this);
    this.search = new Search(this);
    this.tree = new ModuleTree(this);
    this.selected = null;
    this.hovered = null;
    this.found = new Map();
    this.highlight = null; // { boxes: addresses, wires, label } to light, all else dimmed
    this.sentence = "";
    this.pending = null;
    this.wanted = null; // address to select once a picture shows it
    this.scene = null;
    this.replay = null; // what plays over the picture, where the scene has a recorded backward
    this.old = null;
    this.frameRequest = 0;
    this.unsaid = []; // wires whose words have found no time yet
    this.saying = 0;
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.stage);
    listen(this);
    root.addEventListener("keydown", (event) => this.keyOfRoot(event));
  }

  destroy() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frameRequest);
    cancelAnimationFrame(this.saying);
    clearTimeout(this.settle);
    this.replay?.pause();
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
    this.index = new GraphIndex(scene, this.index);
    this.replay = replayOf(this, scene);
    this.chrome.legend();
    this.hovered = null;
    if (this.selected && !this.selectedBox()) {
      this.selected = null;
      if (this.reported) this.component.setStateValue("selected", null);
    }
    this.tree.receive(scene.modules);
    this.resize(true);
    if (before && this.width) this.keepPlace(before, scene);
    else if (this.width) this.firstLook();
    this.old = before && scene.boxes.length < 800 ? { scene: before, start: performance.now() } : null;
    this.rereadHighlight();
    this.search.again();
    this.chrome.status();
    this.describe();
    this.arrive(scene);
    this.replay?.arrive();
  }

  describe() {
    const { scene } = this;
    this.canvas.setAttribute("aria-label", `${scene.summary}. Arrow keys follow edges, Enter opens or closes a module.`);
    Object.assign(this.root.dataset, { atlasBoxes: scene.boxes.length, atlasWires: scene.wires.length });
  }

  resize(quiet) {
    const { clientWidth, clientHeight } = this.stage;
    const ratio = window.devicePixelRatio || 1;
    const changed = clientWidth !== this.width || clientHeight !== this.height || ratio !== this.ratio;
    if (!changed || !clientWidth || !clientHeight) return;
    [this.width, this.height, this.ratio] = [clientWidth, clientHeight, ratio];
    this.still = null;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    if (quiet || !this.scene) return;
    if (!this.looked || !this.camera.moved) this.firstLook();
    this.chrome.drawMinimap();
    this.paint(performance.now());
  }

  repaint() {
    if (this.frameRequest) return;
    this.frameRequest = requestAnimationFrame((now) => {
      this.frameRequest = 0;
      const moving = this.camera.advance(now);
      this.paint(now);
      this.tree.follow(this.hovered ?? this.selectedBox());
      if (moving || this.old) this.repaint();
    });
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
      atlasHitCount: String(this.search.hits.length),
      atlasPathWords: this.highlight?.label ?? this.sentence,
      atlasTheme: this.theme.dark ? "dark" : "light",
      atlasPlaces: JSON.stringify(places),
    });
  }

  select(address) {
    const value = address ?? null;
    if (value !== this.selected) {
      this.selected = value;
      this.reported = true;
      if (this.component.key) noteInLink("node", value); // a file has no key
      this.component.setStateValue("selected", value);
      this.paths.leaves = null;
      this.offerPaths();
    }
    this.repaint();
    this.tell();
  }

  toggle(box) {
    if (!box || box.role === "node") return;
    this.pending = box.address;
    this.component.setTriggerValue("toggled", box.address);
  }
}

// Cheap and good enough to tell two scenes apart: length and a running hash of all bytes.
function fingerprint(bytes) {
  let hash = 2166136261;
  for (let i = 0; i < bytes.length; i++) hash = Math.imul(hash ^ bytes[i], 16777619);
  return `${bytes.length}:${hash}`;
}

// Notes a selection in the address without an entry in the history. The app sends the same address afterwards: it is
// written as Python does it, so that the browser finds nothing new in it.
function noteInLink(parameter, address) {
  const found = new Map();
  for (const [name, value] of new URLSearchParams(location.search)) found.set(name, [...(found.get(name) ?? []), value]);
  if (address) found.set(parameter, [address]);
  else found.delete(parameter);
  const escaped = (text) => encodeURIComponent(text).replace(/[!*'()]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`).replace(/%20/g, "+");
  const pairs = [...found].flatMap(([name, values]) => values.map((value) => `${escaped(name)}=${escaped(value)}`));
  history.replaceState(history.state, "", location.pathname + (pairs.length ? `?${pairs.join("&")}` : ""));
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
