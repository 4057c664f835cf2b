// What a server says of its models, for people. The token lives in a variable of this module, and
// nowhere else. Text from the server only ever becomes text.

const SECONDS_BETWEEN = 5;
const MOST_UPDATES = 12;

const found = (id) => document.getElementById(id);
let token = null;
let chosen = null;
let certified = null;
let busy = false;

class Refused extends Error {
  constructor(status, told) {
    super(told.message || `The server answered ${status}.`);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  const headers = { ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, told);
  return told;
}

const path = (what) => `/v1/models/${encodeURIComponent(chosen)}${what}`;

// -- words ----------------------------------------------------------------------------------------

function figure(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return Math.abs(value) >= 0.001 && Math.abs(value) < 1e6
    ? value.toLocaleString("en", { maximumSignificantDigits: digits })
    : value.toExponential(1);
}

const isShare = (measure) => measure === "accuracy";
const tell = (value, measure) =>
  value === null || value === undefined
    ? "–" : isShare(measure) ? `${(100 * value).toFixed(1)} %` : figure(value);
const title = (measure) =>
  ({ accuracy: "Accuracy", mean_absolute_error: "Mean absolute error" })[measure] || "Score";
const moment = (seconds) => new Date(1000 * seconds).toLocaleString("en", {
  day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hour12: false,
});
const rows = (n) => `${figure(n)} row${n === 1 ? "" : "s"}`;

function say(words, bad = false) {
  found("state").textContent = words;
  found("state").className = bad ? "bad" : "";
}

function element(name, words = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = words;
  if (kind) made.className = kind;
  return made;
}

function put(id, words, kind = "") {
  found(id).textContent = words;
  found(id).className = found(id).className.split(" ")[0] + (kind ? ` ${kind}` : "");
}

// -- parts of the page ----------------------------------------------------------------------------

function showScores(told) {
  const { measure, scores, drift } = told;
  put("score-title", `${title(measure)} so far`);
  put("score", measure ? tell(scores[measure], measure) : "–");
  put("score-more", scores.n ? `of ${rows(scores.n)} before each was learned` : "no row was scored yet");
  const words = { steady: "Steady", worse: "Worse", better: "Better" }[drift.state] || "–";
  put("drift", words, { worse: "bad", better: "good" }[drift.state]);
  if (words === "–") {
    put("drift-more", "Too few rows to compare.");
  } else {
    const away = drift.standard_errors === null
      ? "" : `; ${figure(Math.abs(drift.standard_errors), 2)} standard errors apart`;
    put("drift-more", `The latest ${rows(drift.n_latest)}: ${tell(drift.latest, measure)}. `
      + `Before: ${tell(drift.before, measure)}${away}.`);
  }
  put("curve-title", `${title(measure)} over time`);
  found("curve").replaceChildren(drawCurve(told.curve, measure));
}

function drawCurve(points, measure) {
  if (points.length < 2) return element("p", "A curve needs rows that were scored twice.", "muted");
  const narrow = found("curve").clientWidth < 500;
  const [width, height, left, right, top, bottom] = narrow
    ? [360, 220, 50, 8, 12, 26] : [920, 260, 58, 10, 12, 26];
  const values = points.map((point) => point.value);
  let low = Math.min(...values), high = Math.max(...values);
  const room = Math.max((high - low) * 0.08, isShare(measure) ? 0.005 : 1e-12);
  low -= room; high += room;
  if (isShare(measure)) { low = Math.max(0, low); high = Math.min(1, high); }
  const x = (k) => left + (width - left - right) * (k / (points.length - 1));
  const y = (value) => top + (height - top - bottom) * (1 - (value - low) / (high - low || 1));
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
  picture.append(Object.assign(draw("title"), {
    textContent: `${title(measure)} from ${tell(values[0], measure)} to `
      + `${tell(values.at(-1), measure)}, least ${tell(Math.min(...values), measure)}, `
      + `most ${tell(Math.max(...values), measure)}`,
  }));
  for (const value of chooseTicks(low, high)) {
    const words = isShare(measure) ? `${Number((100 * value).toPrecision(4))} %` : figure(value);
    picture.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }));
    picture.append(write(left - 6, y(value) + 4, words, "end"));
  }
  picture.append(draw("polyline", {
    class: "line", points: values.map((value, k) => `${x(k).toFixed(1)},${y(value).toFixed(1)}`).join(" "),
  }));
  picture.append(draw("circle", { class: "dot", r: 3.5, cx: x(values.length - 1), cy: y(values.at(-1)) }));
  picture.append(write(left, height - 6, moment(points[0].time), "start"));
  picture.append(write(width - right, height - 6, moment(points.at(-1).time), "end"));
  return picture;
}

// Round numbers between two others, about four of them.
function chooseTicks(low, high) {
  const rough = (high - low) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
  const first = Math.ceil(low / step - 1e-9);
  const ticks = [];
  for (let k = first; k * step <= high + 1e-9 * step; k += 1) ticks.push(k * step);
  return ticks;
}

function draw(name, attributes = {}) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function write(x, y, words, anchor) {
  return Object.assign(draw("text", { x, y, "text-anchor": anchor }), { textContent: words });
}

