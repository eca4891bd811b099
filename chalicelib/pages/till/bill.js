// The bill: the lines of the basket, discounts, the amount to pay, and the tenders.
import { format } from "../kit/money.js";
import { Field, Money } from "../kit/parts.js";
import { go, goBack } from "../kit/route.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { countOf, fullOf, goodsOf, isEmpty, offOf, sumOf } from "./basket.js";
import { decimal, maySellOffline, minorOf } from "./rules.js";
import { change, clear, more, remove, undo } from "./sale.js";
import { Discount, Sheet, mayDiscount, nameOf } from "./sheet.js";
import { texts } from "./texts.js";
import { tenders } from "./till.js";

// A line keeps its price, and says that the list has another one by now.
function Line({ line, place, price, currency, digits, onTap }) {
  const money = (minor) => html`<${Money} amount=${decimal(minor, digits)} currency=${currency} />`;
  const button = (name, sign, act) =>
    html`<button type="button" aria-label=${name} title=${`${name}, ${line.title}`} onClick=${act}>${sign}</button>`;
  const tapped = ({ target }) => target.closest("button") ?? onTap();
  return html`<li data-testid="line" data-code=${line.code} data-quantity=${line.quantity} onClick=${tapped}>
    <p class="line"><span class="name">${line.title}</span> ${money(fullOf(line))}</p>
    ${line.off && html`<p class="line dim"><span class="name">${nameOf(line.off)}</span> ${money(-offOf(line))}</p>`}
    ${line.note && html`<p class="remark dim">${line.note}</p>`}
    ${price !== undefined && price !== line.price && html`<p class="warn">${texts.newPrice(format(decimal(price, digits), currency))}</p>`}
    <p class="line"><button type="button" class="quiet name" title=${line.title} onClick=${onTap}>${texts.times(`${line.quantity}${line.unit ? ` ${line.unit}` : ""}`, format(decimal(line.price, digits), currency))}</button>
      ${button(texts.oneLess, "−", () => more(place, "-1"))}${button(texts.oneMore, "+", () => more(place, "1"))}
      ${button(texts.remove, "✕", () => remove(place))}</p>
  </li>`;
}

// The lines. Those of a basket that is being paid stand still.
export function Lines({ sale, items, currency, digits, isPaying }) {
  const prices = new Map(
    items.filter((one) => one.Price !== null).map((one) => [one.Code, minorOf(String(one.Price), digits)]),
  );
  const [asked, setAsked] = useState(null); // the place of a line, or "all"
  const list = useRef(null);
  const before = useRef([]);
  useLayoutEffect(() => {
    const place = sale.lines.findIndex((line, number) => line !== before.current[number]);
    before.current = sale.lines;
    const [line, box] = [list.current.children[place], list.current.closest(".bill")];
    if (line && box) box.scrollTop = line.offsetTop + line.offsetHeight - box.clientHeight; // where it scrolls: at a desk
  }, [sale.lines]);
  const line = sale.lines[asked];
  const props = { sale, place: asked, line, currency, digits, onClose: () => setAsked(null) };
  return html`<section class="lines" aria-label=${texts.basket}>
    <ul ref=${list}>${sale.lines.map(
      (
        one,
        place,
      ) => html`<${Line} key=${`${one.code} ${one.price} ${one.note ?? ""}`} line=${one} place=${place} price=${prices.get(one.code)} currency=${currency} digits=${digits}
      onTap=${() => setAsked(place)} />`,
    )}
      ${Number(sale.figures) > 0 && html`<li><p class="line"><span class="name">${texts.amount}</span> <${Money} amount=${decimal(Number(sale.figures), digits)} currency=${currency} /></p></li>`}
      ${
        sale.off &&
        html`<li><p class="line"><span class="name">${nameOf(sale.off)}</span>
        <${Money} amount=${decimal(sumOf(sale) - goodsOf(sale), digits)} currency=${currency} /></p></li>`
      }</ul>
    <p class="line">${mayDiscount() && html`<button type="button" class="quiet" onClick=${() => setAsked("all")}>${texts.discountOnAll}</button>`}
      ${!isPaying && html`<button type="button" class="quiet" onClick=${clear}>${texts.clear}</button>`}</p>
    ${line && html`<${Sheet} ...${props} />`}${asked === "all" && html`<${Discount} ...${props} />`}
  </section>`;
}

export const Description = ({
  sale,
}) => html`<${Field} id="description" label=${texts.description} autocomplete="off" maxlength="1024"
  value=${sale.description} onInput=${(event) => change({ description: event.target.value })} />`;

export const payBy = (tender) => go("pay", {}, tender);

// Whether a tender can work now. It can be chosen all the same: the page may not know yet that there is a connection.
export const isAble = (name, state) => state.isOnline || maySellOffline(name, state.features ?? {});

// On a telephone: the number of pieces and the sum, always at hand. It opens the lines and the tenders (`isOpen`).
export function Bar({ sale, currency, digits, isSum, isOpen }) {
  const sum = format(decimal(sumOf(sale), digits), currency);
  return html`<div class="bar">
    ${sale.undone && html`<p class="note line" role="status"><span class="name">${texts.undone}</span> <button type="button" onClick=${undo}>${texts.undo}</button></p>`}
    ${isOpen && html`<div class="line phone"><button type="button" class="quiet" onClick=${() => goBack("sell")}>${texts.back}</button><h1>${texts.basket}</h1></div>`}
    ${!isOpen && !isSum && html`<button type="button" class="main phone" disabled=${isEmpty(sale)} onClick=${() => go("basket")}>${texts.bar(countOf(sale), sum)}</button>`}
  </div>`;
}

// The amount to pay, and the tenders. `isShown` where no other place shows the sum.
export function Tenders({ state, sale, currency, digits, isShown }) {
  const offered = tenders();
  const due = decimal(sumOf(sale), digits);
  return html`<div class="pay">
    ${isShown && html`<p class="line due" aria-live="polite">${isEmpty(sale) ? texts.nothingYet : html`<span class="name">${texts.due}</span> <b data-testid="due" data-amount=${due}>${format(due, currency)}</b>`}</p>`}
    ${!isEmpty(sale) && sumOf(sale) <= 0 && html`<p class="note warn" role="status">${texts.nothingLeft}</p>`}
    <div class="tenders" role="group" aria-label=${texts.paidBy}>
      ${offered.map((name, number) => html`<button type="button" key=${name} class=${!number && isAble(name, state) ? "wide main" : number ? "" : "wide"} disabled=${sumOf(sale) <= 0} aria-keyshortcuts=${`Alt+${number + 1}`} onClick=${() => payBy(name)}>${texts.kinds[name]}<kbd aria-hidden="true">Alt+${number + 1}</kbd></button>`)}
      ${state.features && !offered.length && html`<p class="note warn">${texts.noTender}</p>`}
    </div>
    ${!state.isOnline && state.features && !state.features.Offline && html`<p class="note warn">${texts.onlyOnline}</p>`}
  </div>`;
}
