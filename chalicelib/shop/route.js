// The part of the address after # is the view and its filters, so back, reload and shared links lead to the same view.
import { useEffect, useState } from "./view.js";

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view = "", ...rest] = path.split("/").map(decoded);
  return { view: view || "today", id: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
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

export const go = (view, query, id) => { location.hash = address(view, query, id); };

export function useRoute() {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const follow = () => setHash(location.hash);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return parse(hash);
}
