// Dialogs: what they do, the question before something is done, and a secret that is shown once.
import { Failure } from "./parts.js";
import { texts } from "./texts.js";
import { html, useEffect, useId, useRef, useState } from "./view.js";

// A modal dialog: the browser keeps the focus in it. It goes back to where it was, or to the view when that is gone,
// because a dialog that is taken from the page does not give it back. `onClose` is called for the key Escape too,
// unless the dialog may not be closed now: a browser closes it at a second Escape whatever the page says.
export function Dialog({ title, onClose, mayClose = () => true, children }) {
  const dialog = useRef(null);
  const name = useId();
  const [opener] = useState(() => document.activeElement);
  useEffect(() => {
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

// What a dialog or a button does: once at a time, and its refusal is shown.
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
      await run();
    } catch (refusal) {
      setError(refusal);
    }
    running.current = false;
    setBusy(false);
  };
  return { act, isBusy, error };
}

export function Act({ title, words, run, onClose }) {
  const { act, isBusy, error } = useAct(async () => {
    await run();
    onClose();
  });
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <p>${words}</p>
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions">
      <button type="button" class="main" disabled=${isBusy} onClick=${act}>${title}</button>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}

// A secret that is shown this once: it is nowhere else in the page, and gone when the dialog is closed.
export function ShownOnce({ words, secret, onClose }) {
  const [said, say] = useState("");
  const sentence = useRef(null);
  const shown = useRef(null);
  useEffect(() => { sentence.current.focus(); }, []); // the button that had the focus is gone
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      say(texts.copied);
    } catch {
      getSelection().selectAllChildren(shown.current); // not every browser lets a page copy
      say(texts.copyByHand);
    }
  };
  return html`<p ref=${sentence} tabindex="-1">${words}</p>
    <p class="key"><code ref=${shown}>${secret}</code></p>
    <p class="said" role="status">${said}</p>
    <div class="actions">
      <button type="button" class="main" onClick=${copy}>${texts.copy}</button>
      <button type="button" onClick=${onClose}>${texts.done}</button>
    </div>`;
}
