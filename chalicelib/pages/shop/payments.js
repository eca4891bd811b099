// Payments: the history with search and filters, page by page. The address holds the filters.
import { formatDate, formatTime } from "../kit/dates.js";
import { Export } from "./export.js";
import { bodyOf, daysShown, FILTERS, isReversal, isUnknown, listed, tookMoney } from "./history.js";
import { kindName } from "./kinds.js";
import { KINDS } from "../kit/kinds.js";
import { useIsLeft } from "../kit/left.js";
import { useLoaded } from "../kit/load.js";
import { format, formatCount, isZero, negative } from "../kit/money.js";
import { Field, Loaded, Money, problemOf } from "../kit/parts.js";
import { address, go } from "../kit/route.js";
import { isManager, merchant, session, today } from "../kit/session.js";
import { idOfAny } from "./merchants.js";
import { allTills, hasOwnList } from "./till_list.js";
import { ByDay, Pages } from "./tables.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

const AWAITING_COMPLETION = 401;
const GIVEN_BACK = 502;

const isPartlyReturned = (payment) =>
  !isReversal(payment) && payment.Substate !== GIVEN_BACK && !isZero(payment.AmountRvs);

function lookOf(payment) {
  if (payment.IsNotFinished || payment.Substate === AWAITING_COMPLETION) return "warn";
  if (!tookMoney(payment)) return "bad";
  return payment.Substate === GIVEN_BACK || isPartlyReturned(payment) ? "" : "good";
}

export function Badge({ payment }) {
  const words = isPartlyReturned(payment)
    ? texts.partlyReturned
    : (texts.states[payment.Substate] ?? payment.StateDisplay);
  return html`<span class=${`badge ${lookOf(payment)}`}>${words}</span>`;
}

export const shownAmount = (payment) => (isReversal(payment) ? negative(payment.Amount) : payment.Amount);

// The kind of payment and the card's last digits.
export const meansOf = (payment) =>
  kindName(payment.InputType) + (payment.Card.PANEnding ? ` •••• ${payment.Card.PANEnding}` : "");

// The day of a reversal's payment, which stands in a receipt number of the service.
function originalDay({ ReverseInvoice }) {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)\.\d+\.\d+$/.exec(ReverseInvoice ?? "") ?? [];
  return year && `20${year}-${month}-${day}`;
}

function Row({ payment }) {
  const operation = texts.operations[payment.OperationID];
  const { Received } = payment;
  const day = payment.Date.slice(0, 10);
  const soldOn = isReversal(payment) && originalDay(payment);
  const isLate = Received && Received.slice(0, 10) > day;
  const remarks = [
    soldOn && soldOn !== day && texts.payments.soldOn(formatDate(soldOn)),
    Received && (isLate ? texts.payments.late(formatDate(Received)) : texts.offline),
  ];
  const what = isReversal(payment)
    ? [operation, payment.Description].filter(Boolean).join(": ")
    : (payment.Description ?? operation);
  const moved = tookMoney(payment) || payment.IsNotFinished ? "" : " none";
  return html`<li data-id=${payment.ID}><a href=${address("payments", {}, payment.ID)}>
    <time>${formatTime(payment.Date)}</time>
    <span class="what">${what}</span>
    <span class="means">${[meansOf(payment), ...remarks].filter(Boolean).join(" · ")}</span>
    <span class="till">${payment.TransPos.Name}</span>
    <${Badge} payment=${payment} />
    <span class=${`amount${moved}`}><${Money} amount=${shownAmount(payment)} currency=${payment.CurrencyID} /></span>
  </a></li>`;
}

export const Rows = ({ payments }) => html`
  <p class="heads">${Object.entries(texts.payments.columns).map(([name, words]) => html`<span class=${name}>${words}</span>`)}</p>
  <${ByDay} all=${payments} timeOf=${(payment) => payment.Date}>
    ${(payment) => html`<${Row} key=${payment.ID} payment=${payment} />`}<//>`;

const isOverAll = () => session().me.IsSystemUser;

