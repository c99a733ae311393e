// "?": which keys do what. Built once, as text.

const KEYS = [
  ["← ↑ → ↓", "along the edges to the next box"],
  ["Enter", "open or close the selected module"],
  ["+  −  0", "zoom in, out, to full size"],
  ["F", "fit everything"],
  ["/", "search"],
  ["R", "path to the root"],
  ["L", "path to a leaf, again for the next"],
  ["M", "module tree"],
  ["S", "save what is in sight as PNG"],
  ["Shift S", "save the whole picture as PNG"],
  ["Esc", "clear path, search, selection"],
  ["?", "these keys"],
];

class Help {
  constructor(view) {
    this.view = view;
    this.panel = document.createElement("div");
    this.panel.className = "atlas-help";
    this.panel.hidden = true;
    this.panel.dataset.atlasHelp = "";
    for (const [name, value] of Object.entries({ role: "dialog", "aria-label": "Keys", tabindex: "-1" })) this.panel.setAttribute(name, value);
    this.list = document.createElement("dl");
    this.add(KEYS);
    this.panel.append(this.list);
    this.panel.onkeydown = (event) => {
      if (event.key !== "Escape" && event.key !== "?") return;
      event.preventDefault();
      event.stopPropagation();
      this.toggle();
    };
    this.panel.onclick = () => this.toggle();
    view.canvas.parentElement.append(this.panel);
  }

  add(rows) {
    rows.forEach(([keys, words]) => {
      const [term, said] = [document.createElement("dt"), document.createElement("dd")];
      keys.split("  ").forEach((key) => {
        const cap = document.createElement("kbd");
        cap.textContent = key;
        term.append(cap);
      });
      said.textContent = words;
      this.list.append(term, said);
    });
  }

  toggle() {
    this.panel.hidden = !this.panel.hidden;
    (this.panel.hidden ? this.view.canvas : this.panel).focus();
  }
}
