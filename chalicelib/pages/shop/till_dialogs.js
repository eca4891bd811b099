// The devices of a till or person, and the dialogs: the end of all sessions, a new key, a new password, a block.
import { Refusal, randomText, signOut } from "../kit/api.js";
import { formatMoment } from "../kit/dates.js";
import { Act, ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { Failure, Field, Loaded, problemOf } from "../kit/parts.js";
import { allTills, BLOCKED, isActive, isOneself, update } from "./till_list.js";
import { ShownOnce } from "./secrets.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const KEY_BYTES = 32;
const LAST_ADMINISTRATOR = 12; // the code of the service's finding about State

export function Key({ shown, onClose }) {
  const [made, setMade] = useState(null);
  const { act, isBusy, error } = useAct(async () => {
    const secretKey = randomText(KEY_BYTES);
    await update(shown.ID, { SecretKey: secretKey });
    setMade(secretKey);
  });
  return html`<${Dialog} title=${texts.tills.newKey} onClose=${onClose} mayClose=${() => !isBusy}>
    ${
      made
        ? html`<${ShownOnce} words=${texts.tills.keyOnce(shown.Name)} secret=${made} onClose=${onClose} />`
        : html`<p>${texts.tills.newKeyWords(shown.Name)} ${isOneself(shown) && texts.tills.signInAgain}</p>
        ${error && html`<${Failure} error=${error} />`}
        <div class="actions">
          <${ActButton} type="button" class="main" isBusy=${isBusy} onClick=${act}>${texts.tills.makeKey}<//>
          <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
        </div>`
    }
  <//>`;
}

// A new key beside another change, if it is wanted: {offer, fields, made, show}. `made` is the key, once it is stored.
function useOtherKey(shown) {
  const [isWanted, want] = useState(false);
  const [made, setMade] = useState(null);
  const fields = () => (isWanted ? { SecretKey: randomText(KEY_BYTES) } : {});
  const offer = html`<label class="check" for="other-key"><input id="other-key" type="checkbox" checked=${isWanted}
      aria-describedby="other-key-hint" onChange=${(event) => want(event.target.checked)} /> ${texts.tills.otherKey}</label>
    <p id="other-key-hint"><small>${texts.tills.keyCan(shown.Name)}</small></p>`;
  const show = (onClose) =>
    html`<${ShownOnce} words=${texts.tills.keyOnce(shown.Name)} secret=${made} onClose=${onClose} />`;
  return { offer, fields, made, setMade, show };
}

// Names that tell the devices apart: those that are called alike are counted, the oldest first.
function namesOf(sessions) {
  const called = (one) => one.Device ?? texts.tills.unknownDevice;
  const oldestFirst = [...sessions].reverse().sort((one, other) => one.Started.localeCompare(other.Started));
  return new Map(
    sessions.map((one) => {
      const alike = oldestFirst.filter((other) => called(other) === called(one));
      return [one.ID, alike.length > 1 ? `${called(one)} (${alike.indexOf(one) + 1})` : called(one)];
    }),
  );
}

function Device({ shown, name, onSignOut }) {
  const names = texts.tills;
  const { act, isBusy, error } = useAct(onSignOut);
  const id = `device-${shown.ID}`;
  return html`<li><div>
      <b id=${id}>${name}</b>
      <p>${names.signedIn(formatMoment(shown.Started))}</p>
      <p>${names.lastUsed(formatMoment(shown.LastUsed))}</p>
      ${error && html`<${Failure} error=${error} />`}
    </div>
    <${ActButton} type="button" aria-describedby=${id} isBusy=${isBusy} onClick=${act}>${texts.signOut}<//></li>`;
}

// The devices that stay signed in, and the end of one of them.
export function Devices({ shown, onEnded }) {
  const names = texts.tills;
  const said = useRef(null);
  const called = useRef(null); // the names stay while the page is open
  const [gone, setGone] = useState("");
  useLayoutEffect(() => {
    if (gone) said.current.focus();
  }, [gone]); // the focused button is gone
  called.current ??= namesOf(shown.Sessions);
  const nameOf = (one) => called.current.get(one.ID) ?? one.Device ?? names.unknownDevice;
  const end = (one) => async () => {
    await update(shown.ID, { EndSessions: [one.ID] });
    await onEnded();
    setGone(names.deviceSignedOut(nameOf(one)));
  };
  return html`<p class="said" role="status" tabindex="-1" ref=${said}>${gone}</p>
    <p>${shown.Sessions.length ? names.devicesWords(shown.Name) : names.noDevice}</p>
    <ul class="devices">${shown.Sessions.map((one) => html`<${Device} key=${one.ID} shown=${one} name=${nameOf(one)} onSignOut=${end(one)} />`)}</ul>`;
}

export function SignOutEverywhere({ shown, onClose }) {
  const names = texts.tills;
  const key = useOtherKey(shown);
  const leave = () => (isOneself(shown) ? signOut() : onClose());
  const { act, isBusy, error } = useAct(async () => {
    const made = key.fields();
    await update(shown.ID, { EndSessions: true, ...made });
    if (made.SecretKey) key.setMade(made.SecretKey);
    else leave();
  });
  if (key.made) return html`<${Dialog} title=${names.newKey} onClose=${leave}>${key.show(leave)}<//>`;
  return html`<${Dialog} title=${names.endSessions} onClose=${onClose} mayClose=${() => !isBusy}>
    <p>${names.endSessionsWords(shown.Name)} ${isOneself(shown) && names.signInAgain}</p>
    ${key.offer}
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions">
      <${ActButton} type="button" class="danger" isBusy=${isBusy} onClick=${act}>${names.endSessions}<//>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}

export function NewPassword({ shown, onClose }) {
  const form = useRef(null);
  const key = useOtherKey(shown);
  const { act, isBusy, error } = useAct(async () => {
    const made = key.fields();
    await update(shown.ID, { Password: form.current.elements.password.value, ...made });
    if (made.SecretKey) key.setMade(made.SecretKey);
    else onClose();
  });
  const problem = problemOf(error, "Password", texts.tills.problems.Password);
  if (key.made) return html`<${Dialog} title=${texts.tills.newKey} onClose=${onClose}>${key.show(onClose)}<//>`;
  return html`<${Dialog} title=${texts.tills.newPassword} onClose=${onClose} mayClose=${() => !isBusy}>
    <p>${texts.tills.newPasswordWords(shown.Name)} ${isOneself(shown) && texts.tills.signInAgain}</p>
    <form ref=${form} onSubmit=${act}>
      ${error && !problem && html`<${Failure} error=${error} />`}
      <${Field} id="new-password" name="password" type="password" label=${texts.tills.fields.Password}
        hint=${texts.tills.problems.Password} autocomplete="new-password" required autofocus problem=${problem} />
      ${key.offer}
      <div class="actions">
        <${ActButton} class="main" isBusy=${isBusy}>${texts.tills.setPassword}<//>
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
  if (!isOneself(shown))
    return html`<${Act} title=${names.block} words=${names.blockWords(shown.Name)} run=${run} isDangerous onClose=${onClose} />`;
  if (others.data?.length)
    return html`<${Act} title=${names.blockSelf} words=${names.blockSelfWords} run=${run} isDangerous onClose=${onClose} />`;
  return html`<${Dialog} title=${names.block} onClose=${onClose}>
    <${Loaded} state=${others}>${() => html`<p>${names.lastAdministrator}</p>`}<//>
    <div class="actions"><button type="button" onClick=${onClose}>${texts.cancel}</button></div>
  <//>`;
}
