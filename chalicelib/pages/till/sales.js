// The sales of this agent, or with a right those of the shop: those of a day that the service has, from every device, and on
// top those of this device that it may not have. Without connection, those that this device keeps.
import { addDays, dayInZone, formatDay, formatMoment, isDay, shownDay } from "../kit/dates.js";
import { GiveBack, canReturn } from "../kit/giving_back.js";
import { useLoaded, useRead } from "../kit/load.js";
import { format, isZero, negative, sought } from "../kit/money.js";
import { Field, Money } from "../kit/parts.js";
import { inOneList, isReversal, isUnknown, returnsOf, tookMoney } from "../kit/payments.js";
import { address, parse } from "../kit/route.js";
import { seesAll } from "../kit/session.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { ReceiptOf, amountOf, numberWords, timeOf } from "./receipt.js";
import { currencyOf } from "./account.js";
import { State, TENDERS, shownState } from "./rules.js";
import { reasonOf } from "./result.js";
import { isWaiting } from "./store.js";
import { texts } from "./texts.js";
import { serviceNow } from "./clock.js";
import { ask, change, isEnded, leftSales, queue, saleOf, sales } from "./till.js";

const PAGE = 100; // of the service's list
const SEARCHED_DAYS = 31;
const TYPING_MS = 400;
const KINDS = { paid: "good", waiting: "warn", unknown: "warn", parked: "bad", declined: "bad" };
const DAY_MS = 86_400_000;

