// Ways along the real edges, also through what no box shows: from the selection to the roots and to leaves.

class Paths {
  constructor(view) {
    this.view = view;
    this.shown = null; // how to work out again what is lit, in another picture of the same graph
    this.leaves = null; // leaves by distance from the selection, and which of them is shown
  }

  get index() {
    return this.view.index;
  }

  // Node ids the selection stands for: a leaf or node, or the operations of a group.
  selected() {
    const { view, index } = this;
    const node = view.selected ? index.nodeOf(view.selected) : -1;
    if (node >= 0) return [node];
    const box = view.selectedBox();
    if (!box || box.last <= box.first) return [];
    const inside = Array.from(index.between(box.first, box.last));
    const operations = inside.filter((one) => !index.isLeaf(one));
    return operations.length ? operations : inside;
  }

  // Everything on some way from the selection to a traced output.
  toRoot() {
    const { index } = this;
    const from = this.selected();
    if (!from.length) return this.say("Select a box first.");
    if (from.every((node) => index.isGhost(node))) return this.say(`${this.named(from)} is only in A: no edge of this graph leads to it.`);
    const { seen } = walk(index, from, "into");
    const roots = seen.filter((node) => index.roots.has(node)).map((node) => index.roots.get(node));
    if (!roots.length) return this.say(`No path: nothing that ${this.named(from)} leads to is a traced output.`);
    const edges = [];
    for (const node of seen) for (const edge of index.edgesInto(node)) edges.push(edge);
    return this.light(seen, edges, `${roots.length > 1 ? "paths" : "path"} to ${listed(roots)}`);
  }

  // The shortest way from the selection to a leaf, by id or name; without one the nearest, asked again the next.
  toLeaf(leaf) {
    const { index } = this;
    const from = this.selected();
    if (!from.length) return this.say("Select a box first.");
    if (from.every((node) => index.isLeaf(node))) return this.toRoot();
    const { seen, came } = walk(index, from, "from");
    const wanted = (node) => leaf === undefined || node === leaf || index.variableOf(node) === leaf;
    const reached = seen.filter((node) => index.isLeaf(node) && wanted(node));
    if (!reached.length) return this.say(`No path: ${this.asked(leaf)} cannot be reached from ${this.named(from)}.`);
    const number = this.turn(reached, leaf);
    const { nodes, edges } = backtrack(index, came, reached[number]);
    const which = reached.length > 1 ? `, leaf ${number + 1} of ${reached.length} by distance` : "";
    return this.light(nodes, edges, `path to ${leafWords(index, reached[number])}${which}`);
  }

  light(nodes, edges, what) {
    this.shown = { stamp: this.index.stamp, again: () => this.highlight(nodes, edges, what) };
    this.view.setHighlight(this.shown.again());
    return nodes;
  }

  // Which leaf comes next: asked again from the same place, the next one.
  turn(reached, leaf) {
    const key = `${this.view.selected}|${leaf ?? ""}`;
    this.leaves = this.leaves?.key === key ? { key, number: (this.leaves.number + 1) % reached.length } : { key, number: 0 };
    return this.leaves.number;
  }

  clear() {
    this.leaves = null;
    this.view.setHighlight(null);
  }

  say(sentence) {
    this.leaves = null;
    this.view.setHighlight(null, sentence);
    return null;
  }

  asked(leaf) {
    return leaf === undefined ? "a leaf" : typeof leaf === "number" ? leafWords(this.index, leaf) : leaf;
  }

  named(nodes) {
    return nodes.length > 1 ? "this group" : this.index.isLeaf(nodes[0]) ? leafWords(this.index, nodes[0]) : this.index.operationOf(nodes[0]);
  }

  // Nodes and edges as what is drawn: addresses of boxes, wires, and the numbers in words.
  highlight(nodes, edges, what) {
    const { view, index } = this;
    const onPath = new Set(nodes);
    const boxes = new Set();
    for (const node of nodes) if (!index.isLeaf(node) || index.hasOwnBox(node)) addBox(boxes, index.boxOf(node));
    for (const edge of edges) addBox(boxes, index.boxAt(index.producerAt(edge)));
    if (nodes.length === 1) index.boxesOf(nodes[0]).forEach((box) => addBox(boxes, box));
    const counts = `${plural(onPath.size, "node")}, ${plural(boxes.size, "box", "boxes")}`;
    return { boxes, wires: wiresOf(view.scene, index, edges), nodes: onPath, label: `${what}: ${counts}` };
  }
}

function addBox(boxes, box) {
  if (box) boxes.add(box.address);
}

// Breadth first along the edges out of ("from") or into ("into") a node: what is reached, in order, and by which edge.
function walk(index, starts, way) {
  const ends = way === "from" ? index.producer : index.consumer;
  const seen = Array.from(starts);
  const came = new Int32Array(index.count).fill(-1);
  const known = new Uint8Array(index.count);
  for (const node of seen) known[node] = 1;
  for (let next = 0; next < seen.length; next++) {
    for (const edge of way === "from" ? index.edgesFrom(seen[next]) : index.edgesInto(seen[next])) {
      const node = ends[edge];
      if (known[node]) continue;
      known[node] = 1;
      came[node] = edge;
      seen.push(node);
    }
  }
  return { seen, came };
}

function backtrack(index, came, end) {
  const [nodes, edges] = [[end], []];
  for (let edge = came[end]; edge >= 0; edge = came[nodes.at(-1)]) {
    edges.push(edge);
    nodes.push(index.consumer[edge]);
  }
  return { nodes: nodes.reverse(), edges: edges.reverse() };
}

// Wires that carry one of these edges. Groups are intervals of the forward order: a pair of boxes has one wire at most.
function wiresOf(scene, index, edges) {
  const pairs = new Set();
  for (const edge of edges) {
    const [one, other] = [index.boxes[index.producerAt(edge)], index.boxes[index.at[index.consumer[edge]]]];
    if (one !== other) pairs.add(one * scene.boxes.length + other).add(other * scene.boxes.length + one);
  }
  return new Set(scene.wires.filter((wire) => pairs.has(wire.source * scene.boxes.length + wire.target)));
}

function leafWords(index, node) {
  return index.variableOf(node) || "an unnamed leaf";
}

function listed(words) {
  return words.length > 3 ? `${words.slice(0, 3).join(", ")} and ${words.length - 3} more` : words.join(", ");
}

function plural(count, one, many = `${one}s`) {
  return `${counted(count)} ${count === 1 ? one : many}`;
}

function counted(count) {
  return count.toLocaleString("en").replaceAll(",", "\u202f");
}
