// The payment: the amount to pay by the chosen tender, and the fields of the tender.
import { useRead } from "../kit/load.js";
import { difference, format, isNegative, typedAmount, wrongNumber } from "../kit/money.js";
import { handed } from "../kit/notes.js";
import { Field, Money } from "../kit/parts.js";
import { goBack } from "../kit/route.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { dueOf, sumOf } from "./basket.js";
import { isAble } from "./bill.js";
import { reasonOf } from "./result.js";
import { addressOf, decimal, descriptionOf, minorOf, roomOf } from "./rules.js";
import { change, decline, take } from "./sale.js";
import { Signature } from "./signature.js";
import { texts } from "./texts.js";
import { ask } from "./till.js";

const MAX_TITLES = 120; // characters
const isTouched = matchMedia("(pointer: coarse)").matches; // there a keyboard on the screen would hide the notes

function Cash({ sale, due, currency, digits, received, isEnough, problem, onNote }) {
  const field = useRef(null);
  const [isTyping, setTyping] = useState(!isTouched);
  useLayoutEffect(() => {
    field.current.querySelector("input").focus({ preventScroll: true }); // the sum and the notes stay in sight
  }, []);
  const note = (minor) => {
    const text = decimal(minor, digits);
    return html`<button type="button" key=${text} data-testid="note" data-amount=${text} onClick=${() => onNote(minor)}>${format(text, currency)}</button>`;
  };
  return html`<div class="notes" role="group" aria-label=${texts.notesOf}>${[due, ...handed(due, currency, digits)].map(note)}</div>
    <div ref=${field} class="received"><${Field} id="received" label=${texts.received} inputmode=${isTyping ? "decimal" : "none"} autocomplete="off" placeholder=${format(decimal(due, digits))}
      value=${sale.received} problem=${problem} onClick=${() => setTyping(true)} onInput=${(event) => change({ received: event.target.value })} />
      <p class="change" role="status">${isEnough && html`${texts.change} <${Money} amount=${difference(received, decimal(due, digits))} currency=${currency} testid="change" />`}</p></div>`;
}

// The amount that the customer hands over, or null for a text that is none.
function receivedOf(sale, due, currency, digits) {
  const text = sale.received.trim() ? typedAmount(sale.received, currency, digits) : decimal(due, digits);
  return text === null || isNegative(text) || minorOf(text, digits) === null ? null : text;
}

// The titles of the goods, by which lists and searches find a sale.
const titlesOf = ({ lines }) =>
  lines
    .map((line) => line.title)
    .join(", ")
    .slice(0, MAX_TITLES);

const draftOf = (sale, tender, minor) => ({
  tender,
  minor,
  description: descriptionOf(
    [tender === "onAccount" && sale.customer.trim(), sale.description.trim() || titlesOf(sale)]
      .filter(Boolean)
      .join(" · "),
  ),
  ...(tender === "onAccount" && sale.signature && { signature: sale.signature }),
  ...(tender === "linkedCard" && { linkedCard: sale.card }),
});

// What to do at the other terminal. Its answer is the button that follows: before it, nothing is stored or sent.
function OtherTerminal({ state, amount, minor, currency, digits }) {
  const isFull = !state.isOnline && !state.isPersistent && minor > roomOf(state.queued, { currency, digits });
  if (isFull)
    return html`<p class="note bad" id="other-terminal" role="alert">${reasonOf({ why: "limit" }, { currency, digits })}</p>`;
  return html`<p class="note" id="other-terminal">${texts.otherTerminal.type(format(amount, currency))} <b>${texts.otherTerminal.ask}</b></p>`;
}

