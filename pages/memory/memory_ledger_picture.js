// A picture of memory: an SVG made in Python, with what a mark says on hover and a click that chooses a block or an event.

const PICTURE_LETTERS = 900;

// Parsed as XML and moved in as nodes: names stay text.
function pictureOf(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  return parsed.querySelector("parsererror") ? null : document.importNode(parsed.documentElement, true);
}

function chosenIn(target) {
  const found = target.closest("[data-block],[data-event]");
  if (!found) return null;
  const kind = found.dataset.block === undefined ? "event" : "block";
  return { kind, number: Number(found.dataset[kind]) };
}

function showTip(root, tip, event) {
  const words = event.target.closest("[data-tip]")?.dataset.tip;
  tip.hidden = !words;
  if (!words) return;
  tip.textContent = words.slice(0, PICTURE_LETTERS);
  const box = root.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left + root.scrollLeft, event.clientY - box.top];
  const beyond = event.clientX - box.left + 20 + tip.offsetWidth > root.clientWidth;
  const below = y + 22 + tip.offsetHeight > root.clientHeight;
  tip.style.left = `${Math.max(root.scrollLeft + 4, beyond ? x - 12 - tip.offsetWidth : x + 16)}px`;
  tip.style.top = `${Math.max(4, below ? y - 12 - tip.offsetHeight : y + 18)}px`;
}

export default function (component) {
  const root = component.parentElement.querySelector("[data-atlas-memory]");
  const text = component.data?.svg;
  if (!root || !text || root.atlasShown === text) return undefined;
  root.atlasShown = text;
  const picture = pictureOf(text);
  if (!picture) return undefined;
  picture.setAttribute("aria-label", component.data.label ?? "");
  const tip = document.createElement("div");
  tip.className = "atlas-memory-tip";
  tip.hidden = true;
  root.replaceChildren(picture, tip);
  picture.addEventListener("click", (event) => {
    const chosen = chosenIn(event.target);
    if (chosen) component.setTriggerValue("chosen", chosen);
  });
  picture.addEventListener("pointermove", (event) => showTip(root, tip, event));
  picture.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  return undefined;
}
