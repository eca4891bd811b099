// The receipt of a sale, to print at 80 mm, to share or to send: the service's once it has the sale, else the till's own.
import { call } from "../kit/api.js";
import { formatMoment, inZone } from "../kit/dates.js";
import { ActButton } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { difference, format, isZero } from "../kit/money.js";
import { Loaded } from "../kit/parts.js";
import { SendReceipt } from "../kit/send_receipt.js";
import { html, useLayoutEffect, useState } from "../kit/view.js";
import { State, decimal, numberOf, shownState } from "./rules.js";
import { isSet } from "./settings.js";
import { language } from "../kit/language.js";
import { isWaiting } from "./store.js";
import { texts } from "./texts.js";
import { till, useTill } from "./till.js";

const WIDTH = 40;
const FORBIDDEN = 403; // another agent gave it back

export function changeOf({ draft }) {
  if (draft.receivedMinor === undefined) return null;
  const change = difference(decimal(draft.receivedMinor, draft.digits), decimal(draft.minor, draft.digits));
  return isZero(change) ? null : change;
}

export const amountOf = ({ draft }) => decimal(draft.minor, draft.digits);
export function numberWords(sale) {
  const number = numberOf(sale);
  return number ? texts.number(number) : isWaiting(sale) && texts.numberFollows;
}
export const timeOf = (sale) => formatMoment(inZone(sale.gmt, sale.takenAt));

// A name on the left and a value on the right. A long name has a line of its own.
function line(name, value) {
  const room = WIDTH - name.length;
  return value.length < room ? name + value.padStart(room) : `${name}\n${value.padStart(WIDTH)}`;
}

// A discount has its percentage when it is a whole one, as the service prints it.
function nameOf(minor, full) {
  const percent = Math.round((100 * minor) / full);
  return `${texts.discount}${Math.round((full * percent) / 100) === minor ? ` ${percent} %` : ""}`;
}

function ownText(sale) {
  const { draft } = sale;
  const rule = "-".repeat(WIDTH);
  const money = (amount) => format(amount, draft.currency);
  const change = changeOf(sale);
  const figure = (minor) => format(decimal(minor, draft.digits));
  const sold = draft.lines ?? [];
  const discounts = sold.map((one) => one.discount).filter(Boolean);
  const goods = sold.flatMap(({ quantity, title, minor, discount = 0 }) => [
    line(`${format(quantity)} × ${title}`, figure(minor + discount)),
    ...(discount ? [line(`  ${nameOf(discount, minor + discount)}`, figure(-discount))] : []),
  ]);
  const rounding = goods.length && draft.minor - draft.lines.reduce((sum, one) => sum + one.minor, 0);
  const lines = [
    till().session.me.ClientName,
    "",
    texts.receipt.title,
    "",
    line(texts.receipt.number, numberOf(sale) ?? texts.receipt.follows),
    timeOf(sale),
    draft.description,
    ...(goods.length ? [rule, ...goods] : []),
    rounding ? line(texts.receipt.rounding, figure(rounding)) : null,
    rule,
    line(texts.receipt.total, money(amountOf(sale))),
    discounts.length > 1 ? line(texts.receipt.discounts, figure(-discounts.reduce((sum, one) => sum + one))) : null,
    change && line(texts.receipt.received, money(decimal(draft.receivedMinor, draft.digits))),
    change && line(texts.receipt.change, money(change)),
    line(texts.paidBy, texts.kinds[draft.tender]),
    rule,
    sale.id,
  ];
  return lines.filter((one) => one !== null && one !== undefined).join("\n");
}

async function textOf(id, sale, isSent) {
  if (!isSent || (sale && !till().isOnline)) return ownText(sale);
  try {
    const { Receipt: receipt } = await call(`payment/receipt/${id}?Lang=${language}`);
    return receipt?.Text ?? texts.list.noReceipt;
  } catch ({ status }) {
    if (sale) return ownText(sale);
    throw new Error(status === FORBIDDEN ? texts.list.othersReceipt : texts.list.noReceipt);
  }
}

