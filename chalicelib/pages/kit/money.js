// Money is exact: an amount is the decimal text of the service's answer, and never a float.
import { language, texts } from "./language.js";

const MAX_SHARE = 5;

function parts(amount) {
  const [, sign, whole, fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(String(amount));
  return { units: BigInt(sign + whole + fraction), digits: fraction.length };
}

function text(units, digits) {
  const figures = String(units < 0n ? -units : units).padStart(digits + 1, "0");
  const point = figures.length - digits;
  return (units < 0n ? "-" : "") + figures.slice(0, point) + (digits ? `.${figures.slice(point)}` : "");
}

const scaled = ({ units, digits }, wanted) => units * 10n ** BigInt(wanted - digits);

export function sum(amounts) {
  const all = amounts.map(parts);
  const digits = Math.max(0, ...all.map((one) => one.digits));
  return text(
    all.reduce((total, one) => total + scaled(one, digits), 0n),
    digits,
  );
}

export const negative = (amount) => (String(amount).startsWith("-") ? String(amount).slice(1) : `-${amount}`);
export const difference = (amount, other) => sum([amount, negative(other)]);
export const isZero = (amount) => parts(amount).units === 0n;
export const isNegative = (amount) => parts(amount).units < 0n;

// amount × part ÷ whole, rounded half up to the decimals of the amount. None is below zero.
export function share(amount, part, whole) {
  const [{ units, digits }, taken, all] = [amount, part, whole].map(parts);
  const most = Math.max(taken.digits, all.digits);
  const divisor = scaled(all, most);
  return text((2n * units * scaled(taken, most) + divisor) / (2n * divisor), digits);
}

// An amount above zero rounded half up to coins, to at least one.
export function inCoins(amount, coin) {
  const { units, digits } = parts(amount);
  const one = BigInt(coin);
  return text(((2n * units + one) / (2n * one)) * one || one, digits);
}

// Whole minor units as an amount.
export const fromMinor = (minor, digits) => text(BigInt(minor), digits);

// An amount with at least so many decimals.
export const padded = (amount, digits) => sum([amount, text(0n, digits)]);

// Only for bars and percentages.
export const approximate = (amount) => Number(amount);

// A format is made once: the browser takes long for each.
const made = new Map();
function formatOf(options) {
  const name = JSON.stringify(options);
  if (!made.has(name)) made.set(name, new Intl.NumberFormat(language, options));
  return made.get(name);
}

const styleOf = (currency) => (currency ? { style: "currency", currency, currencyDisplay: "narrowSymbol" } : {});
const partOf = (format, number, type) => format.formatToParts(number).find((one) => one.type === type)?.value;
export const signOf = (currency) => partOf(formatOf(styleOf(currency)), 0, "currency");

// An amount in the form of the receipts: the language's marks, after the sign of the currency and a space. A typed amount
// has at least the decimals of its currency.
export function format(amount, currency, atLeast = 0) {
  const digits = Math.max(parts(amount).digits, atLeast);
  const fractions = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  const number = formatOf(fractions).format(isNegative(amount) ? negative(amount) : String(amount));
  return `${isNegative(amount) ? "-" : ""}${currency ? `${signOf(currency)}\u00a0` : ""}${number}`;
}

// A whole number of currency units, for the scale of a chart.
export function formatScale(number, currency) {
  return formatOf({ ...styleOf(currency), notation: "compact", maximumFractionDigits: 1 }).format(number);
}

export const formatCount = (count) => formatOf({}).format(count);

// A part of a whole in per cent. Empty when it means nothing: for a whole of zero, or a part many times the whole.
export function formatShare(amount, whole) {
  const share = Math.abs(approximate(amount) / approximate(whole));
  return share < MAX_SHARE ? formatOf({ style: "percent" }).format(share) : "";
}

export const decimalMark = () => partOf(formatOf({ minimumFractionDigits: 1 }), 0, "decimal");
const groupMark = () => partOf(formatOf({ useGrouping: "always" }), 1_000_000, "group");

const withoutSign = (typed, currency) => {
  const sign = currency
    ? [currency, signOf(currency)].find((one) => typed.replace("-", "").trimStart().startsWith(one))
    : null;
  return sign ? typed.replace(sign, "") : typed.replace(/\p{Sc}/u, "");
};

// A number without sign and spaces, as {number}, a decimal text; {isAmbiguous} where a mark may stand before thousands or
// before a fraction; else {}. The language decides what a mark means, and the decimals that the field takes.
function readNumber(text, decimals) {
  const marks = text.match(/[.,]/g) ?? [];
  const [whole, ...others] = text.split(/[.,]/);
  const isGrouped = (parts) => /^-?[1-9]\d{0,2}$/.test(whole) && parts.every((one) => one.length === 3);
  if (!/^-?\d+([.,]\d+)*$/.test(text)) return {};
  const [first, last] = [marks[0], marks.at(-1)];
  if (marks.length === 1 && first === groupMark() && isGrouped(others))
    return decimals > 2 ? { isAmbiguous: true } : { number: whole + others[0] };
  if (marks.length > 1 && first === last) return isGrouped(others) ? { number: whole + others.join("") } : {};
  const groups = others.slice(0, -1);
  if (groups.length && !(isGrouped(groups) && marks.slice(0, -1).every((one) => one === first))) return {};
  return { number: [whole + groups.join(""), ...others.slice(-1)].join(".") };
}

const bare = (typed, currency) => withoutSign(typed, currency).replace(/[\s']/g, "");

// A typed amount as a decimal, or null: without the sign of its currency, spaces and marks between thousands. In all fields
// a text means the same, or is refused.
export const typedAmount = (typed, currency, decimals = 2) =>
  readNumber(bare(typed, currency), decimals).number ?? null;

// Why a text is no number: in the words of the page, or `usual`.
export const wrongNumber = (typed, usual, currency, decimals = 2) =>
  readNumber(bare(typed, currency), decimals).isAmbiguous ? texts.ambiguous : usual;

const QUANTITY_DECIMALS = 3;
const MAX_QUANTITY = /^\d{1,5}(\.\d{1,3})?$/;

// A typed quantity or per cent as a decimal text above zero, or null.
export function typedQuantity(typed) {
  const number = typedAmount(typed, undefined, QUANTITY_DECIMALS);
  return MAX_QUANTITY.test(number ?? "") && Number(number) > 0 ? number : null;
}
export const wrongQuantity = (typed, usual) => wrongNumber(typed, usual, undefined, QUANTITY_DECIMALS);

// A search as the service takes it: an amount in the form in which the page shows it becomes a decimal without a sign.
// Other texts stay, such as telephone numbers and references.
export function sought(typed, currency) {
  const isAmount = /[.,]\d+$|^-?(\p{Sc}|\p{L}+\s)/u.test(typed.trim());
  const amount = isAmount ? typedAmount(typed, currency) : null;
  return amount === null ? typed : amount.replace("-", "");
}
