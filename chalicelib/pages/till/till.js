// The till of this device: the signed-in agent, the connection and the queue. Views show its state.
import { exchange, expired } from "../kit/api.js";
import { dayInZone } from "../kit/dates.js";
import { parse } from "../kit/route.js";
import { begin, change as changeSession, end } from "../kit/session.js";
import { useLayoutEffect, useState } from "../kit/view.js";
import { isRecent, readAccount } from "./account.js";
import { isClockKnown, noteDate, offset, serviceNow, setOffset } from "./clock.js";
import { Means, State, allowed, meaning } from "./rules.js";
import { Queue } from "./queue.js";
import { Store, isWaiting } from "./store.js";

const PREFIX_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"; // 32, so that a byte chooses one evenly
const PREFIX_LENGTH = 5;
const NEWS_MS = 60_000; // between two looks for other prices, features and rights
const PROBE_MS = { online: 30_000, offline: 5_000 };
const TICK_MS = 2_000;
const SHOWN_MS = 200; // between two counts of the queue

const store = new Store();
export const listeners = new Set();
let state = {
  isOnline: navigator.onLine,
  waiting: 0,
  parked: 0,
  queued: [],
  lost: [],
  isPersistent: true,
  revision: 0,
};

let isHeld = true; // the lock: without it the page sells, sends and stores nothing

export const till = () => state;

function set(changes) {
  state = { ...state, ...changes };
  for (const listener of listeners) listener(state);
}

export function useTill() {
  const [shown, show] = useState(state);
  useLayoutEffect(() => {
    listeners.add(show);
    show(state);
    return () => listeners.delete(show);
  }, []);
  return shown;
}

export const queue = new Queue({
  store,
  send: (request, session, seconds) =>
    asked("POST", "payment/submit", { body: request, token: session.token, seconds }),
  facts: () => ({
    session: isHeld ? state.session : undefined,
    features: state.features,
    offset: offset(),
    isClockKnown: isClockKnown(),
    isPersistent: state.isPersistent,
  }),
  onChange: () => countSoon(),
});

// Each answer shows the state of the connection, and the service's clock.
async function asked(method, path, options) {
  const begun = performance.now();
  const answer = await exchange(method, path, options);
  const isOnline = Boolean(answer.body);
  const isOld = !isOnline && answeredAt > begun; // another answer came since it was sent: the next tick asks
  lastAsked = isOld ? -Infinity : performance.now();
  if (isOnline) answeredAt = lastAsked;
  if (!isOld && isOnline !== state.isOnline) {
    set({ isOnline });
    if (isOnline) queue.hurry();
    if (isOnline && state.session && !state.features) refresh(); // its answer was lost at the sign-in
  }
  if (isOnline && !Number.isNaN(answer.date) && noteDate(answer.date)) {
    set({}); // views have the time
    store.remember({ offset: offset() }).catch(broke);
  }
  return answer;
}

const NOBODY = {
  session: undefined,
  agent: undefined,
  features: undefined,
  options: undefined,
  currency: undefined,
  digits: undefined,
  country: undefined,
  listCurrency: undefined,
  askedAt: undefined,
  refreshedAt: undefined,
};
const broke = () => set({ isBroken: true });

// A request of the signed-in agent. An answer that ends its session is noted. It has no answer after the agent has left.
async function call(method, path, body, session = state.session) {
  const isHere = () => isHeld && session && state.session?.agent === session.agent;
  if (!isHere()) return {};
  const answer = await asked(method, path, { body, token: session.token });
  const verdict = meaning("", answer);
  if ([Means.SIGN_IN, Means.BLOCKED].includes(verdict.means)) queue.note(verdict, session);
  return isHere() ? answer : {};
}

// The body of a successful answer, or null.
export async function ask(...request) {
  const { status, body } = await call(...request);
  return status === 200 ? (body ?? null) : null;
}

let [counting, countedAt, isCounted] = [null, -Infinity, true];

function countSoon() {
  if (!counting) counting = setTimeout(count, Math.max(0, countedAt + SHOWN_MS - performance.now()));
}

async function count() {
  counting = null;
  const at = (countedAt = performance.now());
  try {
    const sales = await store.queue();
    const lost = await store.lost(sales);
    if (at !== countedAt) return; // a later one knows more
    isCounted = true;
    set({
      queued: sales,
      lost,
      waiting: sales.filter(isWaiting).length,
      parked: sales.filter((one) => one.state === State.PARKED).length,
      problem: queue.problem,
      isBroken: Boolean(queue.failure),
      revision: state.revision + 1,
    });
  } catch {
    isCounted = false;
    broke();
  }
}

