// The dialogs of tills: a new key, a new till.
import { randomText } from "./api.js";
import { Dialog, ShownOnce, useAct } from "./dialogs.js";
import { Failure, Field } from "./parts.js";
import { merchant } from "./session.js";
import { create, till, update } from "./till_list.js";
import { texts } from "./texts.js";
import { html, useRef, useState } from "./view.js";

const KEY_BYTES = 32;

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
      : html`<p>${texts.tills.newKeyWords(shown.Name)}</p>
        ${error && html`<${Failure} error=${error} />`}
        <div class="actions">
          <button type="button" class="main" disabled=${isBusy} onClick=${act}>${texts.tills.makeKey}</button>
          <button type="button" onClick=${onClose}>${texts.cancel}</button>
        </div>`}
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
  const input = (name, hint, options = {}) => html`<${Field} id=${`till-${name}`} name=${name} label=${texts.tills.fields[name]}
    hint=${hint} autocomplete="off" required=${!options.optional} type=${options.type ?? "text"} />`;
  return html`<${Dialog} title=${texts.tills.create} onClose=${onClose}>
    ${made
      ? html`<${ShownOnce} words=${texts.tills.keyOnce(made.Name)} secret=${made.SecretKey} onClose=${onClose} />`
      : html`<form ref=${form} onSubmit=${act}>
          ${error && html`<${Failure} error=${error} />`}
          ${input("Name")}
          ${input("Email", texts.tills.emailHint, { type: "email" })}
          ${input("Phone", texts.tills.phoneHint, { type: "tel" })}
          ${input("TID", texts.tills.terminalHint, { optional: true })}
          ${input("Password", texts.tills.passwordHint, { type: "password", optional: true })}
          <div class="actions">
            <button class="main" disabled=${isBusy}>${texts.tills.createButton}</button>
            <button type="button" onClick=${onClose}>${texts.cancel}</button>
          </div>
        </form>`}
  <//>`;
}
