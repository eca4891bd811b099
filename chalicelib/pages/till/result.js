// The result of a sale, until the next one begins. It changes when the service's answer comes later.
import { useAct } from "../kit/dialogs.js";
import { useRead } from "../kit/load.js";
import { format } from "../kit/money.js";
import { Failure, Money, useTitle } from "../kit/parts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { ReceiptOf, amountOf, changeOf } from "./receipt.js";
import { Means, decimal, roomOf, shownState } from "./rules.js";
import { nextSale, payAnotherWay, sign, takeWithoutReceipt, tookNothing } from "./sale.js";
import { Signature } from "./signature.js";
import { isWaiting } from "./store.js";
import { texts } from "./texts.js";
import { saleOf } from "./till.js";

// The money that may wait, where the browser may delete the sales.
export const limitOf = ({ currency, digits }) => format(decimal(roomOf([], { currency, digits }), digits), currency);

// Why a sale was refused, in words.
export function reasonOf({ why, code, message, findings = [] }, draft) {
  const words = texts.refusals[code ?? why] ?? texts.errors.codes[code] ?? message;
  const text = typeof words === "function" ? words(limitOf(draft)) : words;
  return [text, ...findings.filter((one) => one.Type === 1).map((one) => one.Message)].filter(Boolean).join(" ");
}

// The sale as the storage has it, which may be behind the answer.
function useStored(result, revision) {
  const [stored, setStored] = useState(result.sale);
  const isNews = (found, shown) => !isWaiting(found) || isWaiting(shown);
  useRead(
    async () => result.id && saleOf(result.id),
    (found) => found && setStored((shown) => (isNews(found, shown) ? found : shown)),
    [result.id, revision],
  );
  return stored;
}

export const Busy = ({
  result,
  currency,
  digits,
}) => html`<section class="result"><div class="outcome"><p class="sum"><${Money} amount=${decimal(result.minor, digits)} currency=${currency} /></p>
  <p role="status">${texts.taking}</p></div></section>`;

// The customer signs for a payment that the bank approved.
function Owed({ sold }) {
  const [picture, setPicture] = useState(null);
  const { act, isBusy, error } = useAct(() => sign(sold, picture));
  return html`<section class="card"><p>${texts.owesSignature}</p>${error && html`<${Failure} error=${error} />`}
    <${Signature} onDrawn=${setPicture} />
    ${picture && html`<button type="button" disabled=${isBusy} onClick=${act}>${texts.keepSignature}</button>`}</section>`;
}

export function Result({ result, state }) {
  const stored = useStored(result, state.revision);
  const button = useRef(null);
  useLayoutEffect(() => {
    button.current.focus();
  }, []);
  const draft = stored?.draft ?? result.draft;
  const { currency } = draft;
  const name = stored ? shownState(stored) : "refused";
  useTitle(texts.results[name], texts.name);
  const number = stored ? (stored.invoice ?? stored.number) : result.refused.number;
  const reason = reasonOf(result.refused ?? stored?.reason ?? {}, draft);
  const isNothing = tookNothing(stored);
  const change = isNothing ? null : changeOf(stored);
  const amount = html`<${Money} amount=${amountOf({ draft })} currency=${currency} testid="amount" />`;
  return html`<section class="result">
    <div class=${`outcome ${name}`} role="status" data-testid="result" data-state=${name}>
      <h1>${texts.results[name]}</h1>
      ${change ? html`<p class="sum"><small>${texts.change}</small> <${Money} amount=${change} currency=${currency} testid="change" /></p>` : html`<p class="sum">${amount}</p>`}
      <p>${texts.kinds[draft.tender]}${change && html` ${amount}`}${number && html` · ${texts.number(number)}`}</p>
      ${reason && html`<p>${reason}</p>`}
      ${texts.explained[name] && html`<p>${texts.explained[name]}</p>`}
      ${stored?.hasNoReceipt && html`<p>${texts.noReceiptSent}</p>`}
    </div>
    ${stored?.owesSignature && html`<${Owed} sold=${stored} />`}
    <div class="actions">
      ${result.refused?.means === Means.NO_RECEIPT && html`<button type="button" class="main" onClick=${takeWithoutReceipt}>${texts.withoutReceipt}</button>`}
      ${isNothing && html`<button type="button" onClick=${payAnotherWay}>${texts.payAnotherWay}</button>`}
      <button type="button" ref=${button} class="main" onClick=${() => nextSale(isNothing)}>${texts.newSale}</button>
    </div>
    ${!isNothing && html`<${ReceiptOf} sale=${stored} />`}
  </section>`;
}
