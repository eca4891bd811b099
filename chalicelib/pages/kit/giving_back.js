// Give a payment back: its goods or an amount. A return keeps one key until its outcome is known. So a second click, a
// reload or a lost answer repeats the same return, and the money moves once.
import { ErrorCode } from "./error_codes.js";
import { call, randomText } from "./api.js";
import { coinOf } from "./coins.js";
import { ActButton, Dialog } from "./dialogs.js";
import { useLoaded } from "./load.js";
import {
  difference,
  format,
  inCoins,
  isNegative,
  isZero,
  padded,
  share,
  sum,
  typedAmount,
  typedQuantity,
  wrongNumber,
} from "./money.js";
import { Failure, Field, Loaded, Money, Problem, problemOf } from "./parts.js";
import { found, isReversal } from "./payments.js";
import { isManager, session } from "./session.js";
import { texts } from "./language.js";
import { html, useLayoutEffect, useRef, useState } from "./view.js";

const RETURN = { endpoint: "payment/reverse", mode: 2 };
const RETURN_CNP = { endpoint: "payment/reversecnp", mode: 5 };
const TOO_MANY_REQUESTS = 429;
const CASH = 10; // an InputType
const RETURNS_OTHERS = 301; // a right
// The payment changed since the page read it.
const CHANGED = new Set([
  ErrorCode.NOT_REVERSIBLE_HERE,
  ErrorCode.EXCEEDS_REMAINDER,
  ErrorCode.ALREADY_REVERSED,
  ErrorCode.ORIGINAL_UNFINISHED,
]);
const MAX_REASON = 1024;

const place = (id) => `payments.return.${id}`;

// The payment's return that was sent and has no known outcome.
const unfinished = (id) => JSON.parse(sessionStorage.getItem(place(id)) ?? "null");

// Whether this person may give back something of a payment now. The service decides about Features.Returns.
export function canReturn(payment) {
  const { me } = session();
  const isOwn = payment.PosID === me.AgentID || isManager() || me.Rights.includes(RETURNS_OTHERS);
  const isPossible = payment.CanReturn || payment.CanReturnCNP;
  return isOwn && isPossible && !isReversal(payment) && !isZero(payment.AmountEff);
}

// The work that is left to the person after a return of this kind of payment, if any.
export const byHand = ({ InputType: kind }) => texts.return.byHand[kind] ?? "";

// The amount of the payment's return whose outcome is not known, or undefined.
export const unknownReturn = (id) => unfinished(id)?.amount;

// The outcome of a return in a sentence. A declined return shows the service's words.
function outcomeOf({ ErrorCode: code, ErrorMessage: message, Transaction: reversal }) {
  const amount = format(reversal.Amount, reversal.CurrencyID);
  if (code === 0)
    return { kind: "good", role: "status", words: `${texts.return.done(amount)} ${byHand(reversal)}`.trim() };
  if (code === ErrorCode.OUTCOME_UNKNOWN) return { kind: "warn", role: "status", words: texts.return.unknown(amount) };
  return { kind: "bad", role: "alert", words: texts.return.declined(message ?? "") };
}

