// The signed-in person. sessionStorage keeps the session for this tab only: a reload continues it, closing the tab ends
// it. The session of a till, which is remembered for months, does not open the shop's page in the same tab.
import { addDays, dayInZone, daysBetween, inZone } from "./dates.js";
import { canStore } from "./storage.js";
import { useLayoutEffect, useState } from "./view.js";

const PLACE = globalThis.location?.pathname.startsWith("/till") ? "payments.till" : "payments.session";
const read = () => canStore && JSON.parse(sessionStorage.getItem(PLACE));

let current = read();
const listeners = new Set();

function set(next) {
  current = next;
  if (next) sessionStorage.setItem(PLACE, JSON.stringify(next));
  else sessionStorage.clear(); // also unfinished returns, because they belong to this person
  for (const listener of listeners) listener(current);
}

export const session = () => current;
export const begin = (token, me) => set({ token, me, askedAt: Date.now() });
export const change = (fields) => current && set({ ...current, ...fields });
export const end = () => set(null);

export function useSession() {
  const [shown, show] = useState(current);
  useLayoutEffect(() => {
    listeners.add(show);
    return () => listeners.delete(show);
  }, []);
  return shown;
}

// The merchant's day: the service's last answer, plus the midnights since then.
export function today() {
  const { me, askedAt } = current;
  return addDays(me.Today, daysBetween(dayInZone(me.GMT, askedAt), dayInZone(me.GMT)));
}

// An instant of the interface, such as 2026-11-22T12:05:00.000Z, in the time of the person's merchant.
export const localTime = (instant) => inZone(current.me.GMT, Date.parse(instant));

export const isManager = () => current.me.IsAdministrator || current.me.IsSystemUser;
export const seesAll = () => isManager() || current.me.Rights.includes(201);

// The shown merchant: the person's own, or the system user's choice.
export const merchant = () =>
  current?.merchant ?? { ClientID: current?.me.ClientID, CurrencyID: current?.me.CurrencyID };
// The field that names the merchant in a request. A system user names it by one of its accounts.
export const account = () => (current?.merchant ? { AccountID: current.merchant.AccountID } : {});
