// What is selected, told beside the picture in a file. Text goes in as text, never as markup.

function element(tag, { text, name, ...rest } = {}, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  Object.assign(made, rest);
  made.append(...children.filter(Boolean));
  return made;
}

// `open(node)` shows another node in the picture.
class StandaloneFacts {
  constructor(place, said, open) {
    Object.assign(this, { place, said, open, nodes: new Map(), byAddress: new Map(), members: [], home: new Map() });
  }

  receive(facts) {
    this.columns = facts.columns;
    for (const row of facts.nodes) {
      const node = Object.fromEntries(facts.fields.map((name, at) => [name, row[at]]));
      this.nodes.set(node.id, node);
      this.byAddress.set(node.address, node);
    }
    this.members = facts.members.map((one) => new Map(Object.entries(one)));
    this.home = new Map(facts.home);
  }

  // The nodes an address of picture `number` stands for, the one that gives the box its name first.
  nodesOf(address, number) {
    const ids = this.members[number]?.get(address);
    if (ids) return ids.map((id) => this.nodes.get(id)).filter(Boolean);
    const leaf = this.byAddress.get(address);
    return leaf ? [leaf] : [];
  }

  show(address, number, box) {
    const nodes = address ? this.nodesOf(address, number) : [];
    if (box && (box.role !== "node" || !nodes.length)) this.place.replaceChildren(...this.box(box));
    else if (nodes.length) this.place.replaceChildren(...this.node(nodes[0]), ...nodes.slice(1).map((node) => this.folded(node)));
    else this.place.replaceChildren(...this.whole(Boolean(address)));
    this.place.scrollTop = 0;
  }

  whole(lost) {
    const { numbers, notes, spec, script, more } = this.said;
    const listed = element("dl", { name: "page-numbers" }, ...numbers.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]));
    const hint = lost ? "What is selected is not in this file." : "Click a box to see what it saved and where it came from; a double click on a group shows its inside.";
    return [
      element("p", { name: "page-quiet", text: hint }),
      element("h3", { text: "Whole graph" }),
      listed,
      ...notes.map((note) => element("p", { name: "page-quiet", text: note })),
      more && element("p", { name: "page-quiet", text: `Some groups cannot be opened here: ${more}.` }),
      script && this.text("Script", script),
      spec && this.text("Settings", spec),
    ].filter(Boolean);
  }

  text(title, words) {
    return element("details", {}, element("summary", { text: title }), element("pre", { text: words, tabIndex: 0 }));
  }

  // A group, or what only run A has: what the picture itself says of it.
  box(box) {
    const inside = box.role !== "node" && element("button", { name: "page-button", type: "button", text: "Show its inside" });
    if (inside) inside.onclick = () => this.open(box.address);
    const [, ...facts] = box.tooltip;
    return [
      element("h2", { text: box.title }),
      element("p", { name: "page-quiet", text: box.address }),
      ...facts.map((line) => element("p", { text: line })),
      ...box.changes.map((line) => element("p", { text: line })),
      inside && element("p", {}, inside),
    ].filter(Boolean);
  }

  folded(node) {
    const [, , ...rest] = this.node(node);
    return element("details", {}, element("summary", { text: `Folded into this box: ${node.name} (id ${node.id})` }), ...rest);
  }

  node(node) {
    return [
      element("h2", { text: node.name }),
      element("p", { name: "page-quiet", text: `${node.address} · ${node.kind} · id ${node.id} in the walk` }),
      ...node.lines.map((line) => element("p", { text: line })),
      node.source && element("pre", { text: node.source, tabIndex: 0 }),
      element("h3", { text: "Saved for backward" }),
      ...(node.saved.length ? node.saved.map((slot) => this.slot(slot)) : [element("p", { name: "page-quiet", text: "Nothing: its derivative needs no tensor." })]),
      element("h3", { text: "Incoming gradients" }),
      ...node.inputs.map((line) => element("p", { text: line })),
      element("h3", { text: "next_functions: where its own gradients go" }),
      element("ul", {}, ...node.next.map(([slot, words, target]) => element("li", { text: `${slot}: ` }, this.link(words, target)))),
      element("h3", { text: "Its gradient comes from" }),
      node.users.length ? element("ul", {}, ...node.users.map(([words, id]) => element("li", {}, this.link(words, id)))) : element("p", { name: "page-quiet", text: "Nowhere: backward starts here." }),
      node.more_users ? element("p", { name: "page-quiet", text: `and ${node.more_users} more` }) : null,
      ...(node.attributes.length ? [element("h3", { text: "Attributes" }), ...node.attributes.map(([name, value]) => element("p", { text: `${name} = ${value}` }))] : []),
    ].filter(Boolean);
  }

  slot(values) {
    const pairs = this.columns.map((name, at) => [name, values[at]]).filter(([, value], at) => at > 0 && value !== "");
    return element(
      "div",
      { name: "page-slot" },
      element("strong", { text: values[0] }),
      element("dl", {}, ...pairs.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })])),
    );
  }

  link(words, id) {
    if (!this.nodes.has(id)) return document.createTextNode(words);
    const button = element("button", { name: "page-link", type: "button", text: words });
    button.onclick = () => this.open(this.nodes.get(id).address);
    return button;
  }
}
