// Today: the takings by kind, till and hour, next to the same day of last week.
import { Chart } from "./chart.js";
import { addDays, formatDay, formatHour, formatWeekday, hourInZone } from "../kit/dates.js";
import { FirstSteps } from "./first_steps.js";
import { isUnknown, listed } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { approximate, difference, format, formatCount, formatShare, isNegative, negative } from "../kit/money.js";
import { Loaded, Money } from "../kit/parts.js";
import { Rows } from "./payments.js";
import { WithoutCash } from "./reports.js";
import { address } from "../kit/route.js";
import { merchant, session, seesAll, today } from "../kit/session.js";
import { byNet, currencies, grouped, kindOf, of, takings, tillIdOf, tillOf, total } from "./takings.js";
import { SumRow, SumTable } from "./tables.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef } from "../kit/view.js";

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);
const MIN_HOURS = 6; // of the chart
const REFRESH_S = 60;
const MAX_IDLE_S = 1800; // a page that nobody uses stops, so that its session can end

// The net next to last week's, both until the end of the last whole hour, or of last week's hours of business.
function Compared({ now, before, day, currency, hour }) {
  const all = total(before, currency);
  const weekday = formatWeekday(addDays(day, -7));
  if (!before.length) return html`<p class="compared">${texts.today.noneBefore(weekday)}</p>`;
  const hours = before.map((row) => row.Hour);
  const whole = html`<small>${texts.today.allBefore(weekday, format(all.net, currency))}</small>`;
  if (hour <= Math.min(...hours)) return html`<p class="compared">${whole}</p>`;
  const isOver = hour > Math.max(...hours);
  const net = (rows) =>
    total(
      rows.filter((row) => isOver || row.Hour < hour),
      currency,
    ).net;
  const more = difference(net(now), net(before));
  const share = formatShare(more, net(before));
  const words = isNegative(more) ? texts.today.less : texts.today.more;
  return html`<p class="compared">
    ${words(format(isNegative(more) ? negative(more) : more, currency) + (share && ` (${share})`), weekday, isOver ? null : formatHour(hour))} ${whole}
  </p>`;
}

// The hours of business: from the first to the last hour in which money moved, today or a week ago.
function ByHour({ rows, before, currency }) {
  const busy = [...rows, ...before].map((row) => row.Hour);
  if (!busy.length) return null;
  const nets = (held, hour) =>
    approximate(
      total(
        held.filter((row) => row.Hour === hour),
        currency,
      ).net,
    );
  const last = Math.min(23, Math.max(Math.min(...busy) + MIN_HOURS - 1, ...busy));
  const first = Math.min(last - MIN_HOURS + 1, ...busy);
  const bars = HOURS.slice(first, last + 1).map((hour) => ({
    label: String(hour),
    value: nets(rows, hour),
    before: nets(before, hour),
    title: texts.today.bar(
      formatHour(hour),
      format(
        total(
          rows.filter((row) => row.Hour === hour),
          currency,
        ).net,
        currency,
      ),
    ),
  }));
  return html`<section class="card">
    <h2>${texts.today.byHour}</h2>
    <${Chart} label=${texts.today.byHour} bars=${bars} currency=${currency} labelWidth=${24} />
    <p class="legend"><span>${texts.today.title}</span> <span class="before">${texts.today.weekBefore}</span></p>
  </section>`;
}

function Sums({ rows, currency }) {
  const list = (key, label, title, first, words) => html`<section class="card">
    <h2>${title}</h2>
    <${SumTable} caption=${title} first=${first}
      rows=${grouped(rows, key, currency)
        .sort(byNet)
        .map((sums) => html`<${SumRow} name=${label(sums.row)} sums=${sums} />`)} />
    ${words && html`<p><small>${words}</small></p>`}
  </section>`;
  return html`
    ${list(kindOf, kindOf, texts.byKind, texts.columns.kind)}
    ${seesAll() && list(tillIdOf, tillOf, texts.byTill, texts.columns.till, total(rows, currency).reversals > 0 && texts.giversOfReturns)}`;
}