// Read the facts of the device, and begin to send. Return the basket that it keeps.
export async function start() {
  const { session, account, prices, basket, offset: known = 0 } = await store.facts();
  setOffset(known);
  set({ ...(account?.agent === session?.agent && account), prices, isPersistent: false });
  if (session) use(session);
  else end(); // the page may have ended before it heard of the sign-out
  count();
  store.forget(Date.now()).catch(broke);
  for (const event of ["online", "focus", "pageshow"]) addEventListener(event, look);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && look());
  addEventListener("offline", () => set({ isOnline: false }));
  addEventListener("beforeinstallprompt", (event) => {
    event.preventDefault(); // the page offers it
    set({ installer: event });
  });
  addEventListener("appinstalled", askForStorage);
  setInterval(tick, TICK_MS);
  askForStorage();
  look();
  return basket;
}

// Keep the basket, so that a reload or a killed page does not lose it.
export const keepBasket = (basket) => store.keepBasket(basket).catch(broke);

function use(session) {
  set({ session });
  begin(session.token, { ...session.me, Today: dayInZone(session.gmt, serviceNow()) }); // it may have begun days ago
}

// The browser promises to keep the data of a page that is installed, where it grants that.
async function askForStorage() {
  const isInstalled = matchMedia("(display-mode: standalone)").matches || navigator.standalone === true;
  const isGranted = (await navigator.storage?.persist?.().catch(() => false)) ?? false;
  set({ isInstalled, isPersistent: isInstalled && isGranted });
}

// Let the browser ask whether it may install the page.
export function install() {
  const { installer } = state;
  set({ installer: undefined }); // each works once
  installer.prompt();
}

let [lastAsked, answeredAt, probing] = [0, -Infinity, null];

// Somebody looks at the page, or the browser says that there is a connection, which may be wrong.
function look() {
  probe();
  queue.hurry();
  readNews(!state.refreshedAt || !isRecent(newsAt, NEWS_MS));
}

let newsAt = -Infinity;

// Read what may have changed, once a minute, and after each sale (`isDue`). While something is being paid, nothing changes.
export function readNews(isDue = !isRecent(newsAt, NEWS_MS)) {
  const isPaying = queue.isSelling || parse(location.hash).view === "pay";
  if (isDue && state.isOnline && state.session && !isPaying) refresh();
}

function probe() {
  if (probing) return;
  probing = asked("GET", "health", { seconds: PROBE_MS.offline / 1000 }).finally(() => {
    probing = null;
  });
}

function tick() {
  if (state.waiting) queue.drain();
  const day = state.session && dayInZone(state.session.gmt, serviceNow());
  if (day !== state.day) set({ day }); // views go on with the next one
  if (!isCounted || state.queued.length) countSoon(); // something may wait, or be gone with the browser's data
  const wait = state.isOnline ? PROBE_MS.online : PROBE_MS.offline;
  if (document.visibilityState !== "visible") return;
  if (performance.now() - lastAsked >= wait) probe();
  readNews();
}

let refreshing = {};

// Read the account of the agent, once at a time. After another sign-in the one before asks no more.
function refresh() {
  const { session } = state;
  if (refreshing.token === session.token) return refreshing.read;
  const mine = { token: session.token };
  refreshing = mine;
  const isLatest = () => refreshing === mine;
  mine.read = refreshOf(session, isLatest).finally(() => {
    if (isLatest()) refreshing = {};
  });
  return mine.read;
}

async function refreshOf(session, isLatest) {
  newsAt = Date.now();
  const asking = (method, path) => (isLatest() ? call(method, path, undefined, session) : {});
  const found = await readAccount(asking, session.agent, till);
  if (!found || changing || state.session?.agent !== session.agent) return; // a session that is being stored is newer
  const { me, account, prices, refreshedAt } = found;
  const { Today, ExpiresAt, ...lasting } = me;
  const facts = {
    ...(isOther(account, state) && { account }),
    ...(isOther(lasting, state.session.me) && { session: { ...state.session, me, gmt: me.GMT } }),
    ...(prices && { prices }),
  };
  const { account: _, ...shown } = facts;
  set({ ...account, ...shown, refreshedAt });
  if (facts.session) changeSession({ me });
  if (Object.keys(facts).length) await store.remember(facts).catch(broke);
}

const isOther = (found, known) =>
  Object.entries(found).some(([name, value]) => JSON.stringify(value) !== JSON.stringify(known[name]));

