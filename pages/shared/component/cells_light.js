// What moves: the veil and the lit cells of a hover, the lines to other panels, and the path of memory order.

const MOST_LINES = 6;

class CellLight extends CellPainter {
  // All cells step back a little; the lit ones are drawn again on top.
  light(context, layout, links, sight) {
    context.fillStyle = this.theme.background;
    context.globalAlpha = this.theme.dark ? 0.6 : 0.66;
    layout.places.forEach((place) => this.veil(context, layout, place));
    context.globalAlpha = 1;
    const lit = [...links.same, ...links.reads, ...links.readers, links.cell].filter((cell) => layout.ys[cell] < sight.bottom && layout.ys[cell] > sight.top - 60);
    lit.sort((a, b) => a - b);
    layout.places.forEach((place) => {
      const { first, cells } = place.panel;
      const own = lit.filter((cell) => cell >= first && cell < first + cells);
      if (own.length) this.cells(context, layout, place, own);
    });
    this.outline(context, layout, links.readers, this.theme.text, 1.6, []);
    this.outline(context, layout, links.reads, this.theme.text, 1.6, [3, 2]);
    this.outline(context, layout, links.same, this.theme.primary, 2.4, []);
    this.connect(context, layout, links);
    this.outline(context, layout, [links.cell], this.theme.primary, 3.2, []);
  }

  // Over the cells only: labels stay readable, they say which index is lit.
  veil(context, layout, place) {
    for (let block = 0; block * place.blockRows < place.rows; block++) {
      const { x, y } = layout.blockOrigin(place, block);
      const rows = Math.min(place.blockRows, place.rows - block * place.blockRows);
      context.fillRect(x + place.left - 2, y + place.named + place.top - 3, place.columns * place.cellWidth + 2, rows * place.cellHeight + 5);
    }
  }

  // Around each cell; when there are many, around each run of neighbours; small ones would drown in outlines.
  outline(context, layout, cells, colour, width, dashes) {
    const many = cells.length > 300;
    const shown = (cell) => layout.places[panelOf(this.scene, cell).number].cellHeight >= 8;
    if (many) cells = cells.filter(shown);
    if (!cells.length) return;
    context.strokeStyle = colour;
    context.lineWidth = many ? 1.4 : width;
    context.setLineDash(many ? [] : dashes);
    context.beginPath();
    let [panel, place] = [null, null];
    for (let i = 0; i < cells.length; i++) {
      const start = cells[i];
      if (!panel || start < panel.first || start >= panel.first + panel.cells) {
        panel = panelOf(this.scene, start);
        place = layout.places[panel.number];
      }
      if (many) while (cells[i + 1] === cells[i] + 1 && layout.ys[cells[i + 1]] === layout.ys[start] && cells[i + 1] < panel.first + panel.cells) i++;
      const gap = gapOf(place.cellHeight);
      const grow = place.cellHeight < 12 ? 1 : 0;
      const length = layout.xs[cells[i]] - layout.xs[start] + place.cellWidth;
      context.rect(layout.xs[start] - grow, layout.ys[start] - grow, length - gap + 2 * grow, place.cellHeight - gap + 2 * grow);
    }
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  // A calm curve from the cell to what it lights in every other panel: to each when few, to the nearest when many.
  connect(context, layout, links) {
    const from = this.middle(layout, links.cell);
    const byPanel = new Map();
    for (const cell of [...links.same, ...links.reads, ...links.readers]) {
      const panel = panelOf(this.scene, cell);
      if (panel === links.panel) continue;
      if (byPanel.has(panel)) byPanel.get(panel).push(cell);
      else byPanel.set(panel, [cell]);
    }
    context.strokeStyle = this.theme.primary;
    context.globalAlpha = 0.5;
    context.lineWidth = 1.5;
    context.beginPath();
    byPanel.forEach((cells) => {
      const distance = (cell) => Math.hypot(layout.xs[cell] - from.x, layout.ys[cell] - from.y);
      const goals = cells.length <= MOST_LINES ? cells : [cells.reduce((a, b) => (distance(b) < distance(a) ? b : a))];
      goals.forEach((cell) => {
        const to = this.middle(layout, cell);
        const bend = (to.y - from.y) / 2;
        context.moveTo(from.x, from.y);
        if (Math.abs(bend) > 24) context.bezierCurveTo(from.x, from.y + bend, to.x, to.y - bend, to.x, to.y);
        else context.bezierCurveTo(from.x + (to.x - from.x) / 3, from.y - 26, to.x - (to.x - from.x) / 3, to.y - 26, to.x, to.y);
      });
    });
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 1;
  }

  middle(layout, cell) {
    const { x, y, width, height } = layout.box(cell);
    return { x: x + width / 2 - 0.5, y: y + height / 2 - 0.5 };
  }

  // Through the cells in the order of their addresses; `share` of it is drawn while it grows.
  path(context, layout, share) {
    layout.places.forEach((place) => {
      if (!place.panel.path || place.panel.cells < 2) return;
      const order = memoryOrder(place.panel);
      const last = Math.max(1, Math.round((order.length - 1) * share));
      const points = Array.from(order.subarray(0, last + 1), (i) => this.middle(layout, place.panel.first + i));
      const width = Math.min(2.4, 0.9 + place.cellHeight / 26);
      if (place.cellHeight >= 8) this.polyline(context, points, this.theme.background, width + 2.4);
      this.polyline(context, points, this.theme.primary, width);
      this.ends(context, points, width * 1.9);
    });
  }

  polyline(context, points, colour, width) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.lineJoin = "round";
    context.beginPath();
    points.forEach(({ x, y }, i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
    context.lineWidth = 1;
  }

  // A dot at the first address, an arrow head at the last.
  ends(context, points, size) {
    if (points.length < 2) return;
    const [before, end] = points.slice(-2);
    context.fillStyle = this.theme.primary;
    context.beginPath();
    context.arc(points[0].x, points[0].y, size, 0, 7);
    context.fill();
    context.save();
    context.translate(end.x, end.y);
    context.rotate(Math.atan2(end.y - before.y, end.x - before.x));
    context.beginPath();
    context.moveTo(size * 1.3, 0);
    context.lineTo(-size, -size);
    context.lineTo(-size, size);
    context.fill();
    context.restore();
  }
}
