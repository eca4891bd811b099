// The forms of a drawer: its float, cash in and out, its count with a help for notes and coins, and a note.
import { call, randomText } from "./api.js";
import { coinOf } from "./coins.js";
import { Act, ActButton, useAct } from "./dialogs.js";
import { isBlind } from "./drawer.js";
import { difference, format, fromMinor, typedAmount, wrongNumber } from "./money.js";
import { notesOf } from "./notes.js";
import { Failure, Field, problemOf } from "./parts.js";
import { texts } from "./language.js";
import { html, useLayoutEffect, useRef, useState } from "./view.js";

const FIELDS = { open: "Float", in: "Amount", out: "Amount", close: "Counted", note: "Note" };
const QUARTERS = ["USD", "CAD"]; // they have 0.25 instead of 0.20, and nothing of 0.02

// The notes and coins of a currency in minor units, the largest first. None are known without its notes.
function pieces(currency, digits, country) {
  const notes = notesOf(currency, digits);
  const coins = [];
  for (let one = 1; one < notes[0]; one *= 10) coins.push(one, 2 * one, 5 * one);
  const inUse = coins.filter((one) => one >= coinOf(currency, country) && one < notes[0]);
  const quarters = inUse.filter((one) => one !== 2).map((one) => (one === 20 ? 25 : one));
  return [...(QUARTERS.includes(currency) ? quarters : inUse), ...notes].reverse();
}

// How many there are of each note and coin. `onCounted` gets their sum, which stays in sight.
function Pieces({ currency, digits, country, onCounted }) {
  const list = useRef(null);
  const [sum, show] = useState("0");
  const count = () => {
    const worth = ({ value, dataset }) => (/^\d{1,6}$/.test(value) ? BigInt(value) * BigInt(dataset.worth) : 0n);
    const minor = [...list.current.querySelectorAll("input")].reduce((held, one) => held + worth(one), 0n);
    show(fromMinor(minor, digits));
    onCounted(fromMinor(minor, digits));
  };
  const all = pieces(currency, digits, country);
  return (
    all.length > 0 &&
    html`<details><summary>${texts.drawer.pieces}</summary><div ref=${list} class="pieces">${all.map(
      (
        minor,
      ) => html`<${Field} key=${minor} id=${`piece-${minor}`} data-worth=${minor} label=${format(fromMinor(minor, digits), currency)}
      inputmode="numeric" autocomplete="off" onInput=${count} />`,
    )}</div><p class="total">${texts.drawer.counted}: <b>${format(sum, currency)}</b></p></details>`
  );
}

// A form for some acts, each with its button. A request keeps its key until it is answered, so a second tap or a lost answer
// acts once. `agent` is the one whose drawer it is, if somebody else acts.
function DrawerForm({ title, acts, label, currency, digits, country, agent, drawer, onActed, say }) {
  const form = useRef(null);
  const attempt = useRef(null);
  const action = useRef(acts[0]); // of the pressed button
  const names = texts.drawer;
  const name = FIELDS[acts[0]];
  const write = (amount) => (isOfMoney ? format(amount, currency, digits) : amount);
  const isOfMoney = name !== "Note";
  const [wrong, setWrong] = useState();
  const [isAsked, ask] = useState(false); // whether the drawer is to be closed
  const wanted = useRef(null); // what was typed: {body, amount}
  const { act, isBusy, error } = useAct(async () => {
    const { body, amount } = wanted.current;
    const content = JSON.stringify(body);
    if (attempt.current?.content !== content) attempt.current = { content, key: randomText() };
    const { Drawer: acted } = await call("report/drawer", body, { key: attempt.current.key });
    attempt.current = null;
    form.current.reset();
    await onActed();
    const off = body.Action === "close" && acted?.Difference;
    say(`${names.acted[body.Action](write(amount))}${off ? ` ${names.difference}: ${write(off)}.` : ""}`);
  });
  const submit = (event) => {
    event.preventDefault();
    if (isBusy) return;
    const { elements } = form.current;
    const note = elements.Note.value.trim();
    const typed = elements[name].value.trim();
    const amount = isOfMoney ? typedAmount(typed, currency, digits) : note || null;
    const problem = isOfMoney ? wrongNumber(typed, texts.return.noAmount, currency, digits) : texts.errors.checks[1];
    setWrong(amount !== null ? undefined : problem);
    if (amount === null) return elements[name].focus();
    const body = {
      Action: action.current,
      ...(agent && { AgentID: agent }),
      ...(isOfMoney ? { [name]: amount } : { DrawerID: drawer.DrawerID }),
      ...(note && { Note: note }),
    };
    wanted.current = { body, amount };
    return body.Action === "close" ? ask(true) : act();
  };
  const closing = () => {
    const { amount } = wanted.current;
    const knows = drawer.Expected !== null && !isBlind(drawer);
    const off = knows && names.expects(write(drawer.Expected), write(difference(amount, drawer.Expected)));
    return [names.asks(write(amount)), off].filter(Boolean).join(" ");
  };
  const refused = problemOf(error, name);
  const field = (one, words, input) =>
    html`<${Field} id=${`drawer-${acts[0]}-${one}`} name=${one} label=${words} autocomplete="off" ...${input} />`;
  const counted = (sum) => {
    form.current.elements.Counted.value = format(sum);
  };
  return html`<form ref=${form} class="card unprinted" onSubmit=${submit} novalidate>
    <h2>${title}</h2>
    ${isOfMoney && field(name, label, { inputmode: "decimal", problem: wrong ?? refused })}
    ${name === "Counted" && html`<${Pieces} currency=${currency} digits=${digits} country=${country} onCounted=${counted} />`}
    ${field("Note", isOfMoney ? texts.drawer.note : label, { maxlength: 512, problem: isOfMoney ? undefined : (wrong ?? refused) })}
    ${error && !refused && html`<${Failure} error=${error} />`}
    <div class="actions">
      ${acts.map((one) => html`<${ActButton} class="main" isBusy=${isBusy && action.current === one} disabled=${isBusy} onClick=${() => (action.current = one)}>${texts.drawer.acts[one]}<//>`)}
    </div>
  </form>
  ${isAsked && html`<${Act} title=${names.closes} words=${closing()} run=${act} onClose=${() => ask(false)} />`}`;
}

// The forms that fit a drawer as it is, and above them what was done last. `currency` and `digits` are those of a new one.
export function DrawerForms({ drawer, currency, digits, ...rest }) {
  const names = texts.drawer;
  const [said, say] = useState(null); // {words}, new at each act, so that it comes to view again
  const sentence = useRef(null);
  useLayoutEffect(() => {
    sentence.current?.focus();
  }, [said]);
  const isOpen = drawer && !drawer.ClosedAt;
  const of = isOpen ? drawer.CurrencyID : currency;
  const decimals = isOpen ? (String(drawer.Float).split(".")[1] ?? "").length : digits;
  const a = (title, label, ...acts) =>
    html`<${DrawerForm} key=${`${acts[0]} ${drawer?.DrawerID}`} say=${(words) => say({ words })} title=${title} label=${label} acts=${acts} currency=${of} digits=${decimals} drawer=${drawer} ...${rest} />`;
  return html`${said && html`<p ref=${sentence} class="note good unprinted" role="status" tabindex="-1">${said.words}</p>`}
    ${isOpen ? [a(names.moved, names.amount, "in", "out"), a(names.count, names.counted, "close")] : a(names.acts.open, names.float, "open")}
    ${drawer && a(names.acts.note, names.aNote, "note")}`;
}