function showUpdates(receipts) {
  const kinds = { add: "added", learn: "learned", forget: "forgot", replace: "replaced" };
  const groups = [];  // entries that learned, one after another, share a line
  for (const receipt of receipts.slice().reverse()) {
    const group = groups.at(-1);
    if (group && receipt.kind === "learn" && group.kind === "learn") {
      group.first = receipt.sequence;
      group.rows += receipt.n_rows;
    } else {
      const named = receipt.ids.slice(0, 3).join(", ") + (receipt.ids.length > 3 ? ", …" : "");
      groups.push({
        kind: receipt.kind, first: receipt.sequence, last: receipt.sequence, time: receipt.time,
        rows: receipt.n_rows || receipt.ids.length, named,
      });
    }
  }
  const lines = groups.slice(0, MOST_UPDATES).map((group) => {
    const line = document.createElement("tr");
    const entries = group.first === group.last ? `${group.last}` : `${group.first}–${group.last}`;
    line.append(
      element("td", entries, "figure"),
      element("td", moment(group.time)),
      element("td", `${kinds[group.kind] || group.kind}${group.named ? ` ${group.named}` : ""}`),
      element("td", group.kind === "add" ? "" : figure(group.rows), "figure"),
    );
    return line;
  });
  found("updates").replaceChildren(...lines);
}

async function showCertificate(sequence) {
  if (certified === `${chosen}/${sequence}`) return;
  const told = await ask(path("/certificate"));
  certified = `${chosen}/${told.sequence}`;
  const known = told.certificate;
  if (!known) {
    put("certificate", "None");
    put("certificate-more", "Models of counts are no optimum of anything: they are exact.");
    return;
  }
  const [word, reason] = known.status.split(/:\s+(.*)/);
  put("certificate", word.length <= 14 ? word : "As told", word === "Optimal" ? "good" : "");
  const gap = known.kkt_gap === undefined ? "" : ` KKT gap ${figure(known.kkt_gap, 2)}.`;
  const rest = word.length <= 14 ? reason || "" : known.status;
  put("certificate-more", `${rest.charAt(0).toUpperCase()}${rest.slice(1)}${gap}`);
}

function showReceipt(receipt) {
  found("receipt-title").textContent = `Forgotten: ${receipt.ids.join(", ")}`;
  const judged = (one) => one ? `${one.status} KKT gap ${figure(one.kkt_gap, 2)}` : "–";
  const parts = [
    ["Entry", String(receipt.sequence)], ["Time", new Date(1000 * receipt.time).toISOString()],
    ["Model", receipt.model], ["Before", judged(receipt.before)], ["After", judged(receipt.after)],
    ["Hash", receipt.hash],
  ];
  found("receipt-parts").replaceChildren(
    ...parts.flatMap(([name, words]) => [element("dt", name), element("dd", words)]));
  const text = JSON.stringify(receipt, null, 1);
  found("receipt-file").href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  found("receipt").hidden = false;
}

// -- what happens ---------------------------------------------------------------------------------

async function refresh() {
  if (busy) return;
  busy = true;
  try {
    const { models } = await ask("/v1/models");
    found("token-form").hidden = true;
    found("main").hidden = models.length === 0;
    if (models.length === 0) return say("The store has no models yet.");
    const names = models.map((model) => model.name);
    if (!names.includes(chosen)) chosen = names[0];
    const listed = [...found("model").options].map((option) => option.value);
    if (listed.join("\n") !== names.join("\n")) {
      found("model").replaceChildren(...names.map((name) => new Option(name, name)));
    }
    found("model").value = chosen;
    const model = models.find((one) => one.name === chosen);
    put("about", `${model.estimator}, learned ${rows(model.learned)}, entry ${model.sequence}`);
    const [metrics, { receipts }] = await Promise.all([
      ask(path("/metrics")),
      ask(path(`/receipts?brief=1&after=${Math.max(0, model.sequence - 60)}`)),
    ]);
    showScores(metrics);
    showUpdates(receipts);
    say(`As of ${new Date().toLocaleTimeString("en", { hour12: false })}.`);
    await showCertificate(model.sequence);
  } catch (error) {
    if (error.status === 401 || error.status === 403) {
      found("token-form").hidden = false;
      found("main").hidden = true;
      say(token === null ? "This server wants a token with the right to read."
        : "This token is not known, or has no right to read.", token !== null);
    } else {
      say(error.status ? error.message : "The server does not answer.", true);
    }
  } finally {
    busy = false;
  }
}

function readId(text) {
  const quoted = text.match(/^"(.*)"$/);
  if (quoted) return quoted[1];
  return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
}

found("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = found("token").value.trim() || null;
  found("token").value = "";
  refresh();
});

found("model").addEventListener("change", () => {
  chosen = found("model").value;
  found("receipt").hidden = true;
  found("confirm").hidden = true;
  found("refused").textContent = "";
  refresh();
});

found("forget-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const id = readId(found("row").value.trim());
  found("question").textContent = `Row ${JSON.stringify(id)} goes from model ${chosen}, from its `
    + "past and from the disk. This cannot be undone.";
  found("confirm").hidden = false;
  found("receipt").hidden = true;
  found("refused").textContent = "";
  found("yes").focus();
});

found("no").addEventListener("click", () => { found("confirm").hidden = true; });

found("yes").addEventListener("click", async () => {
  const id = readId(found("row").value.trim());
  found("yes").disabled = true;
  try {
    showReceipt(await ask(path("/forget"), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ids: [id] }),
    }));
    found("row").value = "";
    await refresh();
  } catch (error) {
    found("refused").textContent =
      error.status ? error.message : "The server does not answer: ask again.";
  } finally {
    found("yes").disabled = false;
    found("confirm").hidden = true;
  }
});

refresh();
setInterval(() => { if (!document.hidden && !found("main").hidden) refresh(); }, 1000 * SECONDS_BETWEEN);
