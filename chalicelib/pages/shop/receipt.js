// The customer's receipt: a separate document in a frame that runs no script. Paper has its text instead, because a frame
// is cut where a page ends.
import { call } from "../kit/api.js";
import { isReversal, isUnknown, tookMoney } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { difference, format, isZero } from "../kit/money.js";
import { Loaded, Money } from "../kit/parts.js";
import { SendReceipt } from "../kit/send_receipt.js";
import { language } from "../kit/language.js";
import { texts } from "./texts.js";
import { html, useRef, useState } from "../kit/view.js";

// The page's policy lets text become HTML only through this name. The frame is a sandbox.
const policy = globalThis.trustedTypes?.createPolicy("receipt", { createHTML: (text) => text });

function Document({ receipt }) {
  const [height, setHeight] = useState(400);
  const frame = useRef(null);
  const fit = () => setHeight(frame.current.contentDocument.documentElement.scrollHeight);
  return html`<iframe ref=${frame} class="receipt" sandbox="allow-same-origin" title=${receipt.Subject} height=${height}
    srcdoc=${policy?.createHTML(receipt.Html) ?? receipt.Html} onLoad=${fit}></iframe>`;
}

const NONE = "none"; // no money moved

const Send = ({ payment }) => tookMoney(payment) && html`<${SendReceipt} id=${payment.ID} />`;

const Opened = ({ receipt, payment }) =>
  receipt === NONE
    ? html`<p class="empty">${isUnknown(payment) ? texts.receipt.unknown : texts.receipt.none}</p>`
    : html`<${Document} receipt=${receipt} />
      <pre class="printed">${receipt.Text}</pre>
      <div class="actions"><button type="button" onClick=${() => print()}>${texts.receipt.print}</button><${Send} payment=${payment} /></div>`;

// What was sold or given back, and what was left to pay of its price.
function Lines({ receipt: { Lines: lines, LinesTotal }, payment }) {
  if (!lines.length) return null;
  const names = texts.payment;
  const money = (amount) => html`<${Money} amount=${amount} currency=${payment.CurrencyID} />`;
  const left = isReversal(payment) ? "0" : difference(LinesTotal, payment.Amount);
  const line = (one) => html`<div><dt>${`${one.Quantity} × ${one.Title}`}
    ${one.Discount !== null && !isZero(one.Discount) && html` <small>${names.discount} ${money(one.Discount)}</small>`}</dt><dd>${money(one.Amount)}</dd></div>`;
  return html`<section class="card lines">
    <h2>${names.lines}</h2>
    <dl class="sums">${lines.map(line)}<div class="sum"><dt>${texts.total}</dt><dd>${money(LinesTotal)}</dd></div></dl>
    ${!isZero(left) && html`<p class="note warn">${names.leftToPay(format(left, payment.CurrencyID), format(payment.Amount, payment.CurrencyID))}</p>`}
  </section>`;
}

export function ReceiptOf({ payment }) {
  const [isOpen, open] = useState(false);
  const path = `payment/receipt/${encodeURIComponent(payment.ID)}?Lang=${language}`;
  const state = useLoaded(async () => (await call(path)).Receipt ?? NONE, `${payment.ID} ${payment.Substate}`);
  return html`
    ${state.data && state.data !== NONE && html`<${Lines} receipt=${state.data} payment=${payment} />`}
    <section class="card">
    <h2>${texts.receipt.title}</h2>
    ${isOpen || state.error ? html`<${Loaded} state=${state}>${(receipt) => html`<${Opened} receipt=${receipt} payment=${payment} />`}<//>` : ""}
    ${
      (!isOpen || state.error) &&
      html`<div class="actions">
      ${!state.error && html`<button type="button" onClick=${() => open(true)}>${texts.receipt.show}</button>`}<${Send} payment=${payment} /></div>`
    }
  </section>`;
}
