// Small parts of views.
import { format, formatCount, isNegative } from "./money.js";
import { texts } from "./texts.js";
import { html, useEffect, useId, useRef, useState } from "./view.js";

export function Money({ amount, currency, testid }) {
  const minus = isNegative(amount) ? " minus" : "";
  return html`<span class=${`money${minus}`} data-amount=${String(amount)} data-testid=${testid}>${format(amount, currency)}</span>`;
}

export function Failure({ error, retry }) {
  return html`<div class="note bad" role="alert">
    <p>${error.message}</p>
    ${error.findings?.length > 0 && html`<ul>${error.findings.map((one) => html`<li>${one.Property}: ${one.Message}</li>`)}</ul>`}
    ${retry && html`<button type="button" onClick=${retry}>${texts.retry}</button>`}
  </div>`;
}

// What a view shows until its data is there, and when it does not come.
export function Loaded({ state, children }) {
  if (state.error) return html`<${Failure} error=${state.error} retry=${state.reload} />`;
  if (!state.data) return html`<p class="loading" role="status">${texts.loading}</p>`;
  return html`<div class="loaded" aria-busy=${state.isLoading ? "true" : "false"}>${children(state.data)}</div>`;
}

export function Field({ label, hint, children, ...input }) {
  const described = hint ? `${input.id}-hint` : undefined;
  return html`<div class="field">
    <label for=${input.id}>${label}</label>
    ${children ?? html`<input ...${input} aria-describedby=${described} />`}
    ${hint && html`<small id=${described}>${hint}</small>`}
  </div>`;
}

// A modal dialog: the browser keeps the focus in it. It goes back to where it was, or to the view when that is gone,
// because a dialog that is taken from the page does not give it back. `onClose` is called for the key Escape too,
// unless the dialog may not be closed now: a browser closes it at a second Escape whatever the page says.
export function Dialog({ title, onClose, mayClose = () => true, children }) {
  const dialog = useRef(null);
  const name = useId();
  const [opener] = useState(() => document.activeElement);
  useEffect(() => {
    dialog.current.showModal();
    const giveBack = () => {
      const isTaken = document.activeElement && document.activeElement !== document.body;
      if (!isTaken) (opener.isConnected ? opener : document.getElementById("main"))?.focus();
    };
    return () => queueMicrotask(giveBack);
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    if (mayClose()) onClose();
  };
  const closed = () => (mayClose() ? onClose() : dialog.current.showModal());
  return html`<dialog ref=${dialog} aria-labelledby=${name} onCancel=${cancel} onClose=${closed}>
    <h2 id=${name}>${title}</h2>
    ${children}
  </dialog>`;
}

// Sums by what the first column names.
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
    <td class=${`figure${sums.reversals ? "" : " none"}`}>${sums.reversals ? html`<${Money} amount=${sums.reversed} currency=${sums.currency} /> <small>(${formatCount(sums.reversals)})</small>` : "–"}</td>
    ${money(sums.net)}
  </tr>`;
}
