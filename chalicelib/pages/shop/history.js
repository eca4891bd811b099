// The history of payments, with the interface's filters as they stand in the view's address.
import { call, Refusal } from "../kit/api.js";
import { addDays, isDay } from "../kit/dates.js";
import { sought } from "../kit/money.js";
import { found as read, inOneList, isReversal, isUnknown, returnsOf, tookMoney } from "../kit/payments.js";
import { parse } from "../kit/route.js";
import { account, merchant, today } from "../kit/session.js";
import { showMerchantOf } from "./merchants.js";
import { language } from "../kit/language.js";
import { texts } from "./texts.js";

// The filters: their names in the address, and in the interface.
export const FILTERS = {
  search: "Search",
  till: "AccountID",
  kind: "InputType",
  operation: "Operation",
  late: "Late",
  acquirer: "AcquirerCode",
  invoice: "Invoice",
  rrn: "RRN",
  extid: "ExtID",
};
const NUMBERS = new Set(["till", "kind", "operation"]);
const MONTH_DAYS = 31; // listed without a period
const MAX_DAYS = 366; // of a list

export function bodyOf(query) {
  const model = { ...account(), Sort: query.sort === "asc" ? "Date asc" : "Date desc", Page: Number(query.page) || 1 };
  for (const [name, field] of Object.entries(FILTERS)) {
    if (query[name]) model[field] = NUMBERS.has(name) ? Number(query[name]) || query[name] : query[name];
  }
  if (model.Late) model.Late = true;
  if (model.Search) model.Search = sought(model.Search, merchant().CurrencyID);
  const period = {};
  if (isDay(query.from)) period.From = query.from;
  if (isDay(query.to)) period.To = query.to;
  return { Period: period, ListBasicModel: model };
}

// The days that a list shows: the first and the last. Null: any day.
export function daysShown({ from, to, extid }) {
  const [first, last] = [isDay(from) ? from : null, isDay(to) ? to : null];
  if (!first && !last) return extid ? null : [addDays(today(), 1 - MONTH_DAYS), today()];
  return [first ?? last, last ?? today()];
}

// Refuse days that go backwards in the words of the page.
function checkDays({ from, to }) {
  if (isDay(from) && isDay(to) && to < from) throw new Refusal({ message: texts.backwards });
}

export async function listed(query) {
  checkDays(query);
  const answer = await call("payment/listHistoryEx", bodyOf(query));
  const newestFirst = inOneList(answer);
  return {
    payments: query.sort === "asc" ? newestFirst.reverse() : newestFirst,
    counters: answer.TransactionsCounters,
  };
}

export async function exported(query) {
  checkDays(query);
  return (await call("report/export", { ...bodyOf({ ...query, page: "" }), Lang: language })).Url;
}

// The sales of days that are over which arrived after them: at most those of the latest hundred late sales.
export async function arrivedAfter(first, last) {
  const [next, now] = [addDays(last, 1), today()];
  if (next > now) return [];
  const from = [next, addDays(now, 1 - MAX_DAYS)].sort()[1];
  const { payments } = await listed({ from, to: now, late: "1" });
  const dayOf = (payment) => payment.Date.slice(0, 10);
  return payments.filter((one) => dayOf(one) >= first && dayOf(one) <= last);
}

// A journal has the shown days that are over, and of the filters only the till.
export async function exportedJournal(query, format, accounts) {
  checkDays(query);
  const [first, last] = daysShown({ ...query, extid: "" });
  const yesterday = addDays(today(), -1);
  const period = { From: first, To: last < yesterday ? last : yesterday };
  return (
    await call("report/export", { ...bodyOf({ till: query.till }), Format: format, Period: period, Accounts: accounts })
  ).Url;
}

// A payment. A system user's page shows its merchant from then on.
export async function found(id) {
  const payment = await read(id);
  if (parse(location.hash).id === id) await showMerchantOf(payment); // else it was left
  return payment;
}

export { isReversal, isUnknown, returnsOf, tookMoney };
