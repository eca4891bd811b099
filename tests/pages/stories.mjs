// A story: what a person does at a page, and after each step all that follows from it. These are the requests, the lines of
// the page that came (+) and went (-), the address, the focus, and the changed values in the storages of the device.
const INLINE = new Set(["span", "b", "small", "time", "strong", "em", "code", "dt", "dd", "th", "td", "br", "legend"]);
const MARKS = new Set(["good", "warn", "bad", "none", "minus", "danger", "total", "more", "main", "wide", "unseen"]); // classes that say something
const STATES = ["disabled", "hidden", "readonly", "required", "checked", "selected"];
const SHOWN = ["type", "min", "max", "maxlength", "maxLength", "inputmode", "placeholder", "accept", "href", "aria-current", "aria-pressed", "aria-expanded", "aria-busy", "aria-invalid", "lang"];

const ROWS = new Set(["li", "dl", "fieldset"]); // their parts stand in one line
const AGENTS = [3, 4]; // of the sales

const clean = (text) => text.replace(/\s+/g, " ").trim();

// The parts of an element that are not its text.
function marks(element) {
  const classes = (element.getAttribute("class") ?? "").split(" ").filter((one) => MARKS.has(one));
  const states = STATES.filter((name) => element.getAttribute(name) !== null || (name === "checked" && element.checked));
  const shown = SHOWN.filter((name) => ![null, "false"].includes(element.getAttribute(name)) && (name !== "type" || element.localName === "input")).map((name) => `${name}=${element.getAttribute(name)}`);
  const all = [...classes, ...states, ...shown].join(" ");
  return all && ` {${all}}`;
}

function inside(element) {
  if (!element.localName) return element.textContent;
  if (element.localName === "br") return " ";
  if (element.getAttribute("hidden") !== null) return "";
  return ` ${element.childNodes.map(inside).join("")}${marks(element)} `;
}

const FIELDS = {
  select: (one) => ` of ${one.querySelectorAll("option").map((option) => clean(option.textContent)).join(" / ")}`, input: () => "", textarea: () => "",
};
const isText = (node) => !node.localName || (INLINE.has(node.localName) && node.childNodes.every(isText));
const isButton = ({ localName }) => ["button", "a", "summary"].includes(localName);

// A bar of a chart: its words, and the heights of its parts.
const barOf = (bar) => `${clean(bar.querySelector("title").textContent)} (${bar.querySelectorAll("rect").slice(1).map((one) => `${one.getAttribute("class")} ${Math.round(one.getAttribute("height"))}`).join(", ")})`;

// The line of a button, a link, a field, a chart or a text in a row; undefined for other parts.
function lineOf(element) {
  const name = element.localName;
  if (name === "svg") return element.querySelectorAll("g").filter((one) => one.querySelector("title")).map(barOf).join(" / ");
  if (name in FIELDS) return `${element.name || element.id} = ${element.value}${FIELDS[name](element)}${marks(element)}`;
  if (isButton(element)) return `[${element.getAttribute("aria-label") ?? clean(element.childNodes.map(inside).join(""))}]${marks(element)}`;
  return isText(element) ? `${inside(element)}${["td", "th"].includes(name) ? "| " : ""}` : undefined;
}

// The lines of an element, as a person reads them: a row of buttons, and a field with its words, is one line.
export function linesOf(element) {
  const name = element.localName;
  const found = [];
  let text = "";
  const flush = () => {
    if (clean(text)) found.push(clean(text));
    text = "";
  };
  for (const child of element.childNodes) {
    const line = lineOf(child);
    if (line === undefined) flush();
    if (line === undefined) found.push(...linesOf(child));
    else text += child.localName && !INLINE.has(child.localName) ? ` ${line} ` : line;
  }
  flush();
  const own = marks(element);
  if (["field", "check"].includes(element.getAttribute("class"))) found.splice(0, found.length, found.join(" "));
  if (ROWS.has(name) && found.length) found.splice(0, found.length, found.join(" / "));
  if (/^h\d$/.test(name) && found.length) found[0] = `${"#".repeat(Number(name[1]))} ${found[0]}`;
  if (own && found.length) found[0] += own;
  return name === "dialog" ? ["dialog:", ...found.map((one) => `  ${one}`)] : found;
}

const focusOf = ({ activeElement: one }) => (one.localName === "body" ? "focus: nowhere" : `focus: ${one.name || one.id || clean(one.label).slice(0, 40) || one.localName}`);

// The fields of an object by their names, as texts.
const fieldsOf = (value) => (value === null || typeof value !== "object" || Array.isArray(value) ? { "": JSON.stringify(value) } : Object.fromEntries(Object.entries(value).map(([name, one]) => [name, JSON.stringify(one)])));

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
  for (const [place, map] of [["session", tab.session], ["local", tab.local]]) for (const [name, text] of map) all[`${place} ${name}`] = fieldsOf(read(text));
  if (!tab.store) return all;
  for (const [name, fact] of Object.entries(await tab.store.facts())) all[`fact ${name}`] = fieldsOf(fact);
  for (const agent of AGENTS) for (const sale of await tab.store.newest(agent, 100)) all[`sale ${sale.number}`] = fieldsOf(sale);
  return all;
}

// A line for each stored record that changed.
function changesOf(before, after) {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((name) => {
    if (!(name in after)) return [`${name} is gone`];
    const [old, now] = [before[name] ?? {}, after[name]];
    const parts = [...Object.keys(now).filter((one) => now[one] !== old[one]).map((one) => `${one} = ${now[one]}`), ...Object.keys(old).filter((one) => !(one in now)).map((one) => `${one} is gone`)];
    return parts.length ? [`${name}: ${parts.join(", ")}`] : [];
  });
}