function OfCurrency({ now, before, day, currency, isFirst }) {
  const sums = total(now, currency);
  return html`<section class="card headline">
      <h2>${isFirst ? texts.netTakings : texts.netTakingsIn(currency)}</h2>
      <p class="net"><${Money} amount=${sums.net} currency=${currency} testid=${isFirst ? "net" : undefined} /></p>
      ${before && html`<${Compared} now=${now} before=${before} day=${day} currency=${currency} hour=${hourInZone(session().me.GMT)} />`}
      <dl>
        <div><dt>${texts.payments.title}</dt><dd>${formatCount(sums.payments)}</dd></div>
        <div><dt>${texts.taken}</dt><dd><${Money} amount=${sums.amount} currency=${currency} /></dd></div>
        <div><dt>${texts.returns}</dt><dd>${sums.reversals}</dd></div>
        <div><dt>${texts.givenBack}</dt><dd><${Money} amount=${sums.reversed} currency=${currency} /></dd></div>
      </dl>
    </section>
    <${ByHour} rows=${now} before=${before ?? []} currency=${currency} />
    ${now.length > 0 && html`<${Sums} rows=${now} currency=${currency} />`}`;
}

const LATELY = 5;

// The latest payments and those without a known outcome. They load separately, so the figures do not wait for them.
function Lately({ day, state }) {
  return html`<section class="lately">
    <h2>${texts.payments.lately}</h2>
    <${Loaded} state=${state}>${({ payments }) => {
      if (!payments.length) return html`<p class="empty">${texts.today.nothing}</p>`;
      const unknown = payments.filter(isUnknown);
      const rest = payments.filter((payment) => !isUnknown(payment));
      return html`${unknown.length > 0 && html`<p class="note warn">${texts.payments.unknown(unknown.length)}</p>`}
        <${Rows} payments=${[...unknown, ...rest.slice(0, LATELY)]} />
        <p><a href=${address("payments", { from: day, to: day })}>${texts.payments.all}</a></p>`;
    }}<//>
  </section>`;
}

// Refresh each minute while the page is seen and used, and when the person returns to it.
function useRefresh(refresh, changing) {
  const usedAt = useRef(performance.now());
  useLayoutEffect(() => {
    const isIdle = () => performance.now() - usedAt.current > MAX_IDLE_S * 1000;
    const look = () => document.visibilityState === "visible" && refresh();
    const use = () => {
      const wasIdle = isIdle();
      usedAt.current = performance.now();
      if (wasIdle) look();
    };
    const timer = setInterval(() => isIdle() || look(), REFRESH_S * 1000);
    const used = ["pointerdown", "pointermove", "keydown", "wheel", "touchmove"];
    for (const name of used) addEventListener(name, use, { passive: true });
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      for (const name of used) removeEventListener(name, use);
      document.removeEventListener("visibilitychange", look);
    };
  }, changing);
}

const takingsByHour = (day) => takings(day, day, "hour");

export function Today() {
  const day = today();
  const wanted = `${merchant().ClientID} ${day}`;
  const state = useLoaded(() => takingsByHour(day), wanted);
  const before = useLoaded(() => takingsByHour(addDays(day, -7)), wanted); // not awaited
  const lately = useLoaded(() => listed({ from: day, to: day }), wanted);
  const refresh = () => {
    state.reload();
    lately.reload();
  };
  const refreshQuietly = () => {
    state.reload({ isQuiet: true });
    lately.reload({ isQuiet: true });
  };
  useRefresh(refreshQuietly, [state.reload, lately.reload]);

  return html`<div class="title">
      <h1>${texts.today.title}</h1>
      <p>${formatDay(day)}</p>
      <button type="button" class="quiet" onClick=${refresh}>${texts.refresh}</button>
    </div>
    <${Loaded} state=${state}>${({ rows, isWithoutCash }) => html`<${WithoutCash} isIt=${isWithoutCash} />
      ${!rows.length && html`<${FirstSteps} />`}
      ${currencies(rows).map(
        (currency, number) =>
          html`<${OfCurrency} key=${currency} now=${of(rows, currency)} before=${before.data && of(before.data.rows, currency)}
        day=${day} currency=${currency} isFirst=${number === 0} />`,
      )}`}<//>
    <${Lately} day=${day} state=${lately} />`;
}
