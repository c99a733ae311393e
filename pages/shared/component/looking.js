// Where to look and what is where: first view, keeping one's place, hit tests, neighbours.

class Looking extends Saving {
  // Everything in sight; the legend is only made room for where it would hide something.
  fitting() {
    const fit = this.camera.fitting(this.scene, this.width, this.height);
    const legend = this.chrome.legendBox;
    const left = -fit.x * fit.zoom;
    const bottom = (this.scene.height - fit.y) * fit.zoom;
    const hides = left < legend.offsetLeft + legend.offsetWidth && bottom > this.height - legend.offsetHeight - 14;
    return hides ? this.camera.fitting(this.scene, this.width, this.height, legend.offsetHeight + 18) : fit;
  }

  // The whole picture when it can be read; else its beginning, with the minimap for the rest.
  firstLook() {
    const fit = this.fitting();
    const readable = 0.34;
    if (fit.zoom < readable) {
      const zoom = 0.6;
      Object.assign(fit, { zoom, x: Math.min(-18 / zoom, (this.scene.width - this.width / zoom) / 2), y: -48 / zoom });
      if (this.scene.width * zoom > this.width) fit.x = -18 / zoom;
    }
    this.looked = true;
    this.camera.flyTo(fit, true);
    this.camera.moved = false;
  }

  // New data, same graph: whatever the reader was looking at stays where it was on the screen.
  keepPlace(before, scene) {
    const shared = scene.boxes.filter((box) => before.byAddress.has(box.address)).length;
    if (shared < 0.3 * Math.min(before.boxes.length, scene.boxes.length) && !scene.byAddress.has(this.pending)) {
      this.pending = null;
      return this.firstLook();
    }
    // Nobody has moved the picture: a toggle changed it, and all of it should be in sight again.
    if (!this.camera.moved && !scene.byAddress.has(this.pending)) return this.firstLook();
    const anchor = this.anchor(before, scene);
    this.pending = null;
    if (!anchor) return this.firstLook();
    const [was, now] = [before.byAddress.get(anchor), scene.byAddress.get(anchor)];
    const [left, top] = this.camera.toScreen(was.x, was.y);
    let [x, y] = [left, top];
    const { zoom } = this.camera;
    if (now.width * zoom <= this.width - 40) x = Math.min(Math.max(20, x - ((now.width - was.width) * zoom) / 2), this.width - 20 - now.width * zoom);
    else x = 20;
    if (now.role === "frame" && was.role !== "frame") y = Math.min(Math.max(56, y), Math.max(56, this.height - 20 - now.height * zoom));
    this.camera.flight = null;
    this.camera.x += now.x - was.x - (x - left) / zoom;
    this.camera.y += now.y - was.y - (y - top) / zoom;
  }

  anchor(before, scene) {
    const both = (address) => address && before.byAddress.has(address) && scene.byAddress.has(address);
    for (const address of [this.pending, this.selected]) if (both(address)) return address;
    const [x, y] = this.camera.toWorld(this.width / 2, this.height / 2);
    const distance = (box) => Math.hypot(box.x + box.width / 2 - x, box.y + box.height / 2 - y);
    const candidates = before.boxes.filter((box) => box.role !== "frame" && scene.byAddress.has(box.address));
    return candidates.sort((a, b) => distance(a) - distance(b))[0]?.address;
  }

  boxAt(screenX, screenY) {
    if (!this.scene) return null;
    const [x, y] = this.camera.toWorld(screenX, screenY);
    const inside = (place) => x >= place.x && x <= place.x + place.width && y >= place.y && y <= place.y + place.height;
    const here = [...this.scene.grid.boxes.within(pointBounds(x, y, 0))].sort((a, b) => b.index - a.index);
    for (const box of here) {
      if (box.role !== "frame") {
        const leaf = 11 * this.camera.zoom >= READABLE ? box.leaves.find((one) => one.place && inside(one.place)) : null;
        return { box, leaf, chevron: box.role === "group" && x > box.x + box.width - 26 && y < box.y + 32 };
      }
      const header = Math.max(30, 20 / this.camera.zoom);
      if (y < box.y + header) return { box, leaf: null, chevron: x < box.x + header };
    }
    return null;
  }

  wireAt(screenX, screenY) {
    if (!this.scene) return null;
    const [x, y] = this.camera.toWorld(screenX, screenY);
    const reach = 6 / this.camera.zoom;
    let [best, bestDistance] = [null, reach * reach];
    for (const wire of this.scene.grid.wires.within(pointBounds(x, y, reach))) {
      const distance = curveDistance(wire.curve, x, y);
      if (distance < bestDistance) [best, bestDistance] = [wire, distance];
    }
    return best;
  }

  // The neighbour an arrow key leads to: along an edge where there is one, else the nearest box that way.
  neighbour(key) {
    const { scene } = this;
    const here = this.selectedBox();
    const boxes = scene.boxes.filter((box) => box.role !== "frame");
    if (!here) return boxes[0];
    const wires = key === "ArrowDown" ? here.out : key === "ArrowUp" ? here.in : [];
    const ends = wires.map((wire) => scene.boxes[key === "ArrowDown" ? wire.target : wire.source]);
    const centre = (box) => [box.x + box.width / 2, box.y + box.height / 2];
    const [hx, hy] = centre(here);
    const far = (box) => Math.abs(centre(box)[0] - hx) + Math.abs(centre(box)[1] - hy);
    if (ends.length) return ends.sort((a, b) => far(a) - far(b))[0];
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const [wx, wy] = ways[key];
    const score = (box) => {
      const [dx, dy] = [centre(box)[0] - hx, centre(box)[1] - hy];
      const along = dx * wx + dy * wy;
      return along <= 2 ? Infinity : along + 2.5 * Math.abs(dx * wy + dy * wx);
    };
    const best = boxes.filter((box) => box !== here && score(box) < Infinity).sort((a, b) => score(a) - score(b))[0];
    return best ?? here;
  }

  reveal(box) {
    const { camera } = this;
    const [x, y] = camera.toScreen(box.x, box.y);
    const margin = 60;
    const hidden = x < margin || y < margin || x + box.width * camera.zoom > this.width - margin || y + box.height * camera.zoom > this.height - margin;
    if (hidden) camera.flyTo(camera.centring(box, this.width, this.height, Math.max(camera.zoom, 0.6)));
  }

  fit() {
    if (!this.scene) return;
    this.camera.flyTo(this.fitting());
    this.camera.moved = false;
  }

  selectedBox() {
    return this.selected ? (this.scene?.byAddress.get(this.selected) ?? this.ownerOf(this.selected)) : null;
  }

  ownerOf(leafAddress) {
    return this.scene?.boxes.find((box) => box.leaves.some((leaf) => leaf.address === leafAddress));
  }
}

function pointBounds(x, y, reach) {
  return { left: x - reach, right: x + reach, top: y - reach, bottom: y + reach };
}
