// The sale in hand: its basket, how it is paid, and its result. It is kept on the device, so that Back, a reload and a killed
// page lose nothing. Views show it.
import { address, go } from "../kit/route.js";
import { useLayoutEffect, useState } from "../kit/view.js";
import { serviceNow } from "./clock.js";
import { EMPTY, fits, isEmpty, soldLines, without, withItem, withLine, withMore } from "./basket.js";
import { Refused } from "./queue.js";
import { MAX_FIGURES, State, requestOf, shownState } from "./rules.js";
import { language } from "../kit/language.js";
import { sound } from "./settings.js";
import { texts } from "./texts.js";
import {
  ask,
  change as changeSale,
  keepBasket,
  listeners,
  mayAct,
  queue,
  readNews,
  saleOf,
  till,
  typedTaxes,
} from "./till.js";

const TOLD_MS = 900_000; // the last sale is told after a reload
const TIMES = /^(\d{1,3}(\.\d{0,3})?)?$/; // a quantity
const SETTLED_MS = 30_000; // after a result the page may be replaced by a new version

const NEW = {
  agent: null,
  ...EMPTY,
  times: "", // figures typed at the items: so many of the next one
  undone: null, // the basket before something was taken out
  description: "",
  receiptTo: "",
  received: "",
  card: null,
  customer: "",
  signature: null,
  key: null,
  id: null,
  result: null,
};
let made = NEW;
let show = () => {}; // shows it, while its view is there
let isBusy = false;
const holds = new Set(); // while there is one, the result stays and no other sale begins

export const sale = () => made;

listeners.add(({ session }) => {
  const agent = session?.agent ?? null;
  if (made.agent === agent) return;
  made = { ...NEW, agent }; // nothing of the agent before
  holds.clear();
});

function set(changes) {
  made = { ...made, ...changes };
  show(made);
  const { result, ...kept } = made;
  if (!isBusy) keepBasket(kept);
}

export const mayChange = () => !isBusy && !holds.size && mayAct();

// Let the result stay. Return how to let it go.
export function hold() {
  const own = {};
  holds.add(own);
  return () => holds.delete(own);
}

// Change the basket or the payment. After a result the next sale begins. Return whether it was done.
export function change(changes) {
  if (!mayChange()) return false;
  if (made.result) made = { ...NEW, agent: made.agent };
  set(changes);
  return true;
}

// Begin the next sale. A basket that nobody paid can come back.
export const nextSale = (isUnpaid) => change({ undone: isUnpaid ? unpaid() : null });

// Take back what was typed since `before`.
export function putBack(before) {
  if (isBusy || made === before) return;
  made = before;
  set({});
}

export function useSale() {
  const [shown, setShown] = useState(made);
  useLayoutEffect(() => {
    show = setShown;
    setShown(made);
    return () => {
      show = () => {};
    };
  }, []);
  return shown;
}

// Go on with the basket that the device kept, or tell the result of its sale.
export async function resume(kept) {
  if (!kept || kept.agent !== till().session?.agent) return;
  made = { ...NEW, ...kept };
  if (!kept.id) return;
  const sold = await saleOf(kept.id);
  if (!sold)
    set({ id: null }); // it was refused, and nothing was taken
  else if (serviceNow() - sold.takenAt > TOLD_MS) set({ ...NEW, agent: kept.agent });
  else
    set({
      ...NEW,
      agent: kept.agent,
      id: kept.id,
      result: { id: kept.id, sale: sold, basket: basketOf(kept), shownAt: performance.now() },
    });
}

const basketOf = ({ lines, off, figures, description, receiptTo, customer }) => ({
  lines,
  off,
  figures,
  description,
  receiptTo,
  customer,
});

// No sale is being made, so the page may be replaced by a new version.
export function isIdle() {
  const isTyping = document.activeElement?.matches("input, textarea") && document.activeElement.value;
  const isTold = made.result && performance.now() - made.result.shownAt > SETTLED_MS;
  const isUntouched = isEmpty(made) && !made.description && !made.receiptTo && !made.result;
  return !isBusy && (isUntouched || isTold) && !isTyping && !document.querySelector("dialog");
}

const current = () => (made.result ? NEW : made);

export function press(key) {
  const { figures } = current();
  const next = (key === "Delete" ? figures.slice(0, -1) : figures + key).replace(/^0+/, "");
  if (next !== figures && next.length <= MAX_FIGURES) changeBasket({ ...current(), figures: next });
}

// Type the quantity of the next item. Return false if it is too large.
export function pressTimes(key) {
  const { times } = current();
  const next = (key === "Delete" ? times.slice(0, -1) : times + key).replace(",", ".").replace(/^0+(?=\d)/, "");
  if (next !== times && TIMES.test(next)) change({ times: next });
  return !/^\d{4}/.test(next);
}

