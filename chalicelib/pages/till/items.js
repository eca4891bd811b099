// The items of the price list: by group, with a search, and a scanner, which types fast and ends with Enter.
import { isBarcode } from "../kit/barcodes.js";
import { Dialog } from "../kit/dialogs.js";
import { format, typedAmount } from "../kit/money.js";
import { Field } from "../kit/parts.js";
import { html, useRef, useState } from "../kit/view.js";
import { byGroup, matching, quantityOf, scanned, sellable } from "./basket.js";
import { minorOf } from "./rules.js";
import { add, change, sale } from "./sale.js";
import { texts } from "./texts.js";
import { currencyOf, till } from "./till.js";

const MIN_SCAN = 4; // characters of a barcode or code
const MAX_GAP_MS = { scanner: 60, barcode: 150 }; // between two keys; nobody types the digits of a barcode by chance
const MANY = 12; // items, from which on the groups are offered

// The items that can be sold here: a terminal with another currency than the list's sells amounts.
export function itemsOf({ prices, listCurrency, ...state }) {
  const { currency, digits } = currencyOf(state);
  const isUsable = prices?.merchant === state.session.me.ClientID && (listCurrency ?? currency) === currency;
  return isUsable ? sellable(prices.items, digits) : [];
}

const isAsked = (item) => item.Price === null || Boolean(item.Unit);
const lineOf = (item, price, quantity = "1") => ({
  code: item.Code,
  title: item.Title,
  price,
  quantity,
  unit: item.Unit ?? null,
  taxes: item.TaxCode ? [item.TaxCode] : [],
  off: null,
});

let ask = () => {}; // shows the dialog for an item, while there is a view for it

// Put an item into the basket, or ask for its price or quantity first.
function choose(item) {
  const { digits } = currencyOf(till());
  if (isAsked(item)) ask({ item });
  else if (!add(lineOf(item, minorOf(String(item.Price), digits)))) ask({ item, isTooMuch: true });
}

// The keys of a scanner come fast. For a burst that ended, return the action that follows; else undefined. The typed
// figures and the field are then as they were before the burst, and a barcode that no item has changes nothing.
const burst = { text: "", at: -Infinity, isSlow: false };
export function listen(event, figures) {
  const gap = event.timeStamp - burst.at;
  const isBurst = gap < MAX_GAP_MS.barcode;
  if (event.key === "Enter" && isBurst) return ended(event.target);
  if (event.key.length > 1) return undefined;
  if (!isBurst) Object.assign(burst, { text: "", isSlow: false, figures, value: event.target.value });
  Object.assign(burst, {
    text: burst.text + event.key,
    at: event.timeStamp,
    isSlow: burst.isSlow || (burst.text && gap > MAX_GAP_MS.scanner),
  });
  return undefined;
}

