// The module tree beside the picture: what is clicked here is lit there, what is pointed at there is marked here.

const ROWS_AT_FIRST = 40;
const CHILDREN_SHOWN = 200;
const ROOM_FOR_TREE = 1000;

class ModuleTree {
  constructor(view) {
    this.view = view;
    this.panel = view.root.querySelector("[data-atlas-tree]");
    this.list = view.root.querySelector("[data-atlas-tree-rows]");
    this.button = view.root.querySelector('[data-atlas-action="tree"]');
    this.opened = new Set();
    this.all = new Set(); // rows of which every child is listed
    this.byPath = new Map();
    this.lit = null;
    this.chosen = null;
    this.list.onkeydown = (event) => this.key(event);
  }

  get shown() {
    return !this.panel.hidden;
  }

  toggle(wanted = !this.shown) {
    this.panel.hidden = !wanted || !this.roots?.length;
    this.asked = true;
    this.button.setAttribute("aria-pressed", String(this.shown));
    if (this.shown) this.draw();
  }

  // Rows of a new scene; the same model keeps what is open.
  receive(rows) {
    const key = rows.map((row) => `${row.path}:${row.type}`).join("\n");
    const [before, kept] = [this.stamp, this.byPath];
    this.stamp = key;
    this.byPath = new Map(rows.map((row) => [row.path, { ...row, children: [], level: 1 }]));
    this.roots = [];
    for (const row of this.byPath.values()) this.hang(row);
    if (before !== key) this.openAtFirst();
    this.button.disabled = !rows.length;
    this.button.title = rows.length ? "Module tree (M)" : "No modules: this graph was not made by a model";
    if (!this.asked) this.panel.hidden = !rows.length || this.view.root.clientWidth < ROOM_FOR_TREE;
    if (!rows.length) this.panel.hidden = true;
    this.button.setAttribute("aria-pressed", String(this.shown));
    if (before !== key || kept.size !== this.byPath.size) this.lit = this.chosen = null;
    if (this.shown) this.draw();
  }

  hang(row) {
    const above = row.path === "" ? undefined : (this.byPath.get(row.path.slice(0, Math.max(0, row.path.lastIndexOf(".")))) ?? this.byPath.get(""));
    row.parent = above;
    row.level = above ? above.level + 1 : 1;
    (above ? above.children : this.roots).push(row);
  }

  // Level by level while the rows fit on a screen.
  openAtFirst() {
    this.opened.clear();
    let level = [...this.roots];
    let rows = level.length;
    while (level.length) {
      const more = level.reduce((sum, row) => sum + row.children.length, 0);
      if (rows + more > ROWS_AT_FIRST && rows > 1) break;
      rows += more;
      level.forEach((row) => this.opened.add(row.path));
      level = level.flatMap((row) => row.children);
      if (rows > ROWS_AT_FIRST) break;
    }
  }

  // Rows in sight, and where a long list is cut a row that says so.
  get rows() {
    const found = [];
    const add = (row) => {
      found.push(row);
      if (!this.opened.has(row.path)) return;
      const some = this.all.has(row.path) ? row.children : row.children.slice(0, CHILDREN_SHOWN);
      some.forEach(add);
      if (some.length < row.children.length) found.push({ more: row, level: row.level + 1, path: `${row.path}\n` });
    };
    this.roots.forEach(add);
    return found;
  }

  draw() {
    this.items = new Map();
    this.list.replaceChildren(...this.rows.map((row) => this.item(row)));
    const first = this.items.get(this.focused) ?? this.list.firstElementChild;
    if (first) first.tabIndex = 0;
    this.mark();
  }

  item(row) {
    const item = element("div", "atlas-module", { role: "treeitem", "aria-level": row.level, tabindex: "-1" });
    item.style.paddingInlineStart = `${4 + 12 * (row.level - 1)}px`;
    this.items.set(row.path, item);
    if (row.more) {
      item.append(element("span", "atlas-module-note", {}, `${row.more.children.length - CHILDREN_SHOWN} more: click to list`));
      item.onclick = () => this.listAll(row.more);
      return item;
    }
    const fold = element("span", "atlas-module-fold", { "aria-hidden": "true" });
    if (row.children.length) {
      item.setAttribute("aria-expanded", String(this.opened.has(row.path)));
      fold.onclick = (event) => {
        event.stopPropagation();
        this.fold(row);
      };
    }
    const name = row.parent?.path ? row.path.slice(row.parent.path.length + 1) : row.path || "model";
    item.append(fold, element("b", "", {}, name), element("span", "atlas-module-type", {}, row.type));
    item.append(element("span", "atlas-module-note", {}, row.note || counted(row.nodes)));
    item.classList.toggle("atlas-module-muted", !row.nodes);
    item.title = [`${row.path || "the whole model"}${row.type ? `: ${row.type}` : ""}`, row.note || `${plural(row.nodes, "autograd node")}, saves ${row.saved}`, row.calls > 1 ? `called ${row.calls} times` : "", row.group ? "double click opens or closes its group" : ""].filter(Boolean).join("\n");
    item.onclick = (event) => event.detail < 2 && this.choose(row);
    item.ondblclick = () => this.openGroup(row);
    return item;
  }

