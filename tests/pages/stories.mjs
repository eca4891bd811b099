// A story: what a person does at a page, and what follows from each step: the requests, the address, the focus, the changed
// values in the storages of the device, and how many parts of each kind came and went. A sentence of the page has the name of
// its words. What else the parts say, other tests tell.
const setOf = (text) => new Set(text.split(" "));
const PARTS = setOf("h1 h2 h3 button a input select option textarea dialog li tr dt p small rect");
const LOOKS = setOf("good warn bad none minus danger main wide total more"); // classes that say something
const STATES = setOf(
  "disabled hidden readonly required open aria-current aria-pressed aria-expanded aria-busy aria-invalid aria-describedby",
);
const LIMITS = setOf("type inputmode min max maxlength");
const AGENTS = [3, 4]; // of the sales

const clean = (text) => text.replace(/\s+/g, " ").trim();

const namesOf = new Map(); // of the words of a page, by its texts
function named(words, path = "", found = new Map()) {
  for (const [name, word] of Object.entries(words)) {
    if (typeof word === "object") named(word, `${path}${name}.`, found);
    else if (typeof word === "string" && !found.has(clean(word))) found.set(clean(word), `${path}${name}`);
  }
  return found;
}

// How many parts a document has, of each kind and in each state.
function partsOf({ document, page, load }) {
  const { texts } = load(`${page}/texts.js`);
  if (!namesOf.has(texts)) namesOf.set(texts, named(texts));
  const found = {};
  const count = (name) => {
    found[name] = (found[name] ?? 0) + 1;
  };
  for (const element of document.body.querySelectorAll("*")) {
    if (PARTS.has(element.localName)) count(element.localName);
    for (const { name, value } of element.attributes) {
      if (element.localName === "input" && LIMITS.has(name) && value) count(`${name}=${value}`);
      if (name === "class") for (const look of value.split(" ")) if (LOOKS.has(look)) count(`.${look}`);
      if (STATES.has(name) && value !== "false") count(name);
    }
    const says =
      (["p", "small"].includes(element.localName) || element.getAttribute("role") === "alert") &&
      namesOf.get(texts).get(clean(element.textContent));
    if (says) count(`"${says}"`);
    if (element.checked) count("checked");
    if (element.selected && element.index) count("selected"); // not the first option
  }
  return found;
}

function cameAndWent(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const parts = names.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]).filter(([, more]) => more);
  return parts.length ? [parts.map(([name, more]) => `${more > 0 ? "+" : ""}${more} ${name}`).join(" ")] : [];
}

// All that an element shows, with the attributes and the values of its fields.
export function shownIn(element) {
  if (!element.localName) return element.textContent;
  const { localName: name, value, checked } = element;
  return `<${name} ${[...element.attributes]
    .map((one) => [one.name, one.value])
    .filter(([one]) => one !== "data-key")
    .join(
      " ",
    )} ${["input", "select", "textarea"].includes(name) ? `${value} ${checked}` : ""}>${[...element.childNodes].map(shownIn).join("")}</${name}>`;
}

const focusOf = ({ activeElement: one }) =>
  `focus ${one.localName === "body" ? "nowhere" : one.name || one.id || clean(one.label).slice(0, 40) || one.localName}`;

const told = (value) => JSON.stringify(value)?.replace(/"(\w+)":/g, "$1:");

// The fields of an object by their names, as texts.
const fieldsOf = (value) =>
  value === null || typeof value !== "object" || Array.isArray(value)
    ? { "": told(value) }
    : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, told(one)]));

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// All that the storages of the tab hold: the fields of each record.
export async function storedIn(tab) {
  const all = {};
  for (const [place, map] of [
    ["session", tab.session],
    ["local", tab.local],
  ])
    for (const [name, text] of map) all[`${place} ${name}`] = fieldsOf(read(text));
  if (!tab.store) return all;
  for (const [name, fact] of Object.entries(await tab.store.facts())) all[`fact ${name}`] = fieldsOf(fact);
  for (const agent of AGENTS)
    for (const sale of await tab.store.newest(agent, 100)) all[`sale ${sale.number}`] = fieldsOf(sale);
  return all;
}

// What each stored record has now.
function changesOf(before, after) {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((name) => {
    if (!(name in after)) return [`${name} is gone`];
    const [old, now] = [before[name] ?? {}, after[name]];
    const parts = [
      ...Object.keys(now)
        .filter((one) => now[one] !== old[one])
        .map((one) => `${one} ${now[one]}`),
      ...Object.keys(old)
        .filter((one) => !(one in now))
        .map((one) => `${one} is gone`),
    ];
    return parts.length ? [`${name}: ${parts.join(", ")}`] : [];
  });
}

