// Selling: goods or an amount, how they are paid, and the result. A step is an entry of the browser's history.
import { Money, useTitle } from "../kit/parts.js";
import { address, goBack, parse, settle } from "../kit/route.js";
import { html, useLayoutEffect } from "../kit/view.js";
import { currencyOf } from "./account.js";
import { isEmpty, sumOf } from "./basket.js";
import { Bar, Description, Lines, Tenders, payBy } from "./bill.js";
import { Asked, Items, itemsOf, scan } from "./items.js";
import { hear, insert } from "./keys.js";
import { Payment } from "./payment.js";
import { Busy, Result } from "./result.js";
import { decimal } from "./rules.js";
import { hush, say } from "./said.js";
import { change, press, pressTimes, putBack, sale, useSale } from "./sale.js";
import { texts } from "./texts.js";
import { tenders, till } from "./till.js";

const KEYS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "00", "0", "Delete"];

const FRESH_MS = 700;
let entry = null; // "items" or "amount", which somebody chose

hear({
  isOn: () => Boolean(till().session),
  scan(text) {
    refusedAt = -Infinity;
    scan(text);
  },
  type: (text) => (isFree() ? typed(text) : undefined),
  press(event) {
    const { key, repeat, altKey } = event;
    if (key === "Enter" && (repeat || isFresh(sale().result))) event.preventDefault();
    else if (event.ctrlKey || event.metaKey || document.querySelector("dialog")) return;
    else if (altKey) payByKey(event);
    else if (key === "Escape") leave(event);
    else if (key === "Enter" && isSelling()) enter(event);
    else if (key === "Backspace" && isSelling() && !isInField(event)) (isPad() ? press : pressTimes)("Delete");
  },
  begin: hush,
});

const isSelling = () => Boolean(document.querySelector(".counter"));
const isFree = () => isSelling() && !document.querySelector("dialog");

// The result has just come: a second Enter would hide the change.
const isFresh = (result) =>
  Boolean(result) && (result.state === "busy" || performance.now() - result.shownAt < FRESH_MS);

// The second tap of a double tap whose first one ended its view, such as Take payment or Add, is for nothing beneath.
const DOUBLE = { milliseconds: 350, pixels: 20 }; // of a touch, where not every browser counts taps
let [tap, isTouch] = [{ at: -Infinity }, false];
addEventListener("pointerdown", ({ pointerType }) => (isTouch = pointerType === "touch"), { capture: true });
addEventListener(
  "click",
  (event) => {
    const { detail, clientX: x, clientY: y, timeStamp: at, target } = event;
    if (!detail) return; // a key, or the page
    const isNear = Math.hypot(x - tap.x, y - tap.y) < DOUBLE.pixels && at - tap.at < DOUBLE.milliseconds;
    if ((detail > 1 || (isTouch && isNear)) && tap.button && !tap.button.isConnected) {
      event.preventDefault();
      event.stopImmediatePropagation();
    } else tap = { button: target.closest?.("button, a, label"), x, y, at };
  },
  { capture: true },
);

const isInField = ({ target }) => Boolean(target.closest?.("input, textarea, select"));

// Escape is Back, and empties a search first.
function leave({ target }) {
  if (sale().times) return change({ times: "" });
  const isSearch = target.type === "search" && target.value;
  if (!isSearch && till().session && (document.querySelector(".payment") || !document.querySelector(".counter")))
    goBack("sell");
  return undefined;
}

// Characters outside of fields: figures are an amount at the pad, a quantity at the items and money at the payment; others a
// search. Return how they are taken back.
function typed(text) {
  const [search, received] = ["search", "received"].map((id) => document.getElementById(id));
  const isQuantity = /^\d[\d.,]*$/.test(text) || (sale().times && /^[\d.,]+$/.test(text));
  const field = search && isQuantity ? null : (search ?? received);
  const before = sale();
  if (field) {
    const { activeElement } = document;
    field.focus();
    const undo = insert(field, text);
    return () => {
      undo();
      activeElement.focus({ preventScroll: true });
    };
  }
  if (search) count(text);
  else if (isPad()) for (const key of text) if (KEYS.includes(key)) press(key);
  return () => {
    hush();
    refusedAt = -Infinity;
    putBack(before);
  };
}

// Figures that follow a refused quantity without a pause belong to it: so does the rest of a scan that stumbled.
const REST_MS = 1000;
let refusedAt = -Infinity;
function count(text) {
  const isRest = performance.now() - refusedAt < REST_MS;
  if (!isRest && [...text].every(pressTimes)) return;
  change({ times: "" });
  refusedAt = performance.now();
  say(texts.maxTimes);
}

const isPad = () => Boolean(document.querySelector(".pad"));

// Enter goes on: from the items to the payment, and there it takes the payment. A button, a link and a search hear it themselves.
function enter(event) {
  const { target } = event;
  const form = document.querySelector(".payment");
  if (target.closest?.("button, a") || form?.contains(target) || (target.type === "search" && target.value)) return;
  event.preventDefault();
  if (form) form.requestSubmit();
  else if (!sale().times) pay(tenders()[0]);
}

