// The customer's receipt: a separate document in a frame that runs no script. Paper has its text instead, because a frame
// is cut where a page ends.
import { call } from "../kit/api.js";
import { isUnknown, tookMoney } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { Loaded } from "../kit/parts.js";
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

const Send = ({ payment }) => tookMoney(payment) && html`<${SendReceipt} id=${payment.ID} />`;

function Opened({ payment }) {
  const id = payment.ID;
  const state = useLoaded(
    async () => (await call(`payment/receipt/${encodeURIComponent(id)}?Lang=${language}`)).Receipt ?? "none",
    id,
  );
  return html`<${Loaded} state=${state}>${(receipt) =>
    receipt === "none"
      ? html`<p class="empty">${isUnknown(payment) ? texts.receipt.unknown : texts.receipt.none}</p>`
      : html`<${Document} receipt=${receipt} />
      <pre class="printed">${receipt.Text}</pre>
      <div class="actions"><button type="button" onClick=${() => print()}>${texts.receipt.print}</button><${Send} payment=${payment} /></div>`}<//>`;
}

export function ReceiptOf({ payment }) {
  const [isOpen, open] = useState(false);
  return html`<section class="card">
    <h2>${texts.receipt.title}</h2>
    ${
      isOpen
        ? html`<${Opened} payment=${payment} />`
        : html`<div class="actions">
      <button type="button" onClick=${() => open(true)}>${texts.receipt.show}</button><${Send} payment=${payment} /></div>`
    }
  </section>`;
}