  listAll(row) {
    this.all.add(row.path);
    this.draw();
  }

  fold(row, wanted = !this.opened.has(row.path)) {
    if (wanted) this.opened.add(row.path);
    else this.opened.delete(row.path);
    this.draw();
  }

  // Light what the module made, and look there; a second click puts it out.
  choose(row) {
    const { view } = this;
    if (this.chosen === row.path) return this.forget(true);
    const lit = moduleHighlight(view, row);
    this.chosen = row.path;
    this.focus(row.path, false);
    view.setHighlight(lit.boxes.size ? lit : null, lit.boxes.size ? "" : `${row.path || "The model"} ${row.nodes ? "is outside of this picture" : row.note || "made no autograd node"}.`);
    if (lit.boxes.size) view.lookAtAll([...lit.boxes].map((address) => view.scene.byAddress.get(address)));
    this.mark();
    return undefined;
  }

  forget(dark) {
    this.chosen = null;
    if (dark) this.view.setHighlight(null);
    if (this.shown && this.items) this.mark();
  }

  openGroup(row) {
    const { view } = this;
    if (!row.group) return view.setHighlight(null, `${row.path || "The model"} has no group to open: ${row.path === "" ? "it is all of the picture" : row.nodes ? "one box shows all of it" : row.note}.`);
    view.pending = row.group;
    view.component.setTriggerValue("toggled", row.group);
    return undefined;
  }

  // Mark the row of a box; with the tree folded above it, the nearest row in sight.
  follow(box) {
    if (!this.shown || box === this.followed) return;
    this.followed = box;
    this.lit = box ? modulePath(this.view.index, box) : null;
    this.mark(true);
  }

  mark(intoSight = false) {
    if (!this.items) return;
    let path = this.lit;
    while (path && !this.items.has(path)) path = path.slice(0, Math.max(0, path.lastIndexOf(".")));
    for (const [key, item] of this.items) {
      item.classList.toggle("atlas-module-lit", path !== null && key === path);
      item.setAttribute("aria-selected", String(key === this.chosen));
    }
    if (intoSight && path !== null) this.scrollTo(this.items.get(path));
  }

  scrollTo(item) {
    if (!item) return;
    const { list } = this;
    if (item.offsetTop < list.scrollTop) list.scrollTop = item.offsetTop;
    else if (item.offsetTop + item.offsetHeight > list.scrollTop + list.clientHeight) list.scrollTop = item.offsetTop + item.offsetHeight - list.clientHeight;
  }

  focus(path, really = true) {
    const item = this.items.get(path);
    if (!item) return;
    this.items.forEach((other) => (other.tabIndex = -1));
    item.tabIndex = 0;
    this.focused = path;
    if (really) item.focus();
  }

  key(event) {
    const rows = this.rows;
    const place = Math.max(0, rows.findIndex((row) => row.path === this.focused));
    const row = rows[place];
    const to = (other) => other && this.focus(other.path);
    const keys = {
      ArrowDown: () => to(rows[place + 1]),
      ArrowUp: () => to(rows[place - 1]),
      Home: () => to(rows[0]),
      End: () => to(rows.at(-1)),
      ArrowRight: () => (row.children?.length && !this.opened.has(row.path) ? this.refold(row, true) : to(row.children?.[0])),
      ArrowLeft: () => (row.children?.length && this.opened.has(row.path) ? this.refold(row, false) : to(row.parent)),
      Enter: () => (row.more ? this.listAll(row.more) : this.choose(row)),
      " ": () => row.more || this.openGroup(row),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }

  refold(row, wanted) {
    this.fold(row, wanted);
    this.focus(row.path);
  }
}

// What shows the nodes of a module and of all below it.
function moduleHighlight(view, row) {
  const { index, scene } = view;
  const within = index.tables.module.map((path) => row.path === "" || path === row.path || path.startsWith(`${row.path}.`));
  const boxes = new Set();
  const leaves = [];
  for (let node = 0; node < index.count; node++) {
    if (!within[index.module[node]]) continue;
    if (index.isLeaf(node)) leaves.push(node);
    else addBox(boxes, index.boxOf(node));
  }
  if (!boxes.size) leaves.forEach((node) => index.boxesOf(node).forEach((box) => addBox(boxes, box)));
  const inside = (end) => boxes.has(scene.boxes[end].address);
  const wires = new Set(scene.wires.filter((wire) => inside(wire.source) && inside(wire.target)));
  const label = `${row.path || "the whole model"}: ${plural(row.nodes, "node")} in ${plural(boxes.size, "box", "boxes")}`;
  return { boxes, wires, label };
}

// The innermost module around everything in a box.
function modulePath(index, box) {
  if (box.module !== undefined) return box.module;
  let common = null;
  for (const node of index.between(box.first, box.last)) {
    if (index.isLeaf(node) && !index.hasOwnBox(node)) continue;
    const path = index.moduleOf(node).split(".");
    if (common === null) common = path;
    const end = common.findIndex((step, i) => step !== path[i]);
    if (end >= 0) common = common.slice(0, end);
    if (!common.length) break;
  }
  box.module = (common ?? []).join(".");
  return box.module;
}
