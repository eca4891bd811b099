// The items of the price list: by group, with a search, and by a scanner.
import { Dialog } from "../kit/dialogs.js";
import { useRead } from "../kit/load.js";
import { decimalMark, format, typedAmount, typedQuantity, wrongNumber, wrongQuantity } from "../kit/money.js";
import { Field } from "../kit/parts.js";
import { html, useRef, useState } from "../kit/view.js";
import { currencyOf } from "./account.js";
import { byGroup, favouritesOf, matching, scanned, sellable } from "./basket.js";
import { minorOf } from "./rules.js";
import { say } from "./said.js";
import { add, change, mayChange, pressTimes, sale } from "./sale.js";
import { sound } from "./settings.js";
import { texts } from "./texts.js";
import { sales, till } from "./till.js";

const MANY = 12; // items, from which on groups and favourites are offered
const RECENT = 300; // sales of the device, which show its favourites
const HUE = 137; // degrees between two groups, so that no two neighbours look alike

// The items that can be sold here: a terminal with another currency than the list's sells amounts.
export function itemsOf({ prices, listCurrency, ...state }) {
  const { currency, digits } = currencyOf(state);
  const isUsable = prices?.merchant === state.session.me.ClientID && (listCurrency ?? currency) === currency;
  return isUsable ? sellable(prices.items, digits) : [];
}

const priceOf = (item) => minorOf(String(item.Price), currencyOf(till()).digits);
const counted = () => sale().times.replace(/\.$/, "");
const written = (times) => times.replace(".", decimalMark());
const isAsked = (item) => item.Price === null || Boolean(item.Unit);
const lineOf = (item, price, quantity = Number(sale().times) ? counted() : "1") => ({
  code: item.Code,
  title: item.Title,
  price,
  isTyped: item.Price === null,
  quantity,
  unit: item.Unit ?? null,
  taxes: item.TaxCode ? [item.TaxCode] : [],
  off: null,
});

let showDialog = () => {}; // shows the dialog for an item, while there is a view for it

// Put an item into the basket, or ask for its price or quantity first.
function choose(item) {
  if (sale().times && !Number(sale().times)) {
    change({ times: "" });
    say(texts.noQuantity);
  } else if (isAsked(item)) showDialog(item);
  else put(item);
}

function put(item) {
  const isIn = add(lineOf(item, priceOf(item)));
  if (!isIn) say(mayChange() ? texts.tooMuch : texts.notNow(item.Title));
  return isIn;
}

// Put a scanned item into the basket. Only at the items a dialog may ask for the rest; elsewhere it says what it did.
export function scan(text) {
  const item = scanned(itemsOf(till()), text);
  const isFree = document.querySelector(".counter") && !document.querySelector("dialog");
  if (!item) {
    if (sale().times) change({ times: "" }); // they may be the first figures of this code
    say(texts.unknown(text.replace(/\p{Cc}/gu, " ")), "bad");
    sound("refused");
  } else if (isFree && (isAsked(item) || !document.querySelector(".payment"))) choose(item);
  else if (isAsked(item)) say(item.Unit ? texts.mustWeigh(item.Title) : texts.mustPrice(item.Title));
  else if (put(item)) say(texts.added(item.Title));
}

function AskedItem({ item, currency, digits, onClose }) {
  const form = useRef(null);
  const [problems, setProblems] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const typed = form.current.elements;
    const price = typed.price ? minorOf(typedAmount(typed.price.value, currency, digits) ?? "", digits) : priceOf(item);
    const quantity = typed.quantity ? typedQuantity(typed.quantity.value) : undefined;
    const wrong = {
      price: typed.price && !price && wrongNumber(typed.price.value, texts.noAmount, currency, digits),
      quantity: quantity === null && wrongQuantity(typed.quantity.value, texts.noQuantity),
    };
    setProblems(wrong);
    if (wrong.price || wrong.quantity) return;
    if (add(lineOf(item, price, quantity))) onClose();
    else setProblems({ [typed.quantity ? "quantity" : "price"]: texts.tooMuch });
  };
  return html`<${Dialog} title=${item.Title} onClose=${onClose}>
    <form ref=${form} onSubmit=${submit} novalidate>
      ${item.Price === null && html`<${Field} id="price" name="price" label=${texts.price} inputmode="decimal" autocomplete="off" autofocus problem=${problems.price || undefined} />`}
      ${item.Unit && html`<${Field} id="quantity" name="quantity" label=${texts.quantity(item.Unit)} inputmode="decimal" autocomplete="off" autofocus=${item.Price !== null} defaultValue=${written(counted())} problem=${problems.quantity || undefined} />`}
      <div class="actions"><button class="main">${texts.add}</button><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
    </form>
  <//>`;
}

