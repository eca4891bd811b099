// Who is signed in: kept for this tab alone, in sessionStorage, so that a reload goes on and a closed tab is signed out.
import { addDays, dayInZone, daysBetween, inZone } from "./dates.js";
import { useEffect, useState } from "./view.js";

const PLACE = "payments.session";
const read = () => JSON.parse(sessionStorage.getItem(PLACE) ?? "null");

let current = read();
const listeners = new Set();

function set(next) {
  current = next;
  if (next) sessionStorage.setItem(PLACE, JSON.stringify(next));
  else sessionStorage.clear(); // returns that are not finished, too: they are this person's
  for (const listener of listeners) listener(current);
}

export const session = () => current;
export const begin = (token, me) => set({ token, me, askedAt: Date.now() });
export const change = (fields) => current && set({ ...current, ...fields });
export const end = () => set(null);

export function useSession() {
  const [shown, show] = useState(current);
  useEffect(() => {
    listeners.add(show);
    return () => listeners.delete(show);
  }, []);
  return shown;
}

// The merchant's day: as the service said, and on from there by the midnights that passed since.
export function today() {
  const { me, askedAt } = current;
  return addDays(me.Today, daysBetween(dayInZone(me.GMT, askedAt), dayInZone(me.GMT)));
}

// An instant of the interface, such as 2026-11-22T12:05:00.000Z, as a time of the person's merchant.
export const localTime = (instant) => inZone(current.me.GMT, Date.parse(instant));

export const isManager = () => current.me.IsAdministrator || current.me.IsSystemUser;
export const seesAll = () => isManager() || current.me.Rights.includes(201);

// The merchant that is looked at: the person's own, or the one that a system user chose.
export const merchant = () => current.merchant ?? { ClientID: current.me.ClientID, CurrencyID: current.me.CurrencyID };
// What names it in a request: a system user names it by one of its accounts.
export const account = () => (current.merchant ? { AccountID: current.merchant.AccountID } : {});
