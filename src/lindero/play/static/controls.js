// Sliders and lists for the parameters of a machine.

import { figure, say } from "./texts.js";

const STEPS = 240;

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Which parameters have an effect, given the others.
export function isUsed(name, values, context) {
  const kernel = values.kernel;
  if (name === "gamma") return kernel !== "linear";
  if (name === "degree") return kernel === "poly";
  if (name === "coef0") return kernel === "poly" || kernel === "sigmoid";
  if (name === "parts") return values.numbers === "quantile";
  if (name === "penalty") return values.learning === "discriminative";
  if (name === "third") return context.hasThird;
  return true;
}

const toSlider = (kind, value) => {
  const { low, high, logarithmic } = kind;
  if (logarithmic) return Math.round((STEPS * Math.log(value / low)) / Math.log(high / low));
  return Math.round((STEPS * (value - low)) / (high - low));
};

const fromSlider = (kind, place) => {
  const { low, high, logarithmic, whole } = kind;
  const share = place / STEPS;
  const value = logarithmic ? low * (high / low) ** share : low + share * (high - low);
  if (whole) return Math.round(value);
  return Math.min(high, Math.max(low, Number(value.toPrecision(3))));
};

let count = 0;

// A control for a number; `change(value, ended)` is called while it moves.
export function makeNumber(name, kind, value, change) {
  const id = `p${++count}`;
  const steps = kind.whole ? kind.high - kind.low : STEPS;
  const scale = kind.whole
    ? { to: (v) => v - kind.low, from: (p) => p + kind.low }
    : { to: (v) => toSlider(kind, v), from: (p) => fromSlider(kind, p) };
  const output = element("output", { for: id });
  const slider = element("input", { type: "range", id, min: 0, max: steps, step: 1, "data-parameter": name });
  const box = element("div", { class: "parameter", "data-of": name },
    element("label", { for: id }, say(`parameter_${name}`)), element("span"), output, slider);
  let endless = null;
  const show = (v) => {
    output.textContent = figure(v);
    slider.setAttribute("aria-valuetext", v === "inf" ? say("endless") : figure(v));
    slider.disabled = v === "inf";
    if (v !== "inf") slider.value = scale.to(v);
    if (endless) endless.checked = v === "inf";
  };
  let last = value === "inf" ? kind.default : value;
  slider.addEventListener("input", () => {
    last = scale.from(Number(slider.value));
    show(last);
    change(last, false);
  });
  slider.addEventListener("change", () => change(last, true));
  if (kind.endless) {
    endless = element("input", { type: "checkbox", id: `${id}e`, "data-endless": name });
    endless.addEventListener("change", () => {
      const now = endless.checked ? "inf" : last;
      show(now);
      change(now, true);
    });
    box.append(element("label", { class: "endless", for: `${id}e` }, endless, ` ${say("endless")}`));
  }
  show(value);
  return { box, show, slider };
}

export function makeChoice(name, kind, value, change) {
  const id = `p${++count}`;
  const select = element("select", { id, "data-parameter": name });
  for (const option of kind.options) {
    select.append(element("option", { value: option }, say(`option_${name}_${option}`)));
  }
  select.value = value;
  select.addEventListener("change", () => change(select.value, true));
  const box = element("div", { class: "parameter", "data-of": name },
    element("label", { for: id }, say(`parameter_${name}`)), select);
  return { box, show: (v) => { select.value = v; } };
}
