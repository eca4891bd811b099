// Dialogs: their frame, their actions, and a question before an action.
import { Failure } from "./parts.js";
import { texts } from "./language.js";
import { html, useId, useLayoutEffect, useRef, useState } from "./view.js";

// A modal dialog: the browser keeps the focus inside. At the end the dialog gives the focus back to its opener, or to
// the view if the opener is gone, because the browser does not. `onClose` also runs for Escape, unless the dialog may
// not close now: the browser closes it at a second Escape in any case.
export function Dialog({ title, onClose, mayClose = () => true, children }) {
  const dialog = useRef(null);
  const name = useId();
  const [opener] = useState(() => document.activeElement);
  useLayoutEffect(() => {
    dialog.current.showModal();
    const giveBack = () => {
      const isTaken = document.activeElement && document.activeElement !== document.body;
      if (!isTaken) (opener.isConnected ? opener : document.getElementById("main"))?.focus();
    };
    return () => queueMicrotask(giveBack);
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    if (mayClose()) onClose();
  };
  const closed = () => (mayClose() ? onClose() : dialog.current.showModal());
  return html`<dialog ref=${dialog} aria-labelledby=${name} onCancel=${cancel} onClose=${closed}>
    <h2 id=${name}>${title}</h2>
    ${children}
  </dialog>`;
}

// The action of a dialog or button: it runs once at a time, and shows its refusal until it is forgotten.
export function useAct(run) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const running = useRef(false);
  const act = async (event) => {
    event?.preventDefault();
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(null);
    try {
      await run(event);
    } catch (refusal) {
      setError(refusal);
    }
    running.current = false;
    setBusy(false);
  };
  return { act, isBusy, error, forget: () => setError(null) };
}

// The button of an action. It says what it does while it does it.
export const ActButton = ({ isBusy, children, ...rest }) =>
  html`<button ...${rest} disabled=${isBusy || rest.disabled}>${children}${isBusy && texts.busy}</button>`;

// A question before an action. `button` is its name where the title is not.
export function Act({ title, words, button = title, run, isDangerous, onClose, mayClose }) {
  const { act, isBusy, error } = useAct(async () => {
    await run();
    onClose();
  });
  return html`<${Dialog} title=${title} onClose=${onClose} mayClose=${mayClose}>
    <p>${words}</p>
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions">
      <${ActButton} type="button" class=${isDangerous ? "danger" : "main"} isBusy=${isBusy} onClick=${act}>${button}<//>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}
