// Points as CSV, read and written here in the browser.

import { MOST_POINTS } from "./store.js";
import { say } from "./texts.js";

export function writeCsv(now) {
  const third = now.points.some((p) => p.third >= 0);
  const rows = now.points.map((p) => [p.x, p.y, p.label < 0 ? "" : p.label + 1, ...(third ? [p.third < 0 ? "" : p.third] : [])]);
  return [["x", "y", "class", ...(third ? ["third"] : [])], ...rows].map((row) => row.join(",")).join("\n") + "\n";
}

export function save(name, text, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const LARGEST_FILE = 2_000_000;

// Points and a view; an Error in the reader's language where the file cannot be read.
export function readCsv(text) {
  if (text.length > LARGEST_FILE) throw new Error(say("csv_large"));
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/).filter((line) => line.trim());
  if (!lines.length) throw new Error(say("csv_empty"));
  const mark = ["\t", ";", ","].find((c) => lines[0].includes(c)) ?? ",";
  const number = (cell) => Number(mark === ";" ? cell.replace(",", ".") : cell);
  const rows = lines.map((line) => line.split(mark).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")));
  if (!Number.isFinite(number(rows[0][0])) || rows[0][0] === "") rows.shift();
  if (rows.length > MOST_POINTS) throw new Error(say("csv_many", { most: MOST_POINTS }));
  if (!rows.length) throw new Error(say("csv_empty"));
  rows.forEach((row, k) => {
    const fine = row.length >= 2 && row.slice(0, 2).every((cell) => cell !== "" && Number.isFinite(number(cell)) && Math.abs(number(cell)) <= 1e6);
    if (!fine) throw new Error(say("csv_row", { row: k + 1 }));
  });
  const names = [...new Set(rows.map((row) => row[2] ?? "1").filter((name) => name !== ""))].sort();
  const own = names.every((name) => ["1", "2", "3"].includes(name));
  if (names.length > 3) throw new Error(say("csv_classes", { n: names.length }));
  const points = rows.map((row) => {
    const name = row[2] ?? "1";
    const label = name === "" ? -1 : own ? Number(name) - 1 : names.indexOf(name);
    const third = row[3] === "0" || row[3] === "1" ? Number(row[3]) : -1;
    return [number(row[0]), number(row[1]), label, third];
  });
  const range = (k) => {
    const values = points.map((p) => p[k]);
    const low = Math.min(...values), high = Math.max(...values);
    const pad = 0.08 * (high - low) || 1;
    return [low - pad, high + pad];
  };
  return { points, view: [...range(0), ...range(1)].map((v) => Number(v.toPrecision(4))) };
}
