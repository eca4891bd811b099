// The receipt of a sale, to print at 80 mm or to share: the service's once it has the sale, else the till's own.
import { formatMoment, inZone } from "../kit/dates.js";
import { difference, format, isZero } from "../kit/money.js";
import { html, useState } from "../kit/view.js";
import { State, decimal, shownState } from "./rules.js";
import { texts } from "texts";
import { ask, till } from "./till.js";

const WIDTH = 40;

export function changeOf({ draft }) {
  if (draft.receivedMinor === undefined) return null;
  const change = difference(decimal(draft.receivedMinor, draft.digits), decimal(draft.minor, draft.digits));
  return isZero(change) ? null : change;
}

export const amountOf = ({ draft }) => decimal(draft.minor, draft.digits);
export const timeOf = (sale) => formatMoment(inZone(sale.gmt, sale.takenAt));

function ownText(sale) {
  const { draft, number } = sale;
  const money = (amount) => format(amount, draft.currency);
  const line = (name, value) => `${name}${" ".repeat(Math.max(1, WIDTH - name.length - value.length))}${value}`;
  const change = changeOf(sale);
  const lines = [
    till().session.me.ClientName, "", texts.receipt.title, "", line(texts.receipt.number, number), timeOf(sale), draft.description, "-".repeat(WIDTH),
    line(texts.receipt.total, money(amountOf(sale))),
    change && line(texts.receipt.received, money(decimal(draft.receivedMinor, draft.digits))),
    change && line(texts.receipt.change, money(change)),
    line(texts.paidBy, texts.tenders[draft.tender]), "-".repeat(WIDTH), sale.id,
  ];
  return lines.filter((one) => one !== null && one !== undefined).join("\n");
}

async function textOf(sale) {
  if (sale.state !== State.PAID) return ownText(sale);
  const answer = await ask("GET", `payment/receipt/${sale.id}`);
  return answer?.Receipt?.Text ?? ownText(sale);
}

export function ReceiptOf({ sale }) {
  const [text, setText] = useState(null);
  if ([State.UNKNOWN, State.DECLINED].includes(shownState(sale))) return null; // no money moved, as far as is known
  if (text === null) return html`<button type="button" onClick=${async () => setText(await textOf(sale))}>${texts.list.receipt}</button>`;
  const share = () => navigator.share({ text }).catch(() => {}); // the person closed the dialog of the system
  return html`<div class="paper">
    <pre class="receipt">${text}</pre>
    <div class="actions">
      <button type="button" onClick=${() => print()}>${texts.list.print}</button>
      ${navigator.share && html`<button type="button" onClick=${share}>${texts.list.share}</button>`}
    </div>
  </div>`;
}
