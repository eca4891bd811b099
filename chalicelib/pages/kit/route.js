// The part of the address after # is the view and its filters, so back, reload and shared links lead to the same view.
// Each entry of the browser's history has a number. Back and forward restore the entry's place in the view.
import { useLayoutEffect, useState } from "./view.js";

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = path.split("/").map(decoded);
  return { view, id: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody typed the address
  }
}

export function address(view, query = {}, id = "") {
  const set = Object.entries(query).filter(([, value]) => value);
  const path = id ? `${view}/${encodeURIComponent(id)}` : view;
  return `#/${path}${set.length ? `?${new URLSearchParams(set)}` : ""}`;
}

export const go = (view, query, id) => {
  location.hash = address(view, query, id);
};

history.scrollRestoration = "manual"; // the browser restores before the data is there
const places = new Map(); // pixels from the top, by the number of the entry
let entry = mark();
let wanted = null;

// Number this entry of the history and keep the address before it.
function mark(before) {
  const number = history.state?.number ?? performance.now();
  if (!history.state) history.replaceState({ number, before }, "");
  return { number, hash: location.hash };
}

function follow() {
  places.set(entry.number, scrollY);
  wanted = places.get(history.state?.number) ?? null; // null: a new entry
  entry = mark(entry.hash);
  if (wanted === null) scrollTo(0, 0);
}

// Go to the wanted place, once the view is long enough.
export function settle() {
  if (wanted === null) return;
  scrollTo(0, wanted);
  if (scrollY >= wanted - 1) wanted = null;
}

// The person scrolls.
for (const name of ["wheel", "touchmove", "keydown"])
  addEventListener(
    name,
    () => {
      wanted = null;
    },
    { passive: true },
  );

const isPlain = (event) => event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;

// A click on a link to the address before this one goes back, so that the list keeps its place.
export const goBackTo = (hash) => (event) => {
  if (!isPlain(event) || history.state?.before !== hash) return;
  event.preventDefault();
  history.back();
};

// Go a step back, or to a view where there is none before.
export function goBack(view) {
  if (history.state?.before === undefined) location.replace(address(view));
  else history.back();
}

// Another tab begins with the session of this one only if this page opens it.
function openBeside(event) {
  const link = event.target.closest?.("a[href^='#/']");
  if (!link || !(event.ctrlKey || event.metaKey || event.button === 1)) return;
  event.preventDefault();
  open(link.href);
}
addEventListener("click", openBeside);
addEventListener("auxclick", openBeside);

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const changed = () => {
      follow();
      setHash(location.hash);
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parse(hash);
}
