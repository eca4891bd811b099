// The till: it takes a lock of the browser, so that one tab sells and sends, and then shows its views.
import { html, render } from "../kit/view.js";
import { Frame, Notice } from "./frame.js";
import { isIdle, resume } from "./sale.js";
import { texts } from "./texts.js";
import { start } from "./till.js";
import { keepUpToDate } from "./update.js";

const LOCK = "payments.till";
const root = document.getElementById("app");
const show = (shown) => render(shown, root);

async function begin() {
  try {
    await resume(await start());
  } catch {
    show(html`<${Notice} words=${texts.notices.noStorage} />`);
    return undefined;
  }
  show(html`<${Frame} />`);
  keepUpToDate(isIdle);
  return new Promise(() => {}); // the lock is held as long as the page is open
}

async function main() {
  if (!navigator.locks || !globalThis.indexedDB) {
    show(html`<${Notice} words=${isSecureContext ? texts.notices.noStorage : texts.notices.needsHttps} />`);
    return;
  }
  await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => (lock ? begin() : null));
  // Another tab has the lock: wait until it is closed.
  show(html`<${Notice} words=${texts.notices.elsewhere} />`);
  await navigator.locks.request(LOCK, begin);
}

document.title = texts.name;
main();