function ended(field) {
  const { text, isSlow, figures, value } = burst;
  burst.at = -Infinity;
  const item = text.length >= MIN_SCAN && (isBarcode(text) || !isSlow) ? scanned(itemsOf(till()), text) : undefined;
  if (!item && (!isBarcode(text) || field.id === "search")) return undefined; // the search says that it finds nothing
  return () => {
    if (typeof field.value === "string") {
      field.value = value ?? ""; // the first key may have moved the focus to the field
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    if (document.querySelector("dialog")) return; // it asks for something first
    if (document.querySelector(".keys") && !sale().result) change({ figures });
    if (item) choose(item);
    else ask({ unknown: text });
  };
}

function AskedItem({ item, unknown, isTooMuch, currency, digits, onClose }) {
  const form = useRef(null);
  const [problems, setProblems] = useState({});
  if (unknown || isTooMuch)
    return html`<${Dialog} title=${unknown ?? item.Title} onClose=${onClose}><p>${unknown ? texts.noItem : texts.tooMuch}</p><div class="actions"><button type="button" autofocus onClick=${onClose}>${texts.done}</button></div><//>`;
  const submit = (event) => {
    event.preventDefault();
    const typed = form.current.elements;
    const price = typed.price
      ? minorOf(typedAmount(typed.price.value, currency) ?? "", digits)
      : minorOf(String(item.Price), digits);
    const quantity = typed.quantity ? quantityOf(typed.quantity.value) : "1";
    const wrong = { price: typed.price && !price && texts.noAmount, quantity: !quantity && texts.noQuantity };
    setProblems(wrong);
    if (wrong.price || wrong.quantity) return;
    if (add(lineOf(item, price, quantity))) onClose();
    else setProblems({ [typed.quantity ? "quantity" : "price"]: texts.tooMuch });
  };
  return html`<${Dialog} title=${item.Title} onClose=${onClose}>
    <form ref=${form} onSubmit=${submit} novalidate>
      ${item.Price === null && html`<${Field} id="price" name="price" label=${texts.price} inputmode="decimal" autocomplete="off" autofocus problem=${problems.price || undefined} />`}
      ${item.Unit && html`<${Field} id="quantity" name="quantity" label=${texts.quantity(item.Unit)} inputmode="decimal" autocomplete="off" autofocus=${item.Price !== null} problem=${problems.quantity || undefined} />`}
      <div class="actions"><button class="main">${texts.add}</button><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
    </form>
  <//>`;
}

// The dialogs of items, which a scanner opens too.
export function Asked({ currency, digits }) {
  const [asked, setAsked] = useState(null);
  ask = setAsked;
  return (
    asked && html`<${AskedItem} ...${asked} currency=${currency} digits=${digits} onClose=${() => setAsked(null)} />`
  );
}

const Item = ({ item, sold, currency }) => html`<button type="button" class="item" onClick=${() => choose(item)}>
  <span>${item.Title}</span> <small>${item.Price === null ? texts.anyPrice : `${format(item.Price, currency)}${item.Unit ? ` / ${item.Unit}` : ""}`}</small>
  ${sold > 0 && html`<b class="badge">${sold}</b>`}</button>`;

export const hold = (event) => event.preventDefault(); // the focus stays, so that Enter goes on

export function Items({ items, sale: shown, currency }) {
  const [typed, type] = useState("");
  const [group, setGroup] = useState(null);
  const groups = byGroup(items);
  const found = typed.trim()
    ? matching(items, typed)
    : items.filter((item) => group === null || (item.Group ?? "") === group);
  const enter = (event) => {
    event.preventDefault();
    const item = scanned(items, typed.trim()) ?? (found.length === 1 ? found[0] : null);
    if (!typed.trim() || !item) return;
    type("");
    choose(item);
  };
  const soldOf = (item) =>
    shown.result
      ? 0
      : shown.lines.filter((line) => line.code === item.Code).reduce((sum, line) => sum + Number(line.quantity), 0);
  const chip = (name, words) =>
    html`<button type="button" key=${words} aria-pressed=${name === group} onClick=${() => setGroup(name)}>${words}</button>`;
  return html`<section class="items" aria-label=${texts.items}>
    ${!shown.result && html`<h1 class="unseen">${texts.items}</h1>`}
    <form role="search" onSubmit=${enter}><${Field} id="search" type="search" label=${texts.search} autocomplete="off" spellcheck=${false} value=${typed}
      onInput=${(event) => type(event.target.value)} /></form>
    ${items.length > MANY && groups.length > 1 && !typed && html`<div class="chips" role="group" aria-label=${texts.groups}>${chip(null, texts.all)}${groups.map(([name]) => chip(name, name || texts.noGroup))}</div>`}
    ${byGroup(found).map(
      ([name, held]) => html`<div key=${name} role="group" aria-label=${name || texts.items}>
      ${name && html`<h2>${name}</h2>`}<div class="grid" onMouseDown=${hold}>${held.map((item) => html`<${Item} key=${item.Code} item=${item} sold=${soldOf(item)} currency=${currency} />`)}</div></div>`,
    )}
    ${!found.length && html`<p class="empty" role="status">${texts.noItem}</p>`}
  </section>`;
}
