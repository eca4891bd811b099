// Lists by day, the pages of a list, and tables of sums.
import { formatDay } from "../kit/dates.js";
import { formatCount, isZero } from "../kit/money.js";
import { Money } from "../kit/parts.js";
import { texts } from "./texts.js";
import { html } from "../kit/view.js";

// Entries grouped by their day, in the merchant's local time.
export function ByDay({ all, timeOf, children }) {
  const days = [...new Set(all.map((one) => timeOf(one).slice(0, 10)))];
  return days.map(
    (day) => html`<section key=${day} class="card rows">
    <h2>${formatDay(day)}</h2>
    <ul>${all.filter((one) => timeOf(one).startsWith(day)).map(children)}</ul>
  </section>`,
  );
}

// The page of a list, with links to its neighbours. `to` returns the address of a page.
export function Pages({ page, words, hasNext, to }) {
  if (page === 1 && !hasNext) return null;
  return html`<nav class="pages" aria-label=${texts.pages.name}>
    ${page > 1 && html`<a class="button" rel="prev" href=${to(page > 2 ? page - 1 : "")}>${texts.pages.previous}</a>`}
    <span>${words}</span>
    ${hasNext && html`<a class="button" rel="next" href=${to(page + 1)}>${texts.pages.next}</a>`}
  </nav>`;
}

// A table of sums, one row for each value in the first column.
export function SumTable({ caption, first, rows, foot, empty = texts.nothing }) {
  if (!rows.length) return html`<p class="empty">${empty}</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption class="unseen">${caption}</caption>
    <thead><tr>${[first, ...texts.sumColumns].map((text, number) => html`<th scope="col" class=${number ? "figure" : ""}>${text}</th>`)}</tr></thead>
    <tbody>${rows}</tbody>
    ${foot && html`<tfoot>${foot}</tfoot>`}
  </table></div>`;
}

// A row of sums: its name with discounts and what was left to pay if there are any, payments, taken, given back, net.
export function SumRow({ name, sums }) {
  const money = (amount) => html`<td class="figure"><${Money} amount=${amount} currency=${sums.currency} /></td>`;
  const off = (words, amount) =>
    !isZero(amount) &&
    html` <small class="off">${words} <${Money} amount=${amount} currency=${sums.currency} /></small>`;
  return html`<tr class="sum">
    <th scope="row">${name}${off(texts.discounts, sums.discounts)}${off(texts.leftToPay, sums.leftToPay)}</th>
    <td class="figure" data-unit=${texts.unit(sums.payments)}>${formatCount(sums.payments)}</td>
    ${money(sums.amount)}
    <td class=${`figure${sums.reversals ? "" : " none"}`} data-unit=${texts.returned(formatCount(sums.reversals), sums.reversals)}>${sums.reversals ? html`<${Money} amount=${sums.reversed} currency=${sums.currency} /> <small>(${formatCount(sums.reversals)})</small>` : "–"}</td>
    ${money(sums.net)}
  </tr>`;
}
