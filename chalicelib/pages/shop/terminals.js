// The terminals of a shop, and the form that changes one.
import { ErrorCode } from "../kit/error_codes.js";
import { call } from "../kit/api.js";
import { ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { Failure, Field, Loaded, problemOf } from "../kit/parts.js";
import { merchant } from "../kit/session.js";
import { ACTIVE, BLOCKED, allTerminals, isActive } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useRef, useState } from "../kit/view.js";

const FIELDS = ["Name", "Alias", "Location", "City", "RegionCode", "ZIP", "BackRetailerID"];
const NEEDED = ["Name", "Location", "City", "RegionCode"];

function ChangeTerminal({ shown, onClose }) {
  const names = texts.tills;
  const form = useRef(null);
  const { act, isBusy, error } = useAct(async () => {
    const typed = (name) => form.current.elements[name].value.trim();
    const fields = Object.fromEntries(
      [...FIELDS, "SIC"].filter((name) => typed(name) !== (shown[name] ?? "")).map((name) => [name, typed(name)]),
    );
    const State = form.current.elements.State.checked ? ACTIVE : BLOCKED;
    if (State !== shown.State) fields.State = State;
    const path = `merchant/${merchant().ClientID}/terminal/${shown.ID}/update`;
    if (Object.keys(fields).length) await call(path, fields);
    onClose();
  });
  const problem = (name) => {
    if (
      name === "Name" &&
      error?.findings?.some((one) => one.Code === ErrorCode.TID_TAKEN && one.Property.endsWith("Name"))
    )
      return names.problems.numberTaken;
    return problemOf(error, name, names.problems[name === "Name" ? "Number" : name]);
  };
  const label = (name) => names.terminals.fields[name] ?? names.fields[name];
  const trades = names.trades.some(([code]) => code === shown.SIC)
    ? names.trades
    : [[shown.SIC, shown.SIC], ...names.trades];
  return html`<${Dialog} title=${names.terminals.change} onClose=${onClose}><form ref=${form} onSubmit=${act}>
    ${error && ![...FIELDS, "SIC"].some(problem) && html`<${Failure} error=${error} />`}
    ${FIELDS.map(
      (
        name,
      ) => html`<${Field} key=${name} id=${`terminal-${name}`} name=${name} label=${label(name)} hint=${names.terminals.hints[name]} autocomplete="off"
      required=${NEEDED.includes(name)} defaultValue=${shown[name] ?? ""} problem=${problem(name)} />`,
    )}
    <${Field} id="terminal-SIC" label=${names.fields.SIC} problem=${problem("SIC")}><select id="terminal-SIC" name="SIC">${trades.map(
      ([code, words]) => html`<option value=${code} selected=${code === shown.SIC}>${words}</option>`,
    )}</select><//>
    <fieldset><label class="check"><input type="checkbox" name="State" defaultChecked=${isActive(shown)} aria-describedby="terminal-state-hint" /> ${names.terminals.active}</label>
      <small id="terminal-state-hint">${names.terminals.activeHint}</small></fieldset>
    <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${names.save}<//><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
  </form><//>`;
}

function List() {
  const [asked, ask] = useState(null);
  const state = useLoaded(allTerminals, String(merchant().ClientID));
  const names = texts.tills;
  const close = () => {
    ask(null);
    state.reload();
  };
  const row = (
    one,
  ) => html`<li key=${one.ID}><div><b id=${`terminal-${one.ID}`}>${one.Name}</b> ${!isActive(one) && html`<span class="badge bad">${names.blocked}</span>`}
      <p>${[one.Alias !== one.Name && one.Alias, one.Location, one.City].filter(Boolean).join(" · ")}</p></div>
    <button type="button" aria-describedby=${`terminal-${one.ID}`} onClick=${() => ask(one)}>${names.change}</button></li>`;
  return html`<${Loaded} state=${state}>${(all) => html`<ul class="devices">${all.map(row)}</ul>`}<//>
    ${asked && html`<${ChangeTerminal} shown=${asked} onClose=${close} />`}`;
}

// The terminals are read when somebody opens their part.
export function Terminals() {
  const [isOpen, open] = useState(false);
  return html`<details class="messages" onToggle=${({ target }) => open(target.open)}><summary>${texts.tills.terminals.title}</summary>
    ${isOpen && html`<section class="card"><${List} /></section>`}</details>`;
}
