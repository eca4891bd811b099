// The day of this agent: its takings by tender, and its drawer. It prints at 80 mm.
import { call, randomText } from "../kit/api.js";
import { formatDay, formatMoment, inZone, shownDay } from "../kit/dates.js";
import { useAct } from "../kit/dialogs.js";
import { Drawer } from "../kit/drawer.js";
import { useLoaded, useRead } from "../kit/load.js";
import { format, formatCount, sum, typedAmount, wrongNumber } from "../kit/money.js";
import { Failure, Field, Loaded, Money, problemOf } from "../kit/parts.js";
import { byNet, currencies, grouped, of, total } from "../kit/takings.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { currencyOf } from "./account.js";
import { serviceNow } from "./clock.js";
import { amountOf } from "./receipt.js";
import { DayField, tenderName, todayOf } from "./sales.js";
import { texts } from "./texts.js";
import { leftSales, till } from "./till.js";

const CASH = 10; // an InputType

async function load(day, agent) {
  const [{ Takings: rows }, { Drawer: drawer }] = await Promise.all([
    call("report/takings", { Period: { From: day, To: day }, AccountID: agent }),
    call("report/drawer", {}),
  ]);
  return { rows, drawer };
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
  if (!held.length) return html`<p class="empty">${texts.myDay.none}</p>`;
  const tenders = grouped(held, (row) => tenderName(row.InputType), currency).sort(byNet);
  return html`${tenders.map((sums) => html`<${Sums} key=${sums.name} name=${sums.name} sums=${sums} />`)}
    ${tenders.length > 1 && !isBlind && html`<${Sums} name=${texts.myDay.all} sums=${total(held, currency)} />`}`;
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

const FIELDS = { open: "Float", in: "Amount", out: "Amount", close: "Counted" };

// A form for some acts on the drawer, each with its button. A request keeps its key until it is answered, so a second tap
// or a lost answer acts once.
function DrawerForm({ title, label, acts, currency, onActed }) {
  const form = useRef(null);
  const attempt = useRef(null);
  const action = useRef(acts[0]); // of the pressed button
  const name = FIELDS[acts[0]];
  const [wrong, setWrong] = useState();
  const { act, isBusy, error } = useAct(async () => {
    const [typed, note] = [name, "Note"].map((one) => form.current.elements[one].value.trim());
    const { digits } = currencyOf(till());
    const amount = typed ? typedAmount(typed, currency, digits) : null;
    setWrong(amount === null ? wrongNumber(typed, texts.noAmount, currency, digits) : undefined);
    if (amount === null) return form.current.elements[name].focus();
    const body = { Action: action.current, [name]: amount, ...(note && { Note: note }) };
    const content = JSON.stringify(body);
    if (attempt.current?.content !== content) attempt.current = { content, key: randomText() };
    await call("report/drawer", body, { key: attempt.current.key });
    attempt.current = null;
    form.current.reset();
    return onActed();
  });
  const refused = problemOf(error, name);
  const field = (one, words, input) =>
    html`<${Field} id=${`drawer-${acts[0]}-${one}`} name=${one} label=${words} autocomplete="off" ...${input} />`;
  return html`<form ref=${form} class="card" onSubmit=${act} novalidate>
    <h2>${title}</h2>
    ${field(name, label, { inputmode: "decimal", problem: wrong ?? refused })}
    ${field("Note", texts.drawer.note, { maxlength: 512 })}
    ${error && !refused && html`<${Failure} error=${error} />`}
    <div class="actions">
      ${acts.map((one) => html`<button class="main" disabled=${isBusy} onClick=${() => (action.current = one)}>${texts.drawer.acts[one]}</button>`)}
    </div>
  </form>`;
}

function DrawerForms({ drawer, currency, onActed }) {
  const names = texts.drawer;
  if (!drawer || drawer.ClosedAt)
    return html`<${DrawerForm} title=${names.acts.open} label=${names.float} acts=${["open"]} currency=${currency} onActed=${onActed} />`;
  return html`<${DrawerForm} title=${names.moved} label=${names.amount} acts=${["in", "out"]} currency=${drawer.CurrencyID} onActed=${onActed} />
    <${DrawerForm} title=${names.count} label=${names.counted} acts=${["close"]} currency=${drawer.CurrencyID} onActed=${onActed} />`;
}

// The latest drawer is shown on the day on which it was opened, on that of its count, and today while it is open.
const isOf = (day, today, drawer) =>
  drawer && [drawer.OpenedAt, drawer.ClosedAt ?? today].some((at) => at.startsWith(day));

export function MyDay({ state, query }) {
  const { me, agent } = state.session;
  const today = todayOf(state);
  const day = shownDay(query, today);
  const loaded = useLoaded(() => load(day, agent), `${day} ${agent}`);
  const isBlind = (drawer) => me.DrawerBlind && !me.IsAdministrator && drawer !== null && drawer.ClosedAt === null;
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
        ${currencies(rows).map((currency) => html`<${Takings} key=${currency} rows=${rows} currency=${currency} isBlind=${isBlind(drawer)} />`)}
        ${isOf(day, today, drawer) && html`<${Drawer} drawer=${drawer} title=${texts.drawer.title} lastLine="total" />`}
        <${Waiting} revision=${state.revision} />
        <p class="dim">${texts.myDay.made(formatMoment(inZone(me.GMT, serviceNow())))}</p>
      </article>
      ${day === today && html`<${DrawerForms} key=${drawer?.DrawerID} drawer=${drawer} currency=${me.CurrencyID} onActed=${() => loaded.reload({ isQuiet: true })} />`}`}<//>`
    }
  </section>`;
}
