// The items of a price list as CSV (RFC 4180). The written text is read again unchanged.
import { comparable, isBarcode } from "../kit/barcodes.js";
import { FIELDS } from "./price_changes.js";

export const MOST_BYTES = 256 * 1024;
const MOST_ITEMS = 500;
const LONGEST = { Code: 64, Title: 128, Unit: 8, Group: 40 };
const SWITCH = new Map([
  ["", true],
  ["true", true],
  ["yes", true],
  ["1", true],
  ["false", false],
  ["no", false],
  ["0", false],
]);
// Spreadsheets compute such a cell; some ignore quotes and invisible characters before it, or split at a semicolon.
const FORMULA = /^[\p{C}\p{Z}\p{Mn}"\u115f\u1160\u2800\u3164\uffa0]*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]/u;

const isFormula = (text) =>
  text
    .replace(/^'+/, "")
    .split(";")
    .some((part) => FORMULA.test(part));
const neutral = (text) => (isFormula(text) ? `'${text}` : text);
const restored = (text) => (text.startsWith("'") && isFormula(text) ? text.slice(1) : text);
const quoted = (text) => (/[",;\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// A byte order mark is in front: spreadsheets recognise UTF-8 by it.
export function write(items) {
  const rows = items.map((one) => FIELDS.map((field) => quoted(neutral(String(one[field] ?? "")))));
  return `\ufeff${[FIELDS, ...rows].map((cells) => `${cells.join(",")}\r\n`).join("")}`;
}

// The records of a text, each with the line where it begins. `broken` is the line of a quote without its partner.
function recordsOf(text, mark) {
  const cell = new RegExp(
    `(?:"([^"]*(?:""[^"]*)*)"|([^"${mark}\\r\\n][^${mark}\\r\\n]*)?)(${mark}|\\r\\n|\\n|\\r|$)`,
    "y",
  );
  const records = [];
  let [cells, start, line, end] = [[], 1, 1, mark];
  while (cell.lastIndex < text.length || end === mark) {
    const found = cell.exec(text);
    if (!found) return { records, broken: line };
    cells.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? "");
    line += found[0].split(/\r\n|\n|\r/).length - 1;
    end = found[3];
    if (end === mark) continue;
    if (cells.some((one) => one.trim())) records.push({ line: start, cells });
    [cells, start] = [[], line];
  }
  return { records };
}

// The field of each column; undefined for an unknown one.
const headOf = ({ cells }) =>
  cells.map((name) => FIELDS.find((field) => field.toLowerCase() === name.trim().toLowerCase()));

function headProblem(head, { line, cells }) {
  const unknown = head.indexOf(undefined);
  if (unknown >= 0) return { line, column: cells[unknown], code: "column" };
  const twice = head.find((field, number) => head.indexOf(field) !== number);
  if (twice) return { line, column: twice, code: "twice" };
  return !head.includes("Code") && { line, column: "Code", code: "noColumn" };
}

// A cell as the value of a field, or {code} of its problem.
function cellValueOf(field, cell, { mark, taxes, digits }) {
  const text =
    field === "Price" || field === "Barcode" || field === "TaxCode" || field === "Active"
      ? cell.trim()
      : restored(cell);
  if (field === "Active") return SWITCH.get(text.toLowerCase()) ?? { code: "active" };
  if (text === "") return field === "Code" || field === "Title" ? { code: "needed" } : null;
  if ([...text].length > LONGEST[field]) return { code: "long" };
  if (field === "Barcode" && !isBarcode(text)) return { code: "barcode" };
  if (field === "TaxCode")
    return taxes.find((one) => one.Code.toLowerCase() === text.toLowerCase())?.Code ?? { code: "tax" };
  if (field !== "Price") return text;
  const price = mark === ";" ? text.replace(",", ".") : text;
  if (!/^\d+(\.\d+)?$/.test(price)) return { code: "price" };
  return (price.split(".")[1] ?? "").length > digits ? { code: "decimals" } : price;
}

const isWrong = (value) => value !== null && typeof value === "object";

// An item of a record. A field without a column stays as it is in the list.
function itemOf({ line, cells }, head, before, options) {
  if (cells.length !== head.length) return { problems: [{ line, code: "cells" }] };
  const values = head.map((field, number) => [field, cellValueOf(field, cells[number], options)]);
  const item = Object.fromEntries(values);
  const old = before.get(item.Code);
  const problems = values.filter(([, value]) => isWrong(value)).map(([column, { code }]) => ({ line, column, code }));
  if (!old && !head.includes("Title")) problems.push({ line, column: "Title", code: "needed" });
  return {
    item: { Price: null, Unit: null, TaxCode: null, Group: null, Barcode: null, Active: true, ...old, ...item },
    problems,
  };
}

function twice(items, lines, column, compared) {
  const seen = new Set();
  const isRepeated = (value) => typeof value === "string" && (seen.has(compared(value)) || !seen.add(compared(value)));
  return items.flatMap((one, number) =>
    isRepeated(one[column]) ? [{ line: lines[number], column, code: "twice" }] : [],
  );
}

// Read a file for the list {taxes, items}. Prices have at most so many `digits`. Return {items, problems}: each problem
// has a line, often a column, and a code.
export function read(text, { taxes, items, digits }) {
  const whole = text.replace(/^\ufeff/, "");
  const mark = /^[^\r\n]*;/.test(whole) ? ";" : ",";
  const {
    records: [first, ...rest],
    broken,
  } = recordsOf(whole, mark);
  if (broken) return { items: [], problems: [{ line: broken, code: "quote" }] };
  if (!first) return { items: [], problems: [{ line: 1, code: "empty" }] };
  const head = headOf(first);
  const wrong = headProblem(head, first);
  if (wrong) return { items: [], problems: [wrong] };
  if (rest.length > MOST_ITEMS) return { items: [], problems: [{ line: rest[MOST_ITEMS].line, code: "many" }] };
  const before = new Map(items.map((one) => [one.Code, one]));
  const found = rest.map((record) => itemOf(record, head, before, { mark, taxes, digits }));
  const problems = found.flatMap((one) => one.problems);
  const lines = rest.map((one) => one.line);
  const all = found.map((one) => one.item ?? {});
  problems.push(...twice(all, lines, "Code", (code) => code), ...twice(all, lines, "Barcode", comparable));
  return { items: all, problems: problems.sort((one, other) => one.line - other.line) };
}
