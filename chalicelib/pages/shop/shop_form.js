// The shop itself: what its receipts say of it, how its drawers are counted, and the kinds of payment of its tills.
import { call } from "../kit/api.js";
import { Act, ActButton, useAct } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { Failure, Field, Loaded, problemOf } from "../kit/parts.js";
import { language } from "../kit/language.js";
import { change, isManager, merchant, session } from "../kit/session.js";
import { SecondFactor } from "./second_factor.js";
import { Checks, LINKED, TAKEN, featureChanges, featuresOf } from "./till_form.js";
import { ACTIVE, BLOCKED, isActive } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const FIELDS = ["Name", "AddressDeFacto", "Phone", "TaxID", "ReceiptNote"];
const NEEDED = ["Name", "AddressDeFacto", "Phone"]; // of each request of an administrator
const MOST = { ReceiptNote: 256 };
const path = () => `merchant/${merchant().ClientID}`;
const read = async () => (await call(path())).Merchant;

// The interface asks where each request comes from. It changes nothing of the merchant.
const context = ({ CountryID }) => ({
  Location: { Latitude: 0, Longitude: 0 },
  Country: CountryID,
  CountryCode: CountryID,
  DeviceInfo: {},
  GMT: session().me.GMT,
  AppFramework: "browser",
  Lang: language,
  IP: "",
});

async function update(shown, fields) {
  const needed = Object.fromEntries(NEEDED.map((name) => [name, shown[name]]));
  const { Merchant: now } = await call(`${path()}/update`, { ...context(shown), ...needed, ...fields });
  const { me, merchant: chosen } = session();
  change({ me: { ...me, ClientName: now.Name }, ...(chosen && { merchant: { ...chosen, Name: now.Name } }) });
  return now;
}

function changes(form, shown) {
  const typed = (name) => form.elements[name]?.value.trim() ?? shown[name];
  const changed = FIELDS.filter((name) => typed(name) !== (shown[name] ?? "") && name in shown);
  const isBlind = form.elements.DrawerBlind.checked;
  const MobileSettings = featureChanges(form, TAKEN, featuresOf(shown));
  return {
    ...Object.fromEntries(changed.map((name) => [name, typed(name) || " "])), // an empty text would change nothing
    ...(isBlind !== shown.DrawerBlind && { DrawerBlind: isBlind }),
    ...(MobileSettings && { MobileSettings }),
  };
}

function Form({ shown, onSaved }) {
  const names = texts.shop;
  const form = useRef(null);
  const [said, say] = useState("");
  const { act, isBusy, error } = useAct(async () => {
    say("");
    const fields = changes(form.current, shown);
    if (Object.keys(fields).length) onSaved(await update(shown, fields));
    say(names.saved);
  });
  const problem = (name) => problemOf(error, name, names.problems[name]);
  const isShown = FIELDS.some(problem);
  useLayoutEffect(() => {
    form.current.querySelector("[aria-invalid]")?.focus();
  }, [error]);
  const field = (name) =>
    name in shown &&
    html`<${Field} key=${name} id=${`shop-${name}`} name=${name} label=${names.fields[name]} hint=${names.hints[name]} autocomplete="off"
      type=${name === "Phone" ? "tel" : "text"} required=${NEEDED.includes(name)} maxlength=${MOST[name] ?? 512} defaultValue=${shown[name] ?? ""} problem=${problem(name)} />`;
  return html`<form ref=${form} class="card" onSubmit=${act}>
    ${error && !isShown && html`<${Failure} error=${error} />`}
    ${FIELDS.map(field)}
    <fieldset><legend>${names.drawers}</legend>
      <label class="check"><input type="checkbox" name="DrawerBlind" defaultChecked=${shown.DrawerBlind} aria-describedby="blind-hint" /> ${names.blind}</label>
      <small id="blind-hint">${names.blindHint}</small></fieldset>
    <${Checks} legend=${names.takes} names=${[...TAKEN, LINKED]} isOn=${(name) => Boolean(featuresOf(shown)[name])}><small>${names.takesHint}</small><//>
    <p class="said" role="status">${said}</p>
    <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${texts.tills.save}<//></div>
  </form>`;
}

// Only a system user blocks a shop and unblocks it.
function State({ shown, onSaved }) {
  const [isAsked, ask] = useState(false);
  const names = texts.shop;
  const isOn = isActive(shown);
  const title = isOn ? texts.tills.block : texts.tills.unblock;
  const run = async () => onSaved(await update(shown, { State: isOn ? BLOCKED : ACTIVE }));
  return html`<p class="line">${names.number(shown.ID)} <span class=${`badge ${isOn ? "good" : "bad"}`}>${isOn ? texts.tills.active : texts.tills.blocked}</span>
      ${session().me.IsSystemUser && html`<button type="button" class=${isOn ? "danger" : ""} onClick=${() => ask(true)}>${title}</button>`}</p>
    ${isAsked && html`<${Act} title=${title} words=${(isOn ? names.blockWords : names.unblockWords)(shown.Name)} isDangerous=${isOn} run=${run} onClose=${() => ask(false)} />`}`;
}

function Shown({ stored }) {
  const [shown, show] = useState(stored);
  return html`<${State} shown=${shown} onSaved=${show} />
    ${isManager() && html`<${Form} key=${shown.State} shown=${shown} onSaved=${show} />`}`;
}

export function ShopPage() {
  const state = useLoaded(read, String(merchant().ClientID));
  return html`<div class="title"><h1>${texts.shop.title}</h1></div>
    <${Loaded} state=${state}>${(stored) => html`<${Shown} stored=${stored} />`}<//>
    <${SecondFactor} />`;
}
