// Where one looks: screen = (world - origin) * zoom. Moves are eased unless the reader asked for less motion.

const ZOOM_LIMITS = [0.02, 4];

class Camera {
  constructor(repaint) {
    this.x = 0;
    this.y = 0;
    this.zoom = 1;
    this.repaint = repaint;
    this.flight = null;
    this.moved = false; // by the reader, since the picture was last fitted
  }

  toWorld(x, y) {
    return [x / this.zoom + this.x, y / this.zoom + this.y];
  }

  toScreen(x, y) {
    return [(x - this.x) * this.zoom, (y - this.y) * this.zoom];
  }

  pan(dx, dy) {
    this.flight = null;
    this.moved = true;
    this.x -= dx / this.zoom;
    this.y -= dy / this.zoom;
    this.repaint();
  }

  zoomAt(factor, x, y) {
    this.flight = null;
    this.moved = true;
    const [worldX, worldY] = this.toWorld(x, y);
    this.zoom = Math.min(ZOOM_LIMITS[1], Math.max(ZOOM_LIMITS[0], this.zoom * factor));
    this.x = worldX - x / this.zoom;
    this.y = worldY - y / this.zoom;
    this.repaint();
  }

  flyTo(goal, instantly) {
    this.moved = true;
    const still = instantly || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) {
      Object.assign(this, goal);
      this.flight = null;
    } else {
      this.flight = { from: { x: this.x, y: this.y, zoom: this.zoom }, goal, start: performance.now() };
    }
    this.repaint();
  }

  // Returns whether the camera is still moving.
  advance(now) {
    if (!this.flight) return false;
    const t = Math.min(1, (now - this.flight.start) / 260);
    const eased = 1 - (1 - t) ** 3;
    const { from, goal } = this.flight;
    for (const name of ["x", "y", "zoom"]) this[name] = from[name] + (goal[name] - from[name]) * eased;
    if (t === 1) this.flight = null;
    return t < 1;
  }

  // Everything in sight, between the status line and the legend.
  fitting(scene, width, height, { top = 48, bottom = 18 } = {}) {
    const room = { left: 18, top, right: 18, bottom };
    const zoom = Math.min(
      1.15,
      (width - room.left - room.right) / Math.max(1, scene.width),
      (height - room.top - room.bottom) / Math.max(1, scene.height),
    );
    const safe = Math.max(ZOOM_LIMITS[0], zoom);
    return {
      zoom: safe,
      x: scene.width / 2 - (width + room.left - room.right) / 2 / safe,
      y: scene.height / 2 - (height + room.top - room.bottom) / 2 / safe,
    };
  }

  centring(box, width, height, zoom = this.zoom) {
    return { zoom, x: box.x + box.width / 2 - width / 2 / zoom, y: box.y + box.height / 2 - height / 2 / zoom };
  }
}
