// Days: the takings of each day of a period.
import { Chart } from "./chart.js";
import { addDays, daysBetween, daysOf, formatDate, formatDayOfMonth, formatShortDay, isDay } from "../kit/dates.js";
import { useLoaded } from "../kit/load.js";
import { arrivedAfter, tookMoney } from "./history.js";
import { approximate, format, formatCount, sum } from "../kit/money.js";
import { Failure, Field, Loaded, Money } from "../kit/parts.js";
import { Made, Print, ReportHead, TaxesCard } from "./reports.js";
import { address, go } from "../kit/route.js";
import { merchant, today } from "../kit/session.js";
import { currencies, grouped, inGroups, of, takings, total } from "./takings.js";
import { SumRow, SumTable } from "./tables.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

const MOST_BARS = 92;

function PeriodForm({ first, last, problem }) {
  const submit = (event) => {
    event.preventDefault();
    go("days", Object.fromEntries(new FormData(event.target)));
  };
  return html`<form class="filters unprinted" onSubmit=${submit}>
    <${Field} id="from" name="from" type="date" label=${texts.from} defaultValue=${first} required problem=${problem} />
    <${Field} id="to" name="to" type="date" label=${texts.to} defaultValue=${last} required />
    <div class="actions"><button>${texts.show}</button><${Print} /></div>
  </form>`;
}

function OfCurrency({ rows, taxes, first, last, currency, isFirst }) {
  const held = of(rows, currency);
  const byDay = new Map(grouped(held, (row) => row.Day, currency).map((sums) => [sums.name, sums]));
  const days = daysOf(first, last);
  const bars = days.map((day) => {
    const sums = byDay.get(day) ?? total([], currency);
    const title = texts.days.bar(formatShortDay(day), format(sums.net, currency), formatCount(sums.payments));
    return { label: formatDayOfMonth(day), value: approximate(sums.net), title };
  });
  const all = total(held, currency);
  const name = (day) => html`<a href=${address("day-report", { day })}>${formatShortDay(day)}</a>`;
  return html`<section class="card headline">
      <h2>${isFirst ? texts.netTakings : texts.netTakingsIn(currency)}</h2>
      <p class="net"><${Money} amount=${all.net} currency=${currency} testid=${isFirst ? "net-of-period" : undefined} /></p>
      ${held.length > 0 && days.length <= MOST_BARS && html`<${Chart} label=${texts.days.byDay} bars=${bars} currency=${currency} />`}
    </section>
    <section class="card">
      <h2>${texts.days.byDay}</h2>
      <${SumTable} caption=${texts.days.byDay} first=${texts.columns.day} empty=${texts.days.nothing}
        rows=${[...byDay.keys()]
          .sort()
          .reverse()
          .map((day) => html`<${SumRow} key=${day} name=${name(day)} sums=${byDay.get(day)} />`)}
        foot=${html`<${SumRow} name=${texts.total} sums=${all} />`} />
    </section>
    <${TaxesCard} taxes=${taxes} net=${all.net} currency=${currency} />`;
}

// Sales of days that are over which a till sent after them. They are counted in these days, so a return that is filled in may
// be wrong now.
function Later({ first, last }) {
  const state = useLoaded(() => arrivedAfter(first, last), `${merchant().ClientID} ${first} ${last}`);
  const sales = state.data ?? [];
  if (state.error) return html`<${Failure} error=${state.error} retry=${state.reload} />`;
  if (!sales.length) return null;
  const latest = sales
    .map((one) => one.Received.slice(0, 10))
    .sort()
    .at(-1);
  const taken = [...inGroups(sales.filter(tookMoney), (one) => one.CurrencyID)].map(([currency, held]) =>
    format(sum(held.map((one) => one.Amount)), currency),
  );
  return html`<p class="note warn">${texts.days.later(formatCount(sales.length), taken.join(", "), formatDate(latest))}${" "}
    <a href=${address("payments", { from: addDays(last, 1), to: today(), late: 1 })}>${texts.days.showLater}</a></p>`;
}

export function Days({ query }) {
  const day = today();
  const last = isDay(query.to) ? query.to : day;
  const first = isDay(query.from) ? query.from : addDays(last, -30);
  const isBackwards = daysBetween(first, last) < 0;
  const load = async () => (isBackwards ? { rows: [], taxes: [] } : takings(first, last, "day"));
  const state = useLoaded(load, `${merchant().ClientID} ${first} ${last}`);
  return html`<${ReportHead} title=${texts.days.title} words=${`${formatDate(first)} – ${formatDate(last)}`} shown=${address("days", { from: first, to: last })} />
    <${PeriodForm} key=${`${first} ${last}`} first=${first} last=${last} problem=${isBackwards && texts.backwards} />
    ${!isBackwards && last < day && html`<${Later} first=${first} last=${last} />`}
    ${
      !isBackwards &&
      html`<${Loaded} state=${state}>${({ rows, taxes, isWithoutCash }) => html`${currencies(rows).map(
        (currency, number) =>
          html`<${OfCurrency} key=${currency} rows=${rows} taxes=${of(taxes, currency)} first=${first} last=${last} currency=${currency} isFirst=${number === 0} />`,
      )}
      <${Made} last=${last} isWithoutCash=${isWithoutCash} />`}<//>`
    }`;
}
