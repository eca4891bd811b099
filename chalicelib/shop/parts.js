// Small parts of views.
import { formatDay } from "./dates.js";
import { format, formatCount, isNegative } from "./money.js";
import { settle } from "./route.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect } from "./view.js";

export function Money({ amount, currency, testid }) {
  const minus = isNegative(amount) ? " minus" : "";
  return html`<span class=${`money${minus}`} data-amount=${String(amount)} data-testid=${testid}>${format(amount, currency)}</span>`;
}

// The problem of a field in a refusal, in the words of the page. A field such as Types also has those of Types[1].
export function problemOf(error, field, words) {
  const found = error?.findings?.find((one) => one.Property.split(".").pop().split("[")[0] === field);
  return found && (words ?? texts.errors.checks[found.Code] ?? texts.errors.field);
}

// A refusal that no field shows. Its findings name fields of the interface, so the page does not show them.
export function Failure({ error, retry }) {
  return html`<div class="note bad" role="alert">
    <p>${error.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>${texts.retry}</button>`}
  </div>`;
}

function Placed({ children }) {
  useLayoutEffect(settle);
  return children;
}

// A view's data, or a text until it arrives or when it fails.
export function Loaded({ state, children }) {
  if (state.error) return html`<${Failure} error=${state.error} retry=${state.reload} />`;
  if (!state.data) return html`<p class="loading" role="status">${texts.loading}</p>`;
  return html`<div class="loaded" aria-busy=${state.isLoading ? "true" : "false"}>
    <${Placed}>${children(state.data)}<//></div>`;
}

export function Field({ label, hint, problem, children, ...input }) {
  const described = [problem && `${input.id}-problem`, hint && `${input.id}-hint`].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for=${input.id}>${label}</label>
    ${children ?? html`<input ...${input} aria-invalid=${problem ? "true" : undefined} aria-describedby=${described || undefined} />`}
    <${Problem} id=${input.id} words=${problem} />
    ${hint && html`<small id=${`${input.id}-hint`}>${hint}</small>`}
  </div>`;
}

// The problem of the field with this ID.
export const Problem = ({ id, words }) => words && html`<small id=${`${id}-problem`} class="bad" role="alert">${words}</small>`;

// Entries grouped by their day, in the merchant's local time.
export function ByDay({ all, timeOf, children }) {
  const days = [...new Set(all.map((one) => timeOf(one).slice(0, 10)))];
  return days.map((day) => html`<section key=${day} class="card rows">
    <h2>${formatDay(day)}</h2>
    <ul>${all.filter((one) => timeOf(one).startsWith(day)).map(children)}</ul>
  </section>`);
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

// A row of sums: its name, payments, taken, given back, net.
export function SumRow({ name, sums }) {
  const money = (amount) => html`<td class="figure"><${Money} amount=${amount} currency=${sums.currency} /></td>`;
  return html`<tr class="sum">
    <th scope="row">${name}</th>
    <td class="figure" data-unit=${texts.unit(sums.payments)}>${formatCount(sums.payments)}</td>
    ${money(sums.amount)}
    <td class=${`figure${sums.reversals ? "" : " none"}`} data-unit=${texts.returned(formatCount(sums.reversals), sums.reversals)}>${sums.reversals ? html`<${Money} amount=${sums.reversed} currency=${sums.currency} /> <small>(${formatCount(sums.reversals)})</small>` : "–"}</td>
    ${money(sums.net)}
  </tr>`;
}
