// Selling: the amount and how it is paid, the payment, and its result. One screen a step.
import { difference, format, isNegative, typedAmount } from "../kit/money.js";
import { Field, Money } from "../kit/parts.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { Refused } from "./queue.js";
import { ReceiptOf, changeOf } from "./receipt.js";
import { MAX_QUEUED, Means, addressOf, decimal, descriptionOf, shownState } from "./rules.js";
import { isWaiting } from "./store.js";
import { texts } from "texts";
import { ask, currencyOf, queue, saleOf, tenders } from "./till.js";

const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "00", "0", "Delete"];
const MAX_FIGURES = 11;
const NOTES = [10, 20, 50, 100, 200, 500, 1000]; // roundings of cash that customers hand over

const NEW = { agent: null, step: "amount", figures: "", tender: null, description: "", receiptTo: "", received: "", card: null, result: null };
let made = NEW; // stays while somebody looks at the sales
let show = () => {}; // shows it, while this view is there
let isBusy = false;

function set(changes) {
  made = { ...made, ...changes };
  show(made);
}

function press(key) {
  const figures = key === "Delete" ? made.figures.slice(0, -1) : made.figures + key;
  if (figures.length <= MAX_FIGURES) set({ figures: figures.replace(/^0+/, "") });
}

addEventListener("keydown", (event) => {
  const isElsewhere = made.step !== "amount" || !document.querySelector(".keys") || event.target.closest?.("input, dialog");
  if (isElsewhere || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = event.key === "Backspace" ? "Delete" : event.key;
  if (KEYS.includes(key)) press(key);
});

// No sale is being made, so the page may be replaced by a new version.
export const isIdle = () => made.step === "amount" && !made.figures && !made.description && !made.receiptTo && !document.querySelector("dialog, input:focus");

const minorOf = (sale) => Number(sale.figures || "0");

export function Sell({ state }) {
  if (made.agent !== state.session.agent) made = { ...NEW, agent: state.session.agent }; // nothing of the one before
  const [sale, setSale] = useState(made);
  useLayoutEffect(() => {
    show = setSale;
    return () => { show = () => {}; };
  }, []);
  const { currency, digits } = currencyOf(state);
  if (state.session.me.IsSystemUser) return html`<p class="note warn">${texts.systemUser} <a href="app">${new URL("app", document.baseURI).pathname}</a></p>`;
  if (currency === null) return html`<p class="note warn">${texts.noTender}</p>`; // a merchant without one
  if (digits === undefined) return html`<p class="loading" role="status">${state.isOnline ? texts.loading : texts.onlyOnline}</p>`; // an earlier version did not store it
  const amount = decimal(minorOf(sale), digits);
  const props = { state, sale, currency, digits, amount };
  if (sale.step === "amount") return html`<${Amount} ...${props} />`;
  if (sale.step === "tender") return html`<${Payment} ...${props} />`;
  return html`<${Result} ...${props} onNew=${() => set({ ...NEW, agent: made.agent })} />`;
}

function Amount({ state, sale, currency, amount }) {
  const isEmpty = !minorOf(sale);
  const offered = tenders();
  const choose = (tender) => set({ step: "tender", tender, received: "" });
  return html`<section class="pad" aria-label=${texts.amount}>
    <h1 class="sum"><${Money} amount=${amount} currency=${currency} testid="amount" /></h1>
    <${Description} sale=${sale} />
    <div class="keys" role="group" aria-label=${texts.pad}>
      ${KEYS.map((key) => html`<button type="button" key=${key} aria-label=${key === "Delete" ? texts.delete : undefined} onClick=${() => press(key)}>${key === "Delete" ? "⌫" : key}</button>`)}
    </div>
    <div class="tenders" role="group" aria-label=${texts.paidBy}>
      ${offered.map((name) => html`<button type="button" key=${name} class="main" disabled=${isEmpty} onClick=${() => choose(name)}>${texts.tenders[name]}</button>`)}
      ${state.features && !offered.length && html`<p class="note warn">${texts.noTender}</p>`}
    </div>
    ${!state.isOnline && state.features && !state.features.Offline && html`<p class="note warn">${texts.onlyOnline}</p>`}
  </section>`;
}

const Description = ({ sale }) => html`<${Field} id="description" label=${texts.description} autocomplete="off" maxlength="1024"
  value=${sale.description} onInput=${(event) => set({ description: event.target.value })} />`;

// Amounts that a customer is likely to hand over: the amount rounded up to notes.
function handed(minor, digits) {
  const unit = 10 ** digits;
  const rounded = NOTES.map((note) => Math.ceil(minor / (note * unit)) * note * unit);
  return [...new Set(rounded)].filter((one) => one > minor).slice(0, 3);
}

function Payment({ state, sale, currency, digits, amount }) {
  const [problems, setProblems] = useState({});
  const heading = useRef(null);
  useEffect(() => { heading.current.focus(); }, []);
  const isCash = sale.tender === "cash";
  const received = sale.received.trim() ? typedAmount(sale.received, currency) : amount;
  const isEnough = received !== null && isPayable(received, digits) && !isNegative(difference(received, amount));

  const submit = async (event) => {
    event.preventDefault();
    const receipt = addressOf(sale.receiptTo);
    const wrong = {
      received: isCash && (received === null || !isPayable(received, digits) ? texts.noAmount : !isEnough && texts.tooLittle(format(amount, currency))),
      receipt: receipt === undefined && texts.noAddress,
      card: sale.tender === "linkedCard" && !sale.card && texts.chooseCard,
    };
    setProblems(wrong);
    if (Object.values(wrong).some(Boolean) || isBusy) return;
    await take({
      tender: sale.tender, minor: minorOf(sale), digits, currency, description: descriptionOf(sale.description),
      ...(isCash && { receivedMinor: minorOfText(received, digits) }), ...(receipt && { receipt }), ...(sale.card && { linkedCard: sale.card }),
    }, state);
  };

  return html`<form class="payment" onSubmit=${submit} novalidate>
    <div class="line"><button type="button" class="quiet" onClick=${() => set({ step: "amount" })}>${texts.back}</button>
      <h1 ref=${heading} tabindex="-1">${texts.tenders[sale.tender]}</h1></div>
    <p class="sum"><${Money} amount=${amount} currency=${currency} testid="amount" /></p>
    ${isCash && html`<${Field} id="received" label=${texts.received} inputmode="decimal" autocomplete="off" placeholder=${format(amount)}
        value=${sale.received} problem=${problems.received || undefined} onInput=${(event) => set({ received: event.target.value })} />
      <div class="notes" role="group" aria-label=${texts.notesOf}>${handed(minorOf(sale), digits).map((minor) => {
        const text = decimal(minor, digits);
        return html`<button type="button" key=${text} onClick=${() => set({ received: text })}>${format(text, currency)}</button>`;
      })}</div>
      <p class="change">${texts.change} ${isEnough && html`<${Money} amount=${difference(received, amount)} currency=${currency} testid="change" />`}</p>`}
    ${sale.tender === "linkedCard" && html`<${Cards} state=${state} sale=${sale} problem=${problems.card || undefined} />`}
    <button class="main take">${texts.take}</button>
    <${Description} sale=${sale} />
    <${Field} id="receipt" label=${texts.receiptTo} hint=${texts.receiptHint} autocomplete="off" autocapitalize="none" spellcheck=${false}
      value=${sale.receiptTo} problem=${problems.receipt || undefined} onInput=${(event) => set({ receiptTo: event.target.value })} />
  </form>`;
}

const isPayable = (text, digits) => {
  const [whole, fraction = ""] = text.split(".");
  return fraction.length <= digits && whole.replace(/^0+/, "").length <= MAX_FIGURES - digits;
};

const minorOfText = (text, digits) => {
  const [whole, fraction = ""] = text.split(".");
  return Number(whole + fraction.padEnd(digits, "0"));
};

// Take the payment, and show its result.
async function take(draft, { isOnline }) {
  if (isBusy) return;
  isBusy = true;
  set({ step: "result", result: { state: "busy" } });
  set({ result: await taken(draft, isOnline) });
  isBusy = false;
}

// Take the payment. Return {id, sale}, or {refused, draft} when no money may be taken.
async function taken(draft, isOnline) {
  try {
    const location = isOnline ? undefined : await locate();
    const sale = await queue.sell({ ...draft, ...(location && { location }) }, { isOnline });
    return { id: sale.id, sale };
  } catch (refused) {
    return { draft, refused: refused instanceof Refused ? refused : new Refused("storage") };
  }
}

// The place of the device, where the person allowed the page to know it before.
async function locate() {
  const granted = await navigator.permissions?.query({ name: "geolocation" }).catch(() => null);
  if (granted?.state !== "granted") return undefined;
  return new Promise((resolve) => {
    const found = ({ coords }) => resolve({ Latitude: coords.latitude, Longitude: coords.longitude });
    navigator.geolocation.getCurrentPosition(found, () => resolve(undefined), { maximumAge: 600_000, timeout: 1_000 });
  });
}

function Cards({ state, sale, problem }) {
  const [cards, setCards] = useState(null);
  useEffect(() => {
    let isShown = true;
    ask("POST", "payment/GetLinkedCards", { State: 1, Status: 3 }).then((answer) => isShown && setCards(answer?.LinkedCards ?? []));
    return () => { isShown = false; };
  }, [state.isOnline]);
  if (!state.isOnline) return html`<p class="note warn">${texts.cardsOffline}</p>`;
  if (!cards) return html`<p class="loading" role="status">${texts.loading}</p>`;
  const usable = cards.filter((one) => one.AccountID === state.session.agent);
  if (!usable.length) return html`<p class="note warn">${texts.noCard}</p>`;
  return html`<fieldset class="cards"><legend>${texts.card}</legend>
    ${usable.map((one) => html`<label key=${one.ID} class="check"><input type="radio" name="card" checked=${sale.card === one.ID} onChange=${() => set({ card: one.ID })} />
      ${[one.Alias, one.PaymentType, `…${one.PANEnding}`].filter(Boolean).join(" ")}</label>`)}
    ${problem && html`<small class="bad" role="alert">${problem}</small>`}
  </fieldset>`;
}

// The money that may wait, where the browser may delete the sales.
export const limitOf = ({ currency, digits }) => format(decimal(MAX_QUEUED * 10 ** digits, digits), currency);

// Why a sale was refused, in words.
export function reasonOf({ why, code, message, findings = [] }, draft) {
  const words = texts.refusals[code ?? why] ?? texts.errors.codes[code] ?? message;
  const text = typeof words === "function" ? words(limitOf(draft)) : words;
  return [text, ...findings.filter((one) => one.Type === 1).map((one) => one.Message)].filter(Boolean).join(" ");
}

// The result of a sale. It changes when the service's answer comes later.
function Result({ state, sale, currency, digits, amount, onNew }) {
  const { result } = sale;
  const [stored, setStored] = useState(null);
  const button = useRef(null);
  useEffect(() => {
    if (!result.id) return undefined;
    let isShown = true;
    setStored((shown) => shown ?? result.sale);
    const isNews = (found, shown) => !isWaiting(found) || isWaiting(shown); // the storage may be behind the answer
    saleOf(result.id).then((found) => isShown && found && setStored((shown) => (isNews(found, shown ?? result.sale) ? found : shown)), () => {});
    return () => { isShown = false; };
  }, [result.id, state.revision]);
  useEffect(() => { button.current?.focus(); }, [Boolean(stored)]);

  if (result.state === "busy" || (result.id && !stored)) return html`<section class="result"><p class="sum"><${Money} amount=${amount} currency=${currency} /></p><p role="status">${texts.taking}</p></section>`;
  const name = stored ? shownState(stored) : "refused";
  const number = stored ? stored.invoice ?? stored.number : result.refused.number;
  const reason = reasonOf(result.refused ?? stored?.reason ?? {}, { currency, digits });
  return html`<section class="result">
    <div class=${`outcome ${name}`} role="status" data-testid="result" data-state=${name}>
      <h1>${texts.results[name]}</h1>
      <p class="sum"><${Money} amount=${amount} currency=${currency} testid="amount" /></p>
      ${number && html`<p>${texts.number(number)}</p>`}
      ${stored && name !== "declined" && changeOf(stored) && html`<p class="change">${texts.change} <${Money} amount=${changeOf(stored)} currency=${currency} testid="change" /></p>`}
      ${reason && html`<p>${reason}</p>`}
      ${texts.explained[name] && html`<p>${texts.explained[name]}</p>`}
      ${stored?.hasNoReceipt && html`<p>${texts.noReceiptSent}</p>`}
    </div>
    ${result.refused?.means === Means.NO_RECEIPT && html`<button type="button" class="main" onClick=${() => take({ ...result.draft, receipt: undefined }, state)}>${texts.withoutReceipt}</button>`}
    <button type="button" ref=${button} class="main take" onClick=${onNew}>${texts.newSale}</button>
    ${stored && name !== "declined" && html`<${ReceiptOf} sale=${stored} />`}
  </section>`;
}
