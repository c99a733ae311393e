// Pointer, wheel and keys.

function listen(view) {
  const { canvas, camera, chrome } = view;
  view.help = new Help(view);
  const pointers = new Map();
  let pressed = null;
  const at = (event) => {
    const rect = canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };

  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, at(event));
    pressed = { start: at(event), moved: false };
    chrome.tooltip(null);
  };
  canvas.onpointermove = (event) => {
    const here = at(event);
    if (!pointers.has(event.pointerId)) return hover(view, here);
    const before = pointers.get(event.pointerId);
    if (pointers.size === 2) pinch(camera, pointers, event.pointerId, here);
    else if (pressed?.moved || Math.hypot(here[0] - pressed.start[0], here[1] - pressed.start[1]) > 3) {
      pressed.moved = true;
      canvas.classList.add("atlas-dragging");
      camera.pan(here[0] - before[0], here[1] - before[1]);
    }
    pointers.set(event.pointerId, here);
    return undefined;
  };
  canvas.onpointerup = (event) => {
    pointers.delete(event.pointerId);
    canvas.classList.remove("atlas-dragging");
    if (pressed && !pressed.moved && event.button === 0) click(view, at(event));
    if (!pointers.size) pressed = null;
  };
  canvas.onpointercancel = (event) => pointers.delete(event.pointerId);
  canvas.onpointerleave = () => leave(view);
  canvas.ondblclick = (event) => {
    const hit = view.boxAt(...at(event));
    if (hit && !hit.chevron) view.toggle(hit.box);
  };
  // Plain wheel zooms where the pointer is; with shift it pans, so a page can still be scrolled beside the canvas.
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      if (event.shiftKey) return camera.pan(-event.deltaX - event.deltaY, 0);
      const lines = event.deltaMode === 1 ? 16 : 1;
      return camera.zoomAt(Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) * 0.0022), ...at(event));
    },
    { passive: false },
  );
  canvas.onkeydown = (event) => keyDown(view, event);
  listenToTools(view);
}

function pinch(camera, pointers, moving, here) {
  const [other] = [...pointers.entries()].filter(([id]) => id !== moving).map(([, place]) => place);
  const before = pointers.get(moving);
  const spread = (a, b) => Math.max(8, Math.hypot(a[0] - b[0], a[1] - b[1]));
  camera.pan((here[0] - before[0]) / 2, (here[1] - before[1]) / 2);
  camera.zoomAt(spread(here, other) / spread(before, other), (here[0] + other[0]) / 2, (here[1] + other[1]) / 2);
}

function hover(view, [x, y]) {
  const hit = view.boxAt(x, y);
  const wire = hit ? null : view.wireAt(x, y);
  const box = hit?.box ?? null;
  view.canvas.classList.toggle("atlas-over", Boolean(hit || wire));
  if (box !== view.hovered || wire !== view.litWire) {
    view.hovered = box;
    view.litWire = wire;
    view.repaint();
  }
  if (hit?.leaf) view.chrome.tooltip([hit.leaf.tooltip, ...(hit.leaf.address ? ["leaf: its gradient accumulates here"] : [])], x, y);
  else if (box) view.chrome.tooltip([...box.tooltip, ...box.changes, ...(view.replay ? ranWords(view.replay, box) : []), ...(box.role === "node" ? [] : [`double click to ${box.role === "group" ? "open" : "close"}`])], x, y);
  else view.chrome.tooltip(wire && view.replay ? [flowWords(view.replay, wire), ...wire.lines] : wire?.lines, x, y);
}

function leave(view) {
  view.chrome.tooltip(null);
  if (view.hovered || view.litWire) {
    view.hovered = view.litWire = null;
    view.repaint();
  }
}

function click(view, [x, y]) {
  const hit = view.boxAt(x, y);
  const wire = hit || !view.replay ? null : view.wireAt(x, y);
  if (hit?.chevron) view.toggle(hit.box);
  else if (wire) view.replay.choose(wire);
  else view.select(hit ? (hit.leaf?.address || hit.box.address) : null);
}

function keyDown(view, event) {
  if (!view.scene?.boxes.length || event.ctrlKey || event.metaKey || event.altKey) return;
  const middle = [view.width / 2, view.height / 2];
  const actions = {
    "+": () => view.camera.zoomAt(1.25, ...middle),
    "=": () => view.camera.zoomAt(1.25, ...middle),
    "-": () => view.camera.zoomAt(0.8, ...middle),
    0: () => view.camera.zoomAt(1 / view.camera.zoom, ...middle),
    f: () => view.fit(),
    "/": () => view.search.box.focus(),
    r: () => view.paths.toRoot(),
    l: () => view.paths.toLeaf(),
    s: () => view.savePng(),
    S: () => view.savePng(true),
    "?": () => view.help.toggle(),
    Enter: () => view.toggle(view.selectedBox()),
    Escape: () => {
      if (view.highlight || view.sentence) view.paths.clear();
      else if (view.found.size) view.search.clear();
      else view.select(null);
    },
  };
  if (event.key.startsWith("Arrow")) {
    const box = view.neighbour(event.key);
    view.select(box.address);
    view.reveal(box);
  } else if (actions[event.key]) actions[event.key]();
  else if (actions[event.key.toLowerCase()]) actions[event.key.toLowerCase()]();
  else return;
  event.preventDefault();
  event.stopPropagation();
}

function listenToTools(view) {
  const { root, chrome } = view;
  const middle = () => [view.width / 2, view.height / 2];
  const actions = {
    in: () => view.camera.zoomAt(1.3, ...middle()),
    out: () => view.camera.zoomAt(1 / 1.3, ...middle()),
    fit: () => view.fit(),
    png: () => view.savePng(),
    whole: () => view.savePng(true),
    tree: () => view.showTree(),
    root: () => view.paths.toRoot(),
    leaf: () => view.paths.toLeaf(),
    clear: () => view.paths.clear(),
    full: () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.()),
  };
  root.querySelectorAll("[data-atlas-action]").forEach((button) => {
    button.onclick = (event) => actions[button.dataset.atlasAction](event);
  });
  listenToMenu(root.querySelector("[data-atlas-menu]"));
  chrome.minimap.onpointerdown = (event) => {
    chrome.minimap.setPointerCapture(event.pointerId);
    chrome.lookAt(event);
  };
  chrome.minimap.onpointermove = (event) => event.buttons && chrome.lookAt(event);
}

// Closed by a choice, by Escape, and when something else is turned to.
function listenToMenu(menu) {
  const summary = menu.querySelector("summary");
  menu.addEventListener("click", (event) => event.target.closest("button") && menu.removeAttribute("open"));
  menu.addEventListener("focusout", (event) => menu.contains(event.relatedTarget) || menu.removeAttribute("open"));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.removeAttribute("open");
    summary.focus();
    event.stopPropagation();
  });
}
