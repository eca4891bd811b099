// The result of a sale, until the next one begins. It changes when the service's answer comes later.
import { Act, ActButton, useAct } from "../kit/dialogs.js";
import { byHand, giveAllBack, unknownReturn } from "../kit/giving_back.js";
import { useRead } from "../kit/load.js";
import { format } from "../kit/money.js";
import { Failure, Money, useTitle } from "../kit/parts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { Receipt, amountOf, changeOf, hasReceipt, numberWords } from "./receipt.js";
import { Means, State, TENDERS, decimal, roomOf, shownState } from "./rules.js";
import { say } from "./said.js";
import { correct, hold, nextSale, payAnotherWay, sign, takeWithoutReceipt, tookNothing } from "./sale.js";
import { Signature } from "./signature.js";
import { isWaiting } from "./store.js";
import { texts } from "./texts.js";
import { install, isEnded, saleOf, till } from "./till.js";

// The money that may wait, where the browser may delete the sales.
const roomIn = (queued, { currency, digits }) =>
  format(decimal(Math.max(roomOf(queued, { currency, digits }), 0), digits), currency);
export const limitOf = (sold) => roomIn([], sold);
export const leftOf = (sold) => roomIn(till().queued, sold);

// Why a sale was refused, in words.
export function reasonOf({ why, code, message, findings = [] }, draft) {
  const words = texts.refusals[code ?? why] ?? texts.errors.codes[code] ?? message;
  const text = typeof words === "function" ? words(limitOf(draft), leftOf(draft)) : words;
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

export function Busy({ result, currency, digits }) {
  useTitle(texts.taking, texts.name);
  return html`<section class="result"><div class="outcome"><p class="sum"><${Money} amount=${decimal(result.minor, digits)} currency=${currency} /></p>
  <p role="status">${texts.taking}</p></div></section>`;
}

// The customer signs for a payment that the bank approved.
function Owed({ sold }) {
  const [picture, setPicture] = useState(null);
  const { act, isBusy, error } = useAct(() => sign(sold, picture));
  return html`<section class="card"><p>${texts.owesSignature}</p>${error && html`<${Failure} error=${error} />`}
    <${Signature} onDrawn=${setPicture} />
    ${picture && html`<${ActButton} type="button" isBusy=${isBusy} onClick=${act}>${texts.keepSignature}<//>`}</section>`;
}

const mayCorrect = (sold, { isOnline, features }) =>
  sold.state === State.PAID && sold.canReturn && !sold.isReturned && isOnline && features?.Returns !== false;

// The button that gives the sale back and puts its basket there again, after a question.
function Correct({ sold }) {
  const [isAsked, ask] = useState(false);
  const lost = unknownReturn(sold.id);
  const amount = format(amountOf(sold), sold.draft.currency);
  const isRunning = useRef(false);
  useLayoutEffect(() => (isAsked ? hold() : undefined), [isAsked]); // no scan takes the question away
  const run = async () => {
    isRunning.current = true;
    try {
      const words = await correct(() => giveAllBack(sold.id, texts.correction));
      if (words) say(words);
    } finally {
      isRunning.current = false;
    }
  };
  const mayClose = () => !isRunning.current;
  const hint = byHand({ InputType: TENDERS[sold.draft.tender].inputType });
  return html`<button type="button" onClick=${() => ask(true)}>${texts.correct}</button>
    ${lost && html`<p class="note warn">${texts.return.lost(format(lost, sold.draft.currency))}</p>`}
    ${isAsked && html`<${Act} title=${texts.correct} words=${`${texts.corrects(amount)} ${hint}`} button=${texts.return.button(amount)} run=${run} mayClose=${mayClose} onClose=${() => mayClose() && ask(false)} />`}`;
}

// Why the sale is in this state, in words.
function explanation(name, { tender }, state) {
  if (name === "waiting" && isEnded(state)) return texts.explained.ended;
  return (name === "refused" && tender === "outerCard" && texts.explained.outerCard) || texts.explained[name];
}

export function Result({ result, state }) {
  const stored = useStored(result, state.revision);
  const actions = useRef(null);
  useLayoutEffect(() => {
    actions.current.querySelector(".main").focus({ preventScroll: true });
    scrollTo(0, 0); // the change is there
  }, []);
  const draft = stored?.draft ?? result.draft;
  const { currency } = draft;
  const name = stored ? shownState(stored) : result.refused.why === "declined" ? "declined" : "refused";
  useTitle(texts.results[name], texts.name);
  const number = stored && numberWords(stored);
  const reason = reasonOf(result.refused ?? stored?.reason ?? {}, draft);
  const isNothing = tookNothing(stored);
  const explained = explanation(name, draft, state);
  const change = isNothing ? null : changeOf(stored);
  const receipt =
    [State.PAID, State.WAITING].includes(name) && !stored.hasNoReceipt && (stored.draft.receipt ?? result.receipt);
  const hasOther = result.refused?.means === Means.NO_RECEIPT;
  const begin = () => {
    nextSale(isNothing);
    scrollTo(0, 0);
  };
  const amount = html`<${Money} amount=${amountOf({ draft })} currency=${currency} testid="amount" />`;
  return html`<section class="result">
    <div class=${`outcome ${name}`} role="status" data-testid="result" data-state=${name}>
      <h1>${texts.results[name]}</h1>
      ${change ? html`<p class="sum"><small>${texts.change}</small> <${Money} amount=${change} currency=${currency} testid="change" /></p>` : html`<p class="sum">${amount}</p>`}
      <p>${texts.kinds[draft.tender]}${change && html` ${amount}`}${number && ` · ${number}`}</p>
      ${reason && html`<p>${reason}</p>`}
      ${explained && html`<p>${explained}</p>`}
      ${receipt && html`<p>${texts.receiptTo} ${receipt.Email ?? receipt.Phone}</p>`}
      ${stored?.hasNoReceipt && html`<p>${texts.noReceiptSent}</p>`}
    </div>
    ${stored?.owesSignature && html`<${Owed} sold=${stored} />`}
    <div ref=${actions} class="actions">
      ${hasOther && html`<button type="button" class="main" onClick=${takeWithoutReceipt}>${texts.withoutReceipt}</button>`}
      ${isNothing && html`<button type="button" class=${hasOther ? "" : "main"} onClick=${payAnotherWay}>${texts.payAnotherWay}</button>`}
      <button type="button" class=${isNothing ? "quiet" : "main"} onClick=${begin}>${texts.newSale}</button>
    </div>
    ${result.refused?.why === "limit" && state.installer && html`<button type="button" onClick=${install}>${texts.install}</button>`}
    ${stored && hasReceipt(stored) && html`<${Receipt} sale=${stored} result=${result}>${mayCorrect(stored, state) && html`<${Correct} sold=${stored} />`}<//>`}
  </section>`;
}
