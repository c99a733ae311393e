// The whole recorded graph as columns, also what no box shows; see engine/figures/index.py. Worked out when first asked.

const NO_COLUMN = new Uint8Array(0);
const NO_TABLES = { operation: [], module: [], variable: [], tensor: [], kind: [], source: [], inputs: [] };

class GraphIndex {
  // `before` is the index of the last picture: of the same graph, what was worked out holds but for its boxes.
  constructor(scene, before) {
    const { tables = NO_TABLES, roots = [], boxes = 0, real = Infinity, stamp = "" } = scene.index ?? {};
    const column = (name) => scene.columns[name] ?? NO_COLUMN;
    this.scene = scene;
    this.tables = tables;
    this.roots = new Map(roots.map(([name, node]) => [node, name]));
    this.positions = boxes;
    this.real = real;
    for (const name of Object.keys(NO_TABLES)) this[name] = column(name);
    [this.saved, this.counts, this.at] = [column("saved_bytes"), column("count"), column("at")];
    [this.consumer, this.producer, this.slot] = [column("consumer"), column("producer"), column("slot")];
    [this.useEdge, this.useAt] = [column("use_edge"), column("use_at")];
    this.count = this.operation.length;
    this.stamp = stamp;
    this.made = stamp && before?.stamp === stamp ? { ...before.made, boxes: undefined } : {};
  }

  // A list that is worked out once.
  once(name, make) {
    this.made[name] ??= make();
    return this.made[name];
  }

  operationOf(node) {
    return this.tables.operation[this.operation[node]].replaceAll("torch::autograd::", "");
  }

  moduleOf(node) {
    return this.tables.module[this.module[node]];
  }

  variableOf(node) {
    return this.tables.variable[this.variable[node]];
  }

  shapesOf(node) {
    return this.tables.inputs[this.inputs[node]][0];
  }

  isLeaf(node) {
    return this.tables.kind[this.kind[node]].startsWith("leaf ");
  }

  // Whether only run A has it.
  isGhost(node) {
    return node >= this.real;
  }

  // The stable address, as engine/figures/fold.py spells it.
  addressOf(node) {
    return `${this.isLeaf(node) ? this.variableOf(node) : this.moduleOf(node)}/${this.operationOf(node)}#${this.counts[node]}`;
  }

  // The node of a stable address, or -1.
  nodeOf(address) {
    const known = this.once("nodes", () => new Map());
    if (!known.has(address)) known.set(address, this.findNode(address));
    return known.get(address);
  }

  findNode(address) {
    const count = Number(address.slice(address.lastIndexOf("#") + 1));
    for (let node = 0; node < this.count; node++) {
      if (this.counts[node] === count && this.addressOf(node) === address) return node;
    }
    return -1;
  }

  // Which box shows each position of the forward order: the innermost, -1 where none is drawn.
  get boxes() {
    return this.once("boxes", () => {
      const shown = new Int32Array(this.positions).fill(-1);
      this.scene.boxes.forEach((box, number) => {
        if (box.role !== "frame") shown.fill(number, box.first, box.last);
      });
      return shown;
    });
  }

  boxAt(position) {
    return this.scene.boxes[this.boxes[position]] ?? null;
  }

  // The box that shows a node; of a leaf, the one that uses it first.
  boxOf(node) {
    return this.boxAt(this.at[node]);
  }

  // All boxes that show a node: a leaf is at every box that uses it.
  boxesOf(node) {
    if (!this.isLeaf(node)) return [this.boxOf(node)].filter(Boolean);
    const uses = Array.from(this.edgesInto(node), (edge) => this.boxAt(this.producerAt(edge)));
    return [...new Set([this.boxOf(node), ...uses])].filter(Boolean);
  }

  // Position of the box at the producing end of an edge; a leaf stands at the box that uses it, or has one per use.
  producerAt(edge) {
    const own = this.once("uses", () => new Map([...this.useEdge].map((number, i) => [number, this.useAt[i]])));
    const node = this.producer[edge];
    return own.get(edge) ?? (this.isLeaf(node) && !this.hasOwnBox(node) ? this.at[this.consumer[edge]] : this.at[node]);
  }

  // A leaf that is itself a traced output, or that nothing uses, is drawn as a box of its own.
  hasOwnBox(node) {
    return this.roots.has(node) || !this.edgesInto(node).length;
  }

  // Nodes by place: those a box shows lie together, whatever their ids.
  get places() {
    return this.once("places", () => {
      const { starts, edges: nodes } = gathered(this.at, this.positions);
      return { starts, nodes };
    });
  }

  get inOrder() {
    return this.places.nodes;
  }

  // Nodes that the boxes at these positions show; leaves where they are used first.
  between(first, last) {
    const { starts, nodes } = this.places;
    return nodes.subarray(starts[first], starts[last]);
  }

  // Edges that lead out of a node to what produced its inputs, and those that lead into it from its consumers.
  edgesFrom(node) {
    return this.edgesAt("from", this.consumer, node);
  }

  edgesInto(node) {
    return this.edgesAt("into", this.producer, node);
  }

  edgesAt(name, ends, node) {
    const { starts, edges } = this.once(name, () => gathered(ends, this.count));
    return edges.subarray(starts[node], starts[node + 1]);
  }
}

// Numbers sorted by one of their ends: those of node n are `edges[starts[n]]` up to `edges[starts[n + 1]]`.
function gathered(ends, count) {
  const starts = new Uint32Array(count + 1);
  for (let edge = 0; edge < ends.length; edge++) starts[ends[edge] + 1]++;
  for (let node = 1; node <= count; node++) starts[node] += starts[node - 1];
  const cursor = starts.slice();
  const edges = new Uint32Array(ends.length);
  for (let edge = 0; edge < ends.length; edge++) edges[cursor[ends[edge]]++] = edge;
  return { starts, edges };
}
