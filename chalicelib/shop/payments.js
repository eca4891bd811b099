// Payments: the history with search and filters, page by page. The address holds the filters.
import { formatTime } from "./dates.js";
import { bodyOf, exported, isReversal, isUnknown, listed, tookMoney } from "./history.js";
import { KINDS, kindName } from "./kinds.js";
import { useLoaded } from "./load.js";
import { format, formatCount, negative } from "./money.js";
import { ByDay, Failure, Field, Loaded, Money, Pages } from "./parts.js";
import { address, go } from "./route.js";
import { isManager, merchant } from "./session.js";
import { allTills } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useState } from "./view.js";

export function Badge({ payment }) {
  const kind = isUnknown(payment) ? "warn" : tookMoney(payment) ? "good" : payment.IsNotFinished ? "warn" : "bad";
  return html`<span class=${`badge ${kind}`}>${texts.states[payment.Substate] ?? payment.StateDisplay}</span>`;
}

export const shownAmount = (payment) => (isReversal(payment) ? negative(payment.Amount) : payment.Amount);

function Row({ payment }) {
  const what = isReversal(payment) ? texts.operations[payment.OperationID] : kindName(payment.InputType);
  const card = payment.Card.PANEnding && `•••• ${payment.Card.PANEnding}`;
  const words = [payment.Description, what, card].filter(Boolean).join(" · ");
  const moved = tookMoney(payment) ? "" : " none";
  return html`<li data-id=${payment.ID}><a href=${address("payments", {}, payment.ID)}>
    <time>${formatTime(payment.Date)}</time>
    <span class="what">${words}</span>
    <span class="till">${payment.TransPos.Name}</span>
    <${Badge} payment=${payment} />
    <span class=${`amount${moved}`}><${Money} amount=${shownAmount(payment)} currency=${payment.CurrencyID} /></span>
  </a></li>`;
}

export const Rows = ({ payments }) => html`<${ByDay} all=${payments} timeOf=${(payment) => payment.Date}>
  ${(payment) => html`<${Row} key=${payment.ID} payment=${payment} />`}<//>`;

function Filters({ query, tills }) {
  const submit = (event) => {
    event.preventDefault();
    go("payments", Object.fromEntries(new FormData(event.target)));
  };
  const option = (value, name, chosen) => html`<option value=${value} selected=${String(value) === (chosen ?? "")}>${name}</option>`;
  const input = (name, type = "search") => html`<${Field} id=${`filter-${name}`} name=${name} type=${type}
    label=${texts.filters[name]} defaultValue=${query[name] ?? ""} />`;
  const more = ["kind", "till", "invoice", "rrn", "extid", "acquirer"];
  return html`<form class="filters" onSubmit=${submit} role="search">
    ${input("search")}
    ${input("from", "date")}
    ${input("to", "date")}
    <div class="actions"><button class="main">${texts.filters.apply}</button><a class="button" href=${address("payments")}>${texts.filters.none}</a></div>
    <details open=${more.some((name) => query[name])}><summary>${texts.filters.more}</summary>
    <${Field} id="filter-kind" label=${texts.filters.kind}>
      <select id="filter-kind" name="kind">${option("", texts.filters.every, query.kind)}${KINDS.map((kind) => option(kind, kindName(kind), query.kind))}</select>
    <//>
    ${(tills.data?.length > 0 || query.till) && html`<${Field} id="filter-till" label=${texts.filters.till}>
      <select id="filter-till" name="till" key=${tills.data?.length}>
        ${option("", texts.filters.every, query.till)}
        ${(tills.data ?? [{ ID: query.till, Name: query.till }]).map((till) => option(till.ID, till.Name, query.till))}
      </select>
    <//>`}
    ${more.slice(2).map((name) => input(name))}
    </details>
  </form>`;
}

function Export({ query }) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      location.assign(await exported(query)); // a download, so the page stays
    } catch (refusal) {
      setError(refusal);
    }
    setBusy(false);
  };
  return html`<button type="button" disabled=${isBusy} onClick=${start}>${texts.payments.export}</button>
    ${error && html`<${Failure} error=${error} />`}`;
}

function Listed({ query, page: { payments, counters } }) {
  const unknown = payments.filter(isUnknown).length;
  const number = Number(query.page) || 1;
  const taken = format(counters.AmountCvt, merchant().CurrencyID);
  return html`<p class="counted">${texts.payments.counted(formatCount(counters.ItemCountTtl), taken)}</p>
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
  const wanted = JSON.stringify([merchant().ClientID, bodyOf(query)]);
  const state = useLoaded(() => listed(query), wanted);
  const tills = useLoaded(async () => (isManager() ? allTills() : []), merchant().ClientID);
  return html`<div class="title"><h1>${texts.payments.title}</h1><${Export} query=${query} /></div>
    <${Filters} key=${wanted} query=${query} tills=${tills} />
    <${Loaded} state=${state}>${(page) => html`<${Listed} query=${query} page=${page} />`}<//>`;
}
