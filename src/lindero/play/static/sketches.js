// Small drawings beside a plane: the path of a line that moves, a network, where a path in C bends.

import { say } from "./texts.js";
import { COLOURS } from "./plane.js";

const SVG = "http://www.w3.org/2000/svg";

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// w(t): the weights of the line at each instant, and the one that is shown.
export function drawWeights(canvas, lines, time) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const box = canvas.getBoundingClientRect();
  const width = box.width || 300, height = box.height || 200;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const n = lines.shape[0], data = lines.data;
  let reach = 1e-9;
  for (let k = 0; k < n; k++) reach = Math.max(reach, Math.abs(data[3 * k]), Math.abs(data[3 * k + 1]));
  const scale = (0.42 * Math.min(width, height)) / reach;
  const place = (k) => [width / 2 + scale * data[3 * k], height / 2 - scale * data[3 * k + 1]];
  context.strokeStyle = "#cbd0d8";
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(8, height / 2);
  context.lineTo(width - 8, height / 2);
  context.moveTo(width / 2, 8);
  context.lineTo(width / 2, height - 8);
  context.stroke();
  context.fillStyle = "#4a5568";
  context.font = "13px system-ui, sans-serif";
  context.fillText("w₁", width - 24, height / 2 - 6);
  context.fillText("w₂", width / 2 + 6, 18);
  for (let k = 1; k < n; k++) {
    const share = k / n;
    context.beginPath();
    context.moveTo(...place(k - 1));
    context.lineTo(...place(k));
    const mix = (c) => Math.round(COLOURS[0][c] + share * (COLOURS[1][c] - COLOURS[0][c]));
    context.strokeStyle = `rgb(${mix(0)},${mix(1)},${mix(2)})`;
    context.lineWidth = 2.2;
    context.stroke();
  }
  const k = Math.min(Math.max(Math.round(time), 0), n - 1);
  const [x, y] = place(k);
  context.beginPath();
  context.moveTo(width / 2, height / 2);
  context.lineTo(x, y);
  context.strokeStyle = "#1a202c";
  context.lineWidth = 1.4;
  context.stroke();
  context.beginPath();
  context.arc(x, y, 5.5, 0, 7);
  context.fillStyle = "#1a202c";
  context.fill();
}

// The class above, the columns below, an arrow for each dependence.
export function drawNetwork(root, network, names) {
  root.replaceChildren();
  root.setAttribute("viewBox", "0 0 300 190");
  const tip = (id, kind) => svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse", markerUnits: "userSpaceOnUse" },
    svg("path", { d: "M0 0 8 4 0 8z", class: kind }));
  root.append(svg("defs", {}, tip("tip", "tip"), tip("tip-inner", "tip inner")));
  const n = network.columns;
  const places = Array.from({ length: n }, (_, k) => [150 + (k - (n - 1) / 2) * (n > 2 ? 98 : 130), 138]);
  const above = [150, 32];
  const edge = ([x1, y1], [x2, y2], kind, bend) => {
    const dx = x2 - x1, dy = y2 - y1, length = Math.hypot(dx, dy);
    const rx = 42, ry = 19;
    const share = (ux, uy) => 1 / Math.hypot(ux / rx, uy / ry);
    const ux = dx / length, uy = dy / length, cut = share(ux, uy);
    const start = [x1 + ux * cut, y1 + uy * cut], end = [x2 - ux * (cut + 1), y2 - uy * (cut + 1)];
    const middle = [(x1 + x2) / 2, (y1 + y2) / 2 + bend];
    const from = bend ? [x1 + Math.sign(dx) * 12, y1 + ry] : start;
    const to = bend ? [x2 - Math.sign(dx) * 12, y2 + ry] : end;
    root.append(svg("path", { class: `arc ${kind}`, d: `M${from} Q${middle} ${to}` }));
  };
  for (const place of places) edge(above, place, "", 0);
  for (const [a, b] of network.arcs) edge(places[a], places[b], "inner", Math.abs(a - b) > 1 ? 62 : 0);
  const node = ([x, y], text, kind) => {
    root.append(svg("ellipse", { cx: x, cy: y, rx: 42, ry: 19, class: `node ${kind}` }));
    const written = svg("text", { x, y: y + 4.5 });
    written.textContent = text;
    root.append(written);
  };
  node(above, say("node_class"), "class");
  places.forEach((place, k) => node(place, names[k], ""));
  const arcs = network.arcs.map(([a, b]) => `${names[a]} → ${names[b]}`).join(", ");
  root.setAttribute("role", "img");
  root.setAttribute("aria-label", arcs ? say("network_arcs", { arcs }) : say("network_none"));
  return arcs;
}

// A tick for each bend of the path, above the slider of C.
export function drawBends(canvas, { bends, ends }) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const width = canvas.getBoundingClientRect().width || 220;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(14 * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const inner = width - 16; // the thumb of a slider stays inside it
  context.strokeStyle = "rgba(55,48,163,.55)";
  context.lineWidth = 1;
  context.beginPath();
  for (const C of bends) {
    const x = 8 + (inner * Math.log(C / ends[0])) / Math.log(ends[1] / ends[0]);
    context.moveTo(x, 1);
    context.lineTo(x, 13);
  }
  context.stroke();
}
