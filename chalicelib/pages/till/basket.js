// The basket of a sale: lines of goods, discounts and a typed amount, in whole minor units. Pure functions: no browser, no
// words. A line is {code, title, price, quantity, unit, taxes, off}: `price` of one in minor units, `quantity` a decimal
// text. A discount is {percent}, a decimal text, or {minor}; null for none.
import { comparable, meanings } from "../kit/barcodes.js";
import { coinOf } from "../kit/coins.js";

export const MAX_LINES = 100; // of a request, with its discounts
export const MAX_SUM = 99_999_999_999; // of one sale, in minor units
const MAX_TITLE = 128;

export const EMPTY = { lines: [], off: null, figures: "" };
export const isEmpty = ({ lines, figures }) => !lines.length && !Number(figures);

function exact(text) {
  const [whole, fraction = ""] = text.split(".");
  return { units: BigInt(whole + fraction), one: 10n ** BigInt(fraction.length) };
}

// minor × text ÷ divisor, rounded half up.
function times(minor, text, divisor = 1n) {
  const { units, one } = exact(text);
  const whole = one * divisor;
  return Number((2n * BigInt(minor) * units + whole) / (2n * whole));
}

export const fullOf = ({ price, quantity }) => times(price, quantity);

function discountOf(full, off) {
  if (!off) return 0;
  return Math.min(full, off.percent ? times(full, off.percent, 100n) : off.minor);
}

const netOf = (line) => fullOf(line) - discountOf(fullOf(line), line.off);

// The lines with the typed amount, which has a title and taxes among goods.
const allLines = ({ lines, figures }, title, taxes) =>
  Number(figures) ? [...lines, { code: "", title, price: Number(figures), quantity: "1", taxes, off: null }] : lines;

export const goodsOf = (basket) => allLines(basket).reduce((sum, line) => sum + netOf(line), 0);
export function sumOf(basket) {
  const goods = goodsOf(basket);
  return goods - discountOf(goods, basket.off);
}

// The amount to pay. In cash the sum is rounded to the smallest coin in use.
export function dueOf(basket, { tender, currency, country }) {
  const sum = sumOf(basket);
  if (tender !== "cash" || !sum) return sum;
  const coin = coinOf(currency, country);
  const rounded = Math.max(coin, Math.floor(sum / coin + 0.5) * coin);
  return rounded > MAX_SUM ? rounded - coin : rounded;
}

// Parts of `whole` in the proportion of `amounts`, by largest remainder; of equal ones the earlier gets the unit.
function shares(whole, amounts) {
  const sum = amounts.reduce((total, one) => total + BigInt(one), 0n);
  const parts = amounts.map((amount, place) => {
    const product = BigInt(whole) * BigInt(amount);
    return { place, part: Number(product / sum), rest: product % sum };
  });
  let left = whole - parts.reduce((total, one) => total + one.part, 0);
  for (const one of [...parts].sort((a, b) => (a.rest === b.rest ? a.place - b.place : a.rest < b.rest ? 1 : -1))) {
    if (!left) break;
    one.part += 1;
    left -= 1;
  }
  return parts.map((one) => one.part);
}

const cut = (text) => [...text].slice(0, MAX_TITLE).join("");
const aDiscount = (title, minor, taxes) => ({ title: cut(title), price: -minor, quantity: "1", taxes, minor: -minor });

// The lines as they are sold and printed: {title, price, quantity, taxes, minor}. A discount is a line of its own with
// the taxes of its goods; that on all has one for each set of taxes. `words` is {amount, discount, discountOn(title)},
// `typedTaxes` the taxes of the typed amount.
export function soldLines(basket, words, typedTaxes = []) {
  if (!basket.lines.length) return [];
  const sold = [];
  const byTaxes = new Map();
  for (const line of allLines(basket, words.amount, typedTaxes)) {
    const full = fullOf(line);
    const off = discountOf(full, line.off);
    const title = cut(line.unit ? `${line.title} (${line.unit})` : line.title);
    sold.push({ title, price: line.price, quantity: line.quantity, taxes: line.taxes, minor: full });
    if (off) sold.push(aDiscount(words.discountOn(line.title), off, line.taxes));
    const taxes = line.taxes.join(" ");
    byTaxes.set(taxes, { taxes: line.taxes, net: (byTaxes.get(taxes)?.net ?? 0) + full - off });
  }
  const off = discountOf(goodsOf(basket), basket.off);
  const parts = [...byTaxes.values()].filter((one) => one.net);
  const nets = parts.map((one) => one.net);
  for (const [place, minor] of off ? shares(off, nets).entries() : []) {
    if (minor) sold.push(aDiscount(words.discount, minor, parts[place].taxes));
  }
  return sold;
}

const NO_WORDS = { amount: "", discount: "", discountOn: () => "" };

// Whether the service takes a sale of this basket, as far as the number of its lines and its sum go.
export const fits = (basket, typedTaxes) =>
  goodsOf(basket) <= MAX_SUM && soldLines(basket, NO_WORDS, typedTaxes).length <= MAX_LINES;

// The basket with one more of an item. An item that is there at the same price gets one more.
export function withItem(basket, line) {
  const place = basket.lines.findIndex((one) => one.code === line.code && one.price === line.price);
  if (place < 0) return { ...basket, lines: [...basket.lines, line] };
  return withMore(basket, place, line.quantity);
}

// The basket with a line that has so much more. Of a piece that would have nothing left the line goes, of a weight it stays.
export function withMore(basket, place, more) {
  const line = basket.lines[place];
  const [a, b] = [exact(line.quantity), exact(more.replace("-", ""))];
  const one = a.one > b.one ? a.one : b.one;
  const units = a.units * (one / a.one) + (more.startsWith("-") ? -1n : 1n) * b.units * (one / b.one);
  if (units <= 0n) return line.unit || a.one > 1n ? basket : without(basket, place);
  const fraction =
    one > 1n
      ? String(units % one)
          .padStart(String(one).length - 1, "0")
          .replace(/0+$/, "")
      : "";
  return withLine(basket, place, { quantity: `${units / one}${fraction && `.${fraction}`}` });
}

export const withLine = (basket, place, changes) => ({
  ...basket,
  lines: basket.lines.map((line, number) => (number === place ? { ...line, ...changes } : line)),
});
export function without(basket, place) {
  const lines = basket.lines.filter((_, number) => number !== place);
  return { ...basket, lines, off: lines.length ? basket.off : null };
}

// The items of a price list that can be sold in a currency with so many decimals.
export const sellable = (items, digits) =>
  items.filter(
    (item) =>
      item.Active !== false && (item.Price === null || (String(item.Price).split(".")[1] ?? "").length <= digits),
  );

const plain = (text) => (text ?? "").normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

export function matching(items, typed) {
  const sought = plain(typed).split(/\s+/).filter(Boolean);
  return items.filter((item) => {
    const text = plain(`${item.Title} ${item.Code} ${item.Barcode ?? ""} ${item.Group ?? ""}`);
    return sought.every((word) => text.includes(word));
  });
}

// The item whose barcode or code equals a scanned or typed text, or undefined.
export function scanned(items, text) {
  const meant = meanings(text);
  const byField = (field) => items.find((item) => item[field] && meant.includes(comparable(item[field])));
  return byField("Barcode") ?? byField("Code");
}

// [group, its items], in the order of the list; items without a group are the first.
export function byGroup(items) {
  const groups = new Map([["", []]]);
  for (const item of items) groups.set(item.Group ?? "", [...(groups.get(item.Group ?? "") ?? []), item]);
  return [...groups].filter(([, held]) => held.length);
}
