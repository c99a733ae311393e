// What Python sends: a JSON header, then typed columns. Links between cells are worked out once.

const NO_SHADE = 255;

function decodeCells(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0, true);
  const text = new TextDecoder();
  const scene = JSON.parse(text.decode(bytes.subarray(4, 4 + length)));
  const cut = (start, size) => bytes.slice(4 + length + start, 4 + length + start + size);
  let first = 0;
  scene.panels.forEach((panel, number) => {
    Object.assign(panel, { number, first, columns: Math.max(1, panel.columns), texts: {} });
    panel.rows = Math.ceil(panel.cells / panel.columns);
    first += panel.cells;
  });
  scene.cells = first;
  scene.sections.forEach(([name, number, start, size]) => {
    const panel = scene.panels[number];
    if (name === "values" || name === "words") panel.texts[name] = () => JSON.parse(text.decode(cut(start, size)));
    else if (name === "shades" || name === "marks") panel[name] = cut(start, size);
    else panel[name] = new Int32Array(cut(start, size).buffer);
  });
  scene.marks.forEach((mark) => (mark.shape = new Path2D(mark.path)));
  link(scene);
  return scene;
}

// Texts of the cells of one panel, decoded when first asked for.
function textsOf(panel, name) {
  const found = panel.texts[name];
  if (typeof found === "function") panel.texts[name] = found();
  return panel.texts[name] ?? [];
}

// Two tables by id, packed: the cells that are this id, and the cells that read it. Cells are numbered over all panels.
function link(scene) {
  const owners = new Tally(scene.ids);
  const readers = new Tally(scene.ids);
  const each = (own, read) =>
    scene.panels.forEach((panel) => {
      for (let i = 0; i < panel.cells; i++) {
        if (panel.owns[i] >= 0) own(panel.owns[i], panel.first + i);
        if (!panel.read_starts) continue;
        for (let r = panel.read_starts[i]; r < panel.read_starts[i + 1]; r++) read(panel.read_ids[r], panel.first + i);
      }
    });
  each((id) => owners.count(id), (id) => readers.count(id));
  owners.sum();
  readers.sum();
  each((id, cell) => owners.put(id, cell), (id, cell) => readers.put(id, cell));
  Object.assign(scene, { owners, readers });
}

class Tally {
  constructor(ids) {
    this.starts = new Int32Array(ids + 1);
  }

  count(id) {
    this.starts[id + 1]++;
  }

  sum() {
    for (let i = 1; i < this.starts.length; i++) this.starts[i] += this.starts[i - 1];
    this.filled = this.starts.slice();
    this.items = new Int32Array(this.starts[this.starts.length - 1]);
  }

  put(id, cell) {
    this.items[this.filled[id]++] = cell;
  }

  of(id) {
    return id < 0 ? [] : this.items.subarray(this.starts[id], this.starts[id + 1]);
  }
}

function panelOf(scene, cell) {
  return scene.panels.find((panel) => cell < panel.first + panel.cells);
}

// What lights up with a cell: the same thing elsewhere, what it reads, who reads it. Every cell has one role.
function linksOf(scene, cell) {
  const panel = panelOf(scene, cell);
  const id = panel.owns[cell - panel.first];
  const seen = new Set([cell]);
  const fresh = (cells) => [...cells].filter((one) => !seen.has(one) && seen.add(one));
  const same = fresh(scene.owners.of(id));
  const reads = [];
  if (panel.read_starts) {
    const at = cell - panel.first;
    for (let r = panel.read_starts[at]; r < panel.read_starts[at + 1]; r++) reads.push(...fresh(scene.owners.of(panel.read_ids[r])));
  }
  return { cell, panel, id, same, reads, readers: fresh(scene.readers.of(id)) };
}

// Order of the ids of a panel, for the path; cells that are nothing are left out.
function memoryOrder(panel) {
  if (!panel.order) {
    const cells = Array.from({ length: panel.cells }, (_, i) => i).filter((i) => panel.owns[i] >= 0);
    panel.order = Int32Array.from(cells.sort((a, b) => panel.owns[a] - panel.owns[b] || a - b));
  }
  return panel.order;
}
