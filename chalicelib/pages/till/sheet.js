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

function OffField({ typed, onType, currency, problem, ...input }) {
  const choice = (name, isChosen, chosen) =>
    html`<button type="button" key=${name} aria-pressed=${isChosen} onClick=${() => onType(chosen)}>${name}</button>`;
  const preset = (percent) => {
    const isChosen = typed.isShare && typed.text === percent;
    return choice(`${percent} %`, isChosen, { text: isChosen ? "" : percent, isShare: true });
  };
  return html`<div class="off"><${Field} id="off" label=${texts.discount} inputmode="decimal" autocomplete="off" value=${typed.text} problem=${problem}
      onInput=${(event) => onType({ ...typed, text: event.target.value })} ...${input} />
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

// The sheet of a line. What is not typed stays as it is. Its keys type into the field that had the focus last, and replace
// what was in it before.
export function Sheet({ place, line, currency, digits, onClose }) {
  const form = useRef(null);
  const [typed, type] = useState(""); // the quantity
  const [price, setPrice] = useState(format(decimal(line.price, digits)));
  const [{ into, isBegun }, aim] = useState({ into: "quantity" }); // the field of the keys
  const [off, setOff] = useState(typedOf(line.off, digits));
  const [problems, setProblems] = useState({});
  const submit = (event) => {
    event.preventDefault();
    const quantity = typedQuantity(typed || line.quantity);
    const minor = line.isTyped ? minorOf(typedAmount(price, currency, digits) ?? "", digits) : line.price;
    const found = quantity && discountIn(off, fullOf({ price: minor ?? 0, quantity }), currency, digits);
    const wrong = {
      quantity: !quantity && wrongQuantity(typed, texts.noQuantity),
      price: line.isTyped && !minor && wrongNumber(price, texts.noAmount, currency, digits),
      off: mayDiscount() && found === undefined && wrongNumber(off.text, texts.noDiscount, currency, digits),
    };
    setProblems(wrong);
    if (Object.values(wrong).some(Boolean)) return;
    const note = descriptionOf(form.current.elements.note.value);
    if (setLine(place, { quantity, price: minor, off: found, note })) onClose();
    else setProblems({ quantity: texts.tooMuch });
  };
  const fields = {
    quantity: [line.unit ? texts.quantity(line.unit) : texts.pieces, typed, type],
    price: [texts.price, price, setPrice],
    off: [texts.discount, off.text, (text) => setOff({ ...off, text })],
  };
  const chooseOff = (next) => {
    setOff(next);
    aim({ into: "off" });
  };
  const press = (key) => {
    const [, value, enter] = fields[into];
    enter(key === "⌫" ? value.slice(0, -1) : (isBegun ? value : "") + key);
    aim({ into, isBegun: true });
  };
  const aimed = (name) => ({
    inputmode: "none",
    onFocus: () => aim({ into: name }),
    onInput: (event) => {
      fields[name][2](event.target.value);
      aim({ into: name, isBegun: true });
    },
  });
  const field = (name, input) =>
    html`<${Field} id=${name} label=${fields[name][0]} autocomplete="off" value=${fields[name][1]} problem=${problems[name] || undefined}
      ...${aimed(name)} ...${input} />`;
  return html`<${Dialog} title=${line.title} onClose=${onClose}><form ref=${form} class="changes" onSubmit=${submit} novalidate>
    ${field("quantity", { autofocus: true, placeholder: line.quantity })}
    <p class="dim" id="into">${texts.keysType(fields[into][0])}</p>
    <div class="keys" role="group" aria-labelledby="into">
      ${PAD.map((key) => key ?? decimalMark()).map((key) => html`<button type="button" key=${key} aria-label=${key === "⌫" ? texts.delete : undefined} onClick=${() => press(key)}>${key}</button>`)}
    </div>
    ${line.isTyped && field("price", { name: "price" })}
    ${mayDiscount() && html`<${OffField} typed=${off} onType=${chooseOff} currency=${currency} problem=${problems.off || undefined} ...${aimed("off")} />`}
    <${Field} id="note" name="note" label=${texts.note} autocomplete="off" maxlength="64" defaultValue=${line.note} />
    <${Actions} onClose=${onClose}><button type="button" onClick=${() => remove(place) && onClose()}>${texts.remove}</button><//>
  </form><//>`;
}
