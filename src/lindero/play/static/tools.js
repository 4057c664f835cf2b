// Mouse, touch and keys on a plane.

import { figure, say } from "./texts.js";

const NEAR = 11, NEAR_TOUCH = 20, STILL = 4;
const BRUSH_EVERY = 45, BRUSH_POINTS = 3;

const gauss = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

export class Tools {
  // `app` has: store, label, tool, leaveOut, setHover, announce, tooMany.
  constructor(panel, app) {
    this.panel = panel;
    this.app = app;
    this.canvas = panel.canvas;
    this.held = null; // what the pointer does: {kind, id, …}
    this.cursor = null; // the place of the keyboard, in the plane
    this.grabbed = null;
    const on = (name, call) => this.canvas.addEventListener(name, call);
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", (event) => this.up(event));
    on("pointerleave", () => { if (!this.held && this.app.leaveOut) this.app.setHover(null); });
    on("contextmenu", (event) => event.preventDefault());
    on("keydown", (event) => this.key(event));
    on("focus", () => { if (this.canvas.matches(":focus-visible")) this.showCursor(); });
    on("blur", () => {
      this.cursor = null;
      this.drop();
      this.app.redraw();
    });
  }

  get plane() { return this.panel.plane; }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  nearest(px, py, within) {
    let best = null, least = within * within;
    for (const p of this.app.store.now.points) {
      const [x, y] = this.plane.toCanvas(p.x, p.y);
      const away = (x - px) ** 2 + (y - py) ** 2;
      if (away <= least) [best, least] = [p, away];
    }
    return best;
  }

  // -- pointers -------------------------------------------------------------------------------------

  down(event) {
    if (this.held || event.button > 2 || event.button === 1) return;
    const { store, app } = { store: this.app.store, app: this.app };
    this.canvas.focus({ preventScroll: true });
    this.cursor = null;
    const [px, py] = this.place(event);
    const near = this.nearest(px, py, event.pointerType === "touch" ? NEAR_TOUCH : NEAR);
    this.canvas.setPointerCapture?.(event.pointerId);
    if (app.leaveOut && event.pointerType === "touch") app.setHover(near?.id ?? null);
    store.begin();
    if (app.tool === "erase" || event.shiftKey) {
      this.held = { kind: "erase" };
      if (near) store.remove([near.id]);
      return;
    }
    const label = event.button === 2 ? (app.label === 0 ? 1 : 0) : app.label;
    if (app.tool === "brush") {
      this.held = { kind: "brush", label, last: 0 };
      this.brush(px, py);
    } else if (near) {
      this.held = { kind: "drag", id: near.id, from: [px, py], moved: false };
    } else {
      const [x, y] = this.plane.toPlane(px, py);
      const [made] = store.add([[x, y]], label);
      if (!made) app.tooMany();
      this.held = made ? { kind: "drag", id: made.id, from: [px, py], moved: false } : null;
      if (!made) store.end();
    }
    app.redraw();
  }

  move(event) {
    const [px, py] = this.place(event);
    const held = this.held;
    if (!held) {
      if (this.app.leaveOut && event.pointerType !== "touch") this.app.setHover(this.nearest(px, py, 16)?.id ?? null);
      return;
    }
    if (held.kind === "erase") {
      const near = this.nearest(px, py, NEAR);
      if (near) this.app.store.remove([near.id]);
    } else if (held.kind === "brush") this.brush(px, py);
    else {
      held.moved ||= Math.hypot(px - held.from[0], py - held.from[1]) > STILL;
      if (held.moved) this.app.store.move(held.id, ...this.plane.toPlane(px, py));
    }
  }

  up(event) {
    if (!this.held) return;
    this.canvas.releasePointerCapture?.(event.pointerId);
    this.held = null;
    this.app.store.end();
  }

  brush(px, py) {
    const now = performance.now();
    if (now - this.held.last < BRUSH_EVERY) return;
    this.held.last = now;
    const spread = 0.035 * this.plane.width;
    const places = Array.from({ length: BRUSH_POINTS }, () =>
      this.plane.toPlane(px + spread * gauss(), py + spread * gauss()));
    if (!this.app.store.add(places, this.held.label).length) this.app.tooMany();
  }

  // -- keys -----------------------------------------------------------------------------------------

  showCursor() {
    if (this.cursor) return;
    const [left, right, bottom, top] = this.app.store.now.view;
    this.cursor = [(left + right) / 2, (bottom + top) / 2];
    this.app.redraw();
  }

  drop() {
    if (this.grabbed === null) return;
    this.grabbed = null;
    this.app.store.end();
  }

  key(event) {
    const app = this.app, store = app.store;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    const known = step || ["Enter", " ", "Delete", "Backspace", "Escape", "m", "M"].includes(event.key);
    if (!known) return;
    event.preventDefault();
    event.stopPropagation();
    this.showCursor();
    const [left, right, bottom, top] = store.now.view;
    if (step) {
      const far = event.shiftKey ? 8 : 1;
      const clamp = (v, low, high) => Math.min(Math.max(v, low), high);
      this.cursor = [
        clamp(this.cursor[0] + (step[0] * far * (right - left)) / 64, left, right),
        clamp(this.cursor[1] + (step[1] * far * (top - bottom)) / 64, bottom, top),
      ];
      if (this.grabbed !== null) store.move(this.grabbed, ...this.cursor);
    }
    const near = this.nearest(...this.plane.toCanvas(...this.cursor), NEAR_TOUCH);
    if (event.key === "Enter" || event.key === " ") {
      if (this.grabbed !== null) this.drop();
      else if (app.tool === "erase") {
        if (near) store.remove([near.id]);
      } else if (!store.add([this.cursor], app.label).length) app.tooMany();
    } else if (event.key === "Delete" || event.key === "Backspace") {
      this.drop();
      if (near) store.remove([near.id]);
      app.announce(say(near ? "removed" : "nothing_near"));
    } else if (event.key === "Escape") this.drop();
    else if (event.key === "m" || event.key === "M") {
      if (this.grabbed !== null) this.drop();
      else if (near) {
        this.grabbed = near.id;
        this.cursor = [near.x, near.y];
        store.begin();
        app.announce(say("grabbed"));
      } else app.announce(say("nothing_near"));
    }
    if (step) {
      if (app.leaveOut) app.setHover(near?.id ?? null);
      const what = near ? say("near", { what: app.nameOf(near.label) }) : "";
      app.announce(`x ${figure(this.cursor[0])}, y ${figure(this.cursor[1])}. ${what}`);
    }
    app.redraw();
  }
}