// The taxes of amounts that are typed.
export function typedTaxes() {
  const { merchant, typedTax } = state.prices ?? {};
  return typedTax && merchant === state.session?.me.ClientID ? [typedTax] : [];
}

// The session ended, so what waits is sent only after the next sign-in.
export const isEnded = ({ problem }) => problem?.means === Means.SIGN_IN;

export const tenders = () => allowed(state.features ?? {}, state.options);

let changing = null; // a sign-in or a sign-out that is being stored

// Do it after the one before. Meanwhile nothing is sold, so that no sale of one agent meets the session of another.
function alone(work) {
  const mine = Promise.resolve(changing)
    .catch(() => {})
    .then(work)
    .finally(() => {
      if (changing === mine) changing = null;
    });
  changing = mine;
  return mine;
}

// Store a session, or after a failure the one before: the commit may be late.
const replaced = (facts) =>
  store.remember(facts).catch((error) => {
    store.remember({ session: state.session }).catch(broke);
    throw error;
  });

// Somebody is signed in, and stays; and no other tab can sell.
export const mayAct = () => isHeld && Boolean(state.session) && !changing;

// The page has the lock of the till, or may have lost it.
export function hold(isOwn) {
  isHeld = isOwn;
  if (isHeld) look();
}

// Sign in. Return undefined, or the reason why not: an answer of the service, or {isAnother, mayClear} for another agent
// while sales of the first one wait. An administrator of the same merchant may export and delete these.
export async function signIn(email, password, code) {
  const { status, body: answer } = await asked("POST", "user/login/session", {
    body: { Email: email, Password: password, ...(code && { Code: code }), Remember: true },
  });
  if (status !== 200 || !answer) return { status, body: answer };
  const token = answer.Data.SessionID;
  const { body: told } = await asked("GET", "user/me", { token });
  let refused = { status: 0 };
  try {
    if (told?.Data) refused = await alone(() => enter(told.Data, token));
  } finally {
    if (refused) asked("POST", "user/logout/session", { body: {}, token }); // it may be stored later, but is over
  }
  if (!refused) await refresh();
  return refused;
}

// Store a session and use it. Return why not, or undefined.
async function enter(me, token) {
  if (!isHeld) return { status: 0 };
  const isAnother = state.session?.agent !== me.AgentID;
  const { isSelling } = queue;
  const others = (await store.queue()).some((sale) => sale.agent !== me.AgentID);
  if (others || (isAnother && isSelling)) {
    const mayClear = others && me.IsAdministrator && me.ClientID === state.session?.me.ClientID;
    return { isAnother: true, mayClear };
  }
  const session = { token, me, agent: me.AgentID, gmt: me.GMT };
  const { device, account } = await store.facts();
  // The device is stored once: a sale of this moment may raise its counter.
  await replaced({
    session,
    ...(isAnother && { basket: undefined }),
    ...(!device && { device: { prefix: drawn(), counter: 0 } }),
  });
  if (isAnother) end(); // the unfinished returns belong to the agent before
  if (isAnother) set({ ...NOBODY, ...(account?.agent === session.agent && account) });
  use(session);
  if (isAnother) expired.leave();
  else expired.signedIn(token); // a return may wait for it
  queue.signedIn();
  return undefined;
}

const drawn = () =>
  Array.from(
    crypto.getRandomValues(new Uint8Array(PREFIX_LENGTH)),
    (one) => PREFIX_LETTERS[one % PREFIX_LETTERS.length],
  ).join("");

// Sign out, unless a sale waits or is parked: it can be sent only by this agent. Return whether it was done.
export const signOut = () =>
  alone(async () => {
    if (!state.session) return true;
    if (!isHeld || queue.isSelling || (await store.queue()).length) {
      await count();
      return false;
    }
    const { token } = state.session;
    await replaced({ session: undefined, basket: undefined });
    set({ ...NOBODY, problem: null });
    end();
    asked("POST", "user/logout/session", { body: {}, token });
    return true;
  });

// Somebody has read which sales are gone.
export function forgetLost() {
  store.forgetLost();
  countSoon();
}

// The sales that wait or are parked. They keep another agent from signing in.
export const leftSales = () => store.queue();

// Delete these sales of an agent that has left, and sign that agent out.
export async function clear(left) {
  if (!isHeld) return;
  for (const sale of left) await store.remove(sale.id);
  await signOut();
}

export const sales = (number, fits) => store.newest(state.session.agent, number, fits);
export const saleOf = (id) => store.sale(id);
export const change = (id, changes) => store.change(id, changes).then(countSoon, broke);
