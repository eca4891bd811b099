// The items of a price list as CSV (RFC 4180). The written text is read again unchanged.
import { comparable, isBarcode } from "../kit/barcodes.js";
import { FIELDS } from "./price_changes.js";

export const MOST_BYTES = 256 * 1024;
const MOST_ITEMS = 500;
const LONGEST = { Code: 64, Title: 128, Unit: 8, Group: 40 };
const SWITCH = new Map([
  ...["", "true", "yes", "1", "waar", "ja"].map((word) => [word, true]),
  ...["false", "no", "0", "onwaar", "nee"].map((word) => [word, false]),
]);
// The currencies of shops whose spreadsheets write 1.5 and part cells by a comma. The others write 1,5 and a semicolon.
const WITH_POINT =
  "AED AUD BDT BHD BND BWP CAD CHF CNY DOP EGP ETB FJD GBP GHS GTQ GYD HKD HNL ILS INR IQD JMD JOD JPY KES KHR KRW KWD LBP LKR LRD LYD MMK MOP MVR MWK MXN MYR NGN NIO NPR NZD OMR PAB PEN PGK PHP PKR QAR SAR SDG SGD SLE SYP THB TTD TWD TZS UGX USD YER ZMW ZWG".split(
    " ",
  );
const BLANKS = /[\s'\u2019]/g; // between thousands; \s has the blanks that do not break
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

// A list as the spreadsheets of a currency's shops read it. A byte order mark is in front: they recognise UTF-8 by it.
export function write(items, currency) {
  const [mark, point] = WITH_POINT.includes(currency) ? [",", "."] : [";", ","];
  const cellOf = (value, field) =>
    field === "Price" && /^\d+(\.\d+)?$/.test(value) ? value.replace(".", point) : quoted(neutral(value));
  const rows = items.map((one) => FIELDS.map((field) => cellOf(String(one[field] ?? ""), field)));
  return `\ufeff${[FIELDS, ...rows].map((cells) => `${cells.join(mark)}\r\n`).join("")}`;
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

// The field of each column; undefined for one that the list does not have.
const headOf = ({ cells }) =>
  cells.map((name) => FIELDS.find((field) => field.toLowerCase() === name.trim().toLowerCase()));

function headProblem(head, { line }) {
  const twice = head.find((field, number) => field && head.indexOf(field) !== number);
  if (twice) return { line, column: twice, code: "twice" };
  const missing = ["Code", "Title"].filter((field) => !head.includes(field));
  return missing[0] === "Code" && { line, column: missing.join(", "), code: "noColumn" }; // items that are known have a title
}

// A price without the sign of a currency and blanks between thousands. Of two marks the last one has the decimals; a single
// mark has them too, so that 1.500 is no price.
function priceOf(cell, currency, digits) {
  const text = cell
    .replace(new RegExp(`^${currency}|${currency}$|^R(?=[\\s\\d])|\\p{Sc}`, "u"), "")
    .replace(BLANKS, "");
  const [, whole, fraction = ""] =
    /^(\d+|\d{1,3}(?:,\d{3})+(?=\.)|\d{1,3}(?:\.\d{3})+(?=,))(?:[.,](\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return { code: "price" };
  if (fraction.length > digits) return { code: "decimals" };
  return whole.replace(/[.,]/g, "") + (fraction && `.${fraction}`);
}

// A cell as the value of a field, or {code} of its problem.
function cellValueOf(field, cell, { taxes, digits, currency }) {
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
  return field === "Price" ? priceOf(text, currency, digits) : text;
}

const isWrong = (value) => value !== null && typeof value === "object";

// An item of a record. A field without a column stays as it is in the list. Spreadsheets leave empty cells out at the end.
function itemOf({ line, cells }, head, before, options) {
  if (cells.slice(head.length).some((one) => one.trim())) return { problems: [{ line, code: "cells" }] };
  const values = head
    .map((field, number) => [field, cells[number] ?? ""])
    .filter(([field]) => field)
    .map(([field, cell]) => [field, cellValueOf(field, cell, options)]);
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

// The separator that a file names itself, or that its first line has.
function separatorOf(text) {
  const [, named] = /^sep=(.)(?:\r\n|\n|\r)/i.exec(text) ?? [];
  const [first] = text.split(/\r|\n/, 1);
  return { mark: named ?? [";", "\t"].find((one) => first.includes(one)) ?? ",", isNamed: Boolean(named) };
}

// Read a file for the list {taxes, items}. Prices have at most so many `digits`. Return {items, problems, others}: each problem
// has a line, often a column, and a code; `others` are the columns that no field has.
export function read(text, { items, ...options }) {
  const whole = text.replace(/^\ufeff/, "");
  const { mark, isNamed } = separatorOf(whole);
  const { records, broken } = recordsOf(whole, mark);
  const [first, ...rest] = isNamed ? records.slice(1) : records;
  const failed = (problem) => ({ items: [], problems: [problem], others: [] });
  if (broken) return failed({ line: broken, code: "quote" });
  if (!first) return failed({ line: 1, code: "empty" });
  const head = headOf(first);
  const wrong = headProblem(head, first);
  if (wrong) return failed(wrong);
  if (rest.length > MOST_ITEMS) return failed({ line: rest[MOST_ITEMS].line, code: "many" });
  const before = new Map(items.map((one) => [one.Code, one]));
  const found = rest.map((record) => itemOf(record, head, before, options));
  const problems = found.flatMap((one) => one.problems);
  const lines = rest.map((one) => one.line);
  const all = found.map((one) => one.item ?? {});
  problems.push(...twice(all, lines, "Code", (code) => code), ...twice(all, lines, "Barcode", comparable));
  const others = first.cells.filter((name, number) => name.trim() && !head[number]);
  return { items: all, problems: problems.sort((one, other) => one.line - other.line), others };
}

// The list with the items of a file: the others stay, and new ones are the last.
export function withItems(before, items) {
  const read = new Map(items.map((one) => [one.Code, one]));
  const known = new Set(before.map((one) => one.Code));
  return [...before.map((one) => read.get(one.Code) ?? one), ...items.filter((one) => !known.has(one.Code))];
}
