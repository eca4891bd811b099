// The basket of a sale: lines of goods, discounts and a typed amount, in whole minor units. Pure functions: no browser, no
// words. A line is {code, title, price, isTyped, quantity, unit, taxes, off, note}: `price` of one in minor units, `isTyped` if
// somebody typed it, `quantity` a decimal text. A discount is {percent}, a decimal text, or {minor}; null for none.
import { comparable, meanings } from "../kit/barcodes.js";
import { coinOf } from "../kit/coins.js";

export const MAX_LINES = 100; // of a request
export const MAX_SUM = 99_999_999_999; // of one sale, in minor units
const MAX_TITLE = 128;
const [MAX_FAVOURITES, MIN_SALES] = [6, 3]; // a favourite is in so many sales

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

export const offOf = (line) => discountOf(fullOf(line), line.off);
const netOf = (line) => fullOf(line) - offOf(line);

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

const titled = ({ title, unit, note }) =>
  [...[unit ? `${title} (${unit})` : title, note].filter(Boolean).join(" · ")].slice(0, MAX_TITLE).join("");

// The lines as they are sold and printed: {title, price, quantity, taxes, minor, discount}. `minor` is what the line comes to less
// its `discount`. A discount on all is shared by what the lines cost. A typed amount has a title and taxes among goods.
export function soldLines(basket, amount = "", typedTaxes = []) {
  if (!basket.lines.length) return [];
  const lines = allLines(basket, amount, typedTaxes);
  const goods = goodsOf(basket);
  const off = discountOf(goods, basket.off);
  const shared = off ? shares(off, lines.map(netOf)) : lines.map(() => 0);
  return lines.map((line, place) => ({
    title: titled(line),
    price: line.price,
    quantity: line.quantity,
    taxes: line.taxes,
    minor: netOf(line) - shared[place],
    discount: offOf(line) + shared[place],
  }));
}

// Whether the service takes a sale of this basket, as far as the number of its lines and its sum go.
export const fits = (basket) => goodsOf(basket) <= MAX_SUM && allLines(basket).length <= MAX_LINES;

// How many pieces there are. A weight and a typed amount count as one.
export const countOf = (basket) =>
  allLines(basket).reduce(
    (sum, { unit, quantity }) => sum + (unit || quantity.includes(".") ? 1 : Number(quantity)),
    0,
  );

// The basket with one more of an item. An item that is there at the same price, without a note, gets one more.
export function withItem(basket, line) {
  const place = basket.lines.findIndex((one) => one.code === line.code && one.price === line.price && !one.note);
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

// The items that have each word that is sought: first those whose title has it at the beginning of a word, then those whose
// title has it, then those with another field that has it.
export function matching(items, typed) {
  const sought = plain(typed).split(/\s+/).filter(Boolean);
  const has = (text) => sought.every((word) => text.includes(word));
  const ranked = items.map((item) => {
    const title = plain(item.Title);
    const isBeginning = sought.every((word) => ` ${title}`.includes(` ${word}`));
    const rest = plain(`${item.Code} ${item.Barcode ?? ""} ${item.Group ?? ""}`);
    return { item, rank: isBeginning ? 0 : has(title) ? 1 : has(`${title} ${rest}`) ? 2 : 3 };
  });
  return [0, 1, 2].flatMap((rank) => ranked.filter((one) => one.rank === rank).map(({ item }) => item));
}

// The item whose barcode or code equals a scanned or typed text, or undefined.
export function scanned(items, text) {
  const meant = meanings(text);
  const byField = (field) => items.find((item) => item[field] && meant.includes(comparable(item[field])));
  return byField("Barcode") ?? byField("Code");
}

// The codes of the items that are in most of these sales, the most frequent first.
export function favouritesOf(sales) {
  const counts = new Map();
  for (const { draft } of sales)
    for (const { code } of draft.basket?.lines ?? []) counts.set(code, (counts.get(code) ?? 0) + 1);
  const often = [...counts].filter(([, count]) => count >= MIN_SALES).sort(([, a], [, b]) => b - a);
  return often.slice(0, MAX_FAVOURITES).map(([code]) => code);
}

// [group, its items], in the order of the list; items without a group are the first.
export function byGroup(items) {
  const groups = new Map([["", []]]);
  for (const item of items) groups.set(item.Group ?? "", [...(groups.get(item.Group ?? "") ?? []), item]);
  return [...groups].filter(([, held]) => held.length);
}
