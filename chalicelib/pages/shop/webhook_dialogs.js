// The dialogs of webhooks: a new one, a change, a new secret.
import { Refusal } from "../kit/api.js";
import { addDays, formatMoment } from "../kit/dates.js";
import { ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { Failure, Field, Problem, problemOf } from "../kit/parts.js";
import { ShownOnce } from "./secrets.js";
import { texts } from "./texts.js";
import { create, rotate, update } from "./webhook_list.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

export const KINDS = [
  "payment.approved",
  "payment.declined",
  "payment.rejected",
  "payment.unknown",
  "payment.cancelled",
  "reversal.approved",
  "reversal.declined",
];
const OLD_SECRET_DAYS = 1; // so long the old secret also signs

// In the interface, no kinds means every kind, also future ones. In this form, a person chooses.
function typed(form) {
  const data = new FormData(form);
  const kinds = data.getAll("kind");
  if (!kinds.length) throw new Refusal({ findings: [{ Property: "Types" }] });
  return { Url: data.get("url").trim(), Types: kinds.length === KINDS.length ? [] : kinds };
}

function Kinds({ chosen, problem }) {
  return html`<fieldset aria-describedby=${problem ? "webhook-kinds-problem" : undefined}>
    <legend>${texts.webhooks.kindsOfEvents}</legend>
    ${KINDS.map(
      (kind) => html`<label key=${kind} class="check">
      <input type="checkbox" name="kind" value=${kind} defaultChecked=${chosen.includes(kind)} />
      <span>${texts.webhooks.kinds[kind]} <small>${kind}</small></span>
    </label>`,
    )}
    <${Problem} id="webhook-kinds" words=${problem} />
  </fieldset>`;
}

// The form of a new webhook, or of the webhook in `shown`.
function Form({ shown, error, isBusy, form, onSubmit, onClose }) {
  const url = problemOf(error, "Url", texts.webhooks.badUrl);
  const kinds = problemOf(error, "Types", texts.webhooks.noKind);
  useLayoutEffect(() => {
    if (url) form.current.elements.url.focus();
  }, [error]);
  return html`<form ref=${form} onSubmit=${onSubmit}>
    ${error && !url && !kinds && html`<${Failure} error=${error} />`}
    <${Field} id="webhook-url" name="url" type="url" label=${texts.webhooks.url} hint=${texts.webhooks.urlHint} problem=${url}
      required autofocus autocomplete="off" spellcheck=${false} placeholder="https://shop.example/events" defaultValue=${shown?.Url} />
    <${Kinds} chosen=${shown?.Types ?? KINDS} problem=${kinds} />
    <div class="actions">
      <${ActButton} class="main" isBusy=${isBusy}>${shown ? texts.webhooks.save : texts.webhooks.createButton}<//>
      <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
    </div>
  </form>`;
}

export function ChangeWebhook({ shown, onClose }) {
  const form = useRef(null);
  const { act, isBusy, error } = useAct(async () => {
    await update(shown.ID, typed(form.current));
    onClose();
  });
  return html`<${Dialog} title=${texts.webhooks.changeTitle} onClose=${onClose}>
    <${Form} shown=${shown} error=${error} isBusy=${isBusy} form=${form} onSubmit=${act} onClose=${onClose} />
  <//>`;
}

// Make something with a secret. If the answer is lost, so is the secret, and the outcome is not known.
function useMade(make, wordsWhenLost) {
  const [made, setMade] = useState(null);
  const state = useAct(async () => {
    try {
      setMade(await make());
    } catch (refusal) {
      if (refusal.isLost) refusal.message = wordsWhenLost;
      throw refusal;
    }
  });
  return { made, ...state };
}

export function CreateWebhook({ onClose }) {
  const form = useRef(null);
  const { made, act, isBusy, error } = useMade(() => create(typed(form.current)), texts.webhooks.createLost);
  return html`<${Dialog} title=${texts.webhooks.create} onClose=${onClose} mayClose=${() => !isBusy}>
    ${
      made
        ? html`<${ShownOnce} words=${texts.webhooks.secretOnce(made.Url)} secret=${made.Secret} onClose=${onClose} />`
        : html`<${Form} error=${error} isBusy=${isBusy} form=${form} onSubmit=${act} onClose=${onClose} />`
    }
  <//>`;
}

export function NewSecret({ shown, onClose }) {
  const { made, act, isBusy, error } = useMade(() => rotate(shown.ID), texts.webhooks.rotateLost);
  const until = made && formatMoment(addDays(made.Updated.slice(0, 10), OLD_SECRET_DAYS) + made.Updated.slice(10));
  return html`<${Dialog} title=${texts.webhooks.newSecret} onClose=${onClose} mayClose=${() => !isBusy}>
    ${
      made
        ? html`<${ShownOnce} words=${`${texts.webhooks.secretOnce(made.Url)} ${texts.webhooks.oldUntil(until)}`}
          secret=${made.Secret} onClose=${onClose} />`
        : html`<p>${texts.webhooks.newSecretWords}</p>
        ${error && html`<${Failure} error=${error} />`}
        <div class="actions">
          <${ActButton} type="button" class="main" isBusy=${isBusy} onClick=${act}>${texts.webhooks.makeSecret}<//>
          <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
        </div>`
    }
  <//>`;
}
