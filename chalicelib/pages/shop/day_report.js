// The day report (Z report): counts and sums of a day for the books. It prints on A4 and on 80 mm paper.
import { formatDay, shownDay } from "../kit/dates.js";
import { Drawers, drawersOfDay } from "./drawers.js";
import { listed } from "./history.js";
import { KINDS } from "../kit/kinds.js";
import { useLoaded } from "../kit/load.js";
import { format, formatCount } from "../kit/money.js";
import { Failure, Loaded, Money } from "../kit/parts.js";
import { DayChoice, Made, ReportHead, Taxes, hasTaxes } from "./reports.js";
import { address } from "../kit/route.js";
import { isManager, merchant, seesAll, today } from "../kit/session.js";
import { byNet, currencies, grouped, kindOf, of, takings, tillIdOf, tillOf, total } from "./takings.js";
import { SumRow, SumTable } from "./tables.js";
import { allTills } from "./till_list.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// A part that fails hides no other one.
async function load(day) {
  const parts = [
    takings(day, day, "day"),
    listed({ from: day, to: day }),
    drawersOfDay(day),
    isManager() ? allTills() : [],
  ];
  const found = await Promise.allSettled(parts);
  const errors = found.filter((one) => one.status === "rejected").map((one) => one.reason);
  if (errors.length === parts.length) throw errors[0];
  const [report, list, drawers, tills] = found.map((one) => one.value);
  return { report, count: list?.counters.ItemCountTtl, drawers, tills: tills ?? [], errors };
}

// Whether a till's features do not allow a kind of payment now. Unknown tills are not marked.
function isOff(tills, { AgentID, InputType }) {
  const features = tills.find((one) => one.ID === AgentID)?.MobileSettings.Features;
  const kind = Object.values(KINDS).find((one) => one.inputType === InputType);
  return Boolean(features && kind && !features[kind.feature]);
}

// The receipt numbers of each till: the service counts them without a gap.
function Numbers({ rows, numbers }) {
  const names = texts.report;
  const nameOf = (one) => tillOf(rows.find((row) => row.AgentID === one.AgentID) ?? one); // one with only declined payments has no row
  return html`<section>
    <h2>${names.numbers}</h2>
    ${numbers.map(
      (one) => html`<h3>${nameOf(one)} (${formatCount(one.Count)})</h3><dl class="sums">
      <div><dt>${names.first}</dt><dd>${one.First}</dd></div>
      <div><dt>${names.last}</dt><dd>${one.Last}</dd></div>
    </dl>`,
    )}
    <p><small>${names.noneMissing}</small></p>
  </section>`;
}

function OfCurrency({ rows, taxes, tills, currency }) {
  const held = of(rows, currency);
  const sums = total(held, currency);
  const names = texts.report;
  const money = (amount) => html`<${Money} amount=${amount} currency=${currency} />`;
  const list = (
    key,
    label,
    title,
    first,
  ) => html`<h3>${title}</h3><${SumTable} caption=${`${title}, ${currency}`} first=${first}
    rows=${grouped(held, key, currency)
      .sort(byNet)
      .map((one) => html`<${SumRow} name=${label(one.row, one)} sums=${one} />`)} />`;
  return html`<section>
    <h2>${currency ?? ""}</h2>
    <dl class="sums">
      <div><dt>${texts.payments.title} (${formatCount(sums.payments)})</dt><dd>${money(sums.amount)}</dd></div>
      <div><dt>${texts.returns} (${formatCount(sums.reversals)})</dt><dd>${money(sums.reversed)}</dd></div>
      <div class="sum"><dt>${names.net}</dt><dd>${money(sums.net)}</dd></div>
    </dl>
    ${hasTaxes(taxes) && html`<h3>${names.taxes}</h3><${Taxes} taxes=${taxes} net=${sums.net} currency=${currency} />`}
    ${held.length > 0 && list(kindOf, kindOf, texts.byKind, texts.columns.kind)}
    ${held.length > 0 && seesAll() && list(tillIdOf, tillOf, texts.byTill, texts.columns.till)}
    ${sums.reversals > 0 && seesAll() && html`<p><small>${texts.giversOfReturns}</small></p>`}
    ${
      held.length > 0 &&
      seesAll() &&
      list(
        (row) => `${tillIdOf(row)} ${kindOf(row)}`,
        (row, { payments }) =>
          html`${tillOf(row)}, ${kindOf(row)}${payments > 0 && isOff(tills, row) && html` <small class="bad">${names.isOff}</small>`}`,
        names.byTillAndKind,
        texts.columns.till,
      )
    }
  </section>`;
}

function Takings({ report: { rows, taxes, late }, tills }) {
  const names = texts.report;
  return html`${currencies(rows).map((currency) => html`<${OfCurrency} key=${currency} rows=${rows} taxes=${of(taxes, currency)} tills=${tills} currency=${currency} />`)}
    ${late.length > 0 && html`<p>${names.late(late.map((one) => `${tillOf(one)} ${format(one.Amount, one.CurrencyID)} (${formatCount(one.Payments)})`).join(", "))}</p>`}`;
}

function Report({ day, found: { report, count, drawers, tills, errors }, reload }) {
  const names = texts.report;
  const nameOf = (id) => tills.find((one) => one.ID === id)?.Name;
  return html`<article class="card report">
    <h2>${names.of(formatDay(day))}</h2>
    ${errors.map((error) => html`<${Failure} error=${error} retry=${reload} />`)}
    ${count !== undefined && html`<dl class="sums"><div><dt>${names.transactions}</dt><dd>${formatCount(count)}</dd></div></dl>`}
    ${report && html`<${Takings} report=${report} tills=${tills} />`}
    ${drawers && html`<${Drawers} ...${drawers} nameOf=${nameOf} />`}
    ${report?.numbers.length > 0 && html`<${Numbers} rows=${report.rows} numbers=${report.numbers} />`}
    <${Made} last=${day} isWithoutCash=${report?.isWithoutCash} />
  </article>`;
}

export function DayReport({ query }) {
  const day = shownDay(query, today());
  const state = useLoaded(() => load(day), `${merchant().ClientID} ${day}`);
  return html`<${ReportHead} title=${texts.report.title} shown=${address("day-report")} />
    <${DayChoice} view="day-report" day=${day} words=${texts.report} />
    <${Loaded} state=${state}>${(found) => html`<${Report} day=${day} found=${found} reload=${state.reload} />`}<//>`;
}
