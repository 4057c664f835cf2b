// Draws a picture on a canvas: regions, boundary, margins, points.

import { contour, leads } from "./contours.js";
import { figure, say } from "./texts.js";

export const COLOURS = [[31, 92, 158], [179, 74, 8], [37, 107, 67]];
const css = ([r, g, b], alpha = 1) => `rgba(${r},${g},${b},${alpha})`;
const INK = "#1a202c", WITHOUT = "#7e22ce", WRONG = "#9b1c1c", GREY = "#4a5568";
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const PULSE = calm.matches ? 250 : 900;

export class Plane {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.image = document.createElement("canvas");
    this.frame = null;
    this.lit = new Map(); // ids of points whose set has changed, and when
    this.scene = null;
    this.width = this.height = 0;
    // Asked of the page only when it may have changed: asking makes the browser lay it out.
    new ResizeObserver(() => { this.width = 0; }).observe(canvas);
  }

  // -- from the plane to the canvas and back ------------------------------------------------------

  fit() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    if (!this.width) {
      const box = this.canvas.getBoundingClientRect();
      this.width = box.width || 400;
      this.height = box.height || 400;
    }
    const w = Math.round(this.width * ratio), h = Math.round(this.height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  toCanvas(x, y) {
    const [left, right, bottom, top] = this.view;
    return [((x - left) / (right - left)) * this.width, ((top - y) / (top - bottom)) * this.height];
  }

  toPlane(px, py) {
    const [left, right, bottom, top] = this.view;
    return [left + (px / this.width) * (right - left), top - (py / this.height) * (top - bottom)];
  }

  // -- what is shown ------------------------------------------------------------------------------

  setFrame(frame) {
    this.frame = frame;
    this.prepared = null;
  }

  light(ids) {
    const now = performance.now();
    for (const id of ids) this.lit.set(id, now);
  }

  // Values of the grid, of a machine that moves for the instant that is shown.
  prepare(time) {
    const frame = this.frame;
    const moving = frame.arrays.lines !== undefined;
    const stamp = moving ? time : -1;
    if (this.prepared?.stamp === stamp) return this.prepared;
    const found = { stamp, n: frame.resolution, images: false };
    const take = (prefix) => {
      const value = frame.arrays[`${prefix}value`], scores = frame.arrays[`${prefix}scores`];
      const lines = frame.arrays[`${prefix}lines`];
      if (lines) {
        found.n = 32;
        return { value: lineValues(lines, time, frame.view, found.n) };
      }
      if (value) return { value: value.data };
      const own = frame.arrays[`${prefix}leads`], n = frame.resolution ** 2;
      if (own) return { leads: Array.from({ length: own.shape[0] }, (_, k) => own.data.subarray(k * n, (k + 1) * n)) };
      if (scores) return { leads: leads(scores.data, scores.shape[0], frame.resolution ** 2) };
      return {};
    };
    found.own = take("");
    found.other = frame.facts.without !== undefined ? take("without_") : {};
    this.prepared = found;
    return found;
  }

  paintRegions(prepared) {
    const { n, own } = prepared;
    const { facts } = this.frame;
    const image = this.image;
    image.width = image.height = n;
    const context = image.getContext("2d");
    const pixels = context.createImageData(n, n);
    const margins = facts.margins ?? [1, 1];
    const logOdds = facts.scale === "log-odds";
    for (let j = 0; j < n; j++) {
      for (let i = 0; i < n; i++) {
        const k = j * n + i, at = 4 * ((n - 1 - j) * n + i);
        let side = 0, sure = 0;
        if (own.value) {
          const v = own.value[k];
          side = v >= 0 ? 1 : 0;
          sure = logOdds ? Math.tanh(Math.abs(v) / 2) : Math.min(1, Math.abs(v) / (1.5 * margins[side]));
        } else {
          own.leads.forEach((lead, c) => { if (lead[k] > own.leads[side][k]) side = c; });
          const lead = Math.max(0, own.leads[side][k]);
          sure = logOdds ? Math.tanh(lead / 2) : Math.min(1, lead / 1.5);
        }
        const colour = COLOURS[facts.classes[side]];
        pixels.data[at] = colour[0];
        pixels.data[at + 1] = colour[1];
        pixels.data[at + 2] = colour[2];
        pixels.data[at + 3] = 255 * (0.06 + 0.3 * sure);
      }
    }
    context.putImageData(pixels, 0, 0);
  }

  // `scene`: points, view, axes, time, cursor, hover, grabbed, busy.
  draw(scene) {
    this.scene = scene;
    this.view = scene.view;
    this.fit();
    const context = this.context;
    context.clearRect(0, 0, this.width, this.height);
    const frame = this.frame;
    const same = frame && frame.view.every((v, k) => v === scene.view[k]);
    if (same && frame.kind === "picture") {
      if (frame.arrays.curve) this.drawTube();
      else {
        const prepared = this.prepare(scene.time);
        if (!prepared.images) {
          this.paintRegions(prepared);
          prepared.images = true;
        }
        const n = prepared.n;
        context.imageSmoothingEnabled = true;
        context.drawImage(this.image, 0.5, 0.5, n - 1, n - 1, 0, 0, this.width, this.height);
        this.drawLines(prepared);
      }
    }
    this.drawAxes(scene);
    this.drawPoints(scene);
    if (scene.cursor) this.drawCursor(scene.cursor);
  }

  // Lines to draw, as [points of each, width, colour, dashes]. Dashes need whole lines: segments of
  // cells are joined.
  findLines({ n, own, other }) {
    const { facts } = this.frame;
    const found = [];
    const add = (values, level, width, colour, dash) =>
      found.push([join(contour(values, n, level)), width, colour, dash]);
    if (own.value && facts.scale !== "log-odds") {
      add(own.value, -facts.margins[0], 1.2, INK, [6, 4]);
      add(own.value, facts.margins[1], 1.2, INK, [6, 4]);
    }
    for (const values of own.value ? [own.value] : own.leads ?? []) add(values, 0, 2.4, INK, []);
    for (const values of other.value ? [other.value] : other.leads ?? []) add(values, 0, 2.2, WITHOUT, [8, 4]);
    return found;
  }

  drawLines(prepared) {
    prepared.lines ??= this.findLines(prepared);
    const context = this.context, { n } = prepared;
    const sx = this.width / (n - 1), sy = this.height / (n - 1);
    context.lineJoin = "round";
    for (const [lines, width, colour, dash] of prepared.lines) {
      context.beginPath();
      for (const line of lines) {
        line.forEach(([x, y], k) => {
          if (k) context.lineTo(x * sx, this.height - y * sy);
          else context.moveTo(x * sx, this.height - y * sy);
        });
      }
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.stroke();
    }
    context.setLineDash([]);
  }

  drawTube() {
    const { arrays, facts, view } = this.frame;
    const context = this.context;
    const trace = (data, shift, back) => {
      const n = data.length;
      for (let step = 0; step < n; step++) {
        const k = back ? n - 1 - step : step;
        const x = view[0] + (k / (n - 1)) * (view[1] - view[0]);
        const [px, py] = this.toCanvas(x, data[k] + shift);
        if (step === 0 && !back) context.moveTo(px, py);
        else context.lineTo(px, py);
      }
    };
    const data = arrays.curve.data;
    context.beginPath();
    trace(data, facts.epsilon, false);
    trace(data, -facts.epsilon, true);
    context.closePath();
    context.fillStyle = css(COLOURS[2], 0.16);
    context.fill();
    const line = (values, shift, colour, width, dash) => {
      context.beginPath();
      trace(values, shift, false);
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.stroke();
      context.setLineDash([]);
    };
    line(data, facts.epsilon, INK, 1.2, [6, 4]);
    line(data, -facts.epsilon, INK, 1.2, [6, 4]);
    line(data, 0, INK, 2.4, []);
    if (arrays.without_curve && facts.without !== undefined) line(arrays.without_curve.data, 0, WITHOUT, 2.2, [8, 4]);
  }

  drawAxes({ view, axes }) {
    const context = this.context;
    const [left, right, bottom, top] = view;
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = "#2d3748";
    const label = (text, x, y, align, base) => {
      context.textAlign = align;
      context.textBaseline = base;
      context.strokeStyle = "rgba(255,255,255,.9)";
      context.lineWidth = 3.5;
      context.lineJoin = "round";
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    for (const tick of ticks(left, right)) {
      const [x] = this.toCanvas(tick, 0);
      if (x > 14 && x < this.width - 14) label(figure(tick), x, this.height - 4, "center", "bottom");
    }
    if (axes?.heights) {
      axes.heights.forEach((name, k) => label(say(name), 6, this.toCanvas(0, k)[1], "left", "middle"));
    } else {
      for (const tick of ticks(bottom, top)) {
        const [, y] = this.toCanvas(0, tick);
        if (y > 14 && y < this.height - 24) label(figure(tick), 5, y, "left", "middle");
      }
    }
    if (axes?.x) label(say(axes.x), this.width - 6, this.height - 20, "right", "bottom");
  }

  // -- points ---------------------------------------------------------------------------------------

  drawPoints({ points, time, hover, grabbed, axes }) {
    const context = this.context;
    const facts = this.frame?.kind === "picture" ? this.frame.facts : null;
    const free = new Set(facts?.free), bounded = new Set(facts?.bounded), wrong = new Set(facts?.wrong);
    const found = new Map(facts?.found);
    const tube = facts?.scale === "tube";
    const order = facts?.order ? new Map(facts.order.map((id, k) => [id, k])) : null;
    const now = performance.now();
    const size = points.length > 600 ? 3.4 : 5;
    for (const p of points) {
      const [x, y] = this.toCanvas(p.x, p.y);
      let faded = 1;
      if (order) {
        const away = Math.abs((order.get(p.id) ?? time) - time) / Math.max(order.size, 1);
        faded = Math.max(0.16, 1 - 7 * away);
      }
      context.globalAlpha = faded;
      const since = now - (this.lit.get(p.id) ?? -Infinity);
      if (since < PULSE) {
        const grown = calm.matches ? 0.5 : since / PULSE;
        context.beginPath();
        context.arc(x, y, size + 5 + 11 * grown, 0, 7);
        context.fillStyle = `rgba(250,204,21,${0.75 * (1 - grown)})`;
        context.fill();
      }
      const label = p.label >= 0 ? p.label : found.get(p.id);
      shape(context, tube ? 0 : (label ?? 0), x, y, size);
      if (tube) {
        context.fillStyle = "#334155";
        context.fill();
      } else if (p.label >= 0) {
        context.fillStyle = css(COLOURS[p.label]);
        context.fill();
        context.strokeStyle = "#fff";
        context.lineWidth = 1;
        context.stroke();
        if (p.third === 1 && axes?.third) {
          context.beginPath();
          context.arc(x, y, size / 2.4, 0, 7);
          context.fillStyle = "#fff";
          context.fill();
        }
      } else {
        context.fillStyle = "#fff";
        context.fill();
        context.strokeStyle = label === undefined ? GREY : css(COLOURS[label]);
        context.lineWidth = 1.6;
        context.stroke();
      }
      if (free.has(p.id) || bounded.has(p.id)) {
        context.beginPath();
        context.arc(x, y, size + 3.6, 0, 7);
        context.strokeStyle = INK;
        context.lineWidth = 1.5;
        context.setLineDash(free.has(p.id) ? [] : [2, 2.5]);
        context.stroke();
        context.setLineDash([]);
      }
      if (wrong.has(p.id) && !tube) {
        const r = size + 4.5;
        context.beginPath();
        context.moveTo(x - r, y - r);
        context.lineTo(x + r, y + r);
        context.moveTo(x - r, y + r);
        context.lineTo(x + r, y - r);
        context.strokeStyle = WRONG;
        context.lineWidth = 1.8;
        context.stroke();
      }
      if (p.id === hover || p.id === grabbed) {
        context.globalAlpha = 1;
        context.beginPath();
        context.arc(x, y, size + 7, 0, 7);
        context.strokeStyle = p.id === grabbed ? "#5b21b6" : WITHOUT;
        context.lineWidth = 2;
        context.stroke();
      }
    }
    context.globalAlpha = 1;
    for (const [id, since] of this.lit) if (now - since >= PULSE) this.lit.delete(id); // of erased points, too
    this.canvas.dataset.lit = this.lit.size;
  }

  drawCursor([cx, cy]) {
    const [x, y] = this.toCanvas(cx, cy);
    const context = this.context;
    for (const [colour, width] of [["#fff", 5], ["#5b21b6", 2]]) {
      context.beginPath();
      for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
        context.moveTo(x + 5 * dx, y + 5 * dy);
        context.lineTo(x + 14 * dx, y + 14 * dy);
      }
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.stroke();
    }
  }

  get isLit() { return this.lit.size > 0; }
}