// Change the basket, unless it would be more than the service takes. Return whether it was done.
function changeBasket({ lines, off, figures }, undone = null) {
  return fits({ lines, off, figures }) && change({ lines, off, figures, times: "", undone });
}

export const add = (line) => changeBasket(withItem(current(), line));
export const more = (place, quantity) => changeLines(withMore(current(), place, quantity));
export const remove = (place) => changeLines(without(current(), place));
export const setLine = (place, changes) => changeBasket(withLine(current(), place, changes));
export const discountAll = (off) => changeBasket({ ...current(), off });

// What is taken out can come back until the next change.
const changeLines = (basket) => changeBasket(basket, basket.lines.length < made.lines.length ? basketOf(made) : null);
export const undo = () => made.undone && change({ ...made.undone, undone: null });
export const clear = () => change({ ...basketOf(NEW), times: "", received: "", undone: basketOf(made) });

// Take the payment, and show its result in the place of the basket. `paid` is {tender, minor, digits, currency, ...}.
export async function take(paid) {
  if (!mayAct() || (made.result && !made.result.refused)) return; // one is in hand, or has just ended
  const basket = basketOf(made);
  const { receiptTo, customer, ...stored } = basket; // nothing of the payer stays on the device
  const key = crypto.randomUUID(); // of this attempt
  const [lines, taxes] = [soldLines(made, texts.amount, typedTaxes()), made.lines.length ? [] : typedTaxes()];
  const draft = { ...paid, key, lang: language, lines, taxes, basket: stored };
  set({ key });
  isBusy = true;
  set({ result: { state: "busy", minor: paid.minor } });
  location.replace(address("sell"));
  const result = { ...(await taken(draft)), basket, receipt: paid.receipt, isNew: true, shownAt: performance.now() };
  isBusy = false;
  sound(!tookNothing(result.sale) && shownState(result.sale) !== State.UNKNOWN ? "paid" : "refused");
  if (result.refused) set({ result });
  else set({ ...NEW, agent: made.agent, id: result.id, result });
  readNews(true);
}

// The other terminal has declined the card: nothing is stored or sent, and the basket can be paid another way.
export function decline(draft) {
  if (!mayAct() || made.result) return;
  sound("refused");
  set({ result: { draft, refused: new Refused("declined"), basket: basketOf(made), shownAt: performance.now() } });
  location.replace(address("sell"));
}

// Take the payment. Return {id, sale}, or {refused, draft} when no money may be taken.
async function taken(draft) {
  const { isOnline } = till();
  try {
    const sold = await queue.sell(draft, { isOnline, locate });
    return { id: sold.id, sale: sold };
  } catch (refused) {
    return { draft, refused: refused instanceof Refused ? refused : new Refused("storage") };
  }
}

// The basket of a sale that took nothing.
function unpaid() {
  const { basket, sale: sold } = made.result ?? {};
  return basket && isEmpty(basket) ? (sold?.draft.basket ?? null) : (basket ?? null);
}

// Put the basket of the result back, where the tenders are.
export const payAnotherWay = () => unpaid() && change(unpaid()) && go("basket");

// Give the sale of the result back by `giveBack`, which throws if it was not given back. Then its basket is there again. Nothing else
// is begun meanwhile. After a reload before the basket is stored, the result is told again, and `giveBack` gives nothing twice.
export async function correct(giveBack) {
  const { id } = made.result;
  const letGo = hold();
  try {
    const words = await giveBack();
    if (made.result?.id !== id || !mayAct()) return null; // somebody else has signed in
    const basket = unpaid();
    made = { ...NEW, agent: made.agent };
    set(basket);
    changeSale(id, { isReturned: true });
    return words;
  } finally {
    letGo();
  }
}

// Send the signature of a payment that owes it: the same request again, with the picture.
export async function sign(sold, picture) {
  const body = { ...requestOf(sold), Files: [{ FileType: "SIGNATURE", FileCode: picture }] };
  if (!(await ask("POST", "payment/submit", body))) throw new Error(texts.errors.noAnswer);
  await changeSale(sold.id, { owesSignature: undefined });
}

export const takeWithoutReceipt = () => made.result?.draft && take({ ...made.result.draft, receipt: undefined });
export const tookNothing = (stored) => !stored || stored.state === State.DECLINED;

// The place of the device, where the person allowed the page to know it before.
async function locate() {
  const granted = await navigator.permissions?.query({ name: "geolocation" }).catch(() => null);
  if (granted?.state !== "granted") return undefined;
  return new Promise((resolve) => {
    const found = ({ coords }) => resolve({ Latitude: coords.latitude, Longitude: coords.longitude });
    navigator.geolocation.getCurrentPosition(found, () => resolve(undefined), { maximumAge: 600_000, timeout: 1_000 });
  });
}