function begun(payment, amount, reason, purchases) {
  const { endpoint, mode } = payment.CanReturnCNP ? RETURN_CNP : RETURN;
  const isPartial = !isZero(difference(payment.AmountEff, amount));
  const reversal = { TransactionID: payment.ID, ReverseMode: mode, Amount: amount, PartialReverse: isPartial };
  const tran = { ...reversal, CurrencyID: payment.CurrencyID, ...(reason && { Description: reason }) };
  if (purchases.length) tran.AuxDataInput = { AuxData: { Purchases: purchases } };
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

// Give back all of a payment of which nothing was given back before. Return what was done, in a sentence, and throw when it was
// not. Of a payment that another return gave back, or has not finished yet, nobody here knows whether its money was paid out.
export async function giveAllBack(id, reason) {
  let attempt = unfinished(id);
  if (attempt?.body.BasicReverseTran.PartialReverse)
    throw new Error(texts.return.lost(format(attempt.amount, attempt.body.BasicReverseTran.CurrencyID)));
  if (!attempt) {
    const payment = await found(id);
    const [amount, rest] = [payment.Amount, payment.AmountEff].map((one) => format(one, payment.CurrencyID));
    if (isZero(payment.AmountEff)) throw new Error(texts.return.goneBefore(amount));
    if (!isZero(payment.AmountRvs)) throw new Error(texts.return.lessLeft(rest));
    if (!canReturn(payment)) throw new Error(texts.return.notNow);
    attempt = begun(payment, payment.AmountEff, reason, []);
  }
  const { kind, words } = outcomeOf(await giveBack(id, attempt));
  if (kind !== "good") throw new Error(words);
  return words;
}

// The goods of a payment of which something remains: {title, price, left, parts}. Equal lines are one, because the service
// takes them one after the other.
function goodsOf(lines) {
  const goods = [];
  for (const { Title: title, Price: price, RemainingQuantity: quantity, RemainingAmount: money } of lines) {
    if (isZero(quantity) || isNegative(price)) continue;
    const part = { quantity, money };
    const same = goods.find((one) => one.title === title && isZero(difference(one.price, price)));
    if (same) Object.assign(same, { left: sum([same.left, quantity]), parts: [...same.parts, part] });
    else goods.push({ title, price, left: String(quantity), parts: [part] });
  }
  return goods;
}

const lesser = (one, other) => (isNegative(difference(one, other)) ? one : other);

// The money of so many of a good, as the service computes it.
function worthOf({ parts }, quantity) {
  let missing = quantity;
  const worth = parts.map((part) => {
    const taken = lesser(missing, part.quantity);
    missing = difference(missing, taken);
    return share(part.money, taken, part.quantity);
  });
  return sum(worth);
}

// An amount of a payment: in cash a sum of coins, unless it is all that remains.
function inCash(amount, { AmountEff: rest, CurrencyID: currency, InputType: kind, Format }, country) {
  if (kind !== CASH || isZero(amount) || isZero(difference(rest, amount))) return amount;
  return lesser(inCoins(padded(amount, Format.CurrencyE), coinOf(currency, country)), rest);
}

// The money of the chosen goods; for all of them all that remains.
function amountOf(goods, chosen, payment, country) {
  if (goods.every(({ left }, number) => isZero(difference(left, chosen[number])))) return payment.AmountEff;
  return inCash(sum(goods.map((good, number) => worthOf(good, chosen[number]))), payment, country);
}

// The problem of an amount, or undefined. The service decides; this only saves a request.
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

// The chosen quantity of a good as a decimal, or null: it is typed too.
function quantityOf({ left }, text) {
  const quantity = /^\s*0*$/.test(text) ? "0" : typedQuantity(text);
  return quantity === null || isNegative(difference(left, quantity)) ? null : quantity;
}

// One more or one less of a good; a rest below one is one step.
const stepped = ({ left }, chosen, step) =>
  step > 0 ? lesser(left, sum([chosen, "1"])) : String(Math.max(0, Math.ceil(Number(chosen)) - 1));

function Goods({ goods, chosen, choose, currency, problem }) {
  const names = texts.return;
  const list = useRef(null);
  useLayoutEffect(() => {
    const find = (selector) => list.current.querySelector(selector);
    (find("[aria-invalid]") ?? find("[aria-disabled=false]")).focus();
  }, [problem]);
  const set = (place, quantity) => choose((now) => now.map((one, number) => (number === place ? quantity : one)));
  const button = (good, place, sign, step, isEnd) => html`<button type="button" aria-disabled=${isEnd}
    onClick=${() => set(place, stepped(good, quantityOf(good, chosen[place]) ?? "0", step))}>${sign}<span class="unseen"> ${good.title}</span></button>`;
  const row = (good, place) => {
    const quantity = quantityOf(good, chosen[place]);
    const isNone = quantity !== null && isZero(quantity);
    return html`<li><span class="name">${good.title} <small>
        <output>${names.chosen(quantity === null ? "?" : format(quantity), format(good.left))}${Number(quantity) > 0 && html` · <${Money} amount=${worthOf(good, quantity)} currency=${currency} />`}</output></small></span>
      <span class="taps">${button(good, place, "−", -1, isNone)}
      <input aria-label=${names.quantity(good.title)} inputmode="decimal" autocomplete="off" value=${chosen[place]} aria-invalid=${problem && quantity === null ? "true" : undefined}
        aria-describedby=${problem && "goods-problem"} onFocus=${(event) => event.target.select()} onInput=${(event) => set(place, event.target.value)} />
      ${button(good, place, "+", 1, quantity !== null && isZero(difference(good.left, quantity)))}</span></li>`;
  };
  return html`<ul ref=${list} class="goods" aria-label=${names.goods}>${goods.map(row)}</ul>
    <${Problem} id="goods" words=${problem?.words} />
    <button type="button" class="quiet" onClick=${() => choose(goods.map(({ left }) => left))}>${names.all}</button>`;
}

function Form({ payment, goods, country, isOffline, isStale, sending, onClose, onAnswered, onStale }) {
  const names = texts.return;
  const { CurrencyID: currency, Format } = payment;
  const [attempt, setAttempt] = useState(unfinished(payment.ID));
  const [isByAmount, setByAmount] = useState(!goods.length);
  const [chosen, choose] = useState(goods.map(() => "0"));
  const [typed, type] = useState(goods.length ? "" : format(payment.AmountEff));
  const [error, setError] = useState(null);
  const [problem, setProblem] = useState(undefined); // {words}, new at each press, so that the focus goes there again
  const [isBusy, setBusy] = useState(false);
  const form = useRef(null);
  const write = (amount) => format(amount, currency, Format.CurrencyE);
  useLayoutEffect(() => {
    const { amount: field } = form.current.elements;
    (attempt ? form.current.querySelector(".main") : field)?.focus();
  }, [isByAmount, problem, attempt]);

  const quantities = isByAmount ? [] : goods.map((good, number) => quantityOf(good, chosen[number]));
  const isWrong = quantities.includes(null);
  const asked = isByAmount
    ? typedAmount(typed, currency, Format.CurrencyE)
    : !isWrong && amountOf(goods, quantities, payment, country);
  const isNone = !isByAmount && !isWrong && quantities.every(isZero);
  const wrongGoods = (isWrong && names.noQuantity) || (isNone && names.noGoods);
  const wrong = attempt ? undefined : wrongGoods || problemWith(asked, payment, typed);
  const amount = attempt?.amount ?? (wrong ? "0" : inCash(asked, payment, country));
  const mustWait = isOffline && !attempt;
  const submit = async (event) => {
    event.preventDefault();
    if (sending.current || mustWait) return;
    setProblem(wrong && { words: wrong });
    setError(null);
    if (wrong) return;
    const line = ({ title, price }, number) => ({ Title: title, Price: price, Quantity: quantities[number] });
    const purchases = isByAmount ? [] : goods.map(line).filter(({ Quantity }) => !isZero(Quantity));
    const reason = form.current.elements.reason.value.trim();
    const next = attempt ?? begun(payment, padded(amount, Format.CurrencyE), reason, purchases);
    sending.current = true;
    setBusy(true);
    try {
      onAnswered(await giveBack(payment.ID, next));
    } catch (refusal) {
      if (CHANGED.has(refusal.code)) await onStale();
      const refused = isByAmount && problemOf(refusal, "Amount");
      setProblem(refused ? { words: refused } : undefined);
      setError(CHANGED.has(refusal.code) ? null : refusal);
      setAttempt(unfinished(payment.ID));
    }
    sending.current = false;
    setBusy(false);
  };
  const other = () => {
    setByAmount(!isByAmount);
    setProblem(undefined);
  };

  return html`<p>${names.remains(write(payment.AmountEff))}</p>
    ${isStale && html`<p class="note bad" role="alert">${names.lessLeft(write(payment.AmountEff))}</p>`}
    ${byHand(payment) && html`<p class="note warn">${byHand(payment)}</p>`}
    <form ref=${form} onSubmit=${submit} novalidate>
      ${attempt && html`<p class="note warn">${names.again(write(attempt.amount))}</p>`}
      ${error && !problem && html`<${Failure} error=${error} />`}
      ${!attempt && !isByAmount && html`<${Goods} goods=${goods} chosen=${chosen} choose=${choose} currency=${currency} problem=${problem} />`}
      ${
        !attempt &&
        isByAmount &&
        html`<${Field} id="amount" name="amount" label=${names.amount} inputmode="decimal" autocomplete="off" required
        value=${typed} onInput=${(event) => type(event.target.value)} problem=${problem?.words} />`
      }
      ${!attempt && goods.length > 0 && html`<button type="button" class="quiet" onClick=${other}>${isByAmount ? names.byGoods : names.byAmount}</button>`}
      <${Field} id="reason" name="reason" label=${names.reason} hint=${names.reasonHint} autocomplete="off"
        maxlength=${MAX_REASON} defaultValue=${attempt?.body.BasicReverseTran.Description ?? ""} readonly=${Boolean(attempt)} />
      <div class="actions">
        ${mustWait && html`<p class="note warn" role="status">${names.offline}</p>`}
        <${ActButton} class="main" isBusy=${isBusy} aria-disabled=${mustWait ? "true" : undefined}>${names.button(wrong ? "" : write(amount))}<//>
        <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
      </div>
    </form>`;
}

function NoReturn({ words, onClose }) {
  const button = useRef(null);
  useLayoutEffect(() => {
    button.current.focus();
  }, []);
  return html`<p role="alert">${words}</p>
    <div class="actions"><button ref=${button} type="button" onClick=${onClose}>${texts.done}</button></div>`;
}

async function load(id) {
  const payment = await found(id);
  const isAsked = canReturn(payment) && !unfinished(id);
  const answer = isAsked ? await call(`payment/receipt/${encodeURIComponent(id)}`) : {};
  return { payment, goods: goodsOf(answer.Receipt?.Lines ?? []) };
}

function ReturnDialog({ id, onClose, onStale, ...rest }) {
  const [isStale, setStale] = useState(false);
  const sending = useRef(false); // a second click may come before the button is disabled
  const state = useLoaded(() => load(id), id);
  const stale = async () => {
    await state.reload();
    setStale(true);
    onStale();
  };
  const shown = ({ payment, goods }) =>
    canReturn(payment) || unfinished(id)
      ? html`<${Form} key=${`${payment.AmountRvs} ${payment.CountRvs}`} payment=${payment} goods=${goods} isStale=${isStale} sending=${sending}
        onClose=${onClose} onStale=${stale} ...${rest} />`
      : html`<${NoReturn} words=${isStale ? texts.return.nothingLeft : texts.return.notNow} onClose=${onClose} />`;
  return html`<${Dialog} title=${texts.return.title} onClose=${onClose} mayClose=${() => !sending.current}>
    <${Loaded} state=${state}>${shown}<//>
    ${!state.data && html`<div class="actions"><button type="button" onClick=${onClose}>${texts.cancel}</button></div>`}
  <//>`;
}

// The button that gives a payment back, its dialog, and a sentence with the outcome. `onChanged` runs when the payment
// has another state. `row` is the element that names it, `country` has the coins; without one no euro is rounded. `onOpen` gets
// whether the dialog is open, and at its end whether there was an answer.
export function GiveBack({ id, row, currency, country, isOffline, mayReturn, onChanged, onOpen = () => {} }) {
  const [isOpen, setOpen] = useState(false);
  const [said, say] = useState(null);
  const sentence = useRef(null);
  useLayoutEffect(() => {
    sentence.current?.focus();
  }, [said]); // the focused button may be gone
  const attempt = unfinished(id);
  const open = () => {
    say(null);
    setOpen(true);
    onOpen(true);
  };
  const close = (isAnswered) => {
    setOpen(false);
    onOpen(false, isAnswered);
  };
  const answered = (answer) => {
    close(true);
    say(outcomeOf(answer));
    onChanged();
  };
  return html`${said && html`<p ref=${sentence} class=${`note ${said.kind}`} role=${said.role} tabindex="-1">${said.words}</p>`}
    ${
      attempt &&
      html`<div class="note warn" role="status" hidden=${isOpen}><p>${texts.return.lost(format(attempt.amount, currency))}</p>
      <button type="button" aria-describedby=${row} onClick=${open}>${texts.return.ask}</button></div>`
    }
    ${mayReturn && !attempt && html`<button type="button" aria-describedby=${row} onClick=${open}>${texts.return.open}</button>`}
    ${isOpen && html`<${ReturnDialog} id=${id} country=${country} isOffline=${isOffline} onClose=${() => close(false)} onAnswered=${answered} onStale=${onChanged} />`}`;
}
