// One machine on the page: its choice, its plane, its parameters, what it says.

import { element, isUsed, makeChoice, makeNumber } from "./controls.js";
import { Plane } from "./plane.js";
import { describeUpdate } from "./sentence.js";
import { drawBends, drawNetwork, drawWeights, svg } from "./sketches.js";
import { figure, has, percent, say } from "./texts.js";

export class Panel {
  // `app` has: catalogue, store, setMachine(place, machine, ended), setTime(t), play(), askPath(place).
  constructor(place, app) {
    this.place = place;
    this.app = app;
    this.frame = null;
    this.facts = null;
    this.path = null;
    this.wantsPath = false;
    this.build();
  }

  build() {
    const app = this.app;
    this.select = element("select", { class: "which", "aria-label": say("machine"), id: `machine${this.place}` });
    for (const machine of app.catalogue) {
      this.select.append(element("option", { value: machine.name }, say(`machine_${machine.name}`)));
    }
    this.select.addEventListener("change", () => app.setMachine(this.place, { name: this.select.value, parameters: {} }, true));
    this.about = element("p", { class: "about" });
    this.canvas = element("canvas", { tabindex: 0, role: "application", "aria-describedby": "sentence" });
    this.note = element("p", { class: "note", hidden: true });
    this.plane = new Plane(this.canvas);
    this.readout = element("dl", { class: "readout" });
    this.certificate = element("p", { class: "certificate" });
    this.update = element("p", { class: "about", "data-fact": "update" });
    this.parameters = element("div", { class: "parameters" });
    this.slider = element("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": say("time"), "data-time": true });
    this.instant = element("output", {});
    this.playing = element("button", { type: "button", "data-play": true }, say("play"));
    this.slider.addEventListener("input", () => app.setTime(Number(this.slider.value)));
    this.playing.addEventListener("click", () => app.play());
    this.time = element("div", { class: "time", hidden: true }, this.playing, this.slider, this.instant);
    this.weights = element("canvas", { role: "img", "aria-label": say("weights_label") });
    this.network = svg("svg", {});
    this.weightsFigure = element("figure", { class: "sketch", hidden: true }, this.weights, element("figcaption", {}, say("weights")));
    this.networkCaption = element("figcaption");
    this.networkFigure = element("figure", { class: "sketch", hidden: true }, this.network, this.networkCaption);
    this.legend = element("ul", { class: "legend" });
    this.box = element("section", { class: "panel", "data-panel": this.place },
      element("div", { class: "plane" }, this.canvas, this.note),
      this.select, this.about, this.readout,
      element("div", {}, this.certificate, this.update),
      this.time, this.parameters, this.weightsFigure, this.networkFigure, this.legend);
  }

  get machine() { return this.app.store.now.machines[this.place]; }

  get entry() { return this.app.catalogue.find((m) => m.name === this.machine.name); }

  // The parameters as they are sent: those left out have their defaults.
  values() {
    const found = {};
    for (const [name, kind] of Object.entries(this.entry.parameters)) {
      found[name] = this.machine.parameters[name] ?? kind.default;
    }
    return found;
  }

  // Controls of the machine that is chosen.
  showMachine() {
    const { name } = this.machine;
    this.select.value = name;
    this.about.textContent = say(`about_${name}`);
    this.canvas.setAttribute("aria-label", say("plane_label", { machine: say(`machine_${name}`) }));
    const values = this.values();
    const context = { hasThird: this.app.store.now.points.some((p) => p.third >= 0) };
    const shape = JSON.stringify([name, document.documentElement.lang, context.hasThird,
      Object.keys(values).filter((key) => isUsed(key, values, context))]);
    if (shape === this.shape) {
      for (const [key, control] of Object.entries(this.controls)) control.show(values[key]);
      this.showPath();
      return;
    }
    const focused = document.activeElement?.dataset?.parameter;
    this.shape = shape;
    this.controls = {};
    this.parameters.replaceChildren();
    for (const [key, kind] of Object.entries(this.entry.parameters)) {
      if (!isUsed(key, values, context)) continue;
      const make = kind.kind === "number" ? makeNumber : makeChoice;
      const control = make(key, kind, values[key], (value, ended) => {
        const machine = { name, parameters: { ...this.machine.parameters, [key]: value } };
        this.app.setMachine(this.place, machine, ended);
      });
      this.controls[key] = control;
      this.parameters.append(control.box);
    }
    if (["margin", "exact"].includes(this.entry.family) && name !== "transductive") this.addPath();
    this.legend.replaceChildren(...this.makeLegend());
    if (focused && this.box.contains(document.activeElement) === false) {
      this.parameters.querySelector(`[data-parameter="${focused}"]`)?.focus();
    }
  }

  addPath() {
    this.bends = element("canvas", { class: "bends", "aria-hidden": "true", hidden: true });
    this.pathSwitch = element("input", { type: "checkbox", id: `path${this.place}`, "data-path": true });
    this.pathSwitch.checked = this.wantsPath;
    this.pathSwitch.addEventListener("change", () => {
      this.wantsPath = this.pathSwitch.checked;
      this.path = null;
      if (this.wantsPath) this.app.askPath();
      else this.app.refresh();
      this.showPath();
    });
    this.pathWords = element("span", { role: "status" });
    const box = this.controls.C.box;
    box.append(this.bends, element("div", { class: "path" },
      element("label", { for: `path${this.place}` }, this.pathSwitch, ` ${say("exact_path")}`), this.pathWords));
    this.showPath();
  }

  setPath(frame) {
    this.path = frame.refused ? null : frame;
    this.pathRefused = frame.refused ? this.refusal({ code: frame.refused, values: frame.values }) : "";
    this.showPath();
  }

  showPath() {
    if (!this.bends?.isConnected) return;
    this.bends.hidden = !this.path || !this.wantsPath;
    const C = this.values().C;
    if (this.wantsPath && this.path) {
      drawBends(this.bends, this.path);
      const { bends } = this.path;
      const above = bends.filter((bend) => bend > C).length;
      this.pathWords.textContent = say("path_words", { n: bends.length, below: bends.length - above, above });
    } else this.pathWords.textContent = this.wantsPath ? this.pathRefused ?? "" : "";
  }

  // -- what came from the server --------------------------------------------------------------------

  setFrame(frame) {
    this.frame = frame;
    this.plane.setFrame(frame);
    const refused = frame.kind === "refusal";
    this.note.hidden = !refused;
    this.note.textContent = refused ? this.refusal(frame) : "";
    this.facts = refused ? null : frame.facts;
    this.showFacts();
  }

  refusal(frame) {
    const key = `refusal_${frame.code}`;
    return has(key) ? say(key, frame.values) : String(frame.values?.message ?? frame.code);
  }

  showFacts() {
    const facts = this.facts;
    const rows = [];
    const add = (key, value) => rows.push(element("div", {}, element("dt", {}, say(key)), element("dd", { "data-fact": key }, value)));
    this.certificate.textContent = "";
    this.update.textContent = "";
    this.time.hidden = !facts?.order;
    this.weightsFigure.hidden = !facts?.order;
    this.networkFigure.hidden = !facts?.network;
    if (facts) {
      if (facts.scale === "tube") {
        add("fact_mean_error", figure(facts.mean_error));
        add("fact_outside", String(facts.bounded.length));
        add("fact_on_edge", String(facts.free.length));
      } else {
        add("fact_error", `${percent(facts.wrong.length / facts.labelled)} (${facts.wrong.length}/${facts.labelled})`);
        if (facts.scale === "log-odds") add("fact_log_loss", figure(facts.log_loss));
        else {
          add("fact_free", String(facts.free.length));
          add("fact_bounded", String(facts.bounded.length));
        }
        if (facts.margin) add("fact_margin", figure(facts.margin));
      }
      if (facts.left_out_error !== undefined) {
        add("fact_left_out", facts.left_out_error === null ? say("not_offered") : percent(facts.left_out_error));
      }
      if (facts.left_out) add("fact_unused", String(facts.left_out));
      if (facts.passes > 1) add("fact_passes", String(facts.passes));
      add("fact_time", facts.exact && !facts.exact.from_scratch ? `${figure(facts.exact.microseconds)} µs` : `${figure(1000 * facts.seconds)} ms`);
      const c = facts.certificate;
      if (c) {
        this.certificate.textContent = say(c.optimal ? "certificate" : "certificate_open", { kkt: figure(c.kkt_gap), gap: figure(c.duality_gap), status: c.status });
        this.certificate.classList.toggle("open", !c.optimal);
      } else if (facts.on_path) this.certificate.textContent = say("on_path");
      this.update.textContent = [describeUpdate(facts.exact), ...(facts.warnings ?? [])].join(" ").trim();
      if (facts.network) this.showNetwork(facts.network);
    }
    this.readout.replaceChildren(...rows);
  }

  showNetwork(network) {
    const axes = this.app.store.now.axes;
    const names = [axes?.x ? say(`short_${axes.x}`) : "x", axes?.y ? say(`short_${axes.y}`) : "y", axes?.third ? say(`short_${axes.third}`) : say("third")];
    const arcs = drawNetwork(this.network, network, names);
    this.networkCaption.textContent = arcs ? say("network_arcs", { arcs }) : say("network_none");
  }

  makeLegend() {
    const draw = (...marks) => svg("svg", { viewBox: "0 0 22 16", "aria-hidden": "true" }, ...marks);
    const line = (kind) => draw(svg("path", { d: "M1 8H21", class: kind }));
    const ring = (kind) => draw(svg("circle", { cx: 11, cy: 8, r: 6, class: kind }));
    const cross = draw(svg("path", { d: "M6 3 16 13M6 13 16 3", class: "cross" }));
    const family = this.entry.family;
    const found = [[line("thick"), family === "tube" ? "legend_curve" : "legend_boundary"]];
    if (family !== "bayes") {
      found.push([line("dashed"), family === "tube" ? "legend_tube" : "legend_margin"]);
      found.push([ring(""), family === "tube" ? "legend_edge" : "legend_free"], [ring("dotted"), family === "tube" ? "legend_outside" : "legend_bounded"]);
    }
    if (family !== "tube") found.push([cross, "legend_wrong"]);
    if (this.app.store.now.axes?.third) {
      found.push([draw(svg("circle", { cx: 11, cy: 8, r: 6, class: "filled" }), svg("circle", { cx: 11, cy: 8, r: 2.4, class: "hole" })), "legend_third"]);
    }
    found.push([line("without"), "legend_without"]);
    return found.map(([mark, key]) => element("li", {}, mark, say(key)));
  }

  draw(scene) {
    this.plane.draw(scene);
    const lines = this.frame?.arrays?.lines;
    if (lines && this.facts?.order) {
      const n = lines.shape[0];
      this.slider.max = n - 1;
      const time = Math.min(scene.time, n - 1);
      if (Number(this.slider.value) !== time) this.slider.value = time;
      this.instant.textContent = say("instant", { now: time + 1, of: n });
      this.slider.setAttribute("aria-valuetext", this.instant.textContent);
      this.playing.textContent = say(this.app.isPlaying ? "pause" : "play");
      drawWeights(this.weights, lines, time);
    }
  }
}
