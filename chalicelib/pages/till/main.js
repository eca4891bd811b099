// The till: it takes a lock of the browser, so that one tab sells and sends, and then shows its views.
import { Notice } from "../kit/parts.js";
import { canStore } from "../kit/storage.js";
import { html, render } from "../kit/view.js";
import { Frame } from "./frame.js";
import { isIdle, resume } from "./sale.js";
import { texts } from "./texts.js";
import { hold, start } from "./till.js";
import { keepUpToDate } from "./update.js";

const LOCK = "payments.till";
const PATIENCE_MS = 4_000; // for the storage, until the page says that it waits
const root = document.getElementById("app");
const show = (shown) => render(shown, root);
const tell = (words) => show(html`<${Notice} words=${words} />`);

const holder = async () => (await navigator.locks.query()).held.find(({ name }) => name === LOCK)?.clientId;
let own; // the browser's name for this page, while it has the lock

async function begin() {
  const waiting = setTimeout(() => tell(texts.notices.slowStorage), PATIENCE_MS);
  try {
    const named = holder();
    await resume(await start());
    own = await named;
  } catch {
    return tell(texts.errors.blocked);
  } finally {
    clearTimeout(waiting);
  }
  show(html`<${Frame} />`);
  keepUpToDate(isIdle);
  return new Promise(() => {}); // the lock is held as long as the page is open
}

// Do it with the lock. While another tab has it, say so, and wait until that tab is closed.
async function alone(act) {
  const isElsewhere = await navigator.locks.request(LOCK, { ifAvailable: true }, (lock) => (lock ? act() : true));
  if (!isElsewhere) return;
  tell(texts.notices.elsewhere);
  await navigator.locks.request(LOCK, act);
}

// What another tab sold meanwhile, and who signed in there, is on the device.
function readAgain() {
  location.reload();
  return new Promise(() => {});
}

// A page that the browser keeps for Back, or freezes, may lose its lock, and nobody tells it.
let isAway = false;
function leave() {
  isAway = true;
  hold(false);
}
async function comeBack() {
  if (!isAway) return;
  isAway = false;
  if (own && own === (await holder())) hold(true);
  else await alone(readAgain);
}
for (const event of ["pagehide", "freeze"]) addEventListener(event, leave, { capture: true });
for (const event of ["pageshow", "resume"]) addEventListener(event, comeBack, { capture: true });

if (canStore && navigator.locks && globalThis.indexedDB) alone(begin).catch(() => tell(texts.errors.blocked));
else tell(isSecureContext ? texts.errors.blocked : texts.notices.needsHttps);
