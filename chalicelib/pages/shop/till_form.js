// The form of a till: a new one, which sells at once, and the change of one.
import { ErrorCode } from "../kit/error_codes.js";
import { call } from "../kit/api.js";
import { ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { KINDS } from "../kit/kinds.js";
import { useLoaded } from "../kit/load.js";
import { Failure, Field, Loaded, problemOf } from "../kit/parts.js";
import { merchant, session } from "../kit/session.js";
import { COUNTRY_NUMBERS, CURRENCY_NUMBERS } from "./iso_numbers.js";
import { Secret } from "./secrets.js";
import { allTerminals, allTills, create, createTerminal, isActive, isOneself, till, update } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const FEATURES = Object.keys(texts.features);
export const TAKEN = FEATURES.filter((name) => Object.values(KINDS).some((kind) => kind.feature === name));
const HABITS = FEATURES.filter((name) => !TAKEN.includes(name));
export const LINKED = "AllowLinkedCards"; // a setting of its own in the interface
const RIGHTS = { ReturnOthers: 301, SeeAll: 201, Administrator: 220 };
const AT_FIRST = { Returns: true, Discounts: true, Offline: true, AutoLogin: true }; // of a new till
const NEW = "new"; // instead of the ID of a terminal
const NO_READER = "10"; // the terminal's EntryCaps
const PLACE = ["SIC", "Currency", "Country", "City", "Location", "RegionCode", "EntryCaps", "ZIP"];
const ASKED = ["City", "Location", "RegionCode", "SIC"]; // of the first terminal
const SOUTH_AFRICA = "ZA";

const numberOf = (numbers, code) =>
  numbers
    .split(" ")
    .find((one) => one.startsWith(code ?? "-"))
    ?.slice(-3);

// The next number that no terminal has.
function freeNumber(terminals) {
  const taken = new Set(terminals.map((one) => one.Name));
  let number = terminals.length + 1;
  while (taken.has(`TILL-${number}`)) number += 1;
  return `TILL-${number}`;
}

export async function choices(id) {
  const shop = async () => featuresOf((await call(`merchant/${merchant().ClientID}`)).Merchant);
  const [terminals, tills, shown, ofShop] = await Promise.all([
    allTerminals(),
    allTills(),
    id && till(id),
    id ? {} : shop(),
  ]);
  const kinds = Object.fromEntries([...TAKEN, LINKED].map((name) => [name, ofShop[name]]));
  const users = (terminal) => tills.filter((one) => one.TerminalID === terminal.ID).map((one) => one.Name);
  const offered = terminals
    .filter((one) => isActive(one) || one.ID === shown?.TerminalID)
    .map((one) => ({ ...one, users: users(one) }));
  const me = tills.find((one) => one.CountryID) ?? {};
  return { shown, terminals, offered, kinds, country: me.CountryID };
}

// A new terminal stands where the newest one of the shop stands. Only the first one is asked for its place.
function terminalFields(typed, { offered, terminals, country }) {
  const like = offered[0] ?? terminals[0];
  const place = like
    ? Object.fromEntries(PLACE.map((name) => [name, like[name]]))
    : {
        ...Object.fromEntries(ASKED.map((name) => [name, typed(name)])),
        Currency: numberOf(CURRENCY_NUMBERS, merchant().CurrencyID),
        Country: numberOf(COUNTRY_NUMBERS, country),
        EntryCaps: NO_READER,
      };
  const Title = like?.Title ?? session().me.ClientName ?? typed("Name");
  return { ...place, Name: typed("Number"), Alias: typed("Name"), Title, CountryCode: place.Country, DeviceInfo: {} };
}

const changesOf = (names, before, now) =>
  Object.fromEntries(names.filter((name) => Boolean(before[name]) !== now(name)).map((name) => [name, now(name)]));

// The features of a till or shop in force, and whether it takes linked cards.
export const featuresOf = ({ MobileSettings: { Features, AllowLinkedCardsEffective: linked } }) => ({
  ...Features,
  [LINKED]: Boolean(linked),
});

// The changes of these features in a form, as MobileSettings; undefined without any.
export function featureChanges(form, names, before) {
  const { [LINKED]: linked, ...features } = changesOf(
    [...names, LINKED],
    before,
    (name) => form.elements[name].checked,
  );
  const changed = {
    ...(Object.keys(features).length && { Features: features }),
    ...(linked !== undefined && { [LINKED]: Number(linked) }),
  };
  return Object.keys(changed).length ? changed : undefined;
}

// The changed fields: the service changes nothing else.
function changes(form, { Features, Rights, ...before }) {
  const typed = (name) => form.elements[name].value.trim();
  const isOn = (name) => form.elements[name].checked;
  const changed = Object.fromEntries(
    ["Name", "Email", "Phone"]
      .filter((name) => typed(name) !== (before[name] ?? ""))
      .map((name) => [name, typed(name)]),
  );
  if (changed.Phone === "") Object.assign(changed, { Phone: undefined, PhoneNull: true });
  const settings = featureChanges(form, FEATURES, Features);
  if (settings) changed.MobileSettings = settings;
  const names = Object.keys(RIGHTS);
  const rights = changesOf(names, Object.fromEntries(names.map((name) => [name, Rights.includes(RIGHTS[name])])), isOn);
  if (Object.keys(rights).length) {
    const kept = Rights.filter((one) => !names.some((name) => name in rights && RIGHTS[name] === one));
    const Actions = [...kept, ...names.filter((name) => rights[name]).map((name) => RIGHTS[name])];
    changed.BranchesActions = Actions.length ? [{ BranchID: merchant().ClientID, Actions }] : [];
  }
  return changed;
}

const enter = ({ problem, ...input }) => html`<${Field} key=${input.name} type="text" autocomplete="off" required
  label=${texts.tills.fields[input.name]} hint=${texts.tills.hints[input.name]} id=${`till-${input.name}`} problem=${problem} ...${input} />`;

function Choice({ name, problem, options, ...select }) {
  const id = `till-${name}`;
  return html`<${Field} id=${id} label=${texts.tills.fields[name]} problem=${problem}>
    <select id=${id} name=${name} aria-invalid=${problem ? "true" : undefined} aria-describedby=${problem ? `${id}-problem` : undefined} ...${select}>
      ${options.map(([value, words]) => html`<option key=${value} value=${value}>${words}</option>`)}</select><//>`;
}

export function Checks({ legend, names, isOn, isDisabled, children }) {
  return html`<fieldset disabled=${isDisabled}>
    <legend>${legend}</legend>
    ${names.map(
      (name) => html`<label key=${name} class="check">
      <input type="checkbox" name=${name} defaultChecked=${isOn(name)} /><span>${name === LINKED ? texts.kinds.linkedCard : (texts.features[name] ?? texts.tills.checks[name])}</span></label>`,
    )}
    ${children}
  </fieldset>`;
}

function Terminal({ all, wrong }) {
  const { shown, offered, terminals, country } = all;
  const names = texts.tills;
  const free = offered.find((one) => !one.users.length)?.ID;
  const [chosen, choose] = useState(String(shown ? (shown.TerminalID ?? "") : (free ?? NEW)));
  const named = (one) => [one.Name, one.Alias !== one.Name && one.Alias, ...one.users].filter(Boolean).join(" · ");
  const options = [
    [NEW, names.newTerminal],
    ...offered.map((one) => [String(one.ID), named(one)]),
    ["", names.noTerminal],
  ];
  const isProvince = country === SOUTH_AFRICA;
  return html`<${Choice} name="TID" options=${options} value=${chosen} problem=${wrong("TID")} onChange=${(event) => choose(event.target.value)} />
    ${
      chosen === NEW &&
      html`<div class="part">
      ${enter({ name: "Number", defaultValue: freeNumber(terminals), problem: wrong("Number") })}
      ${
        !terminals.length &&
        html`
        ${enter({ name: "Location", problem: wrong("Location") })}
        ${enter({ name: "City", problem: wrong("City") })}
        ${
          isProvince
            ? html`<${Choice} name="RegionCode" options=${[["", names.choose], ...Object.entries(names.provinces)]} required problem=${wrong("RegionCode")} />`
            : enter({ name: "RegionCode", maxLength: 3, hint: names.regionHint, problem: wrong("RegionCode") })
        }
        <${Choice} name="SIC" options=${names.trades} problem=${wrong("SIC")} />`
      }
    </div>`
    }`;
}

// The ID of the terminal: a new terminal is made first, and only once, although the till is refused after it.
async function terminalOf(form, all, made) {
  const typed = (name) => form.elements[name].value.trim();
  if (form.elements.TID.value !== NEW) return Number(form.elements.TID.value);
  const number = typed("Number");
  if (!made.has(number)) {
    try {
      made.set(number, (await createTerminal(terminalFields(typed, all))).ID);
    } catch (refusal) {
      throw Object.assign(refusal, { isOfTerminal: true });
    }
  }
  return made.get(number);
}

function problemsOf(error) {
  const words = texts.tills.problems;
  const has = (code) => error?.code === code || error?.findings?.some((one) => one.Code === code);
  return (name) => {
    if (error?.isOfTerminal) {
      if (name === "Number" && has(ErrorCode.TID_TAKEN)) return words.numberTaken;
      if (name === "Number") return problemOf(error, "Name", words.Number);
      return ASKED.includes(name) && problemOf(error, name, words[name]);
    }
    if (name === "Email" && has(ErrorCode.EMAIL_TAKEN)) return words.emailTaken;
    return problemOf(error, name === "TID" ? "TerminalID" : name, words[name]);
  };
}

const SHOWN = ["Name", "Email", "Phone", "Password", "TID", "Number", ...ASKED];

function Form({ all, save, onClose }) {
  const { shown } = all;
  const names = texts.tills;
  const form = useRef(null);
  const made = useRef(new Map());
  const { act, isBusy, error } = useAct(async () => {
    const fields = changes(
      form.current,
      shown ? { ...shown, Features: featuresOf(shown) } : { Features: all.kinds, Rights: [] }, // which it has by itself
    );
    if (fields.Phone) fields.CountryCode = all.country; // in which a number without its country's code is read
    const TerminalID = await terminalOf(form.current, all, made.current);
    if (TerminalID && TerminalID !== shown?.TerminalID) fields.TerminalID = TerminalID;
    if (!TerminalID && shown?.TerminalID) fields.TIDNull = true;
    await save(fields, form.current.elements);
  });
  const wrong = problemsOf(error);
  const isShown = SHOWN.some((name) => wrong(name) && form.current?.elements[name]);
  useLayoutEffect(() => {
    if (!shown) form.current.elements.Name.focus(); // in its dialog
  }, []);
  useLayoutEffect(() => {
    form.current?.querySelector("[aria-invalid]")?.focus();
  }, [error]);
  const Features = shown ? featuresOf(shown) : { ...AT_FIRST, ...all.kinds };
  const Rights = shown?.Rights ?? [];
  const isOwn = shown && isOneself(shown);
  const hasFeature = (name) => Boolean(Features[name]);
  return html`<form ref=${form} onSubmit=${act}>
    ${error && !isShown && html`<${Failure} error=${error} />`}
    ${enter({ name: "Name", defaultValue: shown?.Name, problem: wrong("Name") })}
    ${enter({ name: "Email", type: "email", defaultValue: shown?.Email, problem: wrong("Email") })}
    ${enter({ name: "Phone", type: "tel", required: !shown, defaultValue: shown?.Phone, problem: wrong("Phone") })}
    ${!shown && enter({ name: "Password", type: "password", autocomplete: "new-password", problem: wrong("Password") })}
    <${Terminal} all=${all} wrong=${wrong} />
    <${Checks} legend=${names.takes} names=${[...TAKEN, LINKED]} isOn=${hasFeature} />
    <${Checks} legend=${names.habits} names=${HABITS} isOn=${hasFeature} />
    <${Checks} legend=${names.may} names=${Object.keys(RIGHTS)} isOn=${(name) => Rights.includes(RIGHTS[name])} isDisabled=${isOwn}>
      ${isOwn && html`<small>${names.ownRights}</small>`}<//>
    <div class="actions">
      <${ActButton} class="main" isBusy=${isBusy}>${names.save}<//>
      <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
    </div>
  </form>`;
}

export function ChangeForm({ all, onClose }) {
  const save = async (fields) => {
    if (Object.keys(fields).length) await update(all.shown.ID, fields);
    onClose();
  };
  return html`<${Form} all=${all} save=${save} onClose=${onClose} />`;
}

// The next step of the cashier. Only a program of somebody's own needs the secret key.
function Made({ made, onClose }) {
  const names = texts.tills;
  const sentence = useRef(null);
  useLayoutEffect(() => {
    sentence.current.focus();
  }, []); // the focused button is gone
  const address = new URL("till", document.baseURI).href;
  const sells = made.TID && TAKEN.some((name) => made.MobileSettings.Features[name]);
  return html`<p ref=${sentence} tabindex="-1">${sells ? names.sells(made.Name, made.Email) : names.sellsNot(made.Name)}</p>
    ${sells && html`<p class="key"><a href=${address} target="_blank" rel="noopener">${address}</a></p>`}
    ${made.SecretKey && html`<details><summary>${names.ownProgram}</summary><p>${names.keyOnce(made.Name)}</p><${Secret} secret=${made.SecretKey} /></details>`}
    <div class="actions"><button type="button" class="main" onClick=${onClose}>${texts.done}</button></div>`;
}

export function CreateTill({ onClose }) {
  const [made, setMade] = useState(null);
  const isSending = useRef(false); // its secret is shown once
  const state = useLoaded(() => choices(null), "new");
  const save = async (fields, { Email, Password }) => {
    const { ClientID } = merchant();
    const isOn = fields.MobileSettings?.Features ?? {};
    const habits = Object.fromEntries(HABITS.map((name) => [name, Boolean(isOn[name])]));
    const MobileSettings = { ...fields.MobileSettings, Features: { ...isOn, ...habits } };
    const sent = { ...fields, MobileSettings, Email: Email.value.trim(), Password: Password.value };
    isSending.current = true;
    try {
      const { ID } = await create({ ...sent, ClientID, BranchID: ClientID });
      setMade(await till(ID));
    } finally {
      isSending.current = false;
    }
  };
  return html`<${Dialog} title=${texts.tills.create} onClose=${onClose} mayClose=${() => !isSending.current}>
    ${
      made
        ? html`<${Made} made=${made} onClose=${onClose} />`
        : html`<${Loaded} state=${state}>${(all) => html`<${Form} all=${all} save=${save} onClose=${onClose} />`}<//>
        ${!state.data && html`<div class="actions"><button type="button" onClick=${onClose}>${texts.cancel}</button></div>`}`
    }
  <//>`;
}
