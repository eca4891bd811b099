// The reports: their heading with links to each other, the choice of a day, and the taxes that they show.
import { addDays, formatMoment, formatMonth, inZone, isDay, monthOf } from "../kit/dates.js";
import { difference, isZero, sum } from "../kit/money.js";
import { Field, Money } from "../kit/parts.js";
import { address, go } from "../kit/route.js";
import { merchant, session, today } from "../kit/session.js";
import { inGroups } from "./takings.js";
import { language } from "../kit/language.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// The first month of a year of business. In South Africa it ends with February.
const FIRST_MONTH = { ZAR: 3 };

// The periods for which owners file returns: {name: [first day, last day]}. Some file for two months that end with an odd one,
// others with an even one.
function periods(now) {
  const ended = (from, months) => [monthOf(now, from), addDays(monthOf(now, from + months), -1)];
  const first = FIRST_MONTH[merchant().CurrencyID] ?? 1;
  const away = -((Number(now.slice(5, 7)) - first + 12) % 12);
  const named = ([from, to]) => [`${formatMonth(from)} – ${formatMonth(to)}`, [from, to]];
  return [
    [texts.days.thisMonth, [monthOf(now), now]],
    [texts.days.lastMonth, ended(-1, 1)],
    named(ended(-2, 2)),
    named(ended(-3, 2)),
    [texts.days.since(formatMonth(monthOf(now, away))), [monthOf(now, away), now]],
    named(ended(away - 12, 12)),
  ];
}

// The heading of a report, on paper too. `shown` is its address, which the links mark.
export function ReportHead({ title, words, shown }) {
  const links = [
    [texts.report.title, address("day-report")],
    [texts.drawer.one, address("drawer")],
    [texts.week.title, address("week")],
    ...periods(today()).map(([name, [from, to]]) => [name, address("days", { from, to })]),
  ];
  const shop = merchant().Name ?? session().me.ClientName;
  return html`<div class="title on-paper" data-shop=${shop}><h1>${title}</h1>${words && html`<p>${words}</p>`}</div>
    <nav class="presets unprinted" aria-label=${texts.report.reports}>${links.map(
      ([name, href]) => html`<a href=${href} aria-current=${href === shown ? "page" : undefined}>${name}</a>`,
    )}</nav>`;
}

export const Print = () => html`<button type="button" onClick=${() => print()}>${texts.report.print}</button>`;

// The choice of a day: a field, and links to the report so many days before and after.
export function DayChoice({ view, day, days = 1, words }) {
  const now = today();
  const after = addDays(day, days);
  return html`<div class="filters days unprinted">
    <${Field} id="day" type="date" label=${words.day} value=${day} max=${now}
      onChange=${(event) => isDay(event.target.value) && go(view, { day: event.target.value })} />
    <a class="button" href=${address(view, { day: addDays(day, -days) })}>${words.before}</a>
    ${day < now && html`<a class="button" href=${address(view, { day: after < now ? after : now })}>${words.after}</a>`}
    <${Print} />
  </div>`;
}

// Who counts the drawer blind sees no cash before.
export const WithoutCash = ({ isIt }) => isIt && html`<p class="note">${texts.report.withoutCash}</p>`;

// The time of a report, its author, and a word about a last day that is not over.
export function Made({ last, isWithoutCash }) {
  const { me } = session();
  return html`<${WithoutCash} isIt=${isWithoutCash} /><p class="made"><small>${texts.report.made(formatMoment(inZone(me.GMT)), me.Name)}
    ${last === today() && ` ${texts.report.notOver}`}</small></p>`;
}

const formatRate = (rate) =>
  `${new Intl.NumberFormat(language, { maximumFractionDigits: 4 }).format(String(rate))}\u00a0%`;

export const taxName = ({ Name, Rate }) => (Name === null ? texts.report.noTax : `${Name} ${formatRate(Rate)}`);

// Whether a shop has taxes. One without them has only money that has none.
export const hasTaxes = (taxes) => taxes.some(({ Code }) => Code !== null);

// The order of taxes: by code, name and rate, and last the money that has none.
const byTax = ([one], [other]) =>
  (one.Code === null) - (other.Code === null) ||
  (one.Code ?? "").localeCompare(other.Code ?? "") ||
  (one.Name ?? "").localeCompare(other.Name ?? "") ||
  Number(one.Rate) - Number(other.Rate);

// The taxes of a currency, each summed over its days. A line may have two taxes and counts in both: their amounts are added
// only if they come to `net`.
export function Taxes({ taxes, net, currency }) {
  const names = texts.report;
  const add = (rows, name) => sum(rows.map((one) => one[name]));
  const money = (amount, words) =>
    html`<td class="figure" data-unit=${words}><${Money} amount=${amount} currency=${currency} /></td>`;
  const cells = (rows) => {
    const [gross, tax] = [add(rows, "Gross"), add(rows, "Tax")];
    return html`${money(gross, names.gross)}${money(difference(gross, tax), names.withoutTax)}${money(tax)}`;
  };
  const byCode = inGroups(taxes, ({ Code, Name, Rate }) => JSON.stringify([Code, Name, String(Rate)]));
  const isSum = isZero(difference(add(taxes, "Gross"), net));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`${names.taxes}, ${currency}`}><table class="taxes">
    <caption class="unseen">${names.taxes}, ${currency}</caption>
    <thead><tr><th scope="col">${names.rate}</th>${[names.gross, names.withoutTax, names.tax].map((words) => html`<th scope="col" class="figure">${words}</th>`)}</tr></thead>
    <tbody>${[...byCode.values()]
      .sort(byTax)
      .map(
        (rows) =>
          html`<tr class="tax"><th scope="row">${taxName(rows[0])} <small>${rows[0].Code}</small></th>${cells(rows)}</tr>`,
      )}</tbody>
    <tfoot><tr class="tax"><th scope="row">${texts.total}</th>${isSum ? cells(taxes) : html`<td /><td />${money(add(taxes, "Tax"))}`}</tr></tfoot>
  </table></div>
  ${!isSum && html`<p><small>${names.twoTaxes}</small></p>`}`;
}

export const TaxesCard = (facts) =>
  hasTaxes(facts.taxes) && html`<section class="card"><h2>${texts.report.taxes}</h2><${Taxes} ...${facts} /></section>`;