// The steps from one list of lines to another: the longest common part stays.
function difference(before, after) {
  const length = Array.from({ length: before.length + 1 }, () => new Int32Array(after.length + 1));
  for (let a = before.length - 1; a >= 0; a -= 1) {
    for (let b = after.length - 1; b >= 0; b -= 1) length[a][b] = before[a] === after[b] ? length[a + 1][b + 1] + 1 : Math.max(length[a + 1][b], length[a][b + 1]);
  }
  const found = [];
  for (let [a, b] = [0, 0]; a < before.length || b < after.length;) {
    if (a < before.length && b < after.length && before[a] === after[b]) [a, b] = [a + 1, b + 1];
    else if (b >= after.length || (a < before.length && length[a + 1][b] >= length[a][b + 1])) found.push(`- ${before[a++]}`);
    else found.push(`+ ${after[b++]}`);
  }
  return found;
}

// Lines that went together are told by the first one and their number: the story told them when they came.
function shortened(lines) {
  const found = [];
  let gone = 0;
  for (const line of [...lines, ""]) {
    if (line.startsWith("- ") && gone) found[found.length - 1] = `${found.at(-1).replace(/ \(and \d+\)$/, "")} (and ${gone})`;
    else if (line) found.push(line);
    gone = line.startsWith("- ") ? gone + 1 : 0;
  }
  return found;
}

const toldIn = new Map(); // views, by their lines: the story that told each first

// A view that an earlier story told, or else its lines.
function viewOf(lines, story) {
  const text = lines.join("\n");
  if (lines.length > 5 && toldIn.has(text)) return [`  (the view as in: ${toldIn.get(text)})`];
  toldIn.set(text, story);
  return lines.map((one) => `  ${one}`);
}

const keyed = (text) => text?.slice(0, 4);

function requestOf({ method, path, key, token, body }) {
  return `> ${method} ${path}${key ? ` key ${keyed(key)}` : ""} as ${token ?? "nobody"}${body === undefined ? "" : ` ${JSON.stringify(body)}`}`;
}

const REFERENCES = ["for", "aria-describedby", "aria-labelledby", "aria-controls"];

// What refers to a part that is not there.
function lostReferences(root) {
  const isLost = (id) => id && !root.querySelector(`#${id}`);
  return root.querySelectorAll(REFERENCES.map((name) => `[${name}]`).join(", "))
    .flatMap((one) => REFERENCES.flatMap((name) => (one.getAttribute(name) ?? "").split(" ").filter(isLost).map((id) => `the ${name} of ${one.name || one.localName} leads to no ${id}`)));
}

const files = [];
URL.createObjectURL = (blob) => { files.push(blob); return "blob:file"; };

// Act at a page. A text is a button or an address; an object is what is typed; a number is seconds that pass.
export async function take(tab, act) {
  if (typeof act === "number") await tab.pass(act);
  else if (typeof act === "function") await act(tab);
  else if (typeof act !== "string") await tab.fill(act);
  else if (act.startsWith("#")) tab.go(act);
  else tab.click(tab.button(act));
}

// Somebody at a page, who notes all that happens.
export class Story {
  #told = [];
  #last = { views: [], others: [], stored: {}, sent: 0, hash: "", entry: " (entry 1)", left: 0, focus: "", title: "", lang: "en" };

  constructor(name, tab) {
    Object.assign(this, { name, tab });
    files.length = 0;
  }

  async #look() {
    const { tab } = this;
    const last = this.#last;
    const [views, others] = [true, false].map((isView) => tab.document.body.childNodes[0].childNodes.filter((one) => (one.localName === "main") === isView).flatMap(linesOf));
    const stored = await storedIn(tab);
    const { hash } = tab.entries.at(-1);
    const entry = `${hash} (entry ${tab.entries.length})`;
    const next = { views, others, stored, sent: tab.sent.length, hash, entry, left: tab.left.length, focus: focusOf(tab.document), title: tab.document.title, lang: tab.document.root.getAttribute("lang") ?? tab.document.root.lang };
    const isSame = this.#told.length && next.hash.split("?")[0] === last.hash.split("?")[0]; // else the view is another, and all of it is told
    this.#told.push(
      ...tab.sent.slice(last.sent).filter((one) => one.path !== "health").map(requestOf), ...tab.left.slice(last.left).map((url) => `left for ${url}`),
      ...await Promise.all(files.splice(0).map(async (file) => `file ${JSON.stringify(await file.text())}`)),
      ...["entry", "title", "lang"].filter((name) => next[name] !== last[name]).map((name) => `${name === "entry" ? "at" : name}: ${next[name]}`),
      ...lostReferences(tab.document.root),
      ...(this.#told.length ? shortened(difference(last.others, others)) : viewOf(others, this.name)), ...(isSame ? shortened(difference(last.views, views)) : viewOf(views, this.name)),
      ...(next.focus !== last.focus ? [next.focus] : []), ...(this.#told.length ? changesOf(last.stored, stored) : []),
    );
    this.#last = next;
  }

  // Act, and note what follows.
  async step(step) {
    const { tab } = this;
    const [words, act] = Array.isArray(step) ? step : [typeof step === "string" && step.startsWith("#") ? `goes to ${step}` : typeof step === "string" ? `presses ${step}` : typeof step === "number" ? `waits ${step} s` : `types ${JSON.stringify(step)}`, step];
    this.#told.push(`* ${words}`);
    await take(tab, act);
    await tab.pass(0.3);
    await this.#look();
  }

  async tell(steps) {
    await this.#look();
    try {
      for (const step of steps) await this.step(step);
    } catch (error) {
      error.message = `${this.#told.slice(-30).join("\n")}\n${error.message}`;
      throw error;
    }
    return `${this.#told.join("\n")}\n`;
  }
}
