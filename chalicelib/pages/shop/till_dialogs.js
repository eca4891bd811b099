// The dialogs of tills and people: their devices, a new key, a new password, a block, a new till.
import { ErrorCode } from "../kit/error_codes.js";
import { Refusal, randomText, signOut } from "../kit/api.js";
import { formatMoment } from "../kit/dates.js";
import { Act, Dialog, ShownOnce, useAct } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { Failure, Field, Loaded, problemOf } from "../kit/parts.js";
import { merchant, session } from "../kit/session.js";
import { allTills, BLOCKED, create, isActive, till, update } from "./till_list.js";
import { texts } from "texts";
import { html, useEffect, useRef, useState } from "../kit/view.js";

const KEY_BYTES = 32;
const LAST_ADMINISTRATOR = 12; // the code of the service's finding about State

const isOneself = (shown) => shown.ID === session().me.AgentID;

export function Key({ shown, onClose }) {
  const [made, setMade] = useState(null);
  const { act, isBusy, error } = useAct(async () => {
    const secretKey = randomText(KEY_BYTES);
    await update(shown.ID, { SecretKey: secretKey });
    setMade(secretKey);
  });
  return html`<${Dialog} title=${texts.tills.newKey} onClose=${onClose}>
    ${made
      ? html`<${ShownOnce} words=${texts.tills.keyOnce(shown.Name)} secret=${made} onClose=${onClose} />`
      : html`<p>${texts.tills.newKeyWords(shown.Name)} ${isOneself(shown) && texts.tills.signInAgain}</p>
        ${error && html`<${Failure} error=${error} />`}
        <div class="actions">
          <button type="button" class="main" disabled=${isBusy} onClick=${act}>${texts.tills.makeKey}</button>
          <button type="button" onClick=${onClose}>${texts.cancel}</button>
        </div>`}
  <//>`;
}

// The devices that stay signed in, and the end of all sessions.
export function Devices({ shown, onClose }) {
  const names = texts.tills;
  const state = useLoaded(async () => (await till(shown.ID)).Sessions, String(shown.ID));
  const { act, isBusy, error } = useAct(async () => {
    await update(shown.ID, { EndSessions: true });
    if (isOneself(shown)) signOut();
    else onClose();
  });
  const device = (one) => html`<li><b>${one.Device ?? names.unknownDevice}</b>
    <p>${names.signedIn(formatMoment(one.Started))}</p>
    <p>${names.lastUsed(formatMoment(one.LastUsed))}</p></li>`;
  return html`<${Dialog} title=${names.devices} onClose=${onClose}>
    <${Loaded} state=${state}>${(sessions) => sessions.length
      ? html`<p>${names.devicesWords(shown.Name)}</p><ul class="devices">${sessions.map(device)}</ul>`
      : html`<p>${names.noDevice}</p>`}<//>
    <p>${names.endSessionsWords(shown.Name)} ${isOneself(shown) && names.signInAgain}</p>
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions">
      <button type="button" class="main" disabled=${isBusy} onClick=${act}>${names.endSessions}</button>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}

export function NewPassword({ shown, onClose }) {
  const form = useRef(null);
  const { act, isBusy, error } = useAct(async () => {
    await update(shown.ID, { Password: form.current.elements.password.value });
    onClose();
  });
  const problem = problemOf(error, "Password", texts.tills.problems.Password);
  return html`<${Dialog} title=${texts.tills.newPassword} onClose=${onClose}>
    <p>${texts.tills.newPasswordWords(shown.Name)} ${isOneself(shown) && texts.tills.signInAgain}</p>
    <form ref=${form} onSubmit=${act}>
      ${error && !problem && html`<${Failure} error=${error} />`}
      <${Field} id="new-password" name="password" type="password" label=${texts.tills.fields.Password}
        hint=${texts.tills.problems.Password} autocomplete="new-password" required autofocus problem=${problem} />
      <div class="actions">
        <button class="main" disabled=${isBusy}>${texts.tills.setPassword}</button>
        <button type="button" onClick=${onClose}>${texts.cancel}</button>
      </div>
    </form>
  <//>`;
}

// Block a till or a person. A person who blocks herself reads the consequences first; the last administrator cannot.
export function Block({ shown, onClose }) {
  const names = texts.tills;
  const others = useLoaded(async () => {
    const all = isOneself(shown) ? await allTills() : [];
    return all.filter((one) => one.IsAdministrator && isActive(one) && one.ID !== shown.ID);
  }, String(shown.ID));
  const run = async () => {
    try {
      await update(shown.ID, { State: BLOCKED });
    } catch (refusal) {
      const isLast = refusal.findings?.some((one) => one.Code === LAST_ADMINISTRATOR);
      throw isLast ? new Refusal({ code: refusal.code, message: names.lastAdministrator }) : refusal;
    }
    if (isOneself(shown)) signOut();
  };
  if (!isOneself(shown)) return html`<${Act} title=${names.block} words=${names.blockWords(shown.Name)} run=${run} onClose=${onClose} />`;
  if (others.data?.length) return html`<${Act} title=${names.blockSelf} words=${names.blockSelfWords} run=${run} onClose=${onClose} />`;
  return html`<${Dialog} title=${names.block} onClose=${onClose}>
    <${Loaded} state=${others}>${() => html`<p>${names.lastAdministrator}</p>`}<//>
    <div class="actions"><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
  <//>`;
}

export function CreateTill({ onClose }) {
  const [made, setMade] = useState(null);
  const form = useRef(null);
  const { act, isBusy, error } = useAct(async () => {
    const typed = Object.fromEntries([...new FormData(form.current)].filter(([, value]) => value.trim()));
    const { ClientID } = merchant();
    const { ID } = await create({ ...typed, ClientID, BranchID: ClientID });
    setMade(await till(ID));
  });
  const problems = texts.tills.problems;
  const wrong = (name) => (name === "Email" && error?.code === ErrorCode.EMAIL_TAKEN ? problems.emailTaken : problemOf(error, name, problems[name]));
  const isShown = Object.keys(texts.tills.fields).some(wrong);
  useEffect(() => { form.current?.querySelector("[aria-invalid]")?.focus(); }, [error]);
  const input = (name, hint, options = {}) => html`<${Field} id=${`till-${name}`} name=${name} label=${texts.tills.fields[name]}
    hint=${hint} autocomplete=${options.autocomplete ?? "off"} required=${!options.optional} type=${options.type ?? "text"} problem=${wrong(name)} />`;
  return html`<${Dialog} title=${texts.tills.create} onClose=${onClose}>
    ${made
      ? html`<${ShownOnce} words=${texts.tills.keyOnce(made.Name)} secret=${made.SecretKey} onClose=${onClose} />`
      : html`<form ref=${form} onSubmit=${act}>
          ${error && !isShown && html`<${Failure} error=${error} />`}
          ${input("Name")}
          ${input("Email", texts.tills.emailHint, { type: "email" })}
          ${input("Phone", texts.tills.phoneHint, { type: "tel" })}
          ${input("TID", texts.tills.terminalHint, { optional: true })}
          ${input("Password", texts.tills.passwordHint, { type: "password", optional: true, autocomplete: "new-password" })}
          <div class="actions">
            <button class="main" disabled=${isBusy}>${texts.tills.createButton}</button>
            <button type="button" onClick=${onClose}>${texts.cancel}</button>
          </div>
        </form>`}
  <//>`;
}
