// The page: what is where, and who tells whom.

import { Connection } from "./connection.js";
import { readCsv, save, writeCsv } from "./files.js";
import { Panel } from "./panel.js";
import { changedIds, describe } from "./sentence.js";
import { MOST_POINTS, Store, VIEW, decode, encode } from "./store.js";
import { currentLanguage, has, loadTexts, say, setLanguage, translate } from "./texts.js";
import { Tools } from "./tools.js";

const FIRST_PRESET = "moons";
const SECONDS_OF_PLAY = 4;
const byId = (id) => document.getElementById(id);

class App {
  constructor() {
    this.store = new Store();
    this.catalogue = null;
    this.presets = [];
    this.panels = [];
    this.tools = [];
    this.label = 0;
    this.tool = "draw";
    this.leaveOut = false;
    this.hover = null;
    this.time = Infinity;
    this.isPlaying = false;
    this.revision = 0;
    this.revisions = new Map();
    this.baseline = [];
    this.lastGesture = undefined;
    this.store.listen((why) => this.changed(why));
    this.connection = new Connection({
      welcome: (message) => this.welcome(message),
      frame: (frame) => this.receive(frame),
      state: (open) => this.showConnection(open),
      problem: (message) => this.showProblem(message),
    });
    this.bind();
  }

  // -- from the server ------------------------------------------------------------------------------

  async welcome({ machines, presets, largest_grid }) {
    this.largestGrid = largest_grid;
    const first = this.catalogue === null;
    this.catalogue = machines;
    this.presets = presets;
    if (!first) {
      this.refresh();
      return;
    }
    this.store.now = { ...this.store.now, machines: [{ name: "incremental", parameters: {} }] };
    this.listPresets();
    byId("sentence").textContent = say("warming");
    const found = location.hash.length > 1 ? await decode(location.hash.slice(1)) : null;
    if (found && this.isKnown(found)) this.adopt(found);
    else this.choosePreset(FIRST_PRESET);
    this.store.past = [];
    document.body.dataset.ready = "yes";
  }

  isKnown(picture) {
    return picture.machines.every((m) => this.catalogue.some((known) => known.name === m.name));
  }

  adopt(picture) {
    this.time = Infinity;
    this.store.replace(picture);
  }

  receive(frame) {
    if (frame.kind === "preset") {
      const first = this.store.now.points.length === 0 && this.store.past.length === 0;
      this.adopt(frame);
      if (first) {
        this.store.past = [];
        this.changed("history");
      }
      byId("preset").value = frame.name;
      return;
    }
    if (frame.kind === "script") {
      byId("code-text").value = frame.text;
      byId("code-copied").textContent = "";
      byId("code").showModal();
      return;
    }
    const panel = this.panels[frame.panel];
    if (!panel) return;
    if (frame.kind === "path") {
      panel.setPath(frame);
      this.refresh();
      return;
    }
    const before = panel.frame?.machine === frame.machine ? panel.facts : null;
    panel.setFrame(frame);
    if (frame.facts && before) panel.plane.light(changedIds(before, frame.facts));
    panel.revision = this.revisions.get(frame.sequence);
    panel.isFine = frame.fine || frame.kind === "refusal";
    this.drawNow();
    const detail = { sequence: frame.sequence, fine: frame.fine, revision: panel.revision };
    document.dispatchEvent(new CustomEvent("drawn", { detail }));
    const done = this.panels.every((p) => p.isFine && p.revision === panel.revision);
    if (done && panel.revision === this.revision) {
      this.tell();
      document.body.dataset.settled = "yes";
    }
  }

  showConnection(open) {
    const item = byId("connection");
    item.dataset.text = open ? "connected" : "offline";
    item.textContent = say(item.dataset.text);
    item.classList.toggle("offline", !open);
    document.body.dataset.connected = open ? "yes" : "no";
  }

  showProblem(message) {
    const text = message.kind === "bad" ? say("refused_message", { reason: message.reason }) : say(message.kind);
    byId("sentence").textContent = text;
    document.body.dataset.problem = message.kind;
  }

  // -- to the server --------------------------------------------------------------------------------

