// Send the receipt of a payment later, by e-mail and SMS. A request keeps its key until it is answered, so a second click
// or a lost answer sends once.
import { call, randomText, Refusal } from "./api.js";
import { ActButton, useAct } from "./dialogs.js";
import { Failure, Field, problemOf } from "./parts.js";
import { language, texts } from "./language.js";
import { html, useLayoutEffect, useRef, useState } from "./view.js";

// `attempt`: the addresses that were sent and not answered, and their key.
function Form({ id, attempt, onSent, onClose }) {
  const form = useRef(null);
  useLayoutEffect(() => {
    form.current.elements.Email.focus();
  }, []);
  const { act, isBusy, error } = useAct(async () => {
    const addresses = Object.fromEntries([...new FormData(form.current)].map(([name, typed]) => [name, typed.trim()]));
    const content = JSON.stringify(addresses);
    if (attempt.current?.content !== content) attempt.current = { content, key: randomText() };
    const answer = await call(
      `payment/receipt/${encodeURIComponent(id)}`,
      { ...addresses, Lang: language },
      { key: attempt.current.key },
    );
    attempt.current = null;
    const findings = answer.Validations ?? []; // addresses beyond a limit, which get nothing
    const sent = Object.entries(addresses).filter(
      ([name, one]) => one && !findings.some(({ Property }) => Property === name),
    );
    if (sent.length) onSent(texts.send.sent(sent.map(([, one]) => one).join(", ")));
    if (findings.length) throw new Refusal({ findings });
    onClose();
  });
  const problem = (field) =>
    problemOf(error, field, texts.send.checks[error?.findings?.find((one) => one.Property === field)?.Code]);
  const problems = { Email: problem("Email"), Phone: problem("Phone") };
  return html`<form ref=${form} class="send" onSubmit=${act} novalidate>
    <${Field} id="send-email" name="Email" type="email" label=${texts.send.email} autocomplete="off" problem=${problems.Email} />
    <${Field} id="send-phone" name="Phone" type="tel" label=${texts.send.phone} autocomplete="off" problem=${problems.Phone} />
    ${error && !problems.Email && !problems.Phone && html`<${Failure} error=${error} />`}
    <div class="actions">
      <${ActButton} class="main" isBusy=${isBusy}>${texts.send.button}<//>
      <button type="button" disabled=${isBusy} onClick=${onClose}>${texts.cancel}</button>
    </div>
  </form>`;
}

// The button `Send receipt`, which gives its place to the form, and at the end a sentence with the addresses.
export function SendReceipt({ id }) {
  const [isOpen, setOpen] = useState(false);
  const [said, say] = useState("");
  const attempt = useRef(null);
  const wasOpen = useRef(false);
  const [button, sentence] = [useRef(null), useRef(null)];
  useLayoutEffect(() => {
    if (wasOpen.current && !isOpen) (sentence.current ?? button.current).focus(); // the focused button is gone
    wasOpen.current = isOpen;
  }, [isOpen]);
  const open = () => {
    say("");
    setOpen(true);
  };
  return html`
    ${said && html`<p ref=${sentence} class="note good" role="status" tabindex="-1">${said}</p>`}
    ${
      isOpen
        ? html`<${Form} id=${id} attempt=${attempt} onSent=${say} onClose=${() => setOpen(false)} />`
        : html`<button ref=${button} type="button" onClick=${open}>${texts.send.open}</button>`
    }`;
}
