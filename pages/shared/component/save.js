// The picture as a PNG file: what is on the screen, twice as fine, or the whole picture; both with the legend.

const FINE = 2;
const LARGEST_SIDE = 12000;
const LARGEST_AREA = 64e6; // pixels: what browsers still make a file of
const SAVED_MARGIN = 24;
const SCALE_HEIGHT = 46; // of the bar of a scale in the legend with the numbers under it
const STEP = 58; // width of one step of it

class Saving extends Sheet {
  savePng(whole = false) {
    if (!this.scene?.boxes.length) return;
    const { sheet, reduced } = whole ? this.wholeSheet() : this.viewSheet();
    sheet.toBlob((blob) => {
      if (!blob) return this.chrome.say("This browser could not make a PNG of that size. Zoom in and save what is in sight.");
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = whole ? "autograd-graph-whole.png" : "autograd-graph.png";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      const size = `${sheet.width} × ${sheet.height} pixels`;
      return this.chrome.say(reduced ? `Saved ${size}: reduced to ${Math.round(100 * reduced)} % of full size, the most a PNG holds.` : `Saved ${size}.`);
    });
  }

  // What is in sight, as it is lit.
  viewSheet() {
    const fine = fitted(this.width, this.height, FINE);
    const { sheet, pen } = this.emptySheet(this.width, this.height, fine);
    const { zoom, x, y } = this.camera;
    pen.setTransform(zoom * fine, 0, 0, zoom * fine, -x * zoom * fine, -y * zoom * fine);
    this.painter.paint(pen, this.scene, { ...this.state(performance.now()), scale: zoom * fine, arrival: 1, appearing: () => 1 });
    this.replay?.paintWhole(pen);
    this.painter.touch(pen, this.scene, { ...this.touched(), hovered: null });
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    const legend = this.chrome.legendBox;
    if (!legend.hidden && legend.open) drawLegend(this, pen, 10, this.height - 10, this.width * 0.5, true);
    return { sheet, reduced: fine < FINE ? fine / FINE : 0 };
  }

  // All of the scene, its legend below.
  wholeSheet() {
    const { scene } = this;
    const width = Math.max(scene.width, 300) + 2 * SAVED_MARGIN;
    const legend = drawLegend(this, null, 0, 0, width - 2 * SAVED_MARGIN, false);
    const height = scene.height + 2 * SAVED_MARGIN + (legend ? legend + SAVED_MARGIN : 0);
    const fine = fitted(width, height, FINE);
    const { sheet, pen } = this.emptySheet(width, height, fine);
    const left = SAVED_MARGIN + (width - 2 * SAVED_MARGIN - scene.width) / 2;
    pen.setTransform(fine, 0, 0, fine, left * fine, SAVED_MARGIN * fine);
    const all = inSight({ left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity });
    const everything = { ...this.state(performance.now()), ...all, within: (one) => one.boxes, zoom: Math.max(1, fine), scale: fine, arrival: 1, appearing: () => 1 };
    this.painter.paint(pen, scene, everything);
    pen.setTransform(fine, 0, 0, fine, 0, 0);
    if (legend) drawLegend(this, pen, SAVED_MARGIN, height - SAVED_MARGIN, width - 2 * SAVED_MARGIN, false);
    return { sheet, reduced: fine < FINE ? fine / FINE : 0 };
  }

  emptySheet(width, height, fine) {
    const sheet = document.createElement("canvas");
    sheet.width = Math.floor(width * fine);
    sheet.height = Math.floor(height * fine);
    const pen = sheet.getContext("2d");
    pen.fillStyle = this.theme.background;
    pen.fillRect(0, 0, sheet.width, sheet.height);
    return { sheet, pen };
  }
}

// The wanted scale, or the largest that a canvas of this size allows.
function fitted(width, height, wanted) {
  return Math.min(wanted, LARGEST_SIDE / Math.max(width, height), Math.sqrt(LARGEST_AREA / (width * height)));
}

// The legend set like words into `room`, standing on `bottom`; returns its height, and only that without a pen.
function drawLegend(view, pen, left, bottom, room, framed) {
  const { scene, painter, theme } = view;
  if (!scene.legend.length) return 0;
  const { steps, rows, width } = legendRows(view, pen ?? view.canvas.getContext("2d"), room);
  const scale = steps.length ? SCALE_HEIGHT : 0;
  const height = rows.length * 18 + scale;
  if (!pen) return height;
  const inset = framed ? 10 : 0;
  const top = bottom - height - inset;
  if (framed) panel(pen, theme, left, top - inset, width + inset, height + 2 * inset);
  if (scale) drawScale(view, pen, steps, left + inset, top);
  pen.textBaseline = "middle";
  rows.forEach((row, number) =>
    row.forEach((entry) => {
      const [at, middle] = [left + inset + entry.x, top + scale + 18 * number + 9];
      painter.mark(pen, scene.marks[entry.index], at, middle - 5, 1, painter.colour(scene, entry.index).accent);
      pen.fillStyle = theme.text;
      painter.text(pen, 400, 11.5, entry.label, at + 16, middle, room);
    }),
  );
  return height;
}

// Steps of a scale, and what else there is in rows no wider than `room`.
function legendRows({ scene, painter }, measuring, room) {
  const entries = legendEntries(scene);
  const steps = entries.filter((entry) => entry.scale);
  const rows = [];
  let x = Infinity;
  for (const { index, label } of entries.filter((entry) => !entry.scale)) {
    const width = 34 + painter.width(measuring, 400, 11.5, plain(label));
    if (x + width > room) {
      rows.push([]);
      x = 0;
    }
    rows[rows.length - 1].push({ index, label, x, width });
    x += width;
  }
  const ends = rows.map((row) => row[row.length - 1].x + row[row.length - 1].width);
  return { steps, rows, width: Math.max(steps.length * STEP + 12, ...ends) };
}

// What it is of, one bar of all steps, and the largest value of each under its end.
function drawScale({ scene, painter, theme }, pen, steps, left, top) {
  pen.textBaseline = "middle";
  pen.fillStyle = theme.text;
  painter.text(pen, 400, 11.5, steps[0].scale, left, top + 7, 300);
  steps.forEach(({ index, stop }, number) => {
    pen.fillStyle = painter.colour(scene, index).accent;
    pen.fillRect(left + number * STEP, top + 17, STEP, 9);
    pen.fillStyle = theme.text;
    const width = painter.width(pen, 400, 10, plain(stop));
    painter.text(pen, 400, 10, stop, left + (number + 1) * STEP - width, top + 35, STEP);
  });
}

function panel(pen, theme, x, y, width, height) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, 8);
  pen.fillStyle = theme.background;
  pen.fill();
  pen.strokeStyle = theme.line;
  pen.lineWidth = 0.6;
  pen.stroke();
}
