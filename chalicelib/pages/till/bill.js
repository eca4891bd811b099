// The bill: the lines of the basket, discounts, the amount to pay, and the tenders.
import { Dialog } from "../kit/dialogs.js";
import { decimalMark, format, typedAmount, typedQuantity, wrongNumber, wrongQuantity } from "../kit/money.js";
import { Field, Money } from "../kit/parts.js";
import { go } from "../kit/route.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { fullOf, goodsOf, isEmpty, soldLines, sumOf } from "./basket.js";
import { decimal, maySellOffline, minorOf } from "./rules.js";
import { WORDS, change, discount, more, remove, setQuantity, undo } from "./sale.js";
import { texts } from "./texts.js";
import { tenders, till } from "./till.js";

// The service refuses discounts of an agent without the feature.
const mayDiscount = () => till().features?.Discounts !== false;

// A discount on a line, or with `place` null on all: a percentage, or an amount.
function Discount({ place, title, off, most, currency, digits, onClose }) {
  const form = useRef(null);
  const [problem, setProblem] = useState(undefined);
  const submit = (event) => {
    event.preventDefault();
    const text = form.current.elements.off.value.trim();
    const isShare = text.endsWith("%");
    const percent = isShare ? typedQuantity(text.slice(0, -1)) : null;
    const minor = isShare ? null : minorOf(typedAmount(text, currency, digits) ?? "", digits);
    const isRight = (percent && Number(percent) <= 100) || (minor && minor <= most);
    if (text && !isRight)
      return setProblem(isShare ? texts.noDiscount : wrongNumber(text, texts.noDiscount, currency, digits));
    discount(place, text ? (percent ? { percent } : { minor }) : null);
    return onClose();
  };
  const known = off && (off.percent ? `${off.percent} %` : format(decimal(off.minor, digits)));
  return html`<${Dialog} title=${title} onClose=${onClose}><form ref=${form} onSubmit=${submit} novalidate>
    <${Field} id="off" name="off" label=${texts.discount} hint=${texts.discountHint} autocomplete="off" autofocus defaultValue=${known ?? ""} problem=${problem} />
    <div class="actions"><button class="main">${texts.done}</button><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
  </form><//>`;
}

const PAD = ["1", "2", "3", "4", "5", "6", "7", "8", "9", null, "0", "⌫"]; // null: the mark before decimals

// The sheet of a line: its quantity, by a number pad or a keyboard, and the ways to its discount and out of the basket.
function Quantity({ place, line, onDiscount, onClose }) {
  const [typed, type] = useState("");
  const [problem, setProblem] = useState(undefined);
  const submit = (event) => {
    event.preventDefault();
    const quantity = typedQuantity(typed || line.quantity);
    if (!quantity) return setProblem(wrongQuantity(typed, texts.noQuantity));
    return setQuantity(place, quantity) ? onClose() : setProblem(texts.tooMuch);
  };
  const press = (key) => type(key === "⌫" ? typed.slice(0, -1) : typed + key);
  return html`<${Dialog} title=${line.title} onClose=${onClose}><form onSubmit=${submit} novalidate>
    <${Field} id="quantity" label=${line.unit ? texts.quantity(line.unit) : texts.pieces} inputmode="none" autocomplete="off" autofocus placeholder=${line.quantity}
      value=${typed} onInput=${(event) => type(event.target.value)} problem=${problem} />
    <div class="keys" role="group" aria-label=${texts.pad}>
      ${PAD.map((key) => key ?? decimalMark()).map((key) => html`<button type="button" key=${key} aria-label=${key === "⌫" ? texts.delete : undefined} onClick=${() => press(key)}>${key}</button>`)}
    </div>
    <div class="actions"><button class="main">${texts.done}</button>
      ${mayDiscount() && html`<button type="button" onClick=${onDiscount}>${texts.discount}</button>`}
      <button type="button" onClick=${() => remove(place) && onClose()}>${texts.remove}</button>
      <button type="button" onClick=${onClose}>${texts.cancel}</button></div>
  </form><//>`;
}

// A line keeps its price, and says that the list has another one by now.
function Line({ line, place, price, currency, digits, onTap }) {
  const sold = soldLines({ lines: [line], off: null, figures: "" }, WORDS);
  const money = (minor) => html`<${Money} amount=${decimal(minor, digits)} currency=${currency} />`;
  const button = (name, sign, act) =>
    html`<button type="button" aria-label=${name} title=${name} onClick=${act}>${sign}</button>`;
  const tapped = ({ target }) => target.closest("button") ?? onTap();
  return html`<li data-testid="line" data-code=${line.code} data-quantity=${line.quantity} onClick=${tapped}>
    <p class="line"><span class="name">${line.title}</span> ${money(sold[0].minor)}</p>
    ${sold[1] && html`<p class="line dim"><span class="name">${sold[1].title}</span> ${money(sold[1].minor)}</p>`}
    ${price !== undefined && price !== line.price && html`<p class="warn">${texts.newPrice(format(decimal(price, digits), currency))}</p>`}
    <p class="line"><button type="button" class="quiet name" onClick=${onTap}>${texts.times(`${line.quantity}${line.unit ? ` ${line.unit}` : ""}`, format(decimal(line.price, digits), currency))}</button>
      ${button(texts.oneLess, "−", () => more(place, "-1"))}${button(texts.oneMore, "+", () => more(place, "1"))}
      ${button(texts.remove, "✕", () => remove(place))}</p>
  </li>`;
}