  makeRequest(kind = "picture") {
    const { points, view, machines, axes } = this.store.now;
    const hover = this.leaveOut && points.some((p) => p.id === this.hover) ? this.hover : null;
    return {
      kind,
      points: points.map((p) => [p.id, p.x, p.y, p.label, p.third]),
      view,
      machines: machines.map((m, k) => ({ ...m, on_path: this.panels[k]?.wantsPath ?? false })),
      resolution: Math.min(machines.length > 1 ? 100 : 128, this.largestGrid),
      without: hover,
      leave_one_out: this.leaveOut,
      categories: Boolean(axes?.heights),
    };
  }

  refresh() {
    this.revision += 1;
    document.body.dataset.revision = this.revision;
    document.body.dataset.settled = "no";
    this.connection.request(() => {
      // The number that the connection is about to give it.
      this.revisions.set(this.connection.sequence + 1, this.revision);
      if (this.revisions.size > 200) this.revisions.delete(this.revisions.keys().next().value);
      return this.makeRequest();
    });
    this.redraw();
  }

  askPath() {
    clearTimeout(this.pathTimer);
    this.pathTimer = setTimeout(() => {
      if (this.panels.some((p) => p.wantsPath)) this.connection.send(this.makeRequest("path"));
    }, 150);
  }

  choosePreset(name) { this.connection.send({ kind: "preset", name }); }

  // -- what changed ---------------------------------------------------------------------------------

  changed(why) {
    if (!this.catalogue) return;
    byId("undo").disabled = !this.store.past.length;
    byId("redo").disabled = !this.store.future.length;
    if (why === "history") {
      this.keepInAddress();
      return;
    }
    if (this.store.gesture !== this.lastGesture || why === "travel") {
      this.lastGesture = this.store.gesture;
      const keep = why !== "replace"; // of another picture nothing is said
      this.baseline = this.panels.map((p) => ({ machine: p.frame?.machine, facts: keep ? p.facts : null }));
    }
    const { points, machines } = this.store.now;
    if (machines.length !== this.panels.length) this.buildPanels();
    for (const panel of this.panels) panel.showMachine();
    if (this.axes !== this.store.now.axes) this.nameClasses();
    this.axes = this.store.now.axes;
    if (points.length !== this.count) {
      if (points.length > (this.count ?? 0)) this.time = Infinity;
      this.count = points.length;
    }
    byId("count").textContent = say("count", { n: points.length, most: MOST_POINTS });
    if (this.hover !== null && !points.some((p) => p.id === this.hover)) this.hover = null;
    this.dropPaths();
    this.refresh();
    if (why === "travel") this.keepInAddress();
  }

  // A path is one of these points and parameters; C is what it goes along.
  dropPaths() {
    const { points, machines } = this.store.now;
    this.panels.forEach((panel, k) => {
      if (!panel.wantsPath) return;
      const machine = machines[k];
      const key = JSON.stringify([machine.name, { ...machine.parameters, C: 0 }]);
      if (panel.pathPoints !== points || panel.pathKey !== key) {
        panel.pathPoints = points;
        panel.pathKey = key;
        panel.path = null;
        panel.showPath();
        this.askPath();
      }
    });
  }

  setMachine(place, machine, ended) {
    this.store.begin();
    const machines = this.store.now.machines.map((m, k) => (k === place ? machine : m));
    this.store.change({ machines });
    if (ended) this.store.end();
  }

  setTwo(wanted) {
    const { machines } = this.store.now;
    const other = machines[0].name === "svc" ? "naive-bayes" : "svc";
    this.store.change({ machines: wanted ? [machines[0], { name: other, parameters: {} }] : machines.slice(0, 1) });
  }

  buildPanels() {
    const { machines } = this.store.now;
    const main = byId("panels");
    const kept = this.panels;
    this.panels = machines.map((_, k) => kept[k] ?? new Panel(k, this));
    this.tools = this.panels.map((panel, k) => (kept[k] ? this.tools[k] : new Tools(panel, this)));
    main.replaceChildren(...this.panels.map((p) => p.box));
    main.classList.toggle("two", machines.length > 1);
    byId("two").setAttribute("aria-pressed", String(machines.length > 1));
    for (const panel of this.panels) this.watcher.observe(panel.canvas);
  }

  keepInAddress() {
    clearTimeout(this.addressTimer);
    this.addressTimer = setTimeout(async () => {
      const code = await encode(this.store.now);
      this.ownHash = `#${code}`;
      history.replaceState(null, "", this.ownHash);
      document.body.dataset.kept = this.revision;
    }, 250);
  }

