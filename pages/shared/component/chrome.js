// What floats over the canvas: status, legend, minimap, tooltip. Text goes in as text, never as markup.

class Chrome {
  constructor(view) {
    this.view = view;
    const part = (name) => view.root.querySelector(name);
    this.tooltipBox = part("[data-atlas-tooltip]");
    this.statusBox = part("[data-atlas-status]");
    this.legendBox = part("[data-atlas-legend]");
    this.minimap = part("[data-atlas-minimap]");
  }

  status() {
    const { scene } = this.view;
    const number = (value) => value.toLocaleString("en").replaceAll(",", "\u202f");
    const parts = scene.boxes.length ? [`${number(scene.nodes_shown)} of ${number(scene.nodes_total)} nodes shown`] : [];
    if (scene.removed.length) parts.push(`${number(scene.removed.length)} removed since A`);
    if (scene.boxes.length) parts.push(...scene.notes);
    this.statusBox.textContent = parts.join("  ·  ");
    this.statusBox.title = [...parts, ...scene.removed.slice(0, 20)].join("\n");
  }

  legend() {
    const { scene, theme } = this.view;
    const list = this.legendBox.querySelector("ul");
    this.legendBox.hidden = !scene || !scene.legend.length;
    if (!scene) return;
    list.replaceChildren(
      ...scene.legend.map((index) => {
        const colour = scene.colours[index];
        const entry = document.createElement("li");
        const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        icon.setAttribute("viewBox", "0 0 10 10");
        const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
        shape.setAttribute("d", colour.mark);
        shape.setAttribute("fill", theme.dark ? colour.dark : colour.light);
        shape.setAttribute("fill-rule", "evenodd");
        icon.append(shape);
        entry.append(icon, colour.label);
        return entry;
      }),
    );
  }

  tooltip(lines, x, y) {
    const { tooltipBox } = this;
    if (!lines || !lines.length) {
      tooltipBox.hidden = true;
      return;
    }
    const text = lines.join("\n");
    if (tooltipBox.dataset.text !== text) {
      tooltipBox.dataset.text = text;
      tooltipBox.replaceChildren(
        ...lines.map((line) => {
          const row = document.createElement("div");
          row.textContent = line;
          return row;
        }),
      );
    }
    tooltipBox.hidden = false;
    const { offsetWidth, offsetHeight } = tooltipBox;
    const left = x + 16 + offsetWidth > this.view.width ? x - 12 - offsetWidth : x + 16;
    const top = y + 18 + offsetHeight > this.view.height ? y - 12 - offsetHeight : y + 18;
    tooltipBox.style.left = `${Math.max(6, left)}px`;
    tooltipBox.style.top = `${Math.max(6, top)}px`;
  }

  // The whole scene, small; drawn once per scene and theme.
  drawMinimap() {
    const { scene, theme, ratio } = this.view;
    if (!scene || !scene.boxes.length || !ratio) {
      this.minimap.hidden = true;
      return;
    }
    const scale = Math.min(168 / scene.width, 120 / scene.height);
    this.scale = scale;
    const [width, height] = [Math.max(24, scene.width * scale), Math.max(24, scene.height * scale)];
    Object.assign(this.minimap.style, { width: `${width}px`, height: `${height}px` });
    this.sheet = document.createElement("canvas");
    for (const canvas of [this.minimap, this.sheet]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = this.sheet.getContext("2d");
    context.scale(ratio * scale, ratio * scale);
    scene.boxes.forEach((box) => {
      const colour = scene.colours[box.colour];
      context.fillStyle = box.role === "frame" ? theme.frame : theme.dark ? colour.dark : colour.light;
      context.globalAlpha = box.role === "frame" ? 1 : 0.8;
      context.fillRect(box.x, box.y, Math.max(box.width, 1.2 / scale), Math.max(box.height, 1.2 / scale));
    });
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
    const context = minimap.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, minimap.width, minimap.height);
    context.drawImage(sheet, 0, 0);
    context.scale(view.ratio, view.ratio);
    const place = [left * scale, top * scale, (right - left) * scale, (bottom - top) * scale];
    context.fillStyle = context.strokeStyle = view.theme.primary;
    context.globalAlpha = 0.12;
    context.fillRect(...place);
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeRect(...place);
  }

  lookAt(event) {
    const { view } = this;
    const rect = this.minimap.getBoundingClientRect();
    view.camera.flight = null;
    view.camera.moved = true;
    view.camera.x = (event.clientX - rect.left) / this.scale - view.width / 2 / view.camera.zoom;
    view.camera.y = (event.clientY - rect.top) / this.scale - view.height / 2 / view.camera.zoom;
    view.repaint();
  }
}

function readTheme(root) {
  const style = getComputedStyle(root);
  const value = (name, fallback) => {
    const found = style.getPropertyValue(name).trim();
    return found && found !== "unset" ? found : fallback;
  };
  const background = value("--st-background-color", "#fbfaf7");
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = background;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const dark = 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
  return {
    dark,
    background,
    frame: dark ? "#181d27" : "#f5f3ee",
    text: value("--st-text-color", dark ? "#e6e8ee" : "#1f2430"),
    muted: dark ? "#b3bdca" : "#566171",
    line: dark ? "#748194" : "#8a95a4",
    saved: dark ? "#93a7ff" : "#3f56b8",
    found: dark ? "#f0ac33" : "#a86a00",
    primary: dark ? value("--st-link-color", "#a3b3ff") : value("--st-primary-color", "#3d53c6"),
    font: value("--st-font", "system-ui, sans-serif"),
  };
}
