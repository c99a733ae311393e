// What is said of steps and gradients.

const TIME_UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

// Three significant digits, as engine/figures/units.py writes them.
function significant(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : "∞";
  if (!value) return "0";
  const rounded = Number(value.toPrecision(3));
  const small = Math.abs(rounded) < 1e-4 || Math.abs(rounded) >= 1e6;
  const text = small ? value.toExponential(2) : rounded.toFixed(Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded)))));
  return text.replaceAll("-", "−").replace("e+", "e+");
}

function durationWords(seconds) {
  const [scale, unit] = TIME_UNITS.find(([least]) => seconds >= least * 0.9995) ?? TIME_UNITS.at(-1);
  return `${significant(seconds / scale)} ${unit}`;
}

// "step 117 of 887 · MulBackward0 · blocks.3.attn · thread 0 · received (4, 64) norm 0.31 · took 12 µs"
function stepWords(replay) {
  const { step, count, columns } = replay;
  const { tables, passes } = replay.told;
  if (!count) return "No step ran.";
  if (step < 0) return `Before backward(): ${counted(count)} steps to come`;
  const said = (name) => tables[name][columns[`step_${name}`][step]];
  const took = columns.step_took[step];
  const parts = [
    passes.length > 1 ? `pass ${columns.step_pass[step] + 1} of ${passes.length}` : "",
    `step ${counted(step + 1)} of ${counted(count)}`,
    said("name").replaceAll("torch::autograd::", ""),
    said("module"),
    `thread ${columns.step_thread[step]}`,
    said("received"),
    said("note"),
    Number.isNaN(took) ? "" : `took ${durationWords(took)}`,
    replay.current ? "" : "its box is not in this picture",
  ];
  return parts.filter(Boolean).map((part) => plain(part)).join(" · ");
}

// What flowed along a wire by now, for the tooltip.
function flowWords(replay, wire) {
  const number = wire.order;
  const norm = `gradient norm ${significant(replay.norms[number])}`;
  return {
    [FLOW.NOTHING]: "no gradient flowed here yet in this pass",
    [FLOW.ZERO]: "the gradient is exactly 0",
    [FLOW.FINITE]: norm,
    [FLOW.NON_FINITE]: `${norm} over its finite elements; others are nan or infinite`,
  }[replay.states[number]];
}

function ranWords(replay, box) {
  const [ran, runs] = [replay.ran[box.index], replay.runs[box.index]];
  if (box.role === "frame") return [];
  if (!runs) return ["backward does not run it in this pass"];
  return [runs === 1 ? (ran ? "has run" : "has not run yet") : `${counted(ran)} of its ${counted(runs)} steps have run`];
}
