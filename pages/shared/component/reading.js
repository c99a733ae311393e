// What is selected, linked to and lit, where search, paths and the module tree meet the picture.

class Reading extends Looking {
  // A node that the reader or the link asked for, now that it may be shown.
  arrive(scene) {
    const linked = scene.selected && scene.selected !== this.linked ? scene.selected : "";
    this.linked = scene.selected;
    const wanted = this.wanted ?? linked;
    const asked = this.wanted !== null;
    this.wanted = null;
    const box = wanted ? this.boxOfAddress(wanted) : null;
    this.offerPaths();
    if (!box) return;
    const address = this.shownAddress(wanted, box);
    if (asked || this.reported) this.select(address); // the app forgets what was clicked before
    else this.selected = address;
    this.offerPaths();
    if (this.width) this.lookAt(box, !asked);
  }

  // The box that shows an address: its own, that of a leaf's first use, or the closed group it is in.
  boxOfAddress(address) {
    const own = this.scene.byAddress.get(address) ?? this.ownerOf(address);
    if (own) return own;
    const node = this.index.nodeOf(address);
    return node >= 0 ? this.index.boxOf(node) : null;
  }

  // What is selected for a node: itself where it is drawn or can be named, the box it was folded into else.
  shownAddress(address, box) {
    const own = this.scene.byAddress.has(address) || this.ownerOf(address);
    return own || box.role !== "node" ? address : box.address;
  }

  selectedBox() {
    return this.selected && this.scene ? this.boxOfAddress(this.selected) : null;
  }

  // Select a node of the graph and look at it; when a closed group hides it, ask for that to be opened.
  showNode(node) {
    const { index } = this;
    const address = index.addressOf(node);
    const boxes = index.boxesOf(node);
    const box = boxes.find((one) => one.role === "node") ?? boxes[0] ?? null;
    if (box) this.lookAt(box);
    if (box?.role === "node") return this.select(this.shownAddress(address, box));
    this.wanted = address;
    this.pending = box?.address ?? null;
    return this.component.setTriggerValue("revealed", address);
  }

  lookAt(box, instantly = false) {
    const { camera } = this;
    const zoomIn = (width, height) => {
      const fitting = Math.min((width - 80) / box.width, Math.max(60, height - 120) / box.height);
      return Math.min(Math.max(camera.zoom, 0.75), Math.max(0.1, fitting), 1.15);
    };
    camera.flyTo(this.placing(box, zoomIn), instantly);
  }

  lookAtAll(boxes) {
    const left = Math.min(...boxes.map((box) => box.x));
    const top = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.width));
    const bottom = Math.max(...boxes.map((box) => box.y + box.height));
    const inSight = ([x, y]) => x >= 0 && y >= 40 && x <= this.width && y <= this.height;
    if (inSight(this.camera.toScreen(left, top)) && inSight(this.camera.toScreen(right, bottom))) return;
    this.lookAt({ x: left, y: top, width: right - left, height: bottom - top });
  }

  setHighlight(highlight, sentence = "") {
    this.highlight = highlight;
    this.sentence = sentence;
    if (!highlight?.nodes) this.paths.shown = null;
    const words = highlight?.label ?? sentence;
    this.root.querySelector("[data-atlas-path-said]").textContent = words;
    this.root.querySelector("[data-atlas-path]").hidden = !words;
    if (this.tree.chosen !== null && highlight?.nodes) this.tree.forget();
    this.still = null;
    this.repaint();
    this.tell();
  }

  // Boxes are other boxes after a group was opened: what was lit is worked out again.
  rereadHighlight() {
    if (!this.highlight) return;
    const { shown } = this.paths;
    if (shown?.stamp === this.index.stamp) this.setHighlight(shown.again());
    else if (this.tree.chosen !== null && this.tree.byPath.has(this.tree.chosen)) this.setHighlight(moduleHighlight(this, this.tree.byPath.get(this.tree.chosen)));
    else this.setHighlight(null);
  }

  // Paths start at the selection: without one their buttons say so.
  offerPaths() {
    const none = !this.selected;
    const node = none || !this.scene ? -1 : this.index.nodeOf(this.selected);
    const leaf = node >= 0 && this.index.isLeaf(node);
    const words = { root: "Everything between the selection and the traced outputs", leaf: leaf ? "The selection is a leaf: everything between it and the traced outputs" : "Shortest path from the selection to a leaf; again for the next leaf" };
    for (const [name, title] of Object.entries(words)) {
      const button = this.root.querySelector(`[data-atlas-action="${name}"]`);
      button.disabled = none;
      button.title = none ? `${title}. Select a box first.` : title;
    }
  }

  // What was in the middle stays there.
  showTree() {
    const { camera, width } = this;
    const fitted = !camera.moved;
    this.tree.toggle();
    this.resize();
    if (fitted) this.firstLook();
    else camera.x += (width - this.width) / 2 / camera.zoom;
    this.repaint();
  }

  keyOfRoot(event) {
    if (event.key.toLowerCase() !== "m" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input")) return;
    if (this.scene?.modules.length) this.showTree();
    event.stopPropagation();
  }
}
