// The sales of this device, newest first: their states, receipts and returns, and the parked ones.
import { ErrorCode } from "../kit/error_codes.js";
import { ReturnDialog, canReturn } from "../kit/giving_back.js";
import { format } from "../kit/money.js";
import { Money } from "../kit/parts.js";
import { html, useEffect, useState } from "../kit/view.js";
import { ReceiptOf, amountOf, timeOf } from "./receipt.js";
import { State, shownState } from "./rules.js";
import { reasonOf } from "./result.js";
import { texts } from "texts";
import { ask, change, queue, sales } from "./till.js";

const PAGE = 50;
const KINDS = { paid: "good", waiting: "warn", unknown: "warn", parked: "bad", declined: "bad" };
const DAY_MS = 86_400_000;

// Download a file with all facts of one sale or of several, so that somebody can book them by hand.
export function exportSales(facts, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(facts, null, 2)], { type: "application/json" }));
  link.download = `${name}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000);
}

// The service said at the payment whether it can be returned. Some payments can be returned only after their day.
const mayReturn = (sale) => sale.state === State.PAID && !sale.isReturned && (sale.canReturn || Date.now() - sale.takenAt > DAY_MS);

function Return({ sale, onClose }) {
  const [payment, setPayment] = useState(null);
  const [said, say] = useState(null);
  useEffect(() => {
    ask("GET", `payment/${sale.id}`).then((answer) => {
      const [found] = answer?.Transactions ?? [];
      if (found && canReturn(found)) setPayment(found);
      else say(answer ? texts.list.noReturn : texts.errors.noAnswer);
    });
  }, []);
  const answered = ({ ErrorCode: code, ErrorMessage: message, Transaction: reversal }) => {
    const amount = format(reversal.Amount, reversal.CurrencyID);
    setPayment(null);
    say(code === ErrorCode.OUTCOME_UNKNOWN ? texts.return.unknown(amount) : code === 0 ? texts.return.done(amount) : texts.return.declined(message));
    if (code === 0 && reversal.Amount === payment.AmountEff) change(sale.id, { isReturned: true });
  };
  const stale = () => { setPayment(null); say(texts.list.noReturn); };
  if (said) return html`<p class="note" role="status">${said}</p>`;
  return payment && html`<${ReturnDialog} payment=${payment} onClose=${onClose} onAnswered=${answered} onStale=${stale} />`;
}

function Row({ sale, isOnline }) {
  const [isReturning, setReturning] = useState(false);
  const { draft } = sale;
  const state = shownState(sale);
  return html`<li data-sale-id=${sale.id} data-state=${state}>
    <p class="line"><b><${Money} amount=${amountOf(sale)} currency=${draft.currency} /></b> <span>${texts.tenders[draft.tender]}</span>
      <span class=${`badge ${KINDS[state]}`}>${sale.isReturned ? texts.list.returned : texts.results[state]}</span></p>
    <p class="line dim"><time>${timeOf(sale)}</time> <span>${texts.number(sale.invoice ?? sale.number)}</span></p>
    ${draft.description && html`<p>${draft.description}</p>`}
    ${sale.reason && html`<p class="note bad">${reasonOf(sale.reason, draft)} ${texts.explained[state]}</p>`}
    ${sale.hasNoReceipt && html`<p class="note warn">${texts.noReceiptSent}</p>`}
    <div class="actions">
      ${sale.state === State.PARKED && html`<button type="button" onClick=${() => queue.sendAgain(sale.id)}>${texts.list.sendAgain}</button>
        <button type="button" onClick=${() => exportSales(sale, `sale-${sale.number}`)}>${texts.list.export}</button>`}
      <${ReceiptOf} key=${state} sale=${sale} />
      ${mayReturn(sale) && isOnline && html`<button type="button" onClick=${() => setReturning(true)}>${texts.list.return}</button>`}
    </div>
    ${isReturning && html`<${Return} sale=${sale} onClose=${() => setReturning(false)} />`}
  </li>`;
}

export function Sales({ state }) {
  const [count, setCount] = useState(PAGE);
  const [shown, show] = useState(null);
  useEffect(() => {
    let isShown = true;
    sales(count).then((found) => isShown && show(found), () => isShown && show([]));
    return () => { isShown = false; };
  }, [count, state.revision]);
  if (!shown) return html`<p class="loading" role="status">${texts.loading}</p>`;
  return html`<section class="sales"><h1>${texts.sales}</h1>
    ${shown.length ? html`<ul>${shown.map((sale) => html`<${Row} key=${sale.id} sale=${sale} isOnline=${state.isOnline} />`)}</ul>` : html`<p class="empty">${texts.list.none}</p>`}
    ${shown.length === count && html`<button type="button" onClick=${() => setCount(count + PAGE)}>${texts.list.more}</button>`}
  </section>`;
}
