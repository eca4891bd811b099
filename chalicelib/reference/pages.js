"use strict";
// All addresses begin with this origin and the part of the path before /docs: empty, or the name of the gateway's stage.
const base = location.pathname.replace(/\/docs(\/[^/]*)?$/, "");
for (const node of document.querySelectorAll(".origin")) node.textContent = location.origin + base;

// The local stage offers a login of its demo data for trying a request.
const DEMO = { Basic: { username: "till@demo.example", password: "till-demo-password" } };
const isLocal = ["127.0.0.1", "localhost"].includes(location.hostname);
const LABELS = { navigation: { showAllEndpoints: "Show More of {name}" } }; // the button's name must begin with its label

async function read(path) {
  const answer = await fetch(base + path);
  if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`);
  return answer.json();
}

// Guides are tags without operations, so that the list at the side shows them and the search finds their words.
function withGuides(reference, guides) {
  const tags = guides.map(({ name, title, about }) => ({
    name: title,
    description: `${about}\n\n[${title}](${base}/docs/${name})`,
  }));
  const names = (list) => list.map((tag) => tag.name);
  return {
    ...reference,
    tags: [...tags, ...reference.tags],
    "x-tagGroups": [{ name: "Guides", tags: names(tags) }, { name: "Operations", tags: names(reference.tags) }],
  };
}

// Some of the renderer's controls lack a name, role or state for screen readers.
function mend() {
  const each = (selector, change) => document.querySelectorAll(selector).forEach(change);
  each("[role=combobox]:not([aria-expanded])", (field) => field.setAttribute("aria-expanded", "false"));
  each("[contenteditable][role]:not([aria-label])", (field) => {
    const label = document.querySelector(`label[for="${field.parentElement.id}"]`);
    field.setAttribute("aria-label", label?.textContent || field.dataset.placeholder || "Value");
  });
  each("input[role=combobox]:not([aria-label])", (field) => {
    if (!field.labels.length) field.setAttribute("aria-label", field.placeholder || "Search");
  });
  each("button.group\\/copy-button:not([aria-label])", (button) => button.setAttribute("aria-label", "Copy"));
  each("button.group\\/copy-button[aria-controls]", (button) => button.removeAttribute("aria-controls"));
  each("button[role=none]", (button) => button.removeAttribute("role"));
  each(".response-card[role=region]", (card) => card.setAttribute("role", "group"));
  each("[role=dialog] section[aria-label^=Notifications]", (section) => section.setAttribute("aria-label", "Messages of the request"));
  each(".scalar-card-content.overflow-auto:not([tabindex]), .cm-scroller[tabindex='-1']", (part) => part.setAttribute("tabindex", "0"));
  const isCovered = document.querySelector(".scalar-client--open, [role=dialog][aria-modal=true]:not(.scalar-client)") !== null;
  each(".pages, main.references-rendered", (part) => { part.inert = isCovered; });
}

async function show(place) {
  const [reference, guides] = await Promise.all([read("/api/v1/openapi.json"), read("/docs/guides.json")]);
  const changes = { childList: true, subtree: true, attributeFilter: ["aria-expanded", "aria-label", "class", "role"] };
  let next = 0;
  const mendOnceAFrame = () => { next ||= requestAnimationFrame(() => { next = 0; mend(); }); };
  new MutationObserver(mendOnceAFrame).observe(document.body, changes);
  Scalar.createApiReference(place, {
    content: withGuides(reference, guides),
    servers: [{ url: location.origin + base }],
    authentication: { preferredSecurityScheme: "Basic", ...(isLocal && { securitySchemes: DEMO }) },
    persistAuth: false,
    customFetch: (request, options) => fetch(request, { ...options, credentials: "omit" }), // otherwise a 401 opens the browser's own login
    telemetry: false,
    withDefaultFonts: false,
    showDeveloperTools: "never",
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    hideDarkModeToggle: true,
    documentDownloadType: "json",
    localization: { locale: "en", translations: LABELS },
  });
}

const place = document.getElementById("reference");
if (place) show(place).catch((error) => { place.textContent = `The reference cannot be shown. ${error.message}`; });
