// Pointer, keys and tools. Only what the reader does leads to a message to Python.

function listenToCells(view) {
  const { canvas, scroller } = view;
  const at = (event) => {
    const rect = canvas.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };
  canvas.onpointermove = (event) => {
    if (event.pointerType === "touch") return;
    const [x, y] = at(event);
    const cell = view.cellAt(x, y);
    canvas.classList.toggle("atlas-over", cell >= 0);
    if (view.pinned === null) view.focus(cell);
    if (view.links && cell === view.links.cell) view.tipAt(x, y);
    else view.chrome.tooltip(null);
  };
  canvas.onpointerleave = () => {
    view.chrome.tooltip(null);
    if (view.pinned === null) view.focus(-1);
  };
  canvas.onclick = (event) => {
    const [x, y] = at(event);
    view.pin(view.cellAt(x, y));
    if (view.links) view.tipAt(x, y);
  };
  canvas.onkeydown = (event) => cellsKeyDown(view, event);
  canvas.onblur = () => view.chrome.tooltip(null);
  scroller.onscroll = () => {
    view.chrome.tooltip(null);
    view.still = null;
    view.repaint();
  };
  scroller.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      view.resizeCells(event.deltaY < 0 ? 1.12 : 1 / 1.12);
    },
    { passive: false },
  );
  const actions = {
    path: () => view.togglePath(),
    in: () => view.resizeCells(1.3),
    out: () => view.resizeCells(1 / 1.3),
    fit: () => view.fit(),
    png: () => view.savePng(),
    full: () => (document.fullscreenElement ? document.exitFullscreen() : view.root.requestFullscreen?.()),
  };
  view.root.querySelectorAll("[data-atlas-action]").forEach((button) => {
    button.onclick = () => actions[button.dataset.atlasAction]();
  });
}

function cellsKeyDown(view, event) {
  if (!view.scene?.cells || event.ctrlKey || event.metaKey || event.altKey) return;
  const cursor = view.links?.cell ?? -1;
  const actions = {
    "+": () => view.resizeCells(1.3),
    "=": () => view.resizeCells(1.3),
    "-": () => view.resizeCells(1 / 1.3),
    f: () => view.fit(),
    F: () => view.fit(),
    Enter: () => view.pin(cursor),
    " ": () => view.pin(cursor),
    Escape: () => {
      view.pin(-1);
      view.chrome.tooltip(null);
    },
  };
  if (event.key.startsWith("Arrow") || event.key === "Home" || event.key === "End") {
    view.moveTo(cursor < 0 ? view.firstCell() : view.layout.step(cursor, event.key));
  } else if (event.key === "Tab") {
    // To the next panel; after the last one Tab goes on through the page, so nobody is caught here.
    const next = view.nextPanel(cursor, event.shiftKey ? -1 : 1);
    if (next < 0) return;
    view.moveTo(next);
  } else if (actions[event.key]) actions[event.key]();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
