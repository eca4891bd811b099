// The receipt of a sale, to print at 80 mm, to share or to send: the service's once it has the sale, else the till's own.
import { call } from "../kit/api.js";
import { formatMoment, inZone } from "../kit/dates.js";
import { useLoaded } from "../kit/load.js";
import { difference, format, isZero } from "../kit/money.js";
import { Loaded } from "../kit/parts.js";
import { SendReceipt } from "../kit/send_receipt.js";
import { html, useState } from "../kit/view.js";
import { State, decimal, shownState } from "./rules.js";
import { language } from "../kit/language.js";
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
  const { draft, number } = sale;
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
    line(texts.receipt.number, number),
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
  if (!isSent) return ownText(sale);
  try {
    const { Receipt: receipt } = await call(`payment/receipt/${id}?Lang=${language}`);
    return receipt?.Text ?? texts.list.noReceipt;
  } catch ({ status }) {
    if (sale) return ownText(sale);
    throw new Error(status === FORBIDDEN ? texts.list.othersReceipt : texts.list.noReceipt);
  }
}

function Opened({ id, sale }) {
  const { isOnline } = useTill();
  const isSent = !sale || sale.state === State.PAID;
  const state = useLoaded(() => textOf(id, sale, isSent), `${id} ${isSent}`);
  const share = () => navigator.share({ text: state.data }).catch(() => {}); // the person closed the dialog of the system
  return html`<div class="paper"><${Loaded} state=${state}>${(text) => html`
    <pre class="receipt sheet" tabindex="0">${text}</pre>
    <div class="actions">
      <button type="button" onClick=${() => print()}>${texts.list.print}</button>
      ${navigator.share && html`<button type="button" onClick=${share}>${texts.list.share}</button>`}
    </div>`}<//>
    ${isSent && html`<div hidden=${!isOnline}><${SendReceipt} id=${id} /></div>`}
    ${(!isSent || !isOnline) && html`<p class="dim">${isSent ? texts.list.sendOffline : texts.list.sendLater}</p>`}
  </div>`;
}

let shut = () => {}; // closes the open receipt: one is open at a time, and is printed

// The button that opens a receipt: of a sale of this device, or by its ID one that the service has.
export function ReceiptOf({ row, sale, id = sale.id, name = texts.list.receipt }) {
  const [isOpen, open] = useState(false);
  if (sale && [State.UNKNOWN, State.DECLINED].includes(shownState(sale))) return null; // no money moved, as far as is known
  const press = () => {
    if (!isOpen) {
      shut();
      shut = () => open(false);
    }
    open(!isOpen);
  };
  return html`<button type="button" aria-describedby=${row} aria-expanded=${isOpen} onClick=${press}>${name}</button>${isOpen && html`<${Opened} id=${id} sale=${sale} />`}`;
}