// The lines. Those of a basket that is being paid stand still.
export function Lines({ sale, items, currency, digits }) {
  const prices = new Map(
    items.filter((one) => one.Price !== null).map((one) => [one.Code, minorOf(String(one.Price), digits)]),
  );
  const [asked, setAsked] = useState(null); // the discount {place, title, off, most}, or the quantity {place, line}
  const list = useRef(null);
  const before = useRef([]);
  useLayoutEffect(() => {
    const place = sale.lines.findIndex((line, number) => line !== before.current[number]);
    before.current = sale.lines;
    const [line, box] = [list.current.children[place], list.current.closest(".bill")];
    if (line && box) box.scrollTop = line.offsetTop + line.offsetHeight - box.clientHeight; // where it scrolls: at a desk
  }, [sale.lines]);
  const askDiscount = ({ place, line }) => setAsked({ place, title: line.title, off: line.off, most: fullOf(line) });
  return html`<section class="lines" aria-label=${texts.basket}>
    <ul ref=${list}>${sale.lines.map(
      (
        line,
        place,
      ) => html`<${Line} key=${`${line.code} ${line.price}`} line=${line} place=${place} price=${prices.get(line.code)} currency=${currency} digits=${digits}
      onTap=${() => setAsked({ place, line })} />`,
    )}
      ${Number(sale.figures) > 0 && html`<li><p class="line"><span class="name">${texts.amount}</span> <${Money} amount=${decimal(Number(sale.figures), digits)} currency=${currency} /></p></li>`}
      ${
        sale.off &&
        html`<li><p class="line"><span class="name">${texts.discount}${sale.off.percent ? ` ${sale.off.percent} %` : ""}</span>
        <${Money} amount=${decimal(sumOf(sale) - sumOf({ ...sale, off: null }), digits)} currency=${currency} /></p></li>`
      }</ul>
    ${mayDiscount() && html`<button type="button" class="quiet" onClick=${() => setAsked({ place: null, title: texts.discountOnAll, off: sale.off, most: goodsOf(sale) })}>${texts.discountOnAll}</button>`}
    ${asked && html`<${asked.line ? Quantity : Discount} ...${asked} onDiscount=${() => askDiscount(asked)} currency=${currency} digits=${digits} onClose=${() => setAsked(null)} />`}
  </section>`;
}

export const Description = ({
  sale,
}) => html`<${Field} id="description" label=${texts.description} autocomplete="off" maxlength="1024"
  value=${sale.description} onInput=${(event) => change({ description: event.target.value })} />`;

const showLines = () => document.querySelector(".lines").scrollIntoView({ block: "start" });

export const payBy = (tender) => go("pay", {}, tender);

// Whether a tender can work now. It can be chosen all the same: the page may not know yet that there is a connection.
const isAble = (name, state) => state.isOnline || maySellOffline(name, state.features ?? {});

// The amount to pay, and the tenders. `isShown` where no other place shows the sum.
export function Tenders({ state, sale, currency, digits, isShown }) {
  const offered = tenders();
  const due = decimal(sumOf(sale), digits);
  return html`<div class="pay">
    ${sale.undone && html`<p class="note line" role="status"><span class="name">${texts.undone}</span> <button type="button" onClick=${undo}>${texts.undo}</button></p>`}
    ${
      isShown &&
      html`<p class="line due" aria-live="polite">${
        isEmpty(sale)
          ? texts.nothingYet
          : html`<span class="name">${texts.due}</span>${sale.lines.length > 0 && html` <button type="button" class="quiet" onClick=${showLines}>${texts.linesOf(sale.lines.length)}</button>`} <b data-testid="due" data-amount=${due}>${format(due, currency)}</b>`
      }</p>`
    }
    <div class="tenders" role="group" aria-label=${texts.paidBy}>
      ${offered.map((name, number) => html`<button type="button" key=${name} class=${!number && isAble(name, state) ? "wide main" : number ? "" : "wide"} disabled=${sumOf(sale) <= 0} aria-keyshortcuts=${`Alt+${number + 1}`} onClick=${() => payBy(name)}>${texts.kinds[name]}<kbd aria-hidden="true">Alt+${number + 1}</kbd></button>`)}
      ${state.features && !offered.length && html`<p class="note warn">${texts.noTender}</p>`}
    </div>
    ${!state.isOnline && state.features && !state.features.Offline && html`<p class="note warn">${texts.onlyOnline}</p>`}
  </div>`;
}
