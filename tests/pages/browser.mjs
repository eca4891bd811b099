// A browser without pixels: a document with as much as the pages use, and a tab whose time, network and storages are the
// test's. The page in it is the real one, with its libraries.
import { START } from "./device.mjs";
import { Clock, Patience, modules } from "./page.mjs";

const EVENTS = ["click", "input", "change", "submit", "keydown", "cancel", "close", "mousedown", "load", "pointerdown", "pointermove", "pointerup", "pointercancel"];
const soon = () => new Promise((done) => { setImmediate(done); });

const parsed = new Map(); // selectors, as lists of their compounds from the last to the first

// A selector without combinators: a name, an ID, classes and attributes.
function compoundOf(text) {
  const [, name] = /^(\w*)/.exec(text);
  const rules = [...text.matchAll(/([.#])([\w-]+)|\[([\w-]+)(\^?=)?['"]?([^'"\]]*)['"]?\]/g)].map(([, sign, word, attribute, how, wanted]) => {
    if (sign === "#") return (element) => element.getAttribute("id") === word;
    if (sign) return (element) => (element.getAttribute("class") ?? "").split(" ").includes(word);
    return (element) => {
      const value = element.getAttribute(attribute);
      return value !== null && (!how || (how === "=" ? value === wanted : value.startsWith(wanted)));
    };
  });
  return (element) => (!name || element.localName === name) && rules.every((rule) => rule(element));
}

function selectorOf(text) {
  if (!parsed.has(text)) parsed.set(text, text.split(",").map((one) => one.trim().split(/ +(?![^[]*\])/).reverse().map(compoundOf)));
  return parsed.get(text);
}

function matches(element, selector) {
  return selectorOf(selector).some(([last, ...above]) => {
    if (!last(element)) return false;
    let place = element.parentNode;
    return above.every((fits) => {
      while (place?.localName && !fits(place)) place = place.parentNode;
      const isFound = Boolean(place?.localName);
      place = place?.parentNode;
      return isFound;
    });
  });
}

class Node {
  parentNode = null;
  childNodes = [];

  constructor(owner, data) {
    this.ownerDocument = owner;
    this.data = data;
  }

  get nodeType() { return 3; }

  get firstChild() { return this.childNodes[0] ?? null; }

  get nextSibling() { return this.parentNode?.childNodes[this.parentNode.childNodes.indexOf(this) + 1] ?? null; }

  get textContent() { return this.childNodes.length ? this.childNodes.map((one) => one.textContent).join("") : this.data ?? ""; }

  get isConnected() { return this === this.ownerDocument.root || Boolean(this.parentNode?.isConnected); }

  contains(other) { return other === this || Boolean(other?.parentNode && this.contains(other.parentNode)); }

  insertBefore(node, before) {
    node.remove();
    const place = before ? this.childNodes.indexOf(before) : this.childNodes.length;
    this.childNodes.splice(place, 0, node);
    node.parentNode = this;
    return node;
  }

  appendChild(node) { return this.insertBefore(node, null); }

  removeChild(node) { node.remove(); }

  remove() {
    const { activeElement } = this.ownerDocument;
    if (this.contains(activeElement)) this.ownerDocument.activeElement = null;
    this.parentNode?.childNodes.splice(this.parentNode.childNodes.indexOf(this), 1);
    this.parentNode = null;
  }
}

class Element extends Node {
  #attributes = new Map();
  #listeners = [];
  #value;
  #isChecked;
  style = {};
  clientWidth = 600;

  constructor(owner, name) {
    super(owner);
    this.localName = name;
    for (const event of EVENTS) this[`on${event}`] = null;
  }

  get nodeType() { return 1; }

  get tagName() { return this.localName.toUpperCase(); }

  get id() { return this.getAttribute("id") ?? ""; }

  set id(text) { this.setAttribute("id", text); }

  get type() { return this.getAttribute("type") ?? (this.localName === "button" ? "submit" : "text"); }

  get href() { return this.getAttribute("href"); }

  set href(address) { this.setAttribute("href", address); }

  setAttribute(name, value) { this.#attributes.set(name, value === true ? "" : String(value)); }

  getAttribute(name) { return this.#attributes.get(name) ?? null; }

  removeAttribute(name) { this.#attributes.delete(name); }

  get attributes() { return this.#attributes; }

  get name() { return this.getAttribute("name") ?? ""; }

  get value() {
    if (this.#value !== undefined || this.localName !== "select") return this.#value ?? this.getAttribute("value") ?? "";
    const options = this.querySelectorAll("option");
    return (options.find((one) => one.getAttribute("selected") !== null) ?? options[0])?.value ?? "";
  }

  set value(value) { this.#value = value === null || value === undefined ? "" : String(value); }

  set defaultValue(value) { this.#value ??= value ?? ""; }

  get checked() { return this.#isChecked ?? false; }

  set checked(value) { this.#isChecked = Boolean(value); }

  set defaultChecked(value) { this.#isChecked ??= Boolean(value); }

  get isDisabled() { return this.getAttribute("disabled") !== null || Boolean(this.closest("fieldset[disabled]")); }

  get isHidden() { return Boolean(this.closest("[hidden]")) || (Boolean(this.closest("details")) && !this.closest("details[open]") && !this.closest("summary")); }

  // Its name to people.
  get label() { return (this.getAttribute("aria-label") ?? this.textContent).replace(/\s+/g, " ").trim(); }

  get elements() {
    const all = this.querySelectorAll("input, select, textarea, button").filter((one) => one.name || one.id);
    return new Proxy(all, { get: (target, key) => (key in target ? target[key] : target.find((one) => one.name === key || one.id === key)) });
  }

  addEventListener(name, act, isCapture) { this.#listeners.push({ name, act, isCapture: Boolean(isCapture) }); }

  removeEventListener(name, act) { this.#listeners = this.#listeners.filter((one) => one.name !== name || one.act !== act); }

  hear(event, isCapture) {
    for (const one of [...this.#listeners]) if (one.name === event.type && one.isCapture === isCapture) one.act.call(this, event);
  }

  querySelectorAll(selector, found = []) {
    for (const one of this.childNodes) {
      if (!one.localName) continue;
      if (matches(one, selector)) found.push(one);
      one.querySelectorAll(selector, found);
    }
    return found;
  }

  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }

  matches(selector) { return matches(this, selector); }

  closest(selector) { return matches(this, selector) ? this : this.parentNode?.closest?.(selector) ?? null; }

  focus() { this.ownerDocument.activeElement = this; }

  click() { this.ownerDocument.fire(this, "click"); }

  select() {}

  showModal() {}

  scrollIntoView() {}

  getContext() { return { fillRect() {}, beginPath() {}, moveTo() {}, lineTo() {}, stroke() {}, drawImage() {} }; }

  dispatchEvent(event) { this.ownerDocument.fire(this, event.type, event); }
}

class FakeFormData extends Array {
  constructor(form) {
    super();
    for (const one of form.querySelectorAll("input, select, textarea")) {
      const isOut = !one.name || one.isDisabled || (["checkbox", "radio"].includes(one.type) && !one.checked);
      if (!isOut) this.push([one.name, one.value]);
    }
  }

  get(name) { return this.find(([one]) => one === name)?.[1] ?? null; }

  getAll(name) { return this.filter(([one]) => one === name).map(([, value]) => value); }

  static get [Symbol.species]() { return Array; }
}

const storage = (map) => ({
  getItem: (name) => map.get(name) ?? null, setItem: (name, text) => { map.set(name, String(text)); }, removeItem: (name) => map.delete(name), clear: () => map.clear(),
});

// A tab of the browser with a page, and its storages. `answer` is the service: it returns {status, body, retryAfter} for {method, path, body,
// key, token}, or null for a request whose answer is lost.
export class Tab {
  clock = new Clock();
  sent = [];
  problems = []; // what a part of the page threw
  left = []; // addresses of downloads

  constructor(page, answer, { hash = "", globals = {}, local = new Map(), session = new Map(), skew = 0 } = {}) {
    Object.assign(this, { page, answer, hash, given: globals, local, session, skew });
    this.open();
  }

  now() { return START + this.clock.now + this.skew; }

  // Load the page, or load it again.
  open() {
    const tab = this;
    this.document = this.#document();
    this.entries = [{ hash: this.hash, state: null }];
    class TabDate extends Date {
      constructor(...given) { super(...(given.length ? given : [tab.now()])); }

      static now() { return tab.now(); }
    }
    const { root } = this.document;
    const owner = { get isOver() { return tab.document.root !== root; } };
    const timer = (every) => (act, after = 0) => this.clock.set(act, after, { owner, every: every && after });
    const listen = (name, act, options) => root.addEventListener(name, act, options?.capture);
    const observer = class { observe() {} disconnect() {} };
    const globals = {
      document: this.document, location: this.#location(), history: this.#history(), addEventListener: listen, removeEventListener: (name, act) => root.removeEventListener(name, act),
      navigator: { onLine: true, languages: ["en"], clipboard: { writeText: async (text) => { this.copied = text; } }, locks: { request: async (_, options, act = options) => act({}) }, ...this.given.navigator },
      matchMedia: () => ({ matches: Boolean(this.given.isInstalled) }), fetch: (url, options) => this.#fetch(url, options), localStorage: storage(this.local), sessionStorage: storage(this.session),
      crypto: { randomUUID: () => this.#drawn(), getRandomValues: (bytes) => bytes.fill(this.draw()) },
      setTimeout: timer(false), setInterval: timer(true), clearTimeout: (id) => this.clock.clear(id), clearInterval: (id) => this.clock.clear(id),
      performance: { now: () => this.clock.now }, Date: TabDate, AbortController: Patience, scrollTo() {}, scrollY: 0, FormData: FakeFormData, ResizeObserver: observer, MutationObserver: observer,
      print: () => this.left.push("the printer"), open: (url) => this.left.push(url), isSecureContext: !this.given.isInsecure, getSelection: () => ({ selectAllChildren() {} }), Event: class { constructor(type, fields) { Object.assign(this, fields, { type }); } },
      globalThis: { indexedDB: this.given.indexedDB }, requestAnimationFrame: undefined, cancelAnimationFrame: undefined,
    };
    this.load = modules(globals);
    Object.assign(this.load("libraries/preact.mjs").options, { requestAnimationFrame() {}, debounceRendering: queueMicrotask });
    this.load(`${this.page}/main.js`);
  }

  #draws = 0;

  draw() { this.#draws += 1; return this.#draws % 256; }

  #drawn() { return `00000000-0000-4000-8000-${String(this.draw()).padStart(12, "0")}`; }

  #document() {
    let focused = null;
    const made = {
      get activeElement() { return focused ?? made.body ?? null; }, set activeElement(element) { focused = element; },
      visibilityState: "visible", baseURI: `https://pay.example/${this.page}`, title: "",
    };
    const root = new Element(made, "html");
    const create = (_, name) => new Element(made, name);
    Object.assign(made, {
      root, documentElement: root, createElementNS: create, createElement: (name) => create(null, name), createTextNode: (data) => new Node(made, data),
      getElementById: (id) => root.querySelector(`#${id}`), querySelector: (selector) => root.querySelector(selector), 
      fire: (target, ...given) => { if (target.download) this.left.push(`the file ${target.download}`); return this.fire(target, ...given); },
      addEventListener: (name, act) => root.addEventListener(name, act), removeEventListener: (name, act) => root.removeEventListener(name, act),
    });
    made.body = root.appendChild(create(null, "body"));
    made.body.appendChild(create(null, "div")).setAttribute("id", "app");
    return made;
  }

  #location() {
    const go = (address, isReplaced) => {
      const hash = address.slice(address.indexOf("#"));
      if (isReplaced) this.entries.at(-1).hash = hash;
      else this.entries.push({ hash, state: null });
      this.#moved();
    };
    const { entries } = this;
    return { get hash() { return entries.at(-1).hash; }, set hash(address) { if (address !== entries.at(-1).hash) go(address); }, replace: (address) => go(address, true), assign: (url) => this.left.push(url), reload: () => this.open() };
  }

  #history() {
    const { entries } = this;
    return {
      get state() { return entries.at(-1).state; }, replaceState: (state) => { entries.at(-1).state = state; },
      back: () => this.#moved(() => { if (entries.length > 1) entries.pop(); }),
    };
  }

  // The page hears of its new address later, and goes back later.
  #moved(move = () => {}) {
    const { root } = this.document;
    soon().then(() => {
      if (this.document.root !== root) return;
      move();
      this.fire(root, "hashchange");
    });
  }

  async #fetch(url, { method, headers, body, signal }) {
    const [path, token] = [url.href.split("api/v1/")[1], headers.Authorization?.replace("Session ", "")];
    const request = { method, path, key: headers["Idempotency-Key"], token, body: body && JSON.parse(body) };
    this.sent.push(request);
    const found = await this.answer(request);
    if (signal.aborted || !found) throw new TypeError("Failed to fetch");
    const { status = 200, retryAfter, ...fields } = found;
    return { status, text: async () => JSON.stringify({ ErrorCode: 0, ...fields }), headers: new Map([["Retry-After", retryAfter ?? null], ["Date", new Date(START + this.clock.now).toUTCString()]]) };
  }

  // Let an event happen at an element, and with it what a browser does then.
  fire(target, type, fields = {}) {
    const event = { type, target, button: 0, detail: 1, timeStamp: this.clock.now, ...fields, preventDefault() { event.isPrevented = true; }, stopPropagation() { event.isStopped = true; } };
    const path = [];
    for (let place = target; place; place = place.parentNode) path.push(place);
    for (const [places, isCapture] of [[[...path].reverse(), true], [path, false]]) {
      for (const place of places) if (!event.isStopped) place.hear(event, isCapture);
    }
    return !event.isPrevented;
  }

  click(element, fields) {
    if (element.isDisabled) return;
    if (element.localName === "button") element.focus();
    if (element.type === "checkbox") element.checked = !element.checked;
    if (!this.fire(element, "click", fields)) return;
    if (element.type === "checkbox") this.fire(element, "change");
    if (element.localName === "a" && element.href.startsWith("#")) this.go(element.href);
    const form = element.localName === "button" && element.type === "submit" && element.closest("form");
    if (form) this.submit(form);
  }

  submit(form) {
    if (this.fire(form, "submit")) this.left.push("the address of a form");
  }

  go(hash) {
    this.entries.push({ hash, state: null });
    this.#moved();
  }

  settle = async () => {
    for (let round = 0; round < (this.page === "till" ? 12 : 4); round += 1) await soon(); // the storage of the till takes turns
  };

  // The device sleeps: nothing happens, and then all that is late.
  sleep(hours) {
    this.clock.now += hours * 3_600_000;
    return this.settle();
  }

  pass(seconds) { return this.clock.pass(seconds * 1000, this.settle); }

  all(selector) { return this.document.root.querySelectorAll(selector); }

  get text() { return this.document.body.textContent.replace(/\s+/g, " "); }

  // What the page offers to press, within an element.
  offered(place = this.document.body) {
    return place.querySelectorAll("button, a[class=\"button\"]").filter((one) => !one.isHidden && !one.isDisabled).map((one) => one.label);
  }

  button(label) {
    const found = this.all("button, a, summary").filter((one) => one.label === label && !one.isHidden && !one.isDisabled).at(-1);
    if (!found) throw new Error(`There is no ${label} among ${this.offered().join(", ")}`);
    return found;
  }

  // Press buttons, each when the answer to the one before is there.
  async press(...labels) {
    for (const label of labels) {
      this.click(this.button(label));
      await this.settle();
    }
  }

  // Type texts into fields, by their names or IDs.
  async fill(texts) {
    for (const [name, text] of Object.entries(texts)) {
      const field = this.all("input, select, textarea").findLast((one) => one.name === name || one.id === name);
      if (!field) throw new Error(`There is no field ${name}.`);
      field.value = text;
      this.fire(field, "input");
      this.fire(field, "change");
      await this.settle();
    }
  }
}