const isSent = (sale) => !sale || sale.state === State.PAID;

// The text of a receipt, with what can be done with it below.
function Paper({ id, sale, children }) {
  const state = useLoaded(() => textOf(id, sale, isSent(sale)), `${id} ${isSent(sale)}`);
  const share = () => navigator.share({ text: state.data }).catch(() => {}); // the person closed the dialog of the system
  const button = navigator.share && html`<button type="button" onClick=${share}>${texts.list.share}</button>`;
  return html`<${Loaded} state=${state}>${(text) => html`
    <pre class="receipt sheet" tabindex="0">${text}</pre>${children(button)}`}<//>`;
}

const Print = ({ isBusy, onClick = () => print() }) =>
  html`<${ActButton} type="button" isBusy=${isBusy} onClick=${onClick}>${texts.list.print}<//>`;

// The button `Send receipt`, or why the receipt cannot be sent now.
const Send = ({ id, sale, isOnline }) => html`
  ${isSent(sale) && html`<div class="sending" hidden=${!isOnline}><${SendReceipt} id=${id} /></div>`}
  ${(!isSent(sale) || !isOnline) && html`<p class="dim">${isSent(sale) ? texts.list.sendOffline : texts.list.sendLater}</p>`}`;

function Opened({ id, sale }) {
  const { isOnline } = useTill();
  return html`<div class="paper">
    <${Paper} id=${id} sale=${sale}>${(share) => html`<div class="actions"><${Print} />${share}</div>`}<//>
    <${Send} id=${id} sale=${sale} isOnline=${isOnline} />
  </div>`;
}

// Prints when the receipt is there.
function Printer({ onPrinted }) {
  useLayoutEffect(() => {
    print();
    onPrinted();
  }, []);
  return null;
}

// What can be done with the receipt of the sale that has just ended: print, send, show. A device that is set so prints each one by
// itself, once. `children` are other buttons.
export function Receipt({ sale, result, children }) {
  const { isOnline } = useTill();
  const [isOpen, open] = useState(false);
  const [isPrinting, setPrinting] = useState(false);
  const printIt = () => {
    open(true);
    setPrinting(true);
  };
  useLayoutEffect(() => {
    if (result.isNew && isSet("prints")) printIt();
    result.isNew = false; // the view may come back
  }, []);
  return html`<div class="actions hub">
      <${Print} isBusy=${isPrinting} onClick=${printIt} />
      <${Send} id=${sale.id} sale=${sale} isOnline=${isOnline} />
      ${children}
      <button type="button" aria-expanded=${isOpen} onClick=${() => open(!isOpen)}>${texts.list.receipt}</button>
    </div>
    ${
      isOpen &&
      html`<div class="paper"><${Paper} id=${sale.id} sale=${sale}>${(share) => html`
        ${share && html`<div class="actions">${share}</div>`}${isPrinting && html`<${Printer} onPrinted=${() => setPrinting(false)} />`}`}<//></div>`
    }`;
}

// Money moved, as far as is known.
export const hasReceipt = (sale) => ![State.UNKNOWN, State.DECLINED].includes(shownState(sale));

let shut = () => {}; // closes the open receipt: one is open at a time, and is printed

// The button that opens a receipt: of a sale of this device, or by its ID one that the service has.
export function ReceiptOf({ row, sale, id = sale.id, name = texts.list.receipt }) {
  const [isOpen, open] = useState(false);
  if (sale && !hasReceipt(sale)) return null;
  const press = () => {
    if (!isOpen) {
      shut();
      shut = () => open(false);
    }
    open(!isOpen);
  };
  return html`<button type="button" aria-describedby=${row} aria-expanded=${isOpen} onClick=${press}>${name}</button>${isOpen && html`<${Opened} id=${id} sale=${sale} />`}`;
}
