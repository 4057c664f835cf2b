// Interface texts, all from texts.json.

let all = {};
let language = "en";

export async function loadTexts() {
  all = await (await fetch("texts.json")).json();
  const saved = localStorage.getItem("lindero-language");
  const wanted = saved || (navigator.language || "en").slice(0, 2);
  language = all[wanted] ? wanted : "en";
}

export const currentLanguage = () => language;

export function setLanguage(name) {
  language = all[name] ? name : "en";
  localStorage.setItem("lindero-language", language);
}

export const has = (key) => key in all[language];

// The text of a key, with {names} filled in. Where a number n is 1 and there is a key for one, that.
export function say(key, values = {}) {
  const own = all[language];
  const name = values.n === 1 && own[`${key}_one`] ? `${key}_one` : key;
  const text = own[name] ?? all.en[name] ?? key;
  return text.replace(/\{(\w+)\}/g, (_, part) => (part in values ? values[part] : ""));
}

// Numbers for reading: three digits that count.
export function figure(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (value === Infinity || value === "inf") return "∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) {
    const [front, power] = value.toExponential(digits - 2).split("e");
    return `${decimal(front)}·10${raise(Number(power))}`;
  }
  return decimal(String(size >= 1000 ? Math.round(value) : Number(value.toPrecision(digits))));
}

const decimal = (text) => (language === "es" ? text.replace(".", ",") : text).replace("-", "−");
const raise = (power) => String(power).replace(/./g, (c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]);

export const percent = (share) => `${decimal((100 * share).toFixed(1))} %`;

// Texts, titles and labels of everything on the page that names a key.
export function translate(root = document) {
  document.documentElement.lang = language;
  document.title = say("title");
  for (const item of root.querySelectorAll("[data-text]")) item.textContent = say(item.dataset.text);
  for (const item of root.querySelectorAll("[data-title]")) item.title = say(item.dataset.title);
  for (const item of root.querySelectorAll("[data-label]")) item.setAttribute("aria-label", say(item.dataset.label));
}
