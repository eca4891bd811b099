// A week: seven days, each next to the same weekday of the week before.
import { Chart } from "./chart.js";
import { addDays, daysOf, formatDate, formatDayOfMonth, formatShortDay, shownDay } from "../kit/dates.js";
import { useLoaded } from "../kit/load.js";
import { approximate, difference, format, formatShare, isNegative, isZero, negative } from "../kit/money.js";
import { Loaded, Money } from "../kit/parts.js";
import { DayChoice, Made, ReportHead, TaxesCard } from "./reports.js";
import { address } from "../kit/route.js";
import { merchant, today } from "../kit/session.js";
import { currencies, of, takings, total } from "./takings.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

const WEEK_DAYS = 7;
const between = (first, last, write) => `${write(first)} – ${write(last)}`;

// A day or the whole week: its net, that of the week before, and the difference.
function Row({ name, net, before, currency }) {
  const more = difference(net, before);
  const kind = isZero(more) || isNegative(more) ? "" : " more";
  const money = (amount, words, kinds = "") =>
    html`<td class=${`figure${kinds}`} data-unit=${words}><${Money} amount=${amount} currency=${currency} /></td>`;
  return html`<tr class="week"><th scope="row">${name}</th>
    ${money(net)}${money(before, texts.week.weekBefore)}${money(more, texts.week.difference, kind)}</tr>`;
}

function OfCurrency({ rows, taxes, last, currency, isFirst }) {
  const netOf = (first, end = first) =>
    total(
      rows.filter(({ Day }) => Day >= first && Day <= end),
      currency,
    ).net;
  const weekAgo = (day) => addDays(day, -WEEK_DAYS);
  const first = addDays(last, 1 - WEEK_DAYS);
  const days = daysOf(first, last);
  const [net, before] = [netOf(first, last), netOf(weekAgo(first), weekAgo(last))];
  const more = difference(net, before);
  const share = formatShare(more, before);
  const weeks = [between(first, last, formatDayOfMonth), between(weekAgo(first), weekAgo(last), formatDayOfMonth)];
  const compared = isNegative(more) ? texts.week.less : texts.week.more;
  const bars = days.map((day) => ({
    label: formatDayOfMonth(day),
    value: approximate(netOf(day)),
    before: approximate(netOf(weekAgo(day))),
    title: texts.today.bar(formatShortDay(day), format(netOf(day), currency)),
  }));
  return html`<section class="card headline">
      <h2>${isFirst ? texts.netTakings : texts.netTakingsIn(currency)}</h2>
      <p class="net"><${Money} amount=${net} currency=${currency} testid=${isFirst ? "net-of-week" : undefined} /></p>
      <p class="compared">${compared(format(isNegative(more) ? negative(more) : more, currency) + (share && ` (${share})`), weeks[1])}
        ${last === today() && html` <small>${texts.report.notOver}</small>`}</p>
      <${Chart} label=${texts.days.byDay} bars=${bars} currency=${currency} />
      <p class="legend"><span>${weeks[0]}</span> <span class="before">${weeks[1]}</span></p>
    </section>
    <section class="card">
      <h2>${texts.days.byDay}</h2>
      <div class="scroll" tabindex="0" role="region" aria-label=${texts.days.byDay}><table>
        <caption class="unseen">${texts.days.byDay}</caption>
        <thead><tr>${[texts.columns.day, texts.report.net, texts.week.weekBefore, texts.week.difference].map(
          (words, number) => html`<th scope="col" class=${number ? "figure" : ""}>${words}</th>`,
        )}</tr></thead>
        <tbody>${[...days].reverse().map(
          (
            day,
          ) => html`<${Row} key=${day} name=${html`<a href=${address("day-report", { day })}>${formatShortDay(day)}</a>`}
          net=${netOf(day)} before=${netOf(weekAgo(day))} currency=${currency} />`,
        )}</tbody>
        <tfoot><${Row} name=${texts.total} net=${net} before=${before} currency=${currency} /></tfoot>
      </table></div>
    </section>
    <${TaxesCard} taxes=${taxes} net=${net} currency=${currency} />`;
}

export function Week({ query }) {
  const last = shownDay(query, today());
  const first = addDays(last, 1 - WEEK_DAYS);
  const load = () => takings(addDays(first, -WEEK_DAYS), last, "day");
  const state = useLoaded(load, `${merchant().ClientID} ${last}`);
  return html`<${ReportHead} title=${texts.week.title} words=${between(first, last, formatDate)} shown=${address("week")} />
    <${DayChoice} view="week" day=${last} days=${WEEK_DAYS} words=${texts.week} />
    <${Loaded} state=${state}>${({ rows, taxes, isWithoutCash }) => html`${currencies(rows).map(
      (currency, number) =>
        html`<${OfCurrency} key=${currency} rows=${of(rows, currency)} taxes=${of(taxes, currency).filter(({ Day }) => Day >= first)} last=${last} currency=${currency} isFirst=${number === 0} />`,
    )}
      <${Made} last=${last} isWithoutCash=${isWithoutCash} />`}<//>`;
}