const requestOf = ({ method, path, key, token, body }) =>
  [
    `> ${method} ${path}`,
    key && `key ${key.slice(0, 4)}`,
    `as ${token?.replace("@example.com", "") ?? "nobody"}`,
    told(body),
  ]
    .filter(Boolean)
    .join(" ");

const REFERENCES = setOf("for aria-describedby aria-labelledby aria-controls");

const VIEWS =
  /^#(\/(today|days|week|day-report|drawer|payments|tills|price-list|shop|webhooks|merchant|reset|sell|items|amount|pay|sales|day)(\?|\/|$)|main$)/;

// What no page may have: a reference to a part or a view that is not there, and a value that is none.
function faultsOf(document) {
  const faults = document.body.textContent.match(/undefined|NaN|\[object/g) ?? [];
  for (const element of document.root.querySelectorAll("*")) {
    const { localName, attributes } = element;
    if (localName === "a" && !element.hasAttribute("href")) faults.push("a link to nowhere");
    for (const { name, value } of attributes) {
      if (localName === "a" && name === "href" && value.startsWith("#") && !VIEWS.test(value)) {
        faults.push(`a link to ${value}`);
      }
      if (REFERENCES.has(name)) {
        const lost = value.split(" ").filter((id) => id && !document.getElementById(id));
        faults.push(...lost.map((id) => `the ${name} of ${element.name || localName} leads to no ${id}`));
      } else if (name.startsWith("aria-") && STATES.has(name) && !/^(true|false|page|)$/.test(value)) {
        faults.push(`${name} ${value}`);
      }
    }
  }
  return faults;
}

const files = [];
URL.createObjectURL = (blob) => {
  files.push(blob);
  return "blob:file";
};

// Act at a page. A text is a button or an address; an object is what is typed; a number is seconds that pass.
export async function take(tab, act) {
  if (typeof act === "number") await tab.pass(act);
  else if (typeof act === "function") await act(tab);
  else if (typeof act !== "string") await tab.fill(act);
  else if (act.startsWith("#")) tab.go(act);
  else tab.click(tab.button(act));
}

const wordsOf = (act) =>
  typeof act === "number"
    ? `${act} s`
    : typeof act !== "string"
      ? `types ${told(act)}`
      : act.startsWith("#")
        ? act
        : `[${act}]`;

const SMALL = /^(at |focus |[+-]\d+ |fact basket: )/; // what has no line of its own

// What follows from each step of somebody at a page: a line for each step that sends or stores something.
export async function tell(tab, steps) {
  const lines = [];
  const words = [];
  let last = { stored: {}, parts: {}, sent: 0, left: 0 };
  const look = async () => {
    const { document, sent, left, entries } = tab;
    const next = {
      stored: await storedIn(tab),
      parts: partsOf(tab),
      sent: sent.length,
      left: left.length,
      entry: `at ${entries.at(-1).hash} (${entries.length})`,
      focus: focusOf(document),
      lang: `in ${document.root.lang}`,
    };
    const found = [
      ...sent
        .slice(last.sent)
        .filter((one) => one.path !== "health")
        .map(requestOf),
      ...left.slice(last.left).map((url) => `left for ${url}`),
      ...(await Promise.all(files.splice(0).map(async (file) => `file ${JSON.stringify(await file.text())}`))),
      ...["entry", "lang", "focus"].filter((name) => next[name] !== last[name]).map((name) => next[name]),
      ...(lines.length ? changesOf(last.stored, next.stored) : []),
      ...cameAndWent(last.parts, next.parts),
      ...faultsOf(document),
    ];
    last = next;
    if (found.every((one) => SMALL.test(one)))
      words.push(`${words.pop()}${found.length ? ` (${found.join("; ")})` : ""}`);
    else lines.push(`${words.splice(0).join(", ")}: ${found.join("; ")}`);
  };
  files.length = 0;
  words.push("opens");
  await look();
  for (const step of steps) {
    const [name, act] = Array.isArray(step) ? step : [wordsOf(step), step];
    words.push(name);
    try {
      await take(tab, act);
    } catch (error) {
      error.message = `${lines.slice(-5).join("\n")}\n${words}\n${error.message}`;
      throw error;
    }
    await tab.pass(0.3);
    await look();
  }
  return `${[...lines, ...(words.length ? [words.join(", ")] : [])].join("\n")}\n`;
}
