// Things by where they are, in squares: what is near a point or in sight, without looking at all.

const SQUARE = 480;
const MANY_SQUARES = 400;

class Grid {
  constructor() {
    this.squares = new Map();
    this.wide = []; // what covers so many squares that it is looked at every time
  }

  add(thing, bounds) {
    const entry = { thing, bounds };
    const { left, right, top, bottom } = inSquares(bounds);
    if ((right - left + 1) * (bottom - top + 1) > MANY_SQUARES) this.wide.push(entry);
    else this.visit(bounds, (key) => (this.squares.get(key) ?? this.squares.set(key, []).get(key)).push(entry));
  }

  visit(bounds, act) {
    const { left, right, top, bottom } = inSquares(bounds);
    for (let x = left; x <= right; x++) for (let y = top; y <= bottom; y++) act(x * 1000003 + y);
  }

  // Everything whose bounds touch these, each once, in no particular order.
  within(bounds) {
    const seen = new Set();
    const look = ({ thing, bounds: its }) => {
      if (its.left <= bounds.right && its.right >= bounds.left && its.top <= bounds.bottom && its.bottom >= bounds.top) seen.add(thing);
    };
    this.wide.forEach(look);
    this.visit(bounds, (key) => this.squares.get(key)?.forEach(look));
    return seen;
  }

  // The first thing there that also passes the test.
  find(bounds, test = () => true) {
    for (const thing of this.within(bounds)) if (test(thing)) return thing;
    return null;
  }
}

function inSquares({ left, right, top, bottom }) {
  return { left: Math.floor(left / SQUARE), right: Math.floor(right / SQUARE), top: Math.floor(top / SQUARE), bottom: Math.floor(bottom / SQUARE) };
}