// Download a file with all facts of one sale or of several, so that somebody can book them by hand.
export function exportSales(facts, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(facts, null, 2)], { type: "application/json" }));
  link.download = `${name}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

// The name of an InputType.
export function tenderName(inputType) {
  const name = Object.keys(TENDERS).find((one) => TENDERS[one].inputType === inputType);
  return texts.kinds[name] ?? texts.card;
}

// The merchant's day now, by the service's clock.
export const todayOf = ({ session }) => dayInZone(session.gmt, serviceNow());

export const DayField = ({
  view,
  query,
  day,
  today,
}) => html`<${Field} id="day" type="date" label=${texts.list.day} value=${day} max=${today}
  onChange=${({ target }) => {
    location.hash = address(view, { ...query, day: isDay(target.value) && target.value !== today && target.value });
  }} />`;

// A row of a sale on this device, and of a payment or a return of the service.
const ofDevice = (sale) => ({
  id: sale.id,
  state: shownState(sale),
  amount: amountOf(sale),
  currency: sale.draft.currency,
  tender: texts.kinds[sale.draft.tender],
  time: timeOf(sale),
  number: numberWords(sale),
  description: sale.draft.description,
  sale,
  words: (sale.isReturned && texts.list.returned) || (sale.isPartReturned && texts.list.partReturned),
  reason: sale.reason && reasonOf(sale.reason, sale.draft),
});

function ofService(payment) {
  const state = isUnknown(payment) ? State.UNKNOWN : tookMoney(payment) ? State.PAID : State.DECLINED;
  const isReturn = isReversal(payment);
  return {
    id: payment.ID,
    state,
    amount: isReturn ? negative(payment.Amount) : payment.Amount,
    currency: payment.CurrencyID,
    tender: tenderName(payment.InputType),
    time: formatMoment(payment.Date),
    number: texts.number(payment.Invoice),
    description: payment.Description,
    payment,
    isReturn,
    words: isReturn
      ? state === State.PAID && texts.list.givenBack
      : !isZero(payment.AmountRvs) && (isZero(payment.AmountEff) ? texts.list.returned : texts.list.partReturned),
    reason: state === State.DECLINED && payment.Result?.Message,
  };
}

const isQueued = (sale) => isWaiting(sale) || sale.state === State.PARKED;

// Whether a sale of this device is of the day, or with a search has the searched text.
function fits(sale, { day, search }) {
  if (!search) return dayInZone(sale.gmt, sale.takenAt) === day;
  const texts = [sale.number, sale.invoice, sale.draft.description, amountOf(sale)];
  return texts.some((one) => one?.toLowerCase().includes(search.toLowerCase()));
}

// The service said at the payment whether it can be returned. Some payments can be returned only after their day.
const mayReturn = ({ sale, payment }) =>
  payment
    ? canReturn(payment)
    : sale.state === State.PAID && !sale.isReturned && (sale.canReturn || serviceNow() - sale.takenAt > DAY_MS);

// The returns of a payment. One is known by its ID.
function Returns({ payment }) {
  const { CountRvs: count, AmountRvs: amount } = payment;
  const { data } = useLoaded(
    async () => (count > 1 ? returnsOf(payment) : [{ ID: payment.ReverseID, Amount: amount }]),
    `${count} ${amount}`,
  );
  return html`<ul class="returns">${(data ?? []).map(
    (one) => html`<li key=${one.ID} class="line">
    <span id=${`return-${one.ID}`}>${texts.return.done(format(one.Amount, payment.CurrencyID))}</span><${ReceiptOf} row=${`return-${one.ID}`} id=${one.ID} name=${texts.list.returnReceipt} /></li>`,
  )}
    ${data?.length !== count && html`<li>${texts.return.done(format(amount, payment.CurrencyID))}</li>`}</ul>`;
}

function Row({ row, country, isOnline, givesBack, hasEnded, onChanged, onReturning }) {
  const { id, state, sale, payment, isReturn } = row;
  const name = `sale-${id}`;
  const returned = async () => {
    const [changed] = (await ask("GET", `payment/${id}`))?.Transactions ?? [];
    if (!changed) return;
    change(id, isZero(changed.AmountEff) ? { isReturned: true } : { isPartReturned: !isZero(changed.AmountRvs) });
    onChanged(changed);
  };
  return html`<li ...${isReturn ? { "data-return-id": id } : { "data-sale-id": id }} data-state=${state}>
    <p class="line" id=${name}><b><${Money} amount=${row.amount} currency=${row.currency} /></b> <span>${row.tender}</span>
      <span class=${`badge ${KINDS[state]}`}>${row.words || texts.results[state]}</span></p>
    <p class="line dim"><time>${row.time}</time> ${row.number && html`<span>${row.number}</span>`}${seesAll() && payment && html` <span>${payment.TransPos.Name}</span>`}</p>
    ${isReturn && html`<p class="dim">${texts.list.ofNumber(payment.ReverseInvoice)}</p>`}
    ${row.description && html`<p>${row.description}</p>`}
    ${row.reason && html`<p class="note bad">${isReturn ? texts.return.declined(row.reason) : `${row.reason} ${texts.explained[state]}`}</p>`}
    ${hasEnded && sale && isWaiting(sale) && html`<p class="note warn">${texts.explained.ended}</p>`}
    ${sale?.hasNoReceipt && html`<p class="note warn">${texts.noReceiptSent}</p>`}
    <div class="actions">
      ${
        sale?.state === State.PARKED &&
        html`<button type="button" aria-describedby=${name} onClick=${() => queue.sendAgain(id)}>${texts.list.sendAgain}</button>
        <button type="button" aria-describedby=${name} onClick=${() => exportSales(sale, `sale-${sale.number}`)}>${texts.list.export}</button>`
      }
      <${GiveBack} id=${id} row=${name} currency=${row.currency} country=${country} isOffline=${!isOnline} mayReturn=${mayReturn(row) && givesBack} onChanged=${returned} onOpen=${onReturning} />
      ${(sale || state === State.PAID) && html`<${ReceiptOf} row=${name} id=${id} sale=${sale} />`}
    </div>
    ${payment?.CountRvs > 0 && !isReturn && html`<${Returns} payment=${payment} />`}
  </li>`;
}

// The sales of this device that wait or are parked, and those that did so since this view began, newest first.
function useQueued({ revision }) {
  const [held, hold] = useState([]);
  useRead(
    async () => {
      const queued = await leftSales();
      const ids = new Set(queued.map((sale) => sale.id));
      const gone = held.filter((sale) => !ids.has(sale.id));
      const settled = await Promise.all(gone.map((sale) => (isQueued(sale) ? saleOf(sale.id) : sale)));
      return [...queued, ...settled.filter(Boolean)].sort((one, other) => other.counter - one.counter);
    },
    hold,
    [revision],
  );
  return held;
}

// The pages of the service's list as one, or null where it does not answer. A search looks in the days before too.
function useListed({ isOnline, session: { agent, token } }, { day, search }) {
  const [listed, list] = useState({});
  const asked = `${day} ${search}`;
  const wanted = `${asked} ${token} ${isOnline}`;
  const latest = useRef(wanted);
  latest.current = wanted;
  const load = async (page) => {
    const period = { From: search ? addDays(day, 1 - SEARCHED_DAYS) : day, To: day };
    const answer =
      isOnline &&
      (await ask("POST", "payment/listHistoryEx", {
        Period: period,
        ListBasicModel: { ...(!seesAll() && { AccountID: agent }), Page: page, ...(search && { Search: search }) },
      }));
    if (latest.current !== wanted) return;
    list((before) => {
      const payments = page > 1 ? before.payments : [];
      const known = new Set(payments.map((one) => one.ID)); // a sale of this moment moves the others to the next page
      const found = answer ? inOneList(answer).filter((one) => !known.has(one.ID)) : [];
      return {
        asked,
        wanted,
        page,
        isLost: !answer,
        hasMore: answer && page < answer.TransactionsCounters.PageCount,
        payments: [...payments, ...found],
      };
    });
  };
  useLayoutEffect(() => {
    load(1);
  }, [wanted]);
  const replace = (payment) =>
    list((before) => {
      if (before.asked !== asked) return before; // it is of another list
      const isThere = before.payments.some((one) => one.ID === payment.ID);
      return {
        ...before,
        payments: isThere
          ? before.payments.map((one) => (one.ID === payment.ID ? payment : one))
          : [payment, ...before.payments],
      };
    });
  const shown = listed.asked === asked ? listed : {}; // nothing of an earlier search stands under this one
  return { ...shown, isLoading: listed.wanted !== wanted, load, replace };
}

// The kept sales of this device and a day, newest first; with a search, of any day.
function useKept(isWanted, { revision }, wanted) {
  const [count, setCount] = useState(PAGE);
  const [read, show] = useState({});
  const asked = `${wanted.day} ${wanted.search}`;
  const load = async () => isWanted && sales(count, (sale) => fits(sale, wanted)).catch(() => []);
  useRead(load, (found) => found && show({ asked, found }), [isWanted, count, revision, asked]);
  const kept = read.asked === asked ? read.found : null;
  return { kept, hasMore: kept?.length === count, more: () => setCount(count + PAGE) };
}

function Search({ query, onTyping }) {
  const { search: asked = "" } = query;
  const [typed, type] = useState(asked);
  const sent = useRef(asked);
  const find = () => {
    sent.current = typed.trim();
    location.replace(address("sales", { ...parse(location.hash).query, search: sent.current })); // the day may be another by now
  };
  useLayoutEffect(() => {
    if (asked !== sent.current) type((sent.current = asked));
  }, [asked]); // somebody went back
  useLayoutEffect(() => {
    onTyping(typed.trim() !== asked);
    if (typed.trim() === asked) return undefined;
    const timer = setTimeout(find, TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, asked]);
  return html`<form role="search" onSubmit=${(event) => {
    event.preventDefault();
    find();
  }}>
    <${Field} id="search" type="search" label=${texts.list.search} autocomplete="off" maxlength="256" value=${typed} onInput=${({ target }) => type(target.value)} />
  </form>`;
}

// The rows, as they were while a return is open, and after it until the service's list is read: its dialog and its outcome are
// in one of them.
function useStill(rows, isRead) {
  const [held, hold] = useState(null);
  const isOpen = useRef(false);
  const onReturning = (isBegun, isAnswered) => {
    isOpen.current = isBegun;
    if (isBegun) hold(rows);
    else if (!isAnswered) hold(null);
  };
  useLayoutEffect(() => {
    if (held && !isOpen.current && isRead) hold(null);
  });
  return { shown: held ?? rows, onReturning };
}

export function Sales({ state, query }) {
  const [limit, setLimit] = useState(PAGE);
  const [isTyping, setTyping] = useState(false); // another search: the rows of the one before are gone
  const today = todayOf(state);
  const wanted = { day: shownDay(query, today), search: sought(query.search ?? "", currencyOf(state).currency) };
  const queued = useQueued(state);
  const listed = useListed(state, wanted);
  const isAlone = !state.isOnline || (listed.isLost && !listed.isLoading);
  const { kept, hasMore, more } = useKept(isAlone, state, wanted);
  const changed = new Set(listed.payments?.filter((one) => !isZero(one.AmountRvs)).map((one) => one.ID)); // newer than this device's
  const onTop = queued.filter(
    (sale) => !changed.has(sale.id) && ((isQueued(sale) && !wanted.search) || fits(sale, wanted)),
  );
  const ids = new Set(onTop.map((sale) => sale.id));
  const others = isAlone ? (kept ?? []).map(ofDevice) : (listed.payments ?? []).map(ofService);
  const known = new Set([...others, ...onTop].map(({ id }) => id));
  const rows = isTyping
    ? []
    : [
        ...onTop.map(ofDevice),
        ...others.filter((one) => !ids.has(one.id) && !(one.isReturn && known.has(one.payment.ReverseID))),
      ];
  const isLoading = isTyping || (isAlone ? !kept : listed.isLoading);
  const { shown, onReturning } = useStill(rows, !isAlone && !isLoading);
  const next = isAlone ? hasMore && more : listed.hasMore && (() => listed.load(listed.page + 1));
  const showMore = () => {
    setLimit(limit + PAGE);
    if (next && rows.length < limit + PAGE) next();
  };
  return html`<section class="sales"><h1>${texts.sales}</h1>
    <div class="asked"><${DayField} view="sales" query=${query} day=${wanted.day} today=${today} /><${Search} query=${query} onTyping=${setTyping} /></div>
    ${
      isAlone &&
      html`<div class="note warn" role="status"><p>${shown.length || isLoading ? texts.list.alone : texts.list.aloneNone}</p>
      ${state.isOnline && html`<button type="button" onClick=${() => listed.load(1)}>${texts.retry}</button>`}</div>`
    }
    ${wanted.search && !isAlone && html`<p class="dim">${texts.list.searched(formatDay(wanted.day))}</p>`}
    <ul aria-busy=${isLoading}>${shown.slice(0, limit).map((row) => html`<${Row} key=${row.id} row=${row} country=${state.country} hasEnded=${isEnded(state)} isOnline=${state.isOnline} givesBack=${state.isOnline && state.features?.Returns !== false} onChanged=${listed.replace} onReturning=${onReturning} />`)}</ul>
    ${isLoading ? html`<p class="loading" role="status">${texts.loading}</p>` : !shown.length && !isAlone && html`<p class="empty" role="status">${wanted.search ? texts.list.notFound : texts.list.none}</p>`}
    ${(next || rows.length > limit) && html`<button type="button" onClick=${showMore}>${texts.list.more}</button>`}
  </section>`;
}
