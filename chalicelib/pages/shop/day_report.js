// The day report (Z report): counts and sums of a day for the books. It prints on A4 and on 80 mm paper.
import { addDays, formatDay, formatMoment, inZone, isDay } from "../kit/dates.js";
import { Drawers, drawersOfDay } from "./drawers.js";
import { listed } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { formatCount, sum } from "../kit/money.js";
import { Field, Loaded, Money } from "../kit/parts.js";
import { address, go } from "../kit/route.js";
import { merchant, session, seesAll, today } from "../kit/session.js";
import { byNet, currencies, grouped, kindOf, of, takingsOfDay, tillIdOf, tillOf, total } from "./takings.js";
import { SumRow, SumTable } from "./tables.js";
import { language, texts } from "texts";
import { html } from "../kit/view.js";

async function load(day) {
  const [report, list, drawers] = await Promise.all([takingsOfDay(day), listed({ from: day, to: day }), drawersOfDay(day)]);
  return { ...report, count: list.counters.ItemCountTtl, drawers };
}

// The receipt numbers of each till: the service counts them without a gap.
function Numbers({ rows, numbers }) {
  const names = texts.report;
  const nameOf = ({ AgentID }) => tillOf(rows.find((row) => row.AgentID === AgentID));
  return html`<section>
    <h2>${names.numbers}</h2>
    ${numbers.map((one) => html`<h3>${nameOf(one)} (${formatCount(one.Count)})</h3><dl class="sums">
      <div><dt>${names.first}</dt><dd>${one.First}</dd></div>
      <div><dt>${names.last}</dt><dd>${one.Last}</dd></div>
    </dl>`)}
    <p><small>${names.noneMissing}</small></p>
  </section>`;
}

const formatRate = (rate) => `${new Intl.NumberFormat(language, { maximumFractionDigits: 4 }).format(String(rate))}\u00a0%`;

// The taxes of a currency. A line may have two taxes, so the amounts that have them are not added.
function Taxes({ taxes, currency }) {
  const names = texts.report;
  const money = (amount) => html`<td class="figure"><${Money} amount=${amount} currency=${currency} /></td>`;
  return html`<h3>${names.taxes}</h3>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${names.taxes}, ${currency}`}><table class="taxes">
      <caption class="unseen">${names.taxes}, ${currency}</caption>
      <thead><tr><th scope="col">${names.rate}</th><th scope="col" class="figure">${names.gross}</th><th scope="col" class="figure">${names.tax}</th></tr></thead>
      <tbody>${taxes.map((one) => html`<tr>
        <th scope="row">${one.Name} ${formatRate(one.Rate)} <small>${one.Code}</small></th>
        ${money(one.Gross)}
        ${money(one.Tax)}
      </tr>`)}</tbody>
      <tfoot><tr><th scope="row" colspan="2">${texts.total}</th>${money(sum(taxes.map((one) => one.Tax)))}</tr></tfoot>
    </table></div>`;
}

function OfCurrency({ rows, taxes, currency, day }) {
  const held = of(rows, currency);
  const sums = total(held, currency);
  const names = texts.report;
  const money = (amount) => html`<${Money} amount=${amount} currency=${currency} />`;
  const list = (key, label, title, first) => html`<h3>${title}</h3><${SumTable} caption=${`${title}, ${currency}`} first=${first}
    rows=${grouped(held, key, currency).sort(byNet).map((one) => html`<${SumRow} name=${label(one.row)} sums=${one} />`)}
    foot=${html`<${SumRow} name=${texts.total} sums=${sums} />`} />`;
  return html`<section>
    <h2>${currency ?? ""}</h2>
    <dl class="sums">
      <div><dt>${texts.payments.title} (${formatCount(sums.payments)})</dt><dd>${money(sums.amount)}</dd></div>
      <div><dt>${texts.returns} (${formatCount(sums.reversals)})</dt><dd>${money(sums.reversed)}</dd></div>
      <div class="sum"><dt>${names.net}</dt><dd>${money(sums.net)}</dd></div>
    </dl>
    ${taxes.length > 0 && html`<${Taxes} taxes=${taxes} currency=${currency} />`}
    ${held.length > 0 && list(kindOf, kindOf, texts.byKind, texts.columns.kind)}
    ${held.length > 0 && seesAll() && list(tillIdOf, tillOf, texts.byTill, texts.columns.till)}
    ${held.length > 0 && seesAll() && list((row) => `${tillIdOf(row)} ${kindOf(row)}`, (row) => `${tillOf(row)}, ${kindOf(row)}`, names.byTillAndKind, texts.columns.till)}
  </section>`;
}

function Report({ day, report: { rows, taxes, numbers, count, drawers } }) {
  const names = texts.report;
  const { me } = session();
  return html`<article class="card report">
    <p class="brand">${merchant().Name ?? me.ClientName}</p>
    <h2>${names.of(formatDay(day))}</h2>
    <dl class="sums">
      <div><dt>${names.transactions}</dt><dd>${formatCount(count)}</dd></div>
    </dl>
    ${currencies(rows).map((currency) => html`<${OfCurrency} key=${currency} rows=${rows} taxes=${of(taxes, currency)} currency=${currency} day=${day} />`)}
    <${Drawers} drawers=${drawers} />
    ${numbers.length > 0 && html`<${Numbers} rows=${rows} numbers=${numbers} />`}
    <p class="made"><small>${names.made(formatMoment(inZone(me.GMT)), me.Name)}
      ${day === today() && html` ${names.notOver}`}</small></p>
  </article>`;
}

export function DayReport({ query }) {
  const now = today();
  const day = isDay(query.day) && query.day < now ? query.day : now;
  const state = useLoaded(() => load(day), `${merchant().ClientID} ${day}`);
  const to = (other) => address("day-report", { day: other });
  return html`<div class="title"><h1>${texts.report.title}</h1></div>
    <div class="filters days unprinted">
      <${Field} id="day" type="date" label=${texts.report.day} value=${day} max=${now}
        onChange=${(event) => isDay(event.target.value) && go("day-report", { day: event.target.value })} />
      <a class="button" href=${to(addDays(day, -1))}>${texts.report.before}</a>
      ${day < now && html`<a class="button" href=${to(addDays(day, 1))}>${texts.report.after}</a>`}
      <button type="button" class="main" onClick=${() => print()}>${texts.report.print}</button>
    </div>
    <${Loaded} state=${state}>${(report) => html`<${Report} day=${day} report=${report} />`}<//>`;
}
