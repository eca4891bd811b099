// The day of this agent: its takings by tender, and its drawer. It prints at 80 mm.
import { call } from "../kit/api.js";
import { formatDay, formatMoment, inZone, shownDay } from "../kit/dates.js";
import { Drawer, isBlind } from "../kit/drawer.js";
import { DrawerForms } from "../kit/drawer_forms.js";
import { useLoaded, useRead } from "../kit/load.js";
import { format, formatCount, sum } from "../kit/money.js";
import { Loaded, Money } from "../kit/parts.js";
import { byNet, currencies, grouped, of, total } from "../kit/takings.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { currencyOf } from "./account.js";
import { serviceNow } from "./clock.js";
import { amountOf } from "./receipt.js";
import { DayField, tenderName, todayOf } from "./sales.js";
import { texts } from "./texts.js";
import { leftSales } from "./till.js";

const CASH = 10; // an InputType

async function load(day, agent) {
  const [{ Takings: rows }, { Drawer: drawer }] = await Promise.all([
    call("report/takings", { Period: { From: day, To: day }, AccountID: agent }),
    call("report/drawer", {}),
  ]);
  return { rows, drawer, at: serviceNow() };
}

const Line = ({ name, amount, currency, kind }) => html`<div class=${kind}><dt>${name}</dt>
  <dd><${Money} amount=${amount} currency=${currency} /></dd></div>`;

const Sums = ({
  name,
  sums: { payments, amount, reversals, reversed, net, currency },
}) => html`<h3>${name}</h3><dl class="sums">
  <${Line} name=${texts.myDay.payments(formatCount(payments))} amount=${amount} currency=${currency} />
  <${Line} name=${texts.myDay.returns(formatCount(reversals))} amount=${reversed} currency=${currency} />
  <${Line} name=${texts.myDay.net} amount=${net} currency=${currency} kind="total" /></dl>`;

// Who counts without knowing the cash sees no sum of it while the drawer is open.
function Takings({ rows, currency, isBlind }) {
  const held = of(rows, currency).filter((row) => !isBlind || row.InputType !== CASH);
  if (!held.length && !isBlind) return html`<p class="empty">${texts.myDay.none}</p>`;
  const tenders = grouped(held, (row) => tenderName(row.InputType), currency).sort(byNet);
  return html`${tenders.map((sums) => html`<${Sums} key=${sums.name} name=${sums.name} sums=${sums} />`)}
    ${isBlind && html`<p class="empty">${texts.myDay.cashLater}</p>`}
    ${tenders.length > 1 && !isBlind && html`<${Sums} name=${texts.myDay.all} sums=${total(held, currency)} />`}`;
}

// The sales that the service does not have yet, for each currency.
function Waiting({ revision, isBare }) {
  const [queued, show] = useState([]);
  useRead(leftSales, show, [revision]);
  return [...new Set(queued.map((sale) => sale.draft.currency))].map((currency) => {
    const held = queued.filter((sale) => sale.draft.currency === currency);
    return html`<p class="note warn">${texts.myDay.waiting(held.length, format(sum(held.map(amountOf)), currency))} ${!isBare && texts.myDay.without}</p>`;
  });
}

// The latest drawer is shown on the day on which it was opened, on that of its count, and today while it is open.
const isOf = (day, today, drawer) =>
  drawer && [drawer.OpenedAt, drawer.ClosedAt ?? today].some((at) => at.startsWith(day));

export function MyDay({ state, query }) {
  const { me, agent } = state.session;
  const today = todayOf(state);
  const day = shownDay(query, today);
  const loaded = useLoaded(() => load(day, agent), `${day} ${agent}`);
  const isOpen = useRef(false);
  useLayoutEffect(() => {
    if (isOpen.current && state.isOnline) loaded.reload({ isQuiet: Boolean(loaded.data) });
    isOpen.current = true; // the view has begun its first load
  }, [state.isOnline, state.waiting]);
  return html`<section class="day">
    <h1>${texts.day}</h1>
    <div class="asked"><${DayField} view="day" query=${query} day=${day} today=${today} /><button type="button" disabled=${!loaded.data} onClick=${() => print()}>${texts.list.print}</button></div>
    ${!state.isOnline && html`<p class="note warn" role="status">${loaded.data ? texts.myDay.old : texts.myDay.offline}</p>`}
    ${!loaded.data && html`<${Waiting} revision=${state.revision} isBare />`}
    ${
      (state.isOnline || loaded.data) &&
      html`<${Loaded} state=${loaded}>${({ rows, drawer, at }) => html`
      <article class="card report sheet">
        <p class="brand">${me.ClientName}</p>
        <h2>${formatDay(day)}</h2><p>${me.Name}</p>
        ${currencies(rows).map((currency) => html`<${Takings} key=${currency} rows=${rows} currency=${currency} isBlind=${isBlind(drawer)} />`)}
        ${isOf(day, today, drawer) && html`<${Drawer} drawer=${drawer} title=${texts.drawer.title} lastLine="total" />`}
        <${Waiting} revision=${state.revision} />
        <p class="dim">${texts.myDay.made(formatMoment(inZone(me.GMT, at)))}</p>
      </article>
      ${day === today && html`<${DrawerForms} drawer=${drawer} currency=${me.CurrencyID} digits=${currencyOf(state).digits} country=${state.country} onActed=${() => loaded.reload({ isQuiet: true })} />`}`}<//>`
    }
  </section>`;
}
