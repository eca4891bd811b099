// Versions of the page. The service worker stores the page for times without connection. A new version takes over when
// no sale is being made.
const HOUR_MS = 3_600_000;
const ADDRESS = new URL("till/worker.js", document.baseURI).href;

const policy = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => ADDRESS });

let registration = null;
let mayReload = false;

// `isIdle` says whether no sale is being made now.
export async function keepUpToDate(isIdle) {
  if (!navigator.serviceWorker) return;
  const { serviceWorker } = navigator;
  mayReload = Boolean(serviceWorker.controller); // the first worker takes over a page that is new already
  serviceWorker.addEventListener("controllerchange", () => {
    if (mayReload) location.reload();
    mayReload = true;
  });
  try {
    registration = await serviceWorker.register(policy?.createScriptURL("") ?? ADDRESS, {
      scope: new URL("till", document.baseURI).pathname,
      updateViaCache: "none",
    });
  } catch {
    return; // without connection, or where the browser forbids workers: the page works, and opens only with a connection
  }
  setInterval(() => isIdle() && takeOver(), 1_000);
  setInterval(() => registration.update().catch(() => {}), HOUR_MS); // without connection there is nothing new
}

const takeOver = () => registration.waiting?.postMessage("take over");
