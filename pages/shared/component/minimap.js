// The whole scene in a corner: where one is, what differs, what was found and what is selected.

class Minimap extends Tooltip {
  constructor(view) {
    super(view);
    this.minimap = view.root.querySelector("[data-atlas-minimap]");
  }

  // The boxes, drawn once per scene and theme.
  drawMinimap() {
    const { scene, theme, ratio } = this.view;
    this.sheet = this.lights = null;
    if (!scene || !scene.boxes.length || !ratio) {
      this.minimap.hidden = true;
      return;
    }
    const scale = Math.min(168 / scene.width, 120 / scene.height);
    this.scale = scale;
    const [width, height] = [Math.max(24, scene.width * scale), Math.max(24, scene.height * scale)];
    Object.assign(this.minimap.style, { width: `${width}px`, height: `${height}px` });
    this.sheet = document.createElement("canvas");
    this.lights = document.createElement("canvas");
    for (const canvas of [this.minimap, this.sheet, this.lights]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.litBy = {};
    const context = this.sheet.getContext("2d");
    context.scale(ratio * scale, ratio * scale);
    scene.boxes.forEach((box) => {
      context.fillStyle = box.role === "frame" ? theme.frame : this.accentOf(scene.colours[box.colour]);
      context.globalAlpha = box.role === "frame" ? 1 : scene.compared ? 0.3 : box.kind === "operation" ? 0.55 : 0.9;
      this.patch(context, box, 1.2);
    });
    this.drawMarks(context, scene);
  }

  // What differs from run A stands out in its own colour, larger than it is; what is gone only as an outline.
  drawMarks(context, scene) {
    context.globalAlpha = 1;
    context.lineWidth = 1 / this.scale;
    scene.boxes.forEach((box) => {
      if (box.role === "frame" || !RING_COLOURS.has(box.mark)) return;
      context.fillStyle = context.strokeStyle = this.accentOf(scene.colours[scene.colourOf.get(box.mark)]);
      if (box.mark === "removed") context.strokeRect(box.x, box.y, Math.max(box.width, 3 / this.scale), Math.max(box.height, 3 / this.scale));
      else this.patch(context, box, 3);
    });
  }

  patch(context, box, least) {
    context.fillRect(box.x, box.y, Math.max(box.width, least / this.scale), Math.max(box.height, least / this.scale));
  }

  // What a search or a path lights, drawn anew only when that changes.
  drawLights() {
    const { view, lights, scale } = this;
    const { found, highlight, ratio, theme } = view;
    if (this.litBy.found === found && this.litBy.highlight === highlight) return;
    this.litBy = { found, highlight };
    const context = lights.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, lights.width, lights.height);
    context.scale(ratio * scale, ratio * scale);
    context.fillStyle = theme.primary;
    const known = (address) => view.scene.byAddress.get(address);
    for (const address of highlight?.boxes ?? []) if (known(address)) this.patch(context, known(address), 2.4);
    context.fillStyle = theme.found;
    for (const address of found.keys()) if (known(address)?.role !== "frame" && known(address)) this.patch(context, known(address), 3);
  }

  drawViewport() {
    const { view, minimap, scale, sheet } = this;
    if (!sheet) return;
    const [left, top] = view.camera.toWorld(0, 0);
    const [right, bottom] = view.camera.toWorld(view.width, view.height);
    const { scene } = view;
    const all = left <= 0 && top <= 0 && right >= scene.width && bottom >= scene.height;
    minimap.hidden = all;
    if (all) return;
    this.drawLights();
    const context = minimap.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    context.clearRect(0, 0, minimap.width, minimap.height);
    context.drawImage(sheet, 0, 0);
    context.drawImage(this.lights, 0, 0);
    context.scale(view.ratio, view.ratio);
    this.drawSelected(context, view.replay?.current ?? view.selectedBox());
    const place = [left * scale, top * scale, (right - left) * scale, (bottom - top) * scale];
    context.fillStyle = context.strokeStyle = view.theme.primary;
    context.globalAlpha = 0.12;
    context.fillRect(...place);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeRect(...place);
  }

  drawSelected(context, box) {
    if (!box) return;
    const { scale } = this;
    const radius = Math.max(3.5, (Math.min(box.width, box.height) * scale) / 2 + 2);
    context.beginPath();
    context.arc((box.x + box.width / 2) * scale, (box.y + box.height / 2) * scale, radius, 0, 7);
    context.strokeStyle = this.view.theme.primary;
    context.lineWidth = 1.8;
    context.stroke();
  }

  lookAt(event) {
    const { view } = this;
    const rect = this.minimap.getBoundingClientRect();
    view.camera.flight = null;
    view.camera.moved = true;
    view.camera.x = (event.clientX - rect.left) / this.scale - view.width / 2 / view.camera.zoom;
    view.camera.y = (event.clientY - rect.top) / this.scale - view.height / 2 / view.camera.zoom;
    view.moving = true;
    view.repaint();
  }
}
