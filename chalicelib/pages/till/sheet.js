// The sheets: one changes a line of the basket, the other the discount on all.
import { Dialog } from "../kit/dialogs.js";
import { decimalMark, format, signOf, typedAmount, typedQuantity, wrongNumber, wrongQuantity } from "../kit/money.js";
import { Field } from "../kit/parts.js";
import { html, useRef, useState } from "../kit/view.js";
import { fullOf, goodsOf } from "./basket.js";
import { decimal, descriptionOf, minorOf } from "./rules.js";
import { discountAll, remove, setLine } from "./sale.js";
import { texts } from "./texts.js";
import { till } from "./till.js";

const PERCENTS = ["5", "10", "15", "20"];

// The service refuses discounts of an agent without the feature.
export const mayDiscount = () => till().features?.Discounts !== false;

export const nameOf = (off) => `${texts.discount}${off.percent ? ` ${format(off.percent)} %` : ""}`;

// A discount in its field: the text, and whether it is a percentage.
const typedOf = (off, digits) => ({
  text: off ? format(off.percent ?? decimal(off.minor, digits)) : "",
  isShare: !off?.minor,
});

// The typed discount, null for none, or undefined for a wrong one. A typed sign counts more than the chosen unit.
function discountIn({ text, isShare }, most, currency, digits) {
  const [typed, hasPercent, hasSign] = [text.trim(), /%\s*$/.test(text), /^\s*[\p{Sc}\p{L}]/u.test(text)];
  if (!typed) return null;
  if (hasPercent || (isShare && !hasSign)) {
    const percent = typedQuantity(typed.replace("%", ""));
    return percent && Number(percent) <= 100 ? { percent } : undefined;
  }
  const minor = minorOf(typedAmount(typed, currency, digits) ?? "", digits);
  return minor && minor <= most ? { minor } : undefined;
}

function OffField({ typed, onType, currency, problem, autofocus }) {
  const choice = (name, isChosen, chosen) =>
    html`<button type="button" key=${name} aria-pressed=${isChosen} onClick=${() => onType(chosen)}>${name}</button>`;
  const preset = (percent) => {
    const isChosen = typed.isShare && typed.text === percent;
    return choice(`${percent} %`, isChosen, { text: isChosen ? "" : percent, isShare: true });
  };
  return html`<div class="off"><${Field} id="off" label=${texts.discount} inputmode="decimal" autocomplete="off" autofocus=${autofocus} value=${typed.text} problem=${problem}
      onInput=${(event) => onType({ ...typed, text: event.target.value })} />
    <div class="chips" role="group" aria-label=${texts.discountIn}>${choice("%", typed.isShare, { ...typed, isShare: true })}${choice(signOf(currency), !typed.isShare, { ...typed, isShare: false })}</div>
    <div class="chips" role="group" aria-label=${texts.usualDiscounts}>${PERCENTS.map(preset)}</div></div>`;
}

const Actions = ({ onClose, children }) =>
  html`<div class="actions held"><button class="main">${texts.done}</button>${children}<button type="button" onClick=${onClose}>${texts.cancel}</button></div>`;

// A discount on all lines.
export function Discount({ sale, currency, digits, onClose }) {
  const [typed, type] = useState(typedOf(sale.off, digits));
  const [problem, setProblem] = useState(undefined);
  const submit = (event) => {
    event.preventDefault();
    const off = discountIn(typed, goodsOf(sale), currency, digits);
    if (off === undefined) return setProblem(wrongNumber(typed.text, texts.noDiscount, currency, digits));
    discountAll(off);
    return onClose();
  };
  return html`<${Dialog} title=${texts.discountOnAll} onClose=${onClose}><form onSubmit=${submit} novalidate>
    <${OffField} typed=${typed} onType=${type} currency=${currency} problem=${problem} autofocus />
    <${Actions} onClose=${onClose} />
  </form><//>`;
}

const PAD = ["1", "2", "3", "4", "5", "6", "7", "8", "9", null, "0", "⌫"]; // null: the mark before decimals

// The sheet of a line. What is not typed stays as it is.
export function Sheet({ place, line, currency, digits, onClose }) {
  const form = useRef(null);
  const [typed, type] = useState(""); // the quantity
  const [off, setOff] = useState(typedOf(line.off, digits));
  const [problems, setProblems] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const { price: field, note } = form.current.elements;
    const quantity = typedQuantity(typed || line.quantity);
    const price = field ? minorOf(typedAmount(field.value, currency, digits) ?? "", digits) : line.price;
    const found = quantity && discountIn(off, fullOf({ price: price ?? 0, quantity }), currency, digits);
    const wrong = {
      quantity: !quantity && wrongQuantity(typed, texts.noQuantity),
      price: field && !price && wrongNumber(field.value, texts.noAmount, currency, digits),
      off: mayDiscount() && found === undefined && wrongNumber(off.text, texts.noDiscount, currency, digits),
    };
    setProblems(wrong);
    if (Object.values(wrong).some(Boolean)) return;
    if (setLine(place, { quantity, price, off: found, note: descriptionOf(note.value) })) onClose();
    else setProblems({ quantity: texts.tooMuch });
  };
  const press = (key) => type(key === "⌫" ? typed.slice(0, -1) : typed + key);
  return html`<${Dialog} title=${line.title} onClose=${onClose}><form ref=${form} class="changes" onSubmit=${submit} novalidate>
    <${Field} id="quantity" label=${line.unit ? texts.quantity(line.unit) : texts.pieces} inputmode="none" autocomplete="off" autofocus placeholder=${line.quantity}
      value=${typed} onInput=${(event) => type(event.target.value)} problem=${problems.quantity || undefined} />
    <div class="keys" role="group" aria-label=${texts.pad}>
      ${PAD.map((key) => key ?? decimalMark()).map((key) => html`<button type="button" key=${key} aria-label=${key === "⌫" ? texts.delete : undefined} onClick=${() => press(key)}>${key}</button>`)}
    </div>
    ${line.isTyped && html`<${Field} id="price" name="price" label=${texts.price} inputmode="decimal" autocomplete="off" defaultValue=${format(decimal(line.price, digits))} problem=${problems.price || undefined} />`}
    ${mayDiscount() && html`<${OffField} typed=${off} onType=${setOff} currency=${currency} problem=${problems.off || undefined} />`}
    <${Field} id="note" name="note" label=${texts.note} autocomplete="off" maxlength="64" defaultValue=${line.note} />
    <${Actions} onClose=${onClose}><button type="button" onClick=${() => remove(place) && onClose()}>${texts.remove}</button><//>
  </form><//>`;
}
