// A tab of a browser: the document of happy-dom, and a device whose time, network, storages and history are the test's. The
// page in it is the real one, with its libraries.
import { START } from "./device.mjs";
import { Clock, Patience, modules, storageOf, timeOf } from "./page.mjs";

const { Element, HTMLAnchorElement, HTMLCanvasElement, HTMLElement, HTMLFormElement, PropertySymbol, Window } =
  await import(`${process.env.TILL_TOOLS}/happy-dom/lib/index.js`);
const windows = Object.fromEntries(
  ["shop", "till"].map((page) => [
    page,
    new Window({ url: `https://pay.example/${page}`, settings: { errorCapture: "disabled" } }),
  ]),
);
let clients = 0; // pages that were loaded
const tabs = new WeakMap(); // by the page's document
const soon = () =>
  new Promise((done) => {
    setImmediate(done);
  });

Object.defineProperties(Element.prototype, {
  isDisabled: {
    get() {
      return Boolean(this.closest("[disabled], fieldset[disabled] *"));
    },
  },
  isHidden: {
    get() {
      return Boolean(this.closest("[hidden], details:not([open]) > :not(summary)"));
    },
  },
  label: {
    get() {
      const shown = [...this.childNodes].filter((one) => one.getAttribute?.("aria-hidden") !== "true");
      return (this.getAttribute("aria-label") ?? shown.map((one) => one.textContent).join(""))
        .replace(/\s+/g, " ")
        .trim();
    },
  }, // its name to people
});
Object.assign(HTMLCanvasElement.prototype, {
  getContext: () => ({ fillRect() {}, beginPath() {}, moveTo() {}, lineTo() {}, stroke() {}, drawImage() {} }),
});
// What a browser does at a link and at a form, in the tab.
HTMLAnchorElement.prototype.dispatchEvent = function dispatch(event) {
  const isGoing = HTMLElement.prototype.dispatchEvent.call(this, event);
  if (isGoing && event.type === "click" && event.eventPhase === 0) tabs.get(this.ownerDocument).follow(this);
  return isGoing;
};
HTMLFormElement.prototype.requestSubmit = function submit() {
  tabs.get(this.ownerDocument).submit(this);
};

// The lock of a browser. `of(page)` is what a page sees.
export class Locks {
  held = null;
  #waiting = [];

  of(clientId) {
    const granted = async (name, act) => {
      const own = { name, clientId };
      this.held = own;
      try {
        return await act(own);
      } finally {
        if (this.held === own) this.lose();
      }
    };
    return {
      query: async () => ({ held: this.held ? [this.held] : [] }),
      request: async (name, options, act = options) => {
        if (!this.held) return granted(name, act);
        if (options.ifAvailable) return act(null);
        await new Promise((come) => {
          this.#waiting.push(come);
        });
        return granted(name, act);
      },
    };
  }

  // The page that has it ends; or it is put away, and nobody tells it.
  lose() {
    this.held = null;
    this.#waiting.shift()?.();
  }
}

// A tab of the browser with a page, and its storages. `answer` is the service: it returns {status, body, retryAfter} for {method, path, body,
// key, token}, or null for a request whose answer is lost.
export class Tab {
  clock = new Clock();
  sent = [];
  left = []; // addresses of downloads

  constructor(
    page,
    answer,
    { hash = "", globals = {}, local = new Map(), session = new Map(), skew = 0, locks = new Locks() } = {},
  ) {
    Object.assign(this, { page, answer, hash, given: globals, local, session, skew, locks });
    this.open();
  }

