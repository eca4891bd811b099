// Give a payment back, in full or in part. A return keeps one key until its outcome is known. So a second click, a
// reload or a lost answer repeats the same return, and the money moves once.
import { ErrorCode } from "./error_codes.js";
import { call, randomText } from "./api.js";
import { Dialog } from "./dialogs.js";
import { difference, format, isNegative, isZero, typedAmount, wrongNumber } from "./money.js";
import { Failure, Field, problemOf } from "./parts.js";
import { texts } from "./language.js";
import { html, useRef, useState } from "./view.js";

const RETURN = { endpoint: "payment/reverse", mode: 2 };
const RETURN_CNP = { endpoint: "payment/reversecnp", mode: 5 };
const TOO_MANY_REQUESTS = 429;
// The payment changed since the page read it.
const CHANGED = new Set([
  ErrorCode.NOT_REVERSIBLE_HERE,
  ErrorCode.EXCEEDS_REMAINDER,
  ErrorCode.ALREADY_REVERSED,
  ErrorCode.ORIGINAL_UNFINISHED,
]);
const MAX_REASON = 1024;

const place = (id) => `payments.return.${id}`;

// The work that is left to the person after a return of this kind of payment, if any.
const byHand = ({ InputType: kind }) => texts.return.byHand[kind] ?? "";
export const doneWords = (reversal) =>
  `${texts.return.done(format(reversal.Amount, reversal.CurrencyID))} ${byHand(reversal)}`.trim();

export const canReturn = (payment) => payment.CanReturn || payment.CanReturnCNP;
// The payment's return that was sent and has no known outcome.
export const unfinished = (id) => JSON.parse(sessionStorage.getItem(place(id)) ?? "null");

function begun(payment, amount, reason) {
  const { endpoint, mode } = payment.CanReturnCNP ? RETURN_CNP : RETURN;
  const isPartial = !isZero(difference(payment.AmountEff, amount));
  const reversal = { TransactionID: payment.ID, ReverseMode: mode, Amount: amount, PartialReverse: isPartial };
  const tran = { ...reversal, CurrencyID: payment.CurrencyID, ...(reason && { Description: reason }) };
  return { key: randomText(), endpoint, amount, body: { BasicReverseTran: tran } };
}

// Return the service's answer to a return, or throw a Refusal. `isLost`: the outcome is not known.
async function giveBack(id, attempt) {
  const wasSent = unfinished(id) !== null;
  sessionStorage.setItem(place(id), JSON.stringify(attempt));
  const forget = () => sessionStorage.removeItem(place(id));
  try {
    const answer = await call(attempt.endpoint, attempt.body, { key: attempt.key });
    if (answer.ErrorCode !== ErrorCode.OUTCOME_UNKNOWN) forget();
    return answer;
  } catch (refusal) {
    // Too many requests: this one was refused, but an earlier one may have succeeded.
    const isDecided = !refusal.isLost && !(wasSent && refusal.status === TOO_MANY_REQUESTS);
    if (isDecided) forget();
    throw refusal;
  }
}

// The problem of a typed amount, or undefined. The service decides; this only saves a request.
function problemWith(amount, payment, typed) {
  const { problems } = texts.return;
  const digits = payment.Format.CurrencyE;
  if (amount === null) return wrongNumber(typed, texts.return.noAmount, payment.CurrencyID, digits);
  if (isNegative(amount) || isZero(amount)) return problems.tooSmall;
  if (isNegative(difference(payment.AmountEff, amount)))
    return problems.tooMuch(format(payment.AmountEff, payment.CurrencyID));
  if ((amount.split(".")[1] ?? "").length > digits) return problems.decimals(digits);
  return undefined;
}

// `onStale`: the payment has changed since it was shown, so the return was refused.
export function ReturnDialog({ payment, onClose, onAnswered, onStale }) {
  const { CurrencyID: currency } = payment;
  const write = (sum) => format(sum, currency, payment.Format.CurrencyE);
  const [attempt, setAttempt] = useState(unfinished(payment.ID));
  const [typed, type] = useState(format(attempt?.amount ?? payment.AmountEff));
  const [error, setError] = useState(null);
  const [problem, setProblem] = useState(undefined);
  const [isBusy, setBusy] = useState(false);
  const sending = useRef(false); // a second click may come before the button is disabled
  const form = useRef(null);
  const amount = attempt?.amount ?? typedAmount(typed, currency, payment.Format.CurrencyE);
  const isAmount = amount !== null && problemWith(amount, payment, typed) === undefined;

  const submit = async (event) => {
    event.preventDefault();
    if (sending.current) return;
    const wrong = attempt ? undefined : problemWith(amount, payment, typed);
    setProblem(wrong);
    setError(null);
    if (wrong) {
      form.current.elements.amount.focus();
      return;
    }
    const next = attempt ?? begun(payment, amount, form.current.elements.reason.value.trim());
    sending.current = true;
    setBusy(true);
    try {
      onAnswered(await giveBack(payment.ID, next));
    } catch (refusal) {
      if (CHANGED.has(refusal.code)) {
        onStale();
        return;
      }
      setProblem(problemOf(refusal, "Amount"));
      setError(refusal);
      setAttempt(unfinished(payment.ID));
      setBusy(false);
    }
    sending.current = false;
  };

  return html`<${Dialog} title=${texts.return.title} onClose=${onClose} mayClose=${() => !sending.current}>
    <p>${texts.return.remains(format(payment.AmountEff, currency))}</p>
    ${byHand(payment) && html`<p class="note warn">${byHand(payment)}</p>`}
    <form ref=${form} onSubmit=${submit} novalidate>
      ${attempt && html`<p class="note warn">${texts.return.again(write(attempt.amount))}</p>`}
      ${error && !problem && html`<${Failure} error=${error} />`}
      <${Field} id="reason" name="reason" label=${texts.return.reason} hint=${texts.return.reasonHint} autocomplete="off"
        maxlength=${MAX_REASON} defaultValue=${attempt?.body.BasicReverseTran.Description ?? ""} readonly=${Boolean(attempt)} />
      <${Field} id="amount" name="amount" label=${texts.return.amount} inputmode="decimal" autocomplete="off" required autofocus
        defaultValue=${typed} onInput=${(event) => type(event.target.value)} readonly=${Boolean(attempt)} problem=${problem} />
      <div class="actions">
        <button class="main" disabled=${isBusy}>${isBusy ? texts.return.busy : texts.return.button(isAmount || attempt ? write(amount) : "")}</button>
        <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
      </div>
    </form>
  <//>`;
}

export function Unfinished({ payment, attempt, hidden, onAgain }) {
  return html`<div class="note warn" role="status" hidden=${hidden}>
    <p>${texts.return.lost(format(attempt.amount, payment.CurrencyID, payment.Format.CurrencyE))}</p>
    <button type="button" onClick=${onAgain}>${texts.return.ask}</button>
  </div>`;
}
