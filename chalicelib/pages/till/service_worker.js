// The service worker of the till: the page opens without connection. It answers only for the page and its files; requests
// of the interface pass by. It never touches the sales.
const FILES = "{files}";
const PREFIX = "payments.till ";
const NAME = PREFIX + FILES.join(" ");
const PAGE = new URL("../till", self.location).href;
const addresses = FILES.map((name) => new URL(name, self.location).href);

// Store this version whole. A page of another version, in the middle of an update of the service, is tried again later.
async function install() {
  const page = await fetch(PAGE, { cache: "reload", credentials: "omit" });
  const text = await page.clone().text();
  const isWhole = page.ok && FILES.filter((name) => /\.(css|js)$/.test(name)).every((name) => text.includes(name));
  if (!isWhole) throw new Error("The page is of another version.");
  const cache = await caches.open(NAME);
  await cache.put(PAGE, page);
  await cache.addAll(addresses);
}

async function activate() {
  const others = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(others.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function stored(address, request) {
  const cache = await caches.open(NAME);
  return await cache.match(address) ?? fetch(request);
}

self.addEventListener("install", (event) => event.waitUntil(install()));
self.addEventListener("activate", (event) => event.waitUntil(activate()));
self.addEventListener("message", (event) => event.data === "take over" && self.skipWaiting());
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const address = request.url.split(/[?#]/)[0];
  if (request.method !== "GET") return;
  if (request.mode === "navigate" ? address === PAGE : addresses.includes(address)) event.respondWith(stored(address, request));
});
