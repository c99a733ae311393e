// The search field and its result list. All answers come from the index, so also from what closed groups hide.

const LISTED_HITS = 100;
const DEBOUNCE_MS = 70;

class Search {
  constructor(view) {
    const part = (name) => view.root.querySelector(name);
    this.view = view;
    this.box = part("[data-atlas-search]");
    this.foundBox = part("[data-atlas-found]");
    this.panel = part("[data-atlas-hits]");
    this.said = part("[data-atlas-hits-said]");
    this.list = part("[data-atlas-hits-list]");
    this.hits = [];
    this.problem = "";
    this.at = -1; // place of the current hit
    this.chosenByArrow = false;
    this.box.oninput = () => this.soon();
    this.box.onfocus = () => this.open(true);
    this.box.onkeydown = (event) => this.key(event);
    this.list.onpointerdown = (event) => event.preventDefault(); // the field keeps the focus
    this.panel.parentElement.addEventListener("focusout", (event) => this.left(event));
  }

  soon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => {
      this.run();
      this.bringIntoSight();
    }, DEBOUNCE_MS);
  }

  // Hits in forward order; the boxes that show them are lit.
  run() {
    clearTimeout(this.waiting);
    this.waiting = 0;
    const { view } = this;
    const { conditions, problem } = parseQuery(this.box.value);
    const start = performance.now();
    this.hits = conditions.length && !problem && view.index ? hitsOf(view.index, conditions) : [];
    this.asked = conditions.length > 0;
    this.problem = problem;
    this.at = -1;
    this.chosenByArrow = false;
    this.light();
    this.took = performance.now() - start;
    this.show();
    view.still = null;
    view.repaint();
  }

  // When no lit box can be seen, because it is out of sight or under the list, look at the first.
  bringIntoSight() {
    const { view, panel } = this;
    const [first] = view.found.values();
    const right = view.width - this.covers;
    const low = this.covers || this.under ? panel.parentElement.offsetTop + panel.offsetTop + panel.offsetHeight : 0;
    const seen = (box) => {
      const [x, y] = view.camera.toScreen(box.x + box.width / 2, box.y + box.height / 2);
      return x > 0 && y > 0 && x < view.width && y < view.height && y > this.under && (x < right || y > low);
    };
    if (first && ![...view.found.values()].some(seen)) view.lookAt(first);
  }

  // The same question to a new picture: the reader keeps the hit that was reached.
  again() {
    const { at } = this;
    this.run();
    this.at = at < this.hits.length ? at : -1;
    this.show();
  }

  // `view.found` is what is painted: boxes that show hits, each with their number.
  light() {
    const { index } = this.view;
    const found = new Map();
    this.hidden = this.ghosts = 0;
    for (const box of this.view.found.values()) box.hits = 0;
    for (const node of this.hits) {
      const boxes = index.boxesOf(node);
      if (!boxes.some((box) => box.role === "node")) this.hidden++;
      if (index.isGhost(node)) this.ghosts++;
      for (const box of boxes) {
        box.hits = found.has(box.address) ? box.hits + 1 : 1;
        found.set(box.address, box);
      }
    }
    this.view.found = found;
  }

  words() {
    const { hits, hidden, ghosts, problem } = this;
    if (problem) return problem;
    if (!this.asked) return "Words and conditions that must all hold; Enter walks, ↓ and Enter open one.";
    if (!hits.length) return "Nothing found in the whole graph.";
    const listed = hits.length > LISTED_HITS ? `, the first ${LISTED_HITS} listed` : "";
    return `${plural(hits.length, "node")} found${hidden ? `, ${counted(hidden)} in closed groups` : ""}${ghosts ? `, ${counted(ghosts)} only in A` : ""}${listed}`;
  }

  show() {
    const { hits, at } = this;
    this.foundBox.textContent = !this.asked ? "" : this.problem ? "?" : at >= 0 ? `${counted(at + 1)} of ${counted(hits.length)}` : hits.length ? `${counted(hits.length)} found` : "none";
    this.said.textContent = this.words();
    const rows = this.asked || this.problem ? this.rows() : this.help();
    this.list.replaceChildren(...rows);
    this.list.setAttribute("aria-label", this.asked ? "Nodes found" : "What can be searched for");
    this.mark();
  }

  // Nodes of one operation in one module are told apart by the number in their address.
  rows() {
    const { index } = this.view;
    const listed = this.hits.slice(0, LISTED_HITS);
    const alike = new Map();
    const words = (node) => index.addressOf(node).replace(/#\d+$/, "");
    for (const node of listed) alike.set(words(node), (alike.get(words(node)) ?? 0) + 1);
    return listed.map((node, place) => this.row(node, place, alike.get(words(node)) > 1 ? ` #${index.counts[node]}` : ""));
  }

  row(node, place, number) {
    const { index } = this.view;
    const boxes = index.boxesOf(node);
    const hidden = boxes.every((box) => box.role !== "node");
    const leaf = index.isLeaf(node);
    const where = [index.isGhost(node) ? "only in A" : "", index.moduleOf(node), hidden ? (boxes.length ? `in closed ${boxes[0].title}` : "outside of this picture") : ""];
    const row = element("div", leaf ? "atlas-hit atlas-hit-leaf" : "atlas-hit", { role: "option", id: `atlas-hit-${place}`, "aria-selected": "false" });
    row.append(
      element("b", "", {}, `${leaf ? index.variableOf(node) || "unnamed leaf" : index.operationOf(node)}${number}`),
      element("span", "atlas-hit-shape", {}, index.shapesOf(node).replaceAll("\n", ", ")),
      element("span", "atlas-hit-where", {}, where.filter(Boolean).join(" · ")),
    );
    row.title = index.addressOf(node);
    row.onclick = () => this.choose(place);
    if (leaf) row.append(this.pathButton(node));
    return row;
  }

  // A leaf found by search can be what a path leads to.
  pathButton(node) {
    const { view } = this;
    const button = element("button", "atlas-hit-path", { type: "button", tabindex: "-1", title: "Path from the selection to this leaf" }, "path");
    button.disabled = !view.selected;
    if (button.disabled) button.title = "Select a box first: the path leads from there to this leaf";
    button.onclick = (event) => {
      event.stopPropagation();
      view.paths.toLeaf(node);
    };
    return button;
  }

  // With an empty field: what can be asked, each line to start with.
  help() {
    return Object.entries(QUALIFIERS).map(([name, example], place) => {
      const row = element("div", "atlas-hit atlas-hit-help", { role: "option", id: `atlas-hit-${place}`, "aria-selected": "false" });
      row.append(element("code", "", {}, example));
      row.onclick = () => {
        this.box.value = name === "saved" ? "saved>" : `${name}:`;
        this.box.focus();
        this.run();
      };
      return row;
    });
  }

  mark() {
    const rows = [...this.list.children];
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === this.at)));
    const row = rows[this.at];
    if (row) this.box.setAttribute("aria-activedescendant", row.id);
    else this.box.removeAttribute("aria-activedescendant");
    row?.scrollIntoView({ block: "nearest" });
  }

  // Pixels at the right that the list covers.
  get covers() {
    return this.panel.hidden || !this.view.width || this.view.width <= NARROW ? 0 : this.panel.offsetWidth + 10;
  }

  // Pixels at the top that the list takes in a narrow window, where legend and minimap are folded away.
  get under() {
    const { panel, view } = this;
    return panel.hidden || !view.width || view.width > NARROW ? 0 : panel.parentElement.offsetTop + panel.offsetTop + panel.offsetHeight;
  }

  open(wanted) {
    if (wanted && !this.list.children.length) this.show();
    this.panel.hidden = !wanted;
    this.box.setAttribute("aria-expanded", String(wanted));
  }

  left(event) {
    if (!this.panel.parentElement.contains(event.relatedTarget)) this.open(false);
  }

  key(event) {
    event.stopPropagation();
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Enter" && this.chosenByArrow) this.choose(this.at);
    else if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
    else if (event.key in steps) this.arrow(steps[event.key]);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  leave() {
    this.clear();
    this.open(false);
    this.view.canvas.focus();
  }

  arrow(step) {
    if (this.waiting) this.run();
    const rows = Math.min(this.hits.length, LISTED_HITS);
    if (!rows) return;
    this.at = (this.at + step + (this.at < 0 && step < 0 ? 1 : 0) + rows) % rows;
    this.chosenByArrow = true;
    this.mark();
  }

  // Enter walks through all hits, also those not listed, and looks at the box that shows each.
  next(step) {
    if (this.waiting) this.run();
    if (!this.hits.length) return;
    this.at = (this.at + step + (this.at < 0 && step < 0 ? 1 : 0) + this.hits.length) % this.hits.length;
    this.foundBox.textContent = `${counted(this.at + 1)} of ${counted(this.hits.length)}`;
    this.mark();
    const { view } = this;
    const box = view.index?.boxOf(this.hits[this.at]);
    if (!box) return;
    view.lookAt(box);
    view.hovered = box;
  }

  choose(place) {
    this.at = place;
    this.mark();
    this.foundBox.textContent = `${counted(place + 1)} of ${counted(this.hits.length)}`;
    this.view.showNode(this.hits[place]);
  }

  clear() {
    this.box.value = "";
    this.run();
  }
}

// How many hits a closed group hides, on its upper left corner.
function hitCount(painter, context, box, state) {
  const size = Math.max(11, 10 / state.zoom);
  const text = plural(box.hits, "hit");
  const width = painter.width(context, 650, size, text) + size;
  context.fillStyle = painter.theme.found;
  context.beginPath();
  context.roundRect(box.x - size * 0.4, box.y - size * 0.8, width, size * 1.5, size * 0.75);
  context.fill();
  context.fillStyle = painter.theme.background;
  context.font = painter.font(650, size);
  context.textBaseline = "middle";
  context.fillText(text, box.x + size * 0.1, box.y);
}

function element(tag, name, attributes = {}, text = "") {
  const made = document.createElement(tag);
  if (name) made.className = name;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}
