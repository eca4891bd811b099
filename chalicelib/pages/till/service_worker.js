// The service worker of the till: the page opens without connection. It answers only for the page and its files; requests
// of the interface pass by. It never touches the sales.
const VERSION = "{version}";
const FILES = "{files}";
const PREFIX = "payments.till ";
const NAME = PREFIX + VERSION;
const PATIENCE_MS = 1_000; // for the cache
const PAGE = new URL("../till", self.location).href;
const addresses = FILES.map((name) => new URL(`${VERSION}/${name}`, self.location).href);

// Store this version whole. A page of another version, in the middle of an update of the service, is tried again later.
async function install() {
  const page = await fetch(PAGE, { cache: "reload", credentials: "omit" });
  const isThis = page.ok && (await page.clone().text()).includes(VERSION);
  if (!isThis) throw new Error("The page is of another version.");
  const cache = await caches.open(NAME);
  await cache.put(PAGE, page);
  await cache.addAll(addresses);
}

// The browser holds requests back until this has ended, so it waits for no cache.
async function activate() {
  forgetOthers().catch(() => {}); // the next version tries again
  await self.clients.claim();
}

async function forgetOthers() {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(others.map((name) => caches.delete(name)));
}

// The file as it was stored; undefined without one, and when the cache is broken.
async function inCache(address) {
  try {
    const cache = await caches.open(NAME);
    const found = await cache.match(address);
    return found?.ok ? found : undefined;
  } catch {
    return undefined;
  }
}

// A cache that is broken or does not answer keeps nobody from the page: then the network serves.
async function served(address, request) {
  const stored = inCache(address);
  const late = new Promise((resolve) => {
    setTimeout(resolve, PATIENCE_MS);
  });
  const found = await Promise.race([stored, late]);
  if (found) return found;
  try {
    return await fetch(request);
  } catch (error) {
    const slow = await stored;
    if (slow) return slow;
    throw error;
  }
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", (event) => event.data === "take over" && self.skipWaiting());
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = request.url.split(/[?#]/)[0];
  if (request.method !== "GET") return;
  if (request.mode === "navigate" ? address === PAGE : addresses.includes(address))
    event.respondWith(served(address, request));
});