function pay(tender) {
  if (!tender || sale().result || sumOf(sale()) <= 0) return;
  if (document.querySelector(".payment")) location.replace(address("pay", {}, tender));
  else payBy(tender);
}

// Alt and a figure choose a tender. Some scanners write by Alt and the number pad.
function payByKey(event) {
  const [, place] = /^Digit([1-9])$/.exec(event.code) ?? [];
  if (!place || !isSelling()) return;
  event.preventDefault();
  pay(tenders()[place - 1]);
}

// A tap leaves the focus where the next key belongs.
addEventListener(
  "mousedown",
  (event) => {
    const button = event.target.closest?.(".counter :is(button, a), header a");
    if (button && !button.closest("dialog")) event.preventDefault();
  },
  { capture: true },
);

function Pad({ sale: shown, currency, digits, isSum }) {
  const amount = html`<${Money} amount=${decimal(Number(shown.figures || "0"), digits)} currency=${currency} testid="amount" />`;
  const due =
    isSum && !isEmpty(shown) ? { "data-testid": "due", "data-amount": decimal(Number(shown.figures), digits) } : {};
  return html`<section class="pad" aria-label=${texts.amount}>
    ${!shown.result && html`<h1 class="sum" aria-live="polite" ...${due}>${amount}</h1>`}
    <div class="keys" role="group" aria-label=${texts.pad}>
      ${KEYS.map((key) => html`<button type="button" key=${key} aria-label=${key === "Delete" ? texts.delete : undefined} onClick=${() => press(key)}>${key === "Delete" ? "⌫" : key}</button>`)}
    </div>
  </section>`;
}

// Goods or an amount, with the tabs between them where the shop has a price list.
function Entry({ view, ...props }) {
  const tab = (name) =>
    html`<a href=${address(name)} aria-current=${name === view ? "page" : undefined}>${texts[name]}</a>`;
  return html`<div class="entry">
    ${props.items.length > 0 && html`<nav class="tabs" aria-label=${texts.entry}>${tab("items")}${tab("amount")}</nav>`}
    ${view === "items" ? html`<${Items} ...${props} />` : html`<${Pad} ...${props} />`}
  </div>`;
}

const Bill = (props) => html`<div class="side"><${Bar} ...${props} /><div class="bill">
    ${props.sale.lines.length > 0 && html`<${Lines} ...${props} />`}
    <${Description} sale=${props.sale} />
  </div>
  <${Tenders} ...${props} isShown=${!props.isSum} /></div>`;

const hasBasket = (one) => !one.result && !isEmpty(one);
const mayPay = (basket, { view, id }) => view === "pay" && hasBasket(basket) && tenders().includes(id);

// Back and Forward after the sale, another agent, or an address that somebody typed. The view may be behind the address.
function leaveStep() {
  const at = parse(location.hash);
  const isWrong = at.view === "pay" && !mayPay(sale(), at) && (!hasBasket(sale()) || till().features);
  const isOver = at.view === "basket" && !hasBasket(sale()) && !sale().undone;
  if (isWrong || isOver) location.replace(address("sell"));
}

export function Sell({ state, route }) {
  const shown = useSale();
  const { currency, digits } = currencyOf(state);
  const isPaying = mayPay(shown, route);
  const isOpen = route.view === "basket" && !shown.result; // the basket, on a telephone
  useTitle(isPaying ? texts.kinds[route.id] : !shown.result && (isOpen ? texts.basket : texts.sell), texts.name);
  useLayoutEffect(leaveStep);
  useLayoutEffect(settle, [route.view]);
  if (state.session.me.IsSystemUser)
    return html`<p class="note warn">${texts.systemUser} <a href="app">${new URL("app", document.baseURI).pathname}</a></p>`;
  if (currency === null) return html`<p class="note warn">${texts.noTender}</p>`; // a merchant without one

  const items = itemsOf(state);
  if (["items", "amount"].includes(route.view)) entry = route.view;
  const isAmount = entry ? entry === "amount" : Number(shown.figures) > 0 && !shown.lines.length;
  const view = items.length && !isAmount ? "items" : "amount";
  const isSum = view === "amount" && !shown.lines.length && !isOpen;
  const props = { state, sale: shown, currency, digits, view, items, isSum, isOpen };
  const isBusy = shown.result?.state === "busy";
  return html`<div class=${`counter${isPaying ? " paying" : isOpen ? " open" : isSum ? " of-sum" : ""}`}>
    ${isPaying && html`<${Payment} key=${route.id} ...${props} tender=${route.id} />`}
    ${isBusy && html`<${Busy} result=${shown.result} currency=${currency} digits=${digits} />`}
    ${shown.result && !isBusy && html`<${Result} key=${shown.result.shownAt} result=${shown.result} state=${state} />`}
    ${isPaying && shown.lines.length > 0 && html`<${Lines} ...${props} isPaying />`}
    ${!isPaying && !isBusy && html`<${Entry} ...${props} />`}
    ${!isPaying && !shown.result && html`<${Bill} ...${props} />`}
    <${Asked} currency=${currency} digits=${digits} />
  </div>`;
}
