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

// The picture as it is, twice as fine, as a PNG file.
function savePng(text, name) {
  const image = new Image();
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth * 2, image.naturalHeight * 2];
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = `${name}.png`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  };
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
}

function pngButton(text, name) {
  const button = document.createElement("button");
  button.className = "atlas-memory-png";
  button.type = "button";
  button.title = "Save this picture as PNG; SVG is in the menu Export";
  button.textContent = "PNG";
  button.addEventListener("click", () => savePng(text, name));
  return button;
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
  root.replaceChildren(picture, pngButton(text, component.data.name ?? "memory"), tip);
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