// -- shapes and lines ---------------------------------------------------------------------------------

function shape(context, label, x, y, size) {
  context.beginPath();
  if (label === 1) context.rect(x - size * 0.9, y - size * 0.9, size * 1.8, size * 1.8);
  else if (label === 2) {
    context.moveTo(x, y - size * 1.15);
    context.lineTo(x + size * 1.1, y + size * 0.9);
    context.lineTo(x - size * 1.1, y + size * 0.9);
    context.closePath();
  } else context.arc(x, y, size, 0, 7);
}

export function ticks(low, high) {
  const rough = (high - low) / 5;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * ([1, 2, 5].find((k) => k * unit >= rough) ?? 10);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(Number((k * step).toPrecision(10)));
  return found;
}

function lineValues({ shape: [n], data }, time, [left, right, bottom, top], size) {
  const k = 3 * Math.min(Math.max(Math.round(time), 0), n - 1);
  const [w1, w2, b] = [data[k], data[k + 1], data[k + 2]];
  const values = new Float32Array(size * size);
  for (let j = 0; j < size; j++) {
    for (let i = 0; i < size; i++) {
      const x = left + (i / (size - 1)) * (right - left), y = bottom + (j / (size - 1)) * (top - bottom);
      values[j * size + i] = w1 * x + w2 * y + b;
    }
  }
  return values;
}

// Segments that meet become lines.
export function join(segments) {
  const key = (x, y) => Math.round(x * 4096) * 1048576 + Math.round(y * 4096);
  const ends = new Map();
  const lines = [];
  const take = (k) => {
    const line = ends.get(k);
    if (!line) return null;
    ends.delete(key(...line[0]));
    ends.delete(key(...line[line.length - 1]));
    return line;
  };
  for (let k = 0; k < segments.length; k += 4) {
    const p = [segments[k], segments[k + 1]], q = [segments[k + 2], segments[k + 3]];
    let line = take(key(...p));
    if (line) {
      if (key(...line[0]) === key(...p)) line.reverse();
      line.push(q);
    } else line = [p, q];
    const end = line[line.length - 1];
    const other = take(key(...end));
    if (other && other !== line) {
      if (key(...other[0]) !== key(...end)) other.reverse();
      line.push(...other.slice(1));
    } else if (other) {
      lines.push(line);
      continue;
    }
    const first = key(...line[0]), last = key(...line[line.length - 1]);
    if (first === last) {
      lines.push(line);
      continue;
    }
    ends.set(first, line);
    ends.set(last, line);
  }
  const rest = new Set(ends.values());
  return [...lines, ...rest];
}
