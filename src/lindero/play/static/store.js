// The picture: points, machines, view. Snapshots are never changed, so that undo is a list of them.

export const MOST_POINTS = 2000;
export const VIEW = [-2, 2, -2, 2];

export class Store {
  constructor() {
    this.now = { points: [], machines: [], view: VIEW, axes: null };
    this.past = [];
    this.future = [];
    this.next = 0;
    this.listeners = [];
    this.gesture = null;
  }

  listen(call) { this.listeners.push(call); }
  tell(why) { for (const call of this.listeners) call(why); }

  // What changes within a gesture is undone as a whole.
  begin() { this.gesture ??= this.now; }

  end() {
    const before = this.gesture;
    this.gesture = null;
    if (before && before !== this.now) {
      this.past.push(before);
      if (this.past.length > 300) this.past.shift();
      this.future = [];
      this.tell("history");
    }
  }

  change(parts, why = "change") {
    const alone = this.gesture === null;
    if (alone) this.begin();
    this.now = { ...this.now, ...parts };
    this.tell(why);
    if (alone) this.end();
  }

  undo() { this.travel(this.past, this.future); }
  redo() { this.travel(this.future, this.past); }

  travel(from, to) {
    this.gesture = null;
    if (!from.length) return;
    to.push(this.now);
    this.now = from.pop();
    this.tell("travel");
    this.tell("history");
  }

  // Coordinates have a few digits only, so that pictures are the same in an address and as code.
  round(value, axis) {
    const [left, right, bottom, top] = this.now.view;
    const low = axis ? bottom : left, high = axis ? top : right;
    const unit = 10 ** (Math.ceil(Math.log10(high - low)) - 5);
    const inside = Math.min(Math.max(value, low), high);
    return Number((Math.round(inside / unit) * unit).toPrecision(12));
  }

  add(places, label, third = -1) {
    const room = MOST_POINTS - this.now.points.length;
    const new_ = places.slice(0, Math.max(room, 0)).map(([x, y]) => ({
      id: this.next++, x: this.round(x, 0), y: this.round(y, 1), label, third,
    }));
    if (new_.length) this.change({ points: [...this.now.points, ...new_] });
    return new_;
  }

  move(id, x, y) {
    const points = this.now.points.map((p) =>
      p.id === id ? { ...p, x: this.round(x, 0), y: this.round(y, 1) } : p);
    this.change({ points });
  }

  remove(ids) {
    const gone = new Set(ids);
    const points = this.now.points.filter((p) => !gone.has(p.id));
    if (points.length < this.now.points.length) this.change({ points });
  }

  // A whole picture, as of a preset, a file or an address.
  replace(picture) {
    const points = picture.points.map(([x, y, label, third = -1]) => ({ id: this.next++, x, y, label, third }));
    this.change({
      points,
      view: picture.view ?? this.now.view,
      axes: picture.axes ?? null,
      machines: picture.machines ?? this.now.machines,
    }, "replace");
  }
}

// -- in the address ---------------------------------------------------------------------------------

async function pipe(bytes, stream) {
  const blob = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(blob).arrayBuffer());
}

export async function encode(now) {
  const flat = now.points.map((p) => [p.x, p.y, p.label, p.third]);
  const text = JSON.stringify({ v: 1, points: flat, view: now.view, axes: now.axes, machines: now.machines });
  const bytes = await pipe(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let raw = "";
  for (const byte of bytes) raw += String.fromCharCode(byte);
  return btoa(raw).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

const MOST_TEXT = 400000;

// A picture from an address; null where it is none. The server checks what it means.
export async function decode(code) {
  try {
    const raw = atob(code.replace(/-/g, "+").replace(/_/g, "/"));
    const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    let text = "";
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      if (text.length > MOST_TEXT) return null;
    }
    const found = JSON.parse(text);
    const isNumber = (v) => typeof v === "number" && Number.isFinite(v) && Math.abs(v) <= 1e6;
    const fine = found.v === 1 && Array.isArray(found.points) && found.points.length <= MOST_POINTS
      && found.points.every((p) => Array.isArray(p) && p.length === 4 && p.every(isNumber)
        && [-1, 0, 1, 2].includes(p[2]) && [-1, 0, 1].includes(p[3]))
      && Array.isArray(found.view) && found.view.length === 4 && found.view.every(isNumber)
      && found.view[1] > found.view[0] && found.view[3] > found.view[2]
      && Array.isArray(found.machines) && found.machines.length >= 1 && found.machines.length <= 2
      && found.machines.every((m) => m && typeof m.name === "string" && m.parameters && typeof m.parameters === "object");
    return fine ? found : null;
  } catch {
    return null;
  }
}
