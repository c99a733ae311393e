// The timeline: an SVG made in Python, with what a mark says on hover and a click that selects a statement.

const TIMELINE_LETTERS = 600;

// Parsed as XML and moved in as nodes: text of a program stays text.
function timelineOf(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  return parsed.querySelector("parsererror") ? null : document.importNode(parsed.documentElement, true);
}

function listenToRows(picture, select) {
  for (const row of picture.querySelectorAll("[data-line]")) {
    row.setAttribute("tabindex", "0");
    row.setAttribute("role", "button");
    row.setAttribute("aria-label", row.dataset.tip ?? "");
    row.addEventListener("click", () => select(Number(row.dataset.line)));
    row.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      select(Number(row.dataset.line));
    });
  }
}

function listenToMarks(root, picture, tip) {
  picture.addEventListener("pointermove", (event) => {
    const words = event.target.closest("[data-tip]")?.dataset.tip;
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words.slice(0, TIMELINE_LETTERS);
    const box = root.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left + root.scrollLeft, event.clientY - box.top + root.scrollTop];
    const beyond = event.clientX - box.left + 20 + tip.offsetWidth > root.clientWidth;
    const below = event.clientY - box.top + 22 + tip.offsetHeight > root.clientHeight;
    tip.style.left = `${Math.max(root.scrollLeft + 4, beyond ? x - 12 - tip.offsetWidth : x + 16)}px`;
    tip.style.top = `${Math.max(root.scrollTop + 4, below ? y - 12 - tip.offsetHeight : y + 18)}px`;
  });
  picture.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}

export default function (component) {
  const root = component.parentElement.querySelector("[data-atlas-timeline]");
  const text = component.data?.svg;
  if (!root || !text || root.atlasShown === text) return undefined;
  root.atlasShown = text;
  const picture = timelineOf(text);
  if (!picture) return undefined;
  const tip = document.createElement("div");
  tip.className = "atlas-timeline-tip";
  tip.hidden = true;
  root.replaceChildren(picture, tip);
  listenToRows(picture, (line) => component.setStateValue("line", line));
  listenToMarks(root, picture, tip);
  return undefined;
}
