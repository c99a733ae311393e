// The bar under a picture that plays: buttons, the slider over all steps, speed, what the current step did, and the scale.

const RATES = [1, 2, 5, 15, 60, 250, 1000];
const WHOLE_S = 20; // about how long all steps take at the speed that is chosen first
const REPLAY_KEYS = [
  ["Space", "play or pause backward"],
  [",  .", "one step back, one step on"],
  ["G", "to the step of the selected box"],
];
const ICONS = {
  first: "M3.5 3V13M12.5 3.5L6 8L12.5 12.5Z",
  back: "M11 3L5 8L11 13Z",
  play: "M4 2.5L13 8L4 13.5Z",
  pause: "M4.5 3V13M11.5 3V13",
  on: "M5 3L11 8L5 13Z",
  last: "M12.5 3V13M3.5 3.5L10 8L3.5 12.5Z",
  follow: "M8 2.5A5.5 5.5 0 1 1 7.99 2.5ZM8 .5V4.5M8 11.5V15.5M.5 8H4.5M11.5 8H15.5",
  selected: "M2.5 2.5H13.5V13.5H2.5ZM8 5.2V10.8M5.2 8H10.8",
};

class ReplayBar {
  constructor(replay) {
    this.replay = replay;
    this.box = make("div", { className: "atlas-replay", role: "group", ariaLabel: "Replay of backward" });
    this.box.dataset.atlasReplay = "";
    this.slider = make("input", { type: "range", min: 0, step: 1, ariaLabel: "Steps that have run" });
    this.speed = make("select", { ariaLabel: "Speed", title: "Speed of playing" }, ...RATES.map((rate) => make("option", { value: rate, textContent: rate === 1 ? "1 step/s" : `${rate} steps/s` })));
    this.words = make("div", { className: "atlas-replay-words" });
    this.words.setAttribute("role", "status");
    this.buttons = this.makeButtons();
    const { first, back, play, on, last, selected, follow } = this.buttons;
    const moves = make("div", { className: "atlas-replay-moves" }, first, back, play, on, last, this.slider, this.speed, follow, selected);
    this.box.append(moves, this.words);
    replay.view.root.append(this.box);
    replay.view.root.classList.add("atlas-replaying");
    this.listen();
    replay.view.help.add(REPLAY_KEYS);
  }

  remove() {
    this.box.remove();
    this.replay.view.root.classList.remove("atlas-replaying");
  }

  get rate() {
    return Number(this.speed.value);
  }

  makeButtons() {
    const { replay } = this;
    const button = (name, title, action) => {
      const made = make("button", { type: "button", title, ariaLabel: title.replace(/ \(.*/, "") }, icon(ICONS[name]));
      made.dataset.atlasReplayAction = name;
      made.onclick = action;
      return made;
    };
    return {
      first: button("first", "Before the first step (Home)", () => replay.go(0)),
      back: button("back", "One step back (,)", () => replay.go(replay.done - 1)),
      play: button("play", "Play (Space)", () => replay.toggle()),
      on: button("on", "One step on (.)", () => replay.go(replay.done + 1)),
      last: button("last", "To the end (End)", () => replay.go(replay.count)),
      follow: button("follow", "Keep the current node in sight", () => this.follow()),
      selected: button("selected", "Go to the step of the selected box (G)", () => replay.goToSelected()),
    };
  }

  listen() {
    const { replay, slider } = this;
    slider.oninput = () => replay.go(Number(slider.value));
    this.box.onkeydown = (event) => {
      if (event.target === this.speed || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === " " && event.target.tagName === "BUTTON") return event.stopPropagation();
      return this.keyDown(event, { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 });
    };
  }

  keyDown(event, arrows = {}) {
    const { replay } = this;
    const by = { ",": -1, ".": 1, ...arrows }[event.key];
    const actions = { " ": () => replay.toggle(), g: () => replay.goToSelected() };
    if (Object.keys(arrows).length) Object.assign(actions, { Home: () => replay.go(0), End: () => replay.go(replay.count) });
    if (by) replay.go(replay.done + by);
    else if (actions[event.key]) actions[event.key]();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Keys that reach the root from the picture: not what is typed into a field.
  keyOfRoot(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.replay.view.canvas) return;
    this.keyDown(event);
  }

  follow() {
    const { replay, buttons } = this;
    replay.follows = !replay.follows;
    buttons.follow.ariaPressed = String(replay.follows);
    if (replay.follows) replay.show(replay.done);
  }

  receive(another) {
    const { replay, slider } = this;
    slider.max = replay.count;
    if (another) this.speed.value = String(RATES.findLast((rate) => rate <= Math.max(1, replay.count / WHOLE_S)) ?? 1);
    this.ticks();
    this.tell();
  }

  // Where one backward() ends and the next begins.
  ticks() {
    const { told, count } = this.replay;
    const inner = told.passes.slice(1).map(([, first]) => (100 * first) / Math.max(1, count));
    const lines = inner.map((at) => `linear-gradient(var(--st-text-color), var(--st-text-color)) ${at}% 50% / 2px 14px no-repeat`);
    this.slider.style.background = lines.join(", ");
  }

  tell() {
    const { replay, slider, buttons, words } = this;
    if (!replay.told) return;
    const said = stepWords(replay);
    slider.value = replay.done;
    slider.setAttribute("aria-valuetext", said);
    words.setAttribute("aria-live", replay.playing ? "off" : "polite");
    words.textContent = words.title = said;
    const playing = Boolean(replay.playing);
    if (buttons.play.dataset.playing !== String(playing)) {
      buttons.play.dataset.playing = String(playing);
      buttons.play.title = playing ? "Pause (Space)" : "Play (Space)";
      buttons.play.ariaLabel = playing ? "Pause" : "Play";
      buttons.play.replaceChildren(icon(ICONS[playing ? "pause" : "play"]));
    }
    buttons.first.disabled = buttons.back.disabled = replay.done <= 0;
    buttons.on.disabled = buttons.last.disabled = replay.done >= replay.count;
  }
}

function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function icon(path) {
  const space = "http://www.w3.org/2000/svg";
  const drawn = document.createElementNS(space, "svg");
  drawn.setAttribute("viewBox", "0 0 16 16");
  drawn.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(space, "path");
  line.setAttribute("d", path);
  drawn.append(line);
  return drawn;
}
