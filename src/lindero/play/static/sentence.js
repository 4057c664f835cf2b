// What just happened, in a sentence, from the facts of two pictures.

import { figure, percent, say } from "./texts.js";

const supportOf = (facts) => new Set([...facts.free, ...facts.bounded]);

// Points whose set (none, free, bounded) is another one.
export function changedIds(before, now) {
  if (!before) return [];
  const sets = (facts) => {
    const found = new Map();
    for (const id of facts.free) found.set(id, 1);
    for (const id of facts.bounded) found.set(id, 2);
    return found;
  };
  const a = sets(before), b = sets(now);
  const ids = new Set([...a.keys(), ...b.keys()]);
  return [...ids].filter((id) => a.get(id) !== b.get(id));
}

// `before` may be null; `ids` are those of all points now.
export function describe(before, now, ids) {
  const parts = [];
  const there = new Set(ids);
  if (now.scale === "tube") {
    parts.push(say("tube_state", { error: figure(now.mean_error), n: now.wrong.length, outside: now.wrong.length }));
  }
  if (before && before.scale === now.scale && now.scale !== "log-odds") {
    const a = supportOf(before), b = supportOf(now);
    const came = [...b].filter((id) => !a.has(id)).length;
    const left = [...a].filter((id) => !b.has(id) && there.has(id)).length;
    const erased = [...a].filter((id) => !there.has(id)).length;
    if (erased) parts.push(say("erased_support", { n: erased }));
    if (came) parts.push(say("became_support", { n: came }));
    if (left) parts.push(say("left_support", { n: left }));
    if (!came && !left && !erased) parts.push(say("support_same"));
  }
  if (now.margin !== null && now.margin !== undefined) {
    const was = before?.margin;
    if (was && Math.abs(was - now.margin) > 0.002 * was) {
      parts.push(say(now.margin < was ? "margin_shrank" : "margin_grew", { now: figure(now.margin), was: figure(was) }));
    } else parts.push(say("margin_is", { now: figure(now.margin) }));
  }
  if (now.scale !== "tube") {
    const n = now.wrong.length;
    if (n === 0) parts.push(say("none_wrong"));
    else parts.push(say("some_wrong", { n, of: now.labelled }));
  }
  if (now.without !== undefined) parts.push(say("without_shown"));
  if (now.without_refused) parts.push(say(`without_${now.without_refused}`));
  if (now.left_out_error !== undefined && now.left_out_error !== null) {
    parts.push(say("left_out_error", { share: percent(now.left_out_error) }));
  }
  const text = parts.join("; ");
  return text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "";
}

// What an update of the incremental machine took.
export function describeUpdate(exact) {
  if (!exact) return "";
  const took = figure(exact.microseconds, 3);
  if (exact.from_scratch) return say("exact_scratch", { n: exact.rows ?? exact.updates, took });
  const told = say("exact_update", {
    learned: exact.learned, forgotten: exact.forgotten, iterations: exact.iterations,
    changes: exact.set_changes, took,
  });
  return exact.corrections
    ? `${told} ${say("exact_corrections", { n: exact.corrections })}` : told;
}
