// What the reader asks for: free words and qualifiers, all of which must hold. `parseQuery` never throws.

const QUALIFIERS = {
  op: "op:addmm",
  module: "module:layers.3",
  tensor: "tensor:weight",
  shape: "shape:4×64, shape:*×64, shape:...×64",
  dtype: "dtype:bfloat16",
  device: "device:cuda",
  kind: "kind:view",
  source: "source:model.py",
  saved: "saved>1MiB",
};
const LONGER = { operation: "op", parameter: "tensor", variable: "tensor", file: "source" };
const BYTE_UNITS = { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 };

// Conditions { name, text, test } and, where something cannot be understood, a sentence that says what.
function parseQuery(text) {
  const conditions = [];
  const problems = [];
  for (const word of wordsOf(text)) {
    const { name, sign, value, quoted } = word;
    if (quoted || !name) conditions.push({ name: "", test: containing(value) });
    else if (!(name in QUALIFIERS)) problems.push(unknown(name, value));
    else if (value) {
      const { test, problem } = condition(name, sign, value);
      if (problem) problems.push(problem);
      else conditions.push({ name, test });
    }
  }
  return { conditions, problem: problems.join(" ") };
}

// "op:addmm", "saved>1MiB", plain and "quoted words", split at blanks outside of quotes and brackets.
function wordsOf(text) {
  const found = [];
  for (const [piece] of text.matchAll(/(?:"[^"]*"?|\([^)]*\)|\[[^\]]*\]|[^\s"])+/g)) {
    const [, name = "", sign = "", rest = piece] = piece.match(/^([a-z]+)(:(?!:)|[<>]=?|=)(.*)$/is) ?? [];
    const quoted = piece.startsWith('"');
    const value = (quoted ? piece : rest).replaceAll('"', "");
    const short = name.toLowerCase();
    if (value || name) found.push({ name: LONGER[short] ?? short, sign, value, quoted });
  }
  return found;
}

function unknown(name, value) {
  return `There is no “${name}:”. Known: ${Object.keys(QUALIFIERS).join(", ")}. As plain text write "${name}:${value}" in quotes.`;
}

function condition(name, sign, value) {
  if (name === "saved") return sizeTest(sign, value);
  if (sign !== ":") return { problem: `Only saved compares by size; write ${name}:${value}.` };
  if (name === "shape") return shapeTest(value);
  if (name === "dtype" || name === "device") return { test: eachLine(beginning(value)) };
  return { test: containing(value) };
}

// A number in a query is a whole number: "layers.3" is not in "layers.30". Upper and lower case are alike, * is anything.
function containing(value) {
  const parts = value.toLowerCase().trim().split(/\*+/);
  if (parts.length === 1 && !/^\d|\d$/.test(parts[0])) return (text) => text.includes(parts[0]);
  return eachLine((line) => within(line, parts, false));
}

function beginning(value) {
  const parts = value.toLowerCase().trim().replace(/^torch\./, "").split(/\*+/);
  return (line) => within(line, parts, true);
}