// The dialog of an item that has no price or is weighed. A scan opens it too.
export function Asked({ currency, digits }) {
  const [asked, setAsked] = useState(null);
  showDialog = setAsked;
  return (
    asked && html`<${AskedItem} item=${asked} currency=${currency} digits=${digits} onClose=${() => setAsked(null)} />`
  );
}

// The items that this device sells most, as they were when the page was opened: while somebody sells, they keep their places.
let favourites = { agent: null, codes: [] };
function useFavourites(agent, isWanted) {
  const [shown, show] = useState(favourites);
  const read = async () =>
    isWanted && favourites.agent !== agent ? { agent, codes: favouritesOf(await sales(RECENT)) } : favourites;
  useRead(read, (found) => show((favourites = found)), [agent, isWanted]);
  return shown.agent === agent ? shown.codes : [];
}

const hued = (hue) => (hue === undefined ? {} : { style: { "--hue": hue } });

const Item = ({
  item,
  sold,
  currency,
  hue,
}) => html`<button type="button" class=${`item${hue === undefined ? "" : " hued"}`} ...${hued(hue)} onClick=${() => choose(item)}>
  <span>${item.Title}</span> <small>${item.Price === null ? texts.anyPrice : `${format(item.Price, currency)}${item.Unit ? ` / ${item.Unit}` : ""}`}</small>
  ${sold > 0 && html`<b class="badge">${sold}</b>`}</button>`;

export function Items({ items, sale: shown, currency }) {
  const [typed, type] = useState("");
  const [group, setGroup] = useState(null);
  const groups = byGroup(items);
  const hues = new Map(groups.filter(([name]) => name).map(([name], number) => [name, (number * HUE) % 360]));
  const isMany = items.length > MANY;
  const codes = useFavourites(till().session.agent, isMany);
  const isSought = Boolean(typed.trim());
  const found = isSought
    ? matching(items, typed)
    : items.filter((item) => group === null || (item.Group ?? "") === group);
  const isAll = !isSought && group === null;
  const first = isAll ? codes.map((code) => items.find((one) => one.Code === code)).filter(Boolean) : [];
  const others = found.filter((item) => !first.includes(item));
  const parts = isSought ? [["", found]] : [[texts.favourites, first], ...byGroup(others)];
  const enter = (event) => {
    event.preventDefault();
    const item = scanned(items, typed.trim()) ?? (found.length === 1 ? found[0] : null);
    if (!typed.trim() || !item) return;
    type("");
    document.activeElement.blur(); // figures typed next are a quantity
    choose(item);
  };
  const soldOf = (item) =>
    shown.result
      ? 0
      : shown.lines.filter((line) => line.code === item.Code).reduce((sum, line) => sum + Number(line.quantity), 0);
  const chip = (name, words) =>
    html`<button type="button" key=${words} class=${hues.has(name) ? "hued" : undefined} ...${hued(hues.get(name))} aria-pressed=${name === group} onClick=${() => setGroup(name)}>${words}</button>`;
  return html`<section class="items" aria-label=${texts.items}>
    ${!shown.result && html`<h1 class="unseen">${texts.items}</h1>`}
    ${
      shown.times &&
      html`<p class="times line" role="status"><b>${written(shown.times)} ×</b>
      <button type="button" aria-label=${texts.delete} onClick=${() => pressTimes("Delete")}>⌫</button> <small class="name">${texts.timesWhat}</small></p>`
    }
    <form role="search" onSubmit=${enter}><${Field} id="search" type="search" label=${texts.search} autocomplete="off" spellcheck=${false} value=${typed}
      onInput=${(event) => type(event.target.value)} /></form>
    ${isMany && groups.length > 1 && !typed && html`<div class="chips row" role="group" aria-label=${texts.groups}>${chip(null, texts.all)}${groups.map(([name]) => chip(name, name || texts.noGroup))}</div>`}
    ${parts.map(
      ([name, held]) =>
        held.length > 0 &&
        html`<div key=${name} role="group" aria-label=${name || texts.items}>
      ${(name || first.length > 0) && html`<h2>${name || texts.noGroup}</h2>`}<div class="grid">${held.map((item) => html`<${Item} key=${item.Code} item=${item} sold=${soldOf(item)} currency=${currency} hue=${hues.get(item.Group)} />`)}</div></div>`,
    )}
    ${!found.length && typed.trim() && html`<p class="empty" role="status">${texts.noMatch(typed.trim())}</p>`}
  </section>`;
}
