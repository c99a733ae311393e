// The page around the canvas in a file that is opened from disk: pictures made beforehand in place of the app.

class StandalonePage {
  constructor(data) {
    const part = (name) => document.querySelector(`[data-page-${name}]`);
    this.data = data;
    this.insides = new Map(Object.entries(data.inside)); // a module may be called "constructor"
    this.picture = part("picture");
    this.trail = part("trail");
    this.said = part("said");
    this.themeButton = part("theme");
    this.facts = new StandaloneFacts(part("facts"), data, (address) => this.open(address));
    this.way = [{ address: "", number: 0 }]; // from the whole picture to the one shown
    this.bytes = [];
    part("title").textContent = document.title = data.title || "Autograd graph";
    this.themes();
    document.addEventListener("keydown", (event) => {
      if (event.key === "Backspace" && !event.target.closest?.("input, textarea") && this.way.length > 1) this.back(this.way.length - 2);
    });
  }

  async start() {
    this.facts.receive(JSON.parse(new TextDecoder().decode(await inflate(this.data.facts))));
    await this.draw();
    this.facts.show(null, 0);
    document.documentElement.dataset.pageReady = "true";
  }

  get here() {
    return this.way.at(-1);
  }

  get view() {
    return instances.get(this.picture.querySelector("[data-atlas-graph]"));
  }

  async draw() {
    const { number } = this.here;
    this.bytes[number] ??= await this.unpacked(number);
    this.component = {
      parentElement: this.picture,
      data: this.bytes[number],
      setStateValue: (name, address) => name === "selected" && this.selected(address),
      setTriggerValue: (name, address) => (name === "toggled" ? this.inside(address) : name === "revealed" && this.reveal(address)),
    };
    if (this.view) this.view.camera.moved = false; // another picture: all of it should be in sight
    drawGraph(this.component);
    this.writeTrail();
  }

  // What search, tree and paths need of the whole graph is in the first picture only.
  async unpacked(number) {
    const bytes = await inflate(this.data.pictures[number]);
    return number ? joined(bytes, (this.bytes[0] ??= await inflate(this.data.pictures[0]))) : bytes;
  }

  selected(address) {
    this.say("");
    const box = address ? this.view.scene.byAddress.get(address) : null;
    this.facts.show(address, this.here.number, box);
  }

  // A group opens onto its own picture, in the place of this one.
  async inside(address) {
    const number = this.insides.get(address);
    if (number === undefined) return this.refuse();
    if (address === this.here.address) return this.say("This is its inside.");
    this.leave();
    this.way.push({ address, number });
    await this.draw();
    return this.facts.show(null, number);
  }

  async back(to, selected = this.way[to + 1]?.address) {
    this.say("");
    this.way.length = to + 1;
    const { camera, number } = this.here;
    await this.draw();
    this.view.selected = this.view.scene.byAddress.has(selected) ? selected : null;
    if (camera) {
      Object.assign(this.view.camera, camera, { flight: null, moved: true });
      this.view.repaint();
    }
    this.facts.show(this.view.selected, number, this.view.scene.byAddress.get(this.view.selected));
  }

  leave() {
    const { x, y, zoom } = this.view.camera;
    this.here.camera = { x, y, zoom };
  }

  // A node that another picture shows: go there. The canvas selects what it asked for when it gets the picture.
  async reveal(address) {
    const node = this.facts.byAddress.get(address);
    const number = node ? this.facts.home.get(node.id) : undefined;
    if (number === undefined) return this.refuse();
    this.leave();
    this.way = number ? [this.way[0], ...this.wayTo(number)] : [this.way[0]];
    await this.draw();
    return undefined;
  }

  wayTo(number) {
    const [address] = [...this.insides].find(([, one]) => one === number);
    return [{ address, number }];
  }

  // From the words beside the picture: a group's inside, or a node wherever it is drawn.
  async open(address) {
    if (this.insides.has(address) && !this.facts.byAddress.has(address)) return this.inside(address);
    const { view } = this;
    let shown = view.scene.byAddress.get(address) ?? view.ownerOf(address) ?? this.holder(address);
    if (!shown) {
      await this.reveal(address);
      shown = this.view.scene.byAddress.get(address) ?? this.view.ownerOf(address) ?? this.holder(address);
    }
    if (!shown) return undefined;
    this.view.select(this.view.scene.byAddress.has(address) || this.view.ownerOf(address) ? address : shown.address);
    return this.view.reveal(shown);
  }

  // The box that a node was folded into.
  holder(address) {
    const node = this.facts.byAddress.get(address);
    const members = this.facts.members[this.here.number] ?? new Map();
    const [found] = node ? [...members].find(([, ids]) => ids.includes(node.id)) ?? [] : [];
    return found ? this.view.scene.byAddress.get(found) : undefined;
  }

  refuse() {
    this.view.pending = this.view.wanted = null;
    this.say(`Not in this file: ${this.data.more || "it has no picture of its own"}. Open the graph in the app to see it.`);
  }

  say(words) {
    this.said.textContent = words;
    this.said.hidden = !words;
  }

  writeTrail() {
    const last = this.way.length - 1;
    const names = this.way.map(({ address }) => (address ? shortly(address) : "Whole picture"));
    this.trail.replaceChildren(
      ...names.flatMap((text, at) => {
        if (at === last) return [element("span", { text, ariaCurrent: "page", title: this.way[at].address })];
        const button = element("button", { text, type: "button", title: this.way[at].address });
        button.onclick = () => this.back(at);
        return [button, element("span", { text: "›", ariaHidden: "true" })];
      }),
    );
  }

  // As the system has it until the reader chooses.
  themes() {
    const system = window.matchMedia("(prefers-color-scheme: dark)");
    const set = (dark) => {
      document.documentElement.dataset.theme = dark ? "dark" : "light";
      this.themeButton.textContent = dark ? "Light theme" : "Dark theme";
      if (this.component) drawGraph(this.component);
    };
    let chosen = null;
    system.addEventListener("change", () => chosen ?? set(system.matches));
    this.themeButton.onclick = () => {
      chosen = document.documentElement.dataset.theme !== "dark";
      set(chosen);
    };
    set(system.matches);
  }
}

function shortly(text) {
  return text.length > 60 ? `${text.slice(0, 28)}…${text.slice(-30)}` : text;
}

async function inflate(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A packed scene with what only `first` has: other parts of its JSON, its modules and its columns.
function joined(bytes, first) {
  const [scene, whole] = [bytes, first].map((packed) => {
    const length = new DataView(packed.buffer, packed.byteOffset, 4).getUint32(0, true);
    return { content: JSON.parse(new TextDecoder().decode(packed.subarray(4, 4 + length))), columns: packed.subarray(Math.ceil((4 + length) / 8) * 8) };
  });
  const content = { ...whole.content, ...scene.content, fields: { ...whole.content.fields, ...scene.content.fields }, modules: whole.content.modules, columns: whole.content.columns, selected: "" };
  const words = new TextEncoder().encode(JSON.stringify(content));
  const start = Math.ceil((4 + words.length) / 8) * 8;
  const packed = new Uint8Array(start + whole.columns.length);
  new DataView(packed.buffer).setUint32(0, words.length, true);
  packed.set(words, 4);
  packed.set(whole.columns, start);
  return packed;
}

new StandalonePage(JSON.parse(document.getElementById("atlas-data").textContent)).start();