// Whether the parts occur in this order, the first at the start where `anchored`; each as early as it may, so one pass.
function within(line, parts, anchored) {
  let from = 0;
  for (let number = 0; number < parts.length; number++) {
    const part = parts[number];
    const whole = (at) =>
      (number > 0 || (anchored ? at === 0 : !splits(line, at, part[0]))) &&
      (number < parts.length - 1 || anchored || !splits(line, at + part.length, part.at(-1)));
    let at = line.indexOf(part, from);
    while (at >= 0 && !whole(at)) at = anchored && number === 0 ? -1 : line.indexOf(part, at + 1);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

// Whether a cut at `at` would go through a number that `edge` is part of.
function splits(line, at, edge) {
  return at > 0 && at < line.length && isDigit(edge) && isDigit(line[at - 1]) && isDigit(line[at]);
}

function isDigit(letter) {
  return letter >= "0" && letter <= "9";
}

function eachLine(test) {
  return (text) => (text.includes("\n") ? text.split("\n").some(test) : test(text));
}

const ANY_NUMBER = "...";

// 4x64, 4×64, 4,64, (4, 64) and [4, 64]; * is one size, ... any number of them; "scalar" or () has none.
function shapeTest(value) {
  const bare = value.trim().toLowerCase().replace("torch.size", "").replace(/[()[\]]/g, " ").replaceAll("…", ANY_NUMBER).trim();
  const wanted = bare === "scalar" ? [] : bare.split(/[x×,\s]+/).filter(Boolean);
  const wrong = wanted.find((size) => !/^(\d+|\*|\.\.\.)$/.test(size));
  if (wrong !== undefined) return { problem: `A shape is sizes like 4×64, * for any size, ... for any number of them; “${wrong}” is none.` };
  return { test: eachLine((line) => line !== "symbolic" && line !== "" && sizesMatch(line === "scalar" ? [] : line.match(/\d+/g), wanted)) };
}

// Sizes against a pattern with "..."; going back only to the last "..." is enough.
function sizesMatch(sizes, wanted) {
  let [at, place, restart, kept] = [0, 0, -1, 0];
  while (at < sizes.length) {
    if (wanted[place] === ANY_NUMBER) [restart, kept] = [place++, at];
    else if (wanted[place] === "*" || wanted[place] === sizes[at]) [place, at] = [place + 1, at + 1];
    else if (restart >= 0) [place, at] = [restart + 1, ++kept];
    else return false;
  }
  return wanted.slice(place).every((part) => part === ANY_NUMBER);
}

function sizeTest(sign, value) {
  const [, number, unit] = value.toLowerCase().match(/^\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*$/) ?? [];
  if (number === undefined || !(unit in BYTE_UNITS)) return { problem: `A size is a number with B, kB, KiB, MB, MiB, GB or GiB, as in saved>1MiB; “${value}” is none.` };
  const limit = Number(number) * BYTE_UNITS[unit];
  const tests = { ">": (size) => size > limit, ">=": (size) => size >= limit, "<": (size) => size < limit, "<=": (size) => size <= limit };
  return { test: tests[sign] ?? ((size) => size === limit) };
}

const FREE = ["operation", "module", "tensor", "inputs", "kind"];
const TABLE_OF = { op: "operation", module: "module", tensor: "tensor", kind: "kind", source: "source" };
const PART_OF = { shape: 0, dtype: 1, device: 2 };

// Node ids that meet every condition, in forward order. Words are tested once per distinct word, not once per node.
function hitsOf(index, conditions) {
  const left = new Uint8Array(index.count).fill(1);
  for (const one of conditions) {
    const met = nodesMeeting(index, one);
    for (let node = 0; node < left.length; node++) left[node] &= met[node];
  }
  return Array.from(index.inOrder.filter((node) => left[node]));
}

// 1 for every node that meets a condition; a free word may be in any of its words.
function nodesMeeting(index, { name, test }) {
  if (name === "saved") return Uint8Array.from(index.saved, (size) => (test(size) ? 1 : 0));
  const met = new Uint8Array(index.count);
  const tables = name in PART_OF ? ["inputs"] : name ? [TABLE_OF[name]] : FREE;
  for (const table of tables) {
    const verdict = verdicts(index, table, PART_OF[name], test);
    const numbers = index[table];
    for (let node = 0; node < met.length; node++) met[node] |= verdict[numbers[node]];
  }
  return met;
}

function verdicts(index, table, part, test) {
  const words = index.once(`lower_${table}_${part}`, () =>
    index.tables[table].map((entry) => (Array.isArray(entry) ? (part === undefined ? entry.join("\n") : entry[part]) : entry).toLowerCase().replaceAll("torch::autograd::", "")),
  );
  return Uint8Array.from(words, (word) => (test(word) ? 1 : 0));
}
