// Sums of takings: the interface's rows, one per day (and hour), till, kind and currency.
import { isZero, sum } from "./money.js";
import { merchant, session } from "./session.js";

// The sums of rows in one currency.
export function total(rows, currency) {
  const add = (name) => (rows.length ? sum(rows.map((row) => row[name])) : zero());
  const count = (name) => rows.reduce((counted, row) => counted + row[name], 0);
  return {
    currency,
    payments: count("Payments"),
    amount: add("Amount"),
    reversals: count("Reversals"),
    reversed: add("AmountReversed"),
    net: add("Net"),
    discounts: add("Discounts"),
    leftToPay: add("LeftToPay"),
  };
}

// Zero, with the decimals of the merchant's currency.
function zero() {
  const digits = session().me.CurrencyDigits;
  return digits ? `0.${"0".repeat(digits)}` : "0";
}

// The currencies of rows, the merchant's own first. Without rows, only the merchant's own.
export function currencies(rows) {
  const own = merchant().CurrencyID;
  const found = [...new Set(rows.map((row) => row.CurrencyID))].sort();
  if (!own) return found.length ? found : [null];
  return [own, ...found.filter((currency) => currency !== own)];
}

export const of = (rows, currency) => rows.filter((row) => row.CurrencyID === currency);

// Rows by their `key`.
export function inGroups(rows, key) {
  const groups = new Map();
  for (const row of rows) groups.set(key(row), [...(groups.get(key(row)) ?? []), row]);
  return groups;
}

// The sums of each group of rows.
export const grouped = (rows, key, currency) =>
  [...inGroups(rows, key)].map(([name, held]) => ({ name, row: held[0], ...total(held, currency) }));

export const byNet = (one, other) => Number(other.net) - Number(one.net) || (isZero(one.amount) ? 1 : -1);
