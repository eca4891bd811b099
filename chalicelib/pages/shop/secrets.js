// Secrets that the service tells once: a key of a till, the secret of a webhook.
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

// A secret that is shown only once. It is nowhere else in the page, and gone when the dialog closes.
export function ShownOnce({ words, secret, onClose }) {
  const sentence = useRef(null);
  useLayoutEffect(() => {
    sentence.current.focus();
  }, []); // the focused button is gone
  return html`<p ref=${sentence} tabindex="-1">${words}</p>
    <${Secret} secret=${secret}><button type="button" onClick=${onClose}>${texts.done}</button><//>`;
}

// A secret with the button that copies it, and other buttons.
export function Secret({ secret, children }) {
  const [said, say] = useState("");
  const shown = useRef(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      say(texts.copied);
    } catch {
      getSelection().selectAllChildren(shown.current); // some browsers do not let a page copy
      say(texts.copyByHand);
    }
  };
  return html`<p class="key"><code ref=${shown}>${secret}</code></p>
    <p class="said" role="status">${said}</p>
    <div class="actions">
      <button type="button" class="main" onClick=${copy}>${texts.copy}</button>
      ${children}
    </div>`;
}
