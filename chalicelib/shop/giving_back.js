// Give a payment back, in full or in part. A return keeps one key until its outcome is known. So a second click, a
// reload or a lost answer repeats the same return, and the money moves once.
import { call, randomText } from "./api.js";
import { Dialog } from "./dialogs.js";
import { difference, format, isZero, typedAmount } from "./money.js";
import { Failure, Field } from "./parts.js";
import { texts } from "./texts.js";
import { html, useRef, useState } from "./view.js";

const RETURN = { endpoint: "payment/reverse", mode: 2 };
const RETURN_CNP = { endpoint: "payment/reversecnp", mode: 5 };
const UNKNOWN = 310;
const TOO_MANY_REQUESTS = 429;

const place = (id) => `payments.return.${id}`;

export const canReturn = (payment) => payment.CanReturn || payment.CanReturnCNP;
// The payment's return that was sent and has no known outcome.
export const unfinished = (id) => JSON.parse(sessionStorage.getItem(place(id)) ?? "null");

function begun(payment, amount) {
  const { endpoint, mode } = payment.CanReturnCNP ? RETURN_CNP : RETURN;
  const isPartial = !isZero(difference(payment.AmountEff, amount));
  const reversal = { TransactionID: payment.ID, ReverseMode: mode, Amount: amount, PartialReverse: isPartial };
  return { key: randomText(), endpoint, amount, body: { BasicReverseTran: { ...reversal, CurrencyID: payment.CurrencyID } } };
}

// Return the service's answer to a return, or throw a Refusal. `isLost`: the outcome is not known.
async function giveBack(id, attempt) {
  const wasSent = unfinished(id) !== null;
  sessionStorage.setItem(place(id), JSON.stringify(attempt));
  const forget = () => sessionStorage.removeItem(place(id));
  try {
    const answer = await call(attempt.endpoint, attempt.body, { key: attempt.key });
    if (answer.ErrorCode !== UNKNOWN) forget();
    return answer;
  } catch (refusal) {
    // Too many requests: this one was refused, but an earlier one may have succeeded.
    const isDecided = !refusal.isLost && !(wasSent && refusal.status === TOO_MANY_REQUESTS);
    if (isDecided) forget();
    throw refusal;
  }
}

export function ReturnDialog({ payment, onClose, onAnswered }) {
  const [attempt, setAttempt] = useState(unfinished(payment.ID));
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const sending = useRef(false); // a second click may come before the button is disabled
  const form = useRef(null);

  const submit = async (event) => {
    event.preventDefault();
    if (sending.current) return;
    const amount = attempt?.amount ?? typedAmount(form.current.elements.amount.value);
    if (amount === null) {
      setError({ message: texts.return.noAmount });
      return;
    }
    const next = attempt ?? begun(payment, amount);
    sending.current = true;
    setBusy(true);
    setError(null);
    try {
      onAnswered(await giveBack(payment.ID, next));
    } catch (refusal) {
      setError(refusal);
      setAttempt(unfinished(payment.ID));
      setBusy(false);
    }
    sending.current = false;
  };

  return html`<${Dialog} title=${texts.return.title} onClose=${onClose} mayClose=${() => !sending.current}>
    <p>${texts.return.remains(format(payment.AmountEff, payment.CurrencyID))}</p>
    <form ref=${form} onSubmit=${submit}>
      ${attempt && html`<p class="note warn">${texts.return.again(format(attempt.amount, payment.CurrencyID))}</p>`}
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="amount" name="amount" label=${texts.return.amount} inputmode="decimal" autocomplete="off" required
        autofocus defaultValue=${attempt?.amount ?? payment.AmountEff} readonly=${Boolean(attempt)} />
      <div class="actions">
        <button class="main" disabled=${isBusy}>${isBusy ? texts.return.busy : texts.return.button}</button>
        <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
      </div>
    </form>
  <//>`;
}

export function Unfinished({ payment, attempt, hidden, onAgain }) {
  return html`<div class="note warn" role="status" hidden=${hidden}>
    <p>${texts.return.lost(format(attempt.amount, payment.CurrencyID))}</p>
    <button type="button" onClick=${onAgain}>${texts.return.ask}</button>
  </div>`;
}