  setHover(id) {
    if (this.hover === id) return;
    this.hover = id;
    this.refresh();
  }

  // -- words ----------------------------------------------------------------------------------------

  nameOf(label) {
    if (label < 0) return say("unlabelled");
    const names = this.store.now.axes?.classes;
    return names?.[label] ? say(names[label]) : say(`class${label}`);
  }

  announce(text) { byId("spoken").textContent = text; }

  tooMany() { byId("sentence").textContent = say("too_many", { most: MOST_POINTS }); }

  tell() {
    const ids = this.store.now.points.map((p) => p.id);
    const texts = this.panels.map((panel, k) => {
      if (!panel.facts) return panel.note.textContent;
      const base = this.baseline[k];
      const before = base && base.machine === panel.frame.machine ? base.facts : null;
      const text = describe(before, panel.facts, ids);
      return this.panels.length > 1 ? `${say(`machine_${panel.machine.name}`)}: ${text}` : text;
    });
    byId("sentence").textContent = texts.join(" ");
  }

  listPresets() {
    const select = byId("preset");
    const chosen = select.value;
    select.replaceChildren(...this.presets.map((name) => new Option(say(`preset_${name}`), name)));
    select.value = chosen || FIRST_PRESET;
  }

  nameClasses() {
    for (const button of document.querySelectorAll("[data-label-of]")) {
      const label = Number(button.dataset.labelOf);
      if (label >= 0) button.querySelector("span").textContent = this.nameOf(label);
      button.setAttribute("aria-checked", String(label === this.label));
      button.tabIndex = label === this.label ? 0 : -1;
    }
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-checked", String(button.dataset.tool === this.tool));
      button.tabIndex = button.dataset.tool === this.tool ? 0 : -1;
    }
    const list = byId("help-list");
    list.replaceChildren();
    for (let k = 1; has(`help_${k}`); k++) {
      const item = document.createElement("li");
      item.textContent = say(`help_${k}`);
      list.append(item);
    }
  }

  // -- drawing --------------------------------------------------------------------------------------

  redraw() {
    this.drawing ??= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.drawing);
    this.drawing = null;
    const { points, view, axes } = this.store.now;
    this.panels.forEach((panel, k) => {
      const n = panel.frame?.arrays?.lines?.shape[0] ?? 1;
      const tools = this.tools[k];
      panel.draw({
        points, view, axes,
        time: Math.min(this.time, n - 1),
        hover: this.leaveOut ? this.hover : null,
        cursor: tools.cursor,
        grabbed: tools.grabbed ?? tools.held?.id ?? null,
      });
    });
    if (this.panels.some((p) => p.plane.isLit)) this.redraw();
  }

  setTime(time) {
    this.time = time;
    this.redraw();
  }

  play() {
    this.isPlaying = !this.isPlaying;
    if (!this.isPlaying) {
      this.redraw();
      return;
    }
    const last = () => Math.max(1, ...this.panels.map((p) => p.frame?.arrays?.lines?.shape[0] ?? 1)) - 1;
    if (this.time >= last()) this.time = 0;
    let before = performance.now(), exact = this.time;
    const step = (now) => {
      if (!this.isPlaying) return;
      exact += (last() * (now - before)) / (1000 * SECONDS_OF_PLAY);
      before = now;
      if (exact >= last()) {
        exact = last();
        this.isPlaying = false;
      }
      this.time = Math.round(exact);
      this.drawNow();
      if (this.isPlaying) requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  // -- buttons and keys -----------------------------------------------------------------------------

  bind() {
    this.watcher = new ResizeObserver(() => this.redraw());
    const click = (id, call) => byId(id).addEventListener("click", call);
    click("undo", () => this.store.undo());
    click("redo", () => this.store.redo());
    click("clear", () => this.store.change({ points: [], axes: null, view: this.store.now.axes ? VIEW : this.store.now.view }));
    click("jitter", () => this.jitter());
    click("leave-out", () => this.toggleLeaveOut());
    click("two", () => this.setTwo(this.panels.length < 2));
    click("export", () => save("points.csv", writeCsv(this.store.now), "text/csv"));
    click("import", () => byId("file").click());
    click("script", () => this.connection.send(this.makeRequest("script")));
    click("code-close", () => byId("code").close());
    click("code-copy", () => this.copyCode());
    byId("file").addEventListener("change", () => this.importFile());
    byId("preset").addEventListener("change", (event) => this.choosePreset(event.target.value));
    byId("language").value = currentLanguage();
    byId("language").addEventListener("change", (event) => {
      setLanguage(event.target.value);
      this.speakAnew();
    });
    for (const button of document.querySelectorAll("[data-label-of]")) {
      button.addEventListener("click", () => this.setLabel(Number(button.dataset.labelOf)));
    }
    for (const button of document.querySelectorAll("[data-tool]")) {
      button.addEventListener("click", () => this.setTool(button.dataset.tool));
    }
    for (const group of document.querySelectorAll("[role=radiogroup]")) {
      group.addEventListener("keydown", (event) => this.moveInGroup(group, event));
    }
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", async () => {
      if (location.hash === this.ownHash) return;
      const found = await decode(location.hash.slice(1));
      if (found && this.isKnown(found)) this.adopt(found);
    });
    this.nameClasses();
  }

  // Arrow keys go through the buttons of a group, as they do through radio buttons.
  moveInGroup(group, event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = [...group.querySelectorAll("[role=radio]")];
    const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
    next.click();
    next.focus();
  }

  setLabel(label) {
    this.label = label;
    if (this.tool === "erase") this.tool = "draw";
    this.nameClasses();
  }

  setTool(tool) {
    this.tool = tool;
    this.nameClasses();
  }

  toggleLeaveOut() {
    this.leaveOut = !this.leaveOut;
    this.hover = null;
    byId("leave-out").setAttribute("aria-pressed", String(this.leaveOut));
    this.refresh();
  }

  jitter() {
    const [left, right, bottom, top] = this.store.now.view;
    const shift = (width) => (Math.random() - 0.5) * 0.03 * width;
    const points = this.store.now.points.map((p) => ({
      ...p,
      x: this.store.round(p.x + shift(right - left), 0),
      y: this.store.now.axes?.heights ? p.y : this.store.round(p.y + shift(top - bottom), 1),
    }));
    this.store.change({ points });
  }

  async importFile() {
    const [file] = byId("file").files;
    byId("file").value = "";
    if (!file) return;
    try {
      this.adopt(readCsv(await file.text()));
    } catch (error) {
      byId("sentence").textContent = error.message;
    }
  }

  async copyCode() {
    const area = byId("code-text");
    try {
      await navigator.clipboard.writeText(area.value);
    } catch {
      area.select();
      document.execCommand("copy");
    }
    byId("code-copied").textContent = say("copied");
  }

  speakAnew() {
    translate();
    this.nameClasses();
    if (!this.catalogue) return;
    this.listPresets();
    const facts = this.panels.map((p) => [p.frame, p.wantsPath, p.path]);
    this.panels = [];
    this.buildPanels();
    this.panels.forEach((panel, k) => {
      [, panel.wantsPath, panel.path] = facts[k];
      panel.showMachine();
      if (facts[k][0]) panel.setFrame(facts[k][0]);
    });
    byId("count").textContent = say("count", { n: this.store.now.points.length, most: MOST_POINTS });
    byId("connection").textContent = say(byId("connection").dataset.text);
    this.refresh();
  }

  key(event) {
    const target = event.target;
    const writes = target.matches?.("textarea, select, input:not([type=range]):not([type=checkbox])");
    if (writes || byId("code").open) return;
    const command = event.ctrlKey || event.metaKey;
    const letter = event.key.toLowerCase();
    if (command && letter === "z") {
      event.preventDefault();
      if (event.shiftKey) this.store.redo();
      else this.store.undo();
    } else if (command && letter === "y") {
      event.preventDefault();
      this.store.redo();
    }
    if (command || event.altKey || !this.catalogue) return;
    const actions = {
      1: () => this.setLabel(0), 2: () => this.setLabel(1), 3: () => this.setLabel(2), 0: () => this.setLabel(-1),
      d: () => this.setTool("draw"), b: () => this.setTool("brush"), e: () => this.setTool("erase"),
      j: () => this.jitter(), l: () => this.toggleLeaveOut(), t: () => this.setTwo(this.panels.length < 2),
    };
    actions[letter]?.();
  }
}

await loadTexts();
translate();
new App();