function Filters({ query, tills, error }) {
  const isLeft = useIsLeft();
  const submit = async (event) => {
    event.preventDefault();
    const typed = Object.fromEntries(new FormData(event.target));
    const id = isOverAll() ? await idOfAny(typed.search || typed.invoice).catch(() => null) : null; // the list shows an outage
    if (!isLeft()) go("payments", id ? {} : typed, id ?? "");
  };
  const option = (value, name, chosen) =>
    html`<option value=${value} selected=${String(value) === (chosen ?? "")}>${name}</option>`;
  const input = (name, type = "search") => html`<${Field} id=${`filter-${name}`} name=${name} type=${type}
    label=${texts.filters[name]} defaultValue=${query[name] ?? ""} problem=${problemOf(error, FIELDS[name])} />`;
  const more = ["kind", "operation", "late", "till", "invoice", "rrn", "extid", "acquirer"];
  const choice = (name, values) => html`<${Field} id=${`filter-${name}`} label=${texts.filters[name]}>
      <select id=${`filter-${name}`} name=${name}>${option("", texts.filters.every, query[name])}${values.map(([value, words]) => option(value, words, query[name]))}</select>
    <//>`;
  return html`<form class="filters" onSubmit=${submit} role="search">
    ${input("search")}
    ${input("from", "date")}
    ${input("to", "date")}
    <div class="actions"><button class="main">${texts.filters.apply}</button><a class="button" href=${address("payments")}>${texts.filters.none}</a></div>
    <details open=${more.some((name) => query[name])}><summary>${texts.filters.more}</summary><div class="filters">
    ${choice(
      "kind",
      Object.entries(KINDS).map(([key, { inputType }]) => [inputType, texts.kinds[key]]),
    )}
    ${choice("operation", Object.entries(texts.filters.operations))}
    ${choice("late", [["1", texts.filters.lateOnly]])}
    ${
      (tills.data?.length > 0 || query.till) &&
      html`<${Field} id="filter-till" label=${texts.filters.till}>
      <select id="filter-till" name="till" key=${tills.data?.length}>
        ${option("", texts.filters.every, query.till)}
        ${(tills.data ?? [{ ID: query.till, Name: query.till }]).map((till) => option(till.ID, till.Name, query.till))}
      </select>
    <//>`
    }
    ${more.slice(4).map((name) => input(name))}
    </div></details>
  </form>`;
}

// The fields of the interface by the names of the inputs, for problems.
const FIELDS = { ...FILTERS, from: "From", to: "To" };

// The counts of the list: of which days, and how much payments took before returns.
function Counted({ query, counters }) {
  const days = daysShown(query)?.map(formatDate);
  const when = days && (days[0] === days[1] ? days[0] : days.join(" – "));
  const taken = format(counters.AmountCvt, merchant().CurrencyID);
  return html`<p class="counted">${texts.payments.counted(formatCount(counters.ItemCountTtl), when)}${query.operation !== "2" && ` ${texts.payments.taken(taken)}`}</p>`;
}

function Listed({ query, page: { payments, counters } }) {
  const unknown = payments.filter(isUnknown).length;
  const number = Number(query.page) || 1;
  const isFiltered = Object.keys(FIELDS).some((name) => query[name]);
  if (!payments.length && number === 1)
    return html`<p class="empty">${isFiltered ? texts.payments.nothing : texts.payments.none}</p>`;
  return html`<${Counted} query=${query} counters=${counters} />
    ${unknown > 0 && html`<p class="note warn">${texts.payments.unknown(unknown)}</p>`}
    ${payments.length ? html`<${Rows} payments=${payments} />` : html`<p class="empty">${texts.payments.nothing}</p>`}
    <${Pages} page=${number} words=${texts.pages.ofAll(formatCount(number), formatCount(Math.max(1, counters.PageCount)))}
      hasNext=${number < counters.PageCount} to=${(other) => address("payments", { ...query, page: other })} />`;
}

// The last list. A payment links back to it.
let latest = address("payments");
export const latestList = () => latest;

export function Payments({ query }) {
  latest = address("payments", query);
  const wanted = JSON.stringify([merchant().ClientID, bodyOf(query), today()]);
  const state = useLoaded(() => listed(query), wanted);
  const tills = useLoaded(async () => (isManager() ? (await allTills()).filter(hasOwnList) : []), merchant().ClientID);
  return html`<div class="title"><h1>${texts.payments.title}</h1><${Export} query=${query} /></div>
    <${Filters} key=${wanted} query=${query} tills=${tills} error=${state.error} />
    ${isOverAll() && html`<p class="counted">${texts.merchant.overAll(merchant().Name)}</p>`}
    <${Loaded} state=${state}>${(page) => html`<${Listed} query=${query} page=${page} />`}<//>`;
}
