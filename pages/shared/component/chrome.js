// What floats over the graph: status and legend. Text goes in as text, never as markup.

const SAID_MS = 5000;

class Chrome extends Minimap {
  constructor(view) {
    super(view);
    const part = (name) => view.root.querySelector(name);
    this.statusBox = part("[data-atlas-status]");
  }

  status() {
    const { scene } = this.view;
    const number = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
    const parts = scene.boxes.length ? [`${number(scene.nodes_shown)} of ${number(scene.nodes_total)} nodes shown`] : [];
    if (scene.removed.length) parts.push(`${number(scene.removed.length)} removed since A`);
    if (scene.boxes.length) parts.push(...scene.notes);
    this.statusBox.textContent = parts.join("  ·  ");
    this.statusBox.title = [...parts, ...scene.removed.slice(0, 20)].join("\n");
  }

  legend() {
    const { scene } = this.view;
    const list = this.legendBox.querySelector("ul");
    this.legendBox.hidden = !scene || !scene.legend.length;
    if (!scene) return;
    const entries = legendEntries(scene);
    const rows = entries.filter((entry) => !entry.scale).map((entry) => this.legendRow(entry));
    const steps = entries.filter((entry) => entry.scale);
    if (steps.length) rows.unshift(this.legendScale(steps));
    list.replaceChildren(...rows);
  }

  legendRow({ index, label }) {
    const entry = document.createElement("li");
    entry.append(this.markOf(index), plain(label));
    return entry;
  }

  // Steps of one scale side by side, each over the largest value it stands for.
  legendScale(steps) {
    const entry = document.createElement("li");
    entry.className = "atlas-scale";
    entry.append(steps[0].scale);
    steps.forEach(({ colour, stop }) => {
      const step = document.createElement("span");
      const patch = document.createElement("i");
      patch.style.background = this.accentOf(colour);
      step.append(patch, stop);
      entry.append(step);
    });
    return entry;
  }

  accentOf(colour) {
    return this.view.theme.dark ? colour.dark : colour.light;
  }

  markOf(index) {
    const colour = this.view.scene.colours[index];
    const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    icon.setAttribute("viewBox", "0 0 10 10");
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
    shape.setAttribute("d", colour.mark);
    shape.setAttribute("fill", this.accentOf(colour));
    shape.setAttribute("fill-rule", "evenodd");
    icon.append(shape);
    return icon;
  }

  // A sentence in the place of the status for a while.
  say(sentence) {
    this.statusBox.textContent = this.view.root.dataset.atlasSaid = sentence;
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.view.scene && this.status(), SAID_MS);
  }
}

// What the legend lists: a scale says once what it is of.
function legendEntries(scene) {
  let before = "";
  return scene.legend.map((index) => {
    const colour = scene.colours[index];
    const label = colour.scale && colour.scale === before ? colour.stop : colour.label;
    before = colour.scale;
    return { index, colour, label, scale: colour.scale, stop: colour.stop };
  });
}
