// Money is exact: an amount is the decimal text of the service's answer, and never a float.
import { locale } from "./texts.js";

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
  return text(all.reduce((total, one) => total + scaled(one, digits), 0n), digits);
}

export const negative = (amount) => (String(amount).startsWith("-") ? String(amount).slice(1) : `-${amount}`);
export const difference = (amount, other) => sum([amount, negative(other)]);
export const isZero = (amount) => parts(amount).units === 0n;
export const isNegative = (amount) => parts(amount).units < 0n;

// Only for bars and percentages.
export const approximate = (amount) => Number(amount);

export function format(amount, currency) {
  const { digits } = parts(amount);
  const style = currency ? { style: "currency", currency, currencyDisplay: "narrowSymbol" } : {};
  const fractions = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(locale, { ...style, ...fractions }).format(String(amount));
}

// A whole number of currency units, for the scale of a chart.
export function formatScale(number, currency) {
  const style = currency ? { style: "currency", currency, currencyDisplay: "narrowSymbol" } : {};
  return new Intl.NumberFormat(locale, { ...style, notation: "compact", maximumFractionDigits: 1 }).format(number);
}

export const formatCount = (count) => new Intl.NumberFormat(locale).format(count);

// A part of a whole in per cent. Empty when it means nothing: for a whole of zero, or a part many times the whole.
export function formatShare(amount, whole) {
  const share = Math.abs(approximate(amount) / approximate(whole));
  return share < MAX_SHARE ? new Intl.NumberFormat(locale, { style: "percent" }).format(share) : "";
}

// A typed amount as a decimal: without spaces between thousands, and with a comma as a point. Null for other texts. The
// service checks the amount, even a negative one.
export function typedAmount(typed) {
  const found = /^(-?\d+)(?:[.,](\d+))?$/.exec(typed.replace(/[\s\u00a0\u202f']/g, ""));
  return found ? found[1] + (found[2] ? `.${found[2]}` : "") : null;
}