  // Load the page, or load it again.
  open() {
    const window = windows[this.page];
    if (this.#client && this.locks.held?.clientId === this.#client) this.locks.lose();
    this.#client = `page ${++clients}`;
    this.document = this.#document();
    this.entries = [{ hash: this.hash, state: null }];
    const { root } = this.document;
    const isOver = () => this.document.root !== root;
    const owner = {
      get isOver() {
        return isOver();
      },
    };
    const listen = (name, act, options) => root.addEventListener(name, act, options?.capture);
    const globals = {
      document: this.document,
      location: this.#location(),
      history: this.#history(),
      addEventListener: listen,
      removeEventListener: (name, act) => root.removeEventListener(name, act),
      navigator: {
        onLine: true,
        languages: ["en"],
        clipboard: {
          writeText: async (text) => {
            this.copied = text;
          },
        },
        locks: this.locks.of(this.#client),
        ...this.given.navigator,
      },
      matchMedia: () => ({ matches: Boolean(this.given.isInstalled) }),
      fetch: (url, options) => this.#fetch(url, options),
      localStorage: this.given.localStorage ?? storageOf(this.local, owner),
      sessionStorage: this.given.sessionStorage ?? storageOf(this.session, owner),
      crypto: { randomUUID: () => this.#drawn(), getRandomValues: (bytes) => bytes.fill(this.draw()) },
      ...timeOf(this.clock, owner, () => START + this.clock.now + this.skew),
      AbortController: Patience,
      scrollTo() {},
      scrollY: 0,
      FormData: window.FormData,
      ResizeObserver: window.ResizeObserver,
      MutationObserver: window.MutationObserver,
      print: () => this.left.push("the printer"),
      open: (url) => this.left.push(url),
      isSecureContext: !this.given.isInsecure,
      getSelection: () => this.document.getSelection(),
      Event: window.Event,
      globalThis: { indexedDB: this.given.indexedDB },
      requestAnimationFrame: undefined,
      cancelAnimationFrame: undefined,
    };
    this.load = modules(globals);
    Object.assign(this.load("libraries/preact.mjs").options, {
      requestAnimationFrame() {},
      debounceRendering: queueMicrotask,
    });
    this.load(`${this.page}/main.js`);
  }

  #client;
  #draws = 0;

  draw() {
    this.#draws += 1;
    return this.#draws % 256;
  }

  #drawn() {
    return `00000000-0000-4000-8000-${String(this.draw()).padStart(12, "0")}`;
  }

  #document() {
    windows[this.page][PropertySymbol.mutationObservers] = []; // they would keep the documents of earlier pages
    const made = windows[this.page].document.implementation.createHTMLDocument();
    Object.defineProperty(made, "visibilityState", { value: "visible", writable: true });
    made.root = made.documentElement;
    made.body.appendChild(made.createElement("div")).id = "app";
    tabs.set(made, this);
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
    return {
      get hash() {
        return entries.at(-1).hash;
      },
      set hash(address) {
        if (address !== entries.at(-1).hash) go(address);
      },
      replace: (address) => go(address, true),
      assign: (url) => this.left.push(url),
      reload: () => this.open(),
    };
  }

  #history() {
    const { entries } = this;
    return {
      get state() {
        return entries.at(-1).state;
      },
      replaceState: (state) => {
        entries.at(-1).state = state;
      },
      back: () =>
        this.#moved(() => {
          if (entries.length > 1) entries.pop();
        }),
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
    return {
      status,
      text: async () => JSON.stringify({ ErrorCode: 0, ...fields }),
      headers: new Map([
        ["Retry-After", retryAfter ?? null],
        ["Date", new Date(START + this.clock.now).toUTCString()],
      ]),
    };
  }

  // Let an event happen at an element, and with it what a browser does then.
  fire(target, type, fields = {}) {
    const event = new windows[this.page][type === "click" ? "MouseEvent" : "Event"](type, {
      bubbles: true,
      cancelable: true,
    });
    const known = Object.entries({ button: 0, detail: 1, timeStamp: this.clock.now, ...fields });
    Object.defineProperties(event, Object.fromEntries(known.map(([name, value]) => [name, { value }])));
    return target.dispatchEvent(event);
  }

  click(element, fields) {
    if (element.isDisabled) return;
    if (element.localName === "button") element.focus();
    this.fire(element, "click", fields);
  }

  submit(form) {
    if (this.fire(form, "submit")) this.left.push("the address of a form");
  }

  follow(link) {
    if (link.download) this.left.push(`the file ${link.download}`);
    else if (link.getAttribute("href")?.startsWith("#")) this.go(link.getAttribute("href"));
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

  pass(seconds) {
    return this.clock.pass(seconds * 1000, this.settle);
  }

  all(selector) {
    return [...this.document.root.querySelectorAll(selector)];
  }

  get text() {
    return this.document.body.textContent.replace(/\s+/g, " ");
  }

  // What the page offers to press, within an element.
  offered(place = this.document.body) {
    return [...place.querySelectorAll('button, a[class="button"]')]
      .filter((one) => !one.isHidden && !one.isDisabled)
      .map((one) => one.label);
  }

  button(label) {
    const found = this.all("button, a, summary")
      .filter((one) => one.label === label && !one.isHidden && !one.isDisabled)
      .at(-1);
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
