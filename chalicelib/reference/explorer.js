"use strict";
// All addresses begin with this origin and the part of the path before /docs: empty, or the name of the gateway's stage.
const base = location.pathname.replace(/\/docs$/, "");

// The local stage offers a login of its demo data for trying a request.
const DEMO = "till@demo.example:till-demo-password";
const isLocal = ["127.0.0.1", "localhost"].includes(location.hostname);
const OPTIONS = {
  "fetch-credentials": "omit", // otherwise a 401 opens the browser's own login
  "hide-server-selection": "true",
  "default-schema-tab": "body",
};

const STYLE = "@media (max-width: 767px) { #auth td, #auth tr { display: block; max-width: none !important; } }"; // else a word wide

async function read(path) {
  const answer = await fetch(base + path);
  if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`);
  return JSON.parse(await answer.text(), withoutNull);
}

// Almost every field may be null. Without this choice, the explorer shows a field in one line instead of three.
function withoutNull(name, value) {
  if (!value?.anyOf?.some(({ type }) => type === "null")) return value;
  const { anyOf: [first], ...rest } = value;
  return { ...first, ...rest };
}

async function show(place) {
  const reference = await read("/api/v1/openapi.json");
  const explorer = document.createElement("openapi-explorer");
  for (const [name, value] of Object.entries(OPTIONS)) explorer.setAttribute(name, value);
  place.append(explorer);
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  explorer.shadowRoot.adoptedStyleSheets.push(style);
  await explorer.loadSpec({ ...reference, servers: [{ url: location.origin + base }] });
  if (isLocal) await explorer.setAuthenticationConfiguration("Basic", { token: DEMO });
}

const place = document.getElementById("reference");
show(place).catch((error) => { place.textContent = `The reference cannot be shown. ${error.message}`; });
