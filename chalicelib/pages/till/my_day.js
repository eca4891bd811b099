// The day of this agent: its takings by tender, and its drawer. It prints at 80 mm.
import { call } from "../kit/api.js";
import { formatDay, formatMoment, inZone, shownDay } from "../kit/dates.js";
import { useAct } from "../kit/dialogs.js";
import { useLoaded, useRead } from "../kit/load.js";
import { format, formatCount, isZero, sum, typedAmount } from "../kit/money.js";
import { Failure, Field, Loaded, Money, problemOf } from "../kit/parts.js";
import { byNet, currencies, grouped, of, total } from "../kit/takings.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { amountOf } from "./receipt.js";
import { DayField, tenderName, todayOf } from "./sales.js";
import { texts } from "./texts.js";
import { leftSales } from "./till.js";

async function load(day, agent) {
  const [{ Takings: rows }, { Drawer: drawer }] = await Promise.all([
    call("report/takings", { Period: { From: day, To: day }, AccountID: agent }),
    call("report/drawer", { Day: day }),
  ]);
  return { rows, drawer };
}

const Line = ({ name, amount, currency, kind }) => html`<div class=${kind}><dt>${name}</dt>
  <dd>${amount === null ? "–" : html`<${Money} amount=${amount} currency=${currency} />`}</dd></div>`;

const Sums = ({
  name,
  sums: { payments, amount, reversals, reversed, net, currency },
}) => html`<h3>${name}</h3><dl class="sums">
  <${Line} name=${texts.myDay.payments(formatCount(payments))} amount=${amount} currency=${currency} />
  <${Line} name=${texts.myDay.returns(formatCount(reversals))} amount=${reversed} currency=${currency} />
  <${Line} name=${texts.myDay.net} amount=${net} currency=${currency} kind="total" /></dl>`;

function Takings({ rows, currency }) {
  const held = of(rows, currency);
  if (!held.length) return html`<p class="empty">${texts.myDay.none}</p>`;
  const tenders = grouped(held, (row) => tenderName(row.InputType), currency).sort(byNet);
  return html`${tenders.map((sums) => html`<${Sums} key=${sums.name} name=${sums.name} sums=${sums} />`)}
    ${tenders.length > 1 && html`<${Sums} name=${texts.myDay.all} sums=${total(held, currency)} />`}`;
}

function Drawer({ drawer }) {
  const names = texts.drawer;
  const line = (name, amount, kind) =>
    html`<${Line} name=${name} amount=${amount} currency=${drawer.CurrencyID} kind=${kind} />`;
  return html`<h3>${names.title}</h3>
    <dl class="sums">${line(names.float, drawer.Float)}${line(names.cash, drawer.Cash)}${line(names.expected, drawer.Expected)}${line(names.counted, drawer.Counted)}
      ${drawer.Difference !== null && line(names.difference, drawer.Difference, "total")}${!isZero(drawer.ReturnedByOthers) && line(names.byOthers, drawer.ReturnedByOthers)}</dl>
    ${!isZero(drawer.ReturnedByOthers) && html`<p class="dim">${names.othersGave}</p>`}
    ${drawer.CountedAt && html`<p class="dim">${names.countedAt(formatMoment(drawer.CountedAt))}</p>`}
    ${drawer.Note && html`<p>${drawer.Note}</p>`}`;
}

// The sales that the service does not have yet, for each currency.
function Waiting({ revision }) {
  const [queued, show] = useState([]);
  useRead(leftSales, show, [revision]);
  return [...new Set(queued.map((sale) => sale.draft.currency))].map((currency) => {
    const held = queued.filter((sale) => sale.draft.currency === currency);
    return html`<p class="note warn">${texts.myDay.waiting(held.length, format(sum(held.map(amountOf)), currency))}</p>`;
  });
}

function Count({ day, drawer, onSaved }) {
  const form = useRef(null);
  const [wrong, setWrong] = useState({});
  const [isSaved, setSaved] = useState(false);
  const { act, isBusy, error } = useAct(async () => {
    const { Float, Counted, Note } = Object.fromEntries(
      [...new FormData(form.current)].map(([name, typed]) => [name, typed.trim()]),
    );
    const amounts = Object.fromEntries(
      Object.entries({ Float, Counted })
        .filter(([, typed]) => typed)
        .map(([name, typed]) => [name, typedAmount(typed, drawer.CurrencyID)]),
    );
    const problems = Object.fromEntries(
      Object.entries(amounts)
        .filter(([, amount]) => amount === null)
        .map(([name]) => [name, texts.noAmount]),
    );
    if (!Object.keys(amounts).length) problems.Counted = texts.drawer.nothing;
    setWrong(problems);
    setSaved(false);
    const [first] = Object.keys(problems);
    if (first) return form.current.elements[first].focus();
    const saved = await call("report/drawer", { Day: day, ...amounts, ...(Note && { Note }) });
    form.current.elements.Counted.value = "";
    setSaved(true);
    return onSaved(saved);
  });
  const problem = (name) => wrong[name] ?? problemOf(error, name);
  const field = (name, label, input) =>
    html`<${Field} id=${`drawer-${name}`} name=${name} label=${label} autocomplete="off" problem=${problem(name)} ...${input} />`;
  const isShown = ["Float", "Counted", "Note"].some(problem);
  return html`<form ref=${form} class="card" onSubmit=${act} novalidate>
    <h2>${texts.drawer.count}</h2>
    ${field("Float", texts.drawer.float, { inputmode: "decimal", defaultValue: drawer.Float === null ? "" : format(drawer.Float) })}
    ${field("Counted", texts.drawer.counted, { inputmode: "decimal" })}
    ${field("Note", texts.drawer.note, { maxlength: 512, defaultValue: drawer.Note ?? "" })}
    ${error && !isShown && html`<${Failure} error=${error} />`}
    ${isSaved && html`<p role="status">${texts.drawer.saved}</p>`}
    <div class="actions"><button class="main" disabled=${isBusy}>${texts.drawer.save}</button></div>
  </form>`;
}

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
    ${!state.isOnline && html`<p class="note warn" role="status">${texts.myDay.offline}</p>`}
    ${!loaded.data && html`<${Waiting} revision=${state.revision} />`}
    ${
      (state.isOnline || loaded.data) &&
      html`<${Loaded} state=${loaded}>${({ rows, drawer }) => html`
      <article class="card report sheet">
        <p class="brand">${me.ClientName}</p>
        <h2>${formatDay(day)}</h2><p>${me.Name}</p>
        ${currencies(rows).map((currency) => html`<${Takings} key=${currency} rows=${rows} currency=${currency} />`)}
        <${Drawer} drawer=${drawer} />
        <${Waiting} revision=${state.revision} />
        <p class="dim">${texts.myDay.made(formatMoment(inZone(me.GMT, Date.now() + (state.offset ?? 0))))}</p>
      </article>
      <${Count} key=${day} day=${day} drawer=${drawer} onSaved=${() => loaded.reload({ isQuiet: true })} />`}<//>`
    }
  </section>`;
}