export function Payment({ state, sale, tender, currency, digits }) {
  const [problems, setProblems] = useState({});
  const button = useRef(null);
  const isCash = tender === "cash";
  useLayoutEffect(() => {
    if (!isCash) (document.getElementById("customer") ?? button.current).focus({ preventScroll: true });
  }, []);
  const due = dueOf(sale, { tender, currency, country: state.country });
  const sum = sumOf(sale);
  const amount = decimal(due, digits);
  const received = receivedOf(sale, due, currency, digits);
  const isEnough = received !== null && !isNegative(difference(received, amount));
  const receipt = addressOf(sale.receiptTo, state.country);

  const draft = () => ({ ...draftOf(sale, tender, due), digits, currency, country: state.country });
  const pay = (receivedMinor) => {
    const wrong = {
      received:
        isCash &&
        receivedMinor === undefined &&
        (received === null
          ? wrongNumber(sale.received, texts.noAmount, currency, digits)
          : !isEnough && texts.tooLittle(format(amount, currency))),
      receipt: receipt === undefined && texts.noAddress,
      card: tender === "linkedCard" && !sale.card && texts.chooseCard,
    };
    setProblems(wrong);
    if (Object.values(wrong).some(Boolean)) {
      if (receivedMinor !== undefined) change({ received: format(decimal(receivedMinor, digits)) }); // the tapped note stays
      const field = wrong.receipt && document.getElementById("receipt");
      if (field) field.focus();
      if (field) field.scrollIntoView({ block: "center" }); // it may have the focus already
      return;
    }
    take({
      ...draft(),
      ...(receipt && { receipt }),
      ...(isCash && { receivedMinor: receivedMinor ?? minorOf(received, digits) }),
    });
  };
  const submit = (event) => {
    event.preventDefault();
    pay();
  };

  return html`<form class="payment" onSubmit=${submit} novalidate>
    <div class="line"><button type="button" class="quiet" onClick=${() => goBack("sell")}>${texts.back}</button><h1>${texts.kinds[tender]}</h1></div>
    <p class="sum" data-testid="due" data-amount=${amount} aria-live="polite"><${Money} amount=${amount} currency=${currency} testid="amount" /></p>
    ${due !== sum && html`<p class="dim rounded">${texts.rounded(format(decimal(sum, digits), currency), format(amount, currency))}</p>`}
    ${isCash && html`<${Cash} sale=${sale} due=${due} currency=${currency} digits=${digits} received=${received} isEnough=${isEnough} problem=${problems.received || undefined} onNote=${pay} />`}
    ${tender === "linkedCard" && html`<${Cards} state=${state} sale=${sale} problem=${problems.card || undefined} />`}
    ${
      tender === "onAccount" &&
      html`<${Field} id="customer" label=${texts.customer} hint=${texts.customerHint} autocomplete="off" maxlength="128" value=${sale.customer} onInput=${(event) => change({ customer: event.target.value })} />
      <${Signature} picture=${sale.signature} onDrawn=${(signature) => change({ signature })} />`
    }
    ${tender === "outerCard" && html`<${OtherTerminal} state=${state} amount=${amount} minor=${due} currency=${currency} digits=${digits} />`}
    ${!isAble(tender, state) && tender !== "linkedCard" && html`<p class="note warn" role="alert">${texts.onlyOnline}</p>`}
    <button ref=${button} class="main take" aria-describedby=${tender === "outerCard" ? "other-terminal" : undefined}>${texts.take}</button>
    ${tender === "outerCard" && html`<button type="button" class="take" onClick=${() => decline(draft())}>${texts.otherTerminal.declined}</button>`}
    <${Field} id="receipt" label=${texts.receiptTo} hint=${texts.receiptHint} autocomplete="off" autocapitalize="none" spellcheck=${false}
      value=${sale.receiptTo} problem=${problems.receipt || undefined} onInput=${(event) => change({ receiptTo: event.target.value })} />
  </form>`;
}

function Cards({ state, sale, problem }) {
  const [cards, setCards] = useState(null);
  useRead(
    () => ask("POST", "payment/GetLinkedCards", { State: 1, Status: 3 }),
    (answer) => setCards(answer?.LinkedCards ?? []),
    [state.isOnline],
  );
  if (!state.isOnline) return html`<p class="note warn">${texts.cardsOffline}</p>`;
  if (!cards) return html`<p class="loading" role="status">${texts.loading}</p>`;
  const usable = cards.filter((one) => one.AccountID === state.session.agent);
  if (!usable.length) return html`<p class="note warn">${texts.noCard}</p>`;
  return html`<fieldset class="cards"><legend>${texts.card}</legend>
    ${usable.map(
      (
        one,
      ) => html`<label key=${one.ID} class="check"><input type="radio" name="card" checked=${sale.card === one.ID} onChange=${() => change({ card: one.ID })} />
      ${[one.Alias, one.PaymentType, `…${one.PANEnding}`].filter(Boolean).join(" ")}</label>`,
    )}
    ${problem && html`<small class="bad" role="alert">${problem}</small>`}
  </fieldset>`;
}
