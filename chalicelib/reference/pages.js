"use strict";
// All addresses begin with this origin and the part of the path before /docs: empty, or the name of the gateway's stage.
const base = location.pathname.replace(/\/docs(\/[^/]*)?$/, "");
for (const node of document.querySelectorAll(".origin")) node.textContent = location.origin + base;

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

// The filter of operations also lists the guides with its words.
function addGuides(explorer, guides) {
  const links = guides.map(({ name, title }) => {
    const link = document.createElement("a");
    Object.assign(link, { slot: "nav-section", hidden: true, href: `${base}/docs/${name}`, textContent: title });
    link.addEventListener("click", (event) => event.stopPropagation()); // the explorer would show an empty section
    return link;
  });
  explorer.append(...links);
  explorer.addEventListener("input", (event) => {
    const [field] = event.composedPath();
    if (field.id !== "nav-bar-search") return;
    const words = field.value.trim().toLowerCase();
    links.forEach((link, index) => {
      const { title, about } = guides[index];
      link.hidden = !words || !`${title} ${about}`.toLowerCase().includes(words);
    });
  });
}

async function show(place) {
  const [reference, guides] = await Promise.all([read("/api/v1/openapi.json"), read("/docs/guides.json")]);
  const explorer = document.createElement("openapi-explorer");
  for (const [name, value] of Object.entries(OPTIONS)) explorer.setAttribute(name, value);
  addGuides(explorer, guides);
  place.append(explorer);
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  explorer.shadowRoot.adoptedStyleSheets.push(style);
  await explorer.loadSpec({ ...reference, servers: [{ url: location.origin + base }] });
  if (isLocal) await explorer.setAuthenticationConfiguration("Basic", { token: DEMO });
}

const place = document.getElementById("reference");
if (place) show(place).catch((error) => { place.textContent = `The reference cannot be shown. ${error.message}`; });
