// Where to look and what is where: first view, keeping one's place, hit tests, neighbours.

const NARROW = 720; // pixels: the width below which the toolbar leaves no room beside it, see reading.css

class Looking extends Saving {
  // Everything in sight; the legend is only made room for where it would hide something.
  fitting() {
    const { top } = this.room;
    const fit = this.camera.fitting(this.scene, this.width, this.height, { top });
    const legend = this.chrome.legendBox;
    const left = -fit.x * fit.zoom;
    const bottom = (this.scene.height - fit.y) * fit.zoom;
    const hides = left < legend.offsetLeft + legend.offsetWidth && bottom > this.height - legend.offsetHeight - 14;
    return hides ? this.camera.fitting(this.scene, this.width, this.height, { top, bottom: legend.offsetHeight + 18 }) : fit;
  }

  // In a narrow window the status has a line of its own below the toolbar.
  get room() {
    return { top: this.width <= NARROW ? 82 : 48 };
  }

  // The whole picture when it can be read; else its beginning, with the minimap for the rest.
  firstLook() {
    const fit = this.fitting();
    const readable = 0.31; // titles keep their size on the screen
    if (fit.zoom < readable) {
      const zoom = 0.6;
      Object.assign(fit, { zoom, x: Math.min(-18 / zoom, (this.scene.width - this.width / zoom) / 2), y: -this.room.top / zoom });
      if (this.scene.width * zoom > this.width) fit.x = -18 / zoom;
      this.startAt(fit);
    }
    this.looked = true;
    this.camera.flyTo(fit, true);
    this.camera.moved = false;
  }

  // A beginning shows the first box: where that is not in sight of the corner, it is looked at instead.
  startAt(goal) {
    const first = this.firstBox();
    if (!first) return;
    const [wide, high] = [this.width / goal.zoom, this.height / goal.zoom];
    const inSight = first.x + first.width <= goal.x + wide - 18 && first.y + first.height <= goal.y + 0.7 * high;
    if (inSight) return;
    const furthest = this.scene.width + 18 / goal.zoom - wide;
    goal.x = Math.max(goal.x, Math.min(first.x + first.width / 2 - wide / 2, furthest));
    goal.y = Math.max(goal.y, first.y + first.height - 0.7 * high);
  }

  // The topmost of the boxes that the forward order starts or ends with, as the picture runs down or up.
  firstBox() {
    const solid = this.scene.boxes.filter((box) => box.role !== "frame");
    if (!solid.length) return null;
    const ends = [solid.reduce((a, b) => (b.first < a.first ? b : a)), solid.reduce((a, b) => (b.last > a.last ? b : a))];
    return ends[1].y < ends[0].y ? ends[1] : ends[0];
  }

  // Where a box is looked at: beside the search list and, where it would lie under them, above legend and minimap.
  placing(box, zoomIn) {
    const { camera, height, search } = this;
    const [right, top] = [this.width - search.covers, search.under];
    const goal = (bottom) => camera.centring(box, right, top + bottom, zoomIn(right, bottom - top));
    const first = goal(height);
    const low = this.coveredBelow(box, first);
    return low && height - low - top > 120 ? goal(height - low) : first;
  }

  // Pixels at the bottom that hide a part of this box, seen from there.
  coveredBelow(box, { x, y, zoom }) {
    const { legendBox, minimap, sheet } = this.chrome;
    if (this.search.under || (box.y + box.height - y) * zoom < this.height / 2) return 0;
    const [left, right, bottom] = [(box.x - x) * zoom, (box.x + box.width - x) * zoom, (box.y + box.height - y) * zoom];
    const map = sheet ? [parseFloat(minimap.style.width), parseFloat(minimap.style.height)] : [0, 0];
    const hides = [];
    if (left < legendBox.offsetLeft + legendBox.offsetWidth) hides.push(legendBox.offsetHeight);
    if (right > this.width - map[0] - 10) hides.push(map[1]);
    return Math.max(0, ...hides.filter((high) => high && bottom > this.height - high - 14).map((high) => high + 20));
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
    const under = this.coveredBelow(box, camera);
    const hidden = under || x < margin || y < margin || x + box.width * camera.zoom > this.width - margin || y + box.height * camera.zoom > this.height - margin;
    if (hidden) camera.flyTo(this.placing(box, () => Math.max(camera.zoom, 0.6)));
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
