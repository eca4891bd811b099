// A page of the till without a browser: the real modules, and a device around them whose time, network and storage are
// the test's. A fault of the storage is below the page's own: a transaction that commits and is told late, for example.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { compileFunction } from "node:vm";
import { IDBFactory, START, Service } from "./device.mjs";

const PAGES = fileURLToPath(new URL("../../chalicelib/pages/", import.meta.url));
const GLOBALS = [
  "globalThis",
  "navigator",
  "document",
  "location",
  "history",
  "addEventListener",
  "removeEventListener",
  "matchMedia",
  "fetch",
  "crypto",
  "localStorage",
  "sessionStorage",
  "setTimeout",
  "clearTimeout",
  "setInterval",
  "clearInterval",
  "performance",
  "Date",
  "scrollTo",
  "scrollY",
  "FormData",
  "ResizeObserver",
  "MutationObserver",
  "print",
  "open",
  "isSecureContext",
  "getSelection",
  "Event",
  "AbortController",
  "requestAnimationFrame",
  "cancelAnimationFrame",
];
const PURE = /till\/(rules|basket)\.js|kit\/(error_codes|barcodes|coins|notes)\.js|\/(en|af)\.js/; // one copy serves all pages
const EXPORTED = /^export (?=(?:(?:async )?function|class|const) (\w+))/gm;
const compiled = new Map();
const shared = new Map();

// A module as a function of the page's globals and of its imports, which returns its exports.
function moduleAt(path) {
  if (!compiled.has(path)) {
    const names = [];
    const text = readFileSync(path, "utf8")
      .replace(
        /^import *\{([^}]*)\} *from *("[^"]+");/gm,
        (_, taken, source) => `const {${taken.replaceAll(" as ", ": ")}} = $(${source});`,
      )
      .replace(/^import (\w+) from ("[^"]+");/gm, (_, name, source) => `const { standard: ${name} } = $(${source});`)
      .replace(/\bexport default (?=function)/, () => {
        names.push("standard");
        return "const standard = ";
      })
      .replace(/\bexport *\{([^}]*)\};?/g, (_, listed) => {
        names.push(...listed.split(",").map((one) => one.trim().split(" as ").reverse().join(": ")));
        return "";
      })
      .replace(EXPORTED, (_, name) => {
        names.push(name);
        return "";
      });
    compiled.set(
      path,
      compileFunction(`"use strict"; ${text}\nreturn { ${names.join(", ")} };`, [...GLOBALS, "$"], { filename: path }),
    );
  }
  return compiled.get(path);
}

const located = new Map(); // the path of each import, and whether one copy of the module serves all pages

function locate(source, folder) {
  const name = `${folder} ${source}`;
  if (!located.has(name)) {
    const path = resolve(folder, source);
    located.set(name, { path, isPure: PURE.test(path) });
  }
  return located.get(name);
}

// The modules of a page life, with these globals. Hooks in place of the libraries show each change at once.
export function modules(globals, hooks) {
  const own = new Map(hooks && [[join(PAGES, "kit/view.js"), hooks]]);
  const given = GLOBALS.map((name) => globals[name]);
  const load = ({ path, isPure }) => {
    const kept = isPure ? shared : own;
    if (!kept.has(path)) {
      const folder = dirname(path);
      kept.set(
        path,
        moduleAt(path)(...given, (source) => load(locate(source, folder))),
      );
    }
    return kept.get(path);
  };
  return (name) => load(locate(`./${name}`, PAGES));
}

// What a page uses of AbortController. Node's own makes an exception with its stack for each.
export class Patience {
  #acts = [];
  signal = {
    aborted: false,
    addEventListener: (_, act) => {
      this.#acts.push(act);
    },
  };

  abort() {
    this.signal.aborted = true;
    for (const act of this.#acts.splice(0)) act();
  }
}

const soon = () =>
  new Promise((done) => {
    setImmediate(done);
  });
const DEAD = new Proxy(() => {}, {
  get: (_, name) => (name === "then" ? undefined : DEAD),
  apply: () => DEAD,
  set: () => true,
});

// Time that passes when the test says so.
export class Clock {
  now = 0;
  #timers = new Map();
  #last = 0;

  set(act, after = 0, { every, owner } = {}) {
    this.#last += 1;
    this.#timers.set(this.#last, { act, at: this.now + after, every, owner });
    return this.#last;
  }

  clear(id) {
    this.#timers.delete(id);
  }

  // Let time pass, and after each timer let `settle` wait for its consequences.
  async pass(milliseconds, settle) {
    const end = this.now + milliseconds;
    await settle();
    for (;;) {
      let next;
      for (const [id, timer] of this.#timers) {
        if (timer.owner?.isOver) this.#timers.delete(id);
        else if (timer.at <= end && !(next && next[1].at <= timer.at)) next = [id, timer];
      }
      if (!next) break;
      const [id, timer] = next;
      this.now = Math.max(this.now, timer.at);
      if (timer.every) timer.at = this.now + timer.every;
      else this.#timers.delete(id);
      timer.act();
      await settle();
    }
    this.now = end;
  }
}

// What a page sees of this time, on a device whose clock shows `now`. Its timers end with it.
export function timeOf(clock, owner, now = () => START + clock.now) {
  class PageDate extends Date {
    constructor(...given) {
      super(...(given.length ? given : [now()]));
    }

    static now() {
      return now();
    }
  }
  const clear = (id) => clock.clear(id);
  return {
    Date: PageDate,
    performance: { now: () => clock.now },
    clearTimeout: clear,
    clearInterval: clear,
    setTimeout: (act, after) => clock.set(act, after, { owner }),
    setInterval: (act, every) => clock.set(act, every, { every, owner }),
  };
}

// localStorage or sessionStorage over a map. A page that is over changes nothing.
export const storageOf = (map, life) => ({
  getItem: (name) => map.get(name) ?? null,
  setItem: (name, text) => {
    if (!life.isOver) map.set(name, String(text));
  },
  removeItem: (name) => {
    if (!life.isOver) map.delete(name);
  },
  clear: () => {
    if (!life.isOver) map.clear();
  },
});

// Let `tell` decide when the handler in this property of `target` is called.
function told(target, property, tell) {
  let handler = null;
  Object.defineProperty(target, property, {
    get: () => handler && ((event) => tell(() => handler?.call(target, event))),
    set: (given) => {
      handler = given;
    },
  });
}

const LATE_MS = 15_000; // after the page has given up the first attempt
const STALLED_MS = 25_000; // after it has given up both

// A database whose transactions have faults:
// - "late", "never": it commits, and is told late or never
// - "stalled": it commits late, and nothing else is read or written before
// - "stuck": its requests are answered late, unless the page aborts it
// - "full": it is aborted by the browser
// - "kill": it commits, and the page is killed in this moment
export class Storage {
  factory = new IDBFactory();
  faults = () => undefined; // the fault of a transaction, by its number and mode
  openings = []; // the faults of the next openings: "late", "never" or "fail"
  count = 0; // of transactions
  #running = new Map(); // the page of each transaction
  #opening = 0;
  #stalled = new Set();
  #held = null;

  constructor(clock) {
    this.clock = clock;
  }

  // Something goes on. What waits behind a fault does not.
  get isBusy() {
    const isBlocked = this.#stalled.size > 0 || [...this.#running.keys()].some((one) => one.isStuck);
    return this.#opening > 0 || (this.#running.size > 0 && !isBlocked);
  }

  get isWaiting() {
    return this.#running.size > 0;
  }

  // What the page sees as `indexedDB`.
  of(life) {
    return { open: (...given) => this.#open(life, given) };
  }

  #open(life, given) {
    if (life.isOver) return DEAD;
    const fault = this.openings.shift();
    const request = this.factory.open(...given);
    this.#opening += 1;
    const opened = () => {
      this.#opening -= 1;
    };
    request.addEventListener("error", opened);
    request.addEventListener("success", () => {
      opened();
      const database = request.result;
      this.#held ??= database._rawDatabase;
      const { transaction } = database;
      database.transaction = (...wanted) =>
        this.#transaction(life, () => transaction.apply(database, wanted), wanted[1]);
    });
    if (fault === "fail") {
      Object.defineProperty(request, "error", { get: () => new DOMException("broken", "UnknownError"), set: () => {} });
      let handler;
      Object.defineProperty(request, "onsuccess", { get: () => () => handler?.(), set: () => {} });
      Object.defineProperty(request, "onerror", {
        get: () => handler,
        set: (given_) => {
          handler = given_;
        },
      });
    } else {
      told(request, "onsuccess", (tell) => this.#tell(life, fault, tell));
    }
    return request;
  }

  #tell(life, fault, tell) {
    if (life.isOver || fault === "never") return;
    if (fault === "late") this.clock.set(() => life.isOver || tell(), LATE_MS);
    else tell();
  }

  #transaction(life, begin, mode) {
    if (life.isOver) return DEAD;
    const transaction = begin();
    this.#running.set(transaction, life);
    const over = () => {
      this.#running.delete(transaction);
      this.#stalled.delete(transaction);
    };
    transaction.addEventListener("abort", over);
    transaction.addEventListener("complete", () => {
      over();
      this.onCommit?.();
    });
    const fault = this.faults(this.count, mode, life);
    this.count += 1;
    told(transaction, "oncomplete", (tell) => {
      if (fault === "kill") life.kill();
      this.#tell(life, fault, tell);
    });
    told(transaction, "onabort", (tell) => this.#tell(life, undefined, tell));
    if (fault === "stuck") this.#hold(transaction);
    if (mode === "readwrite" && (fault === "stalled" || fault === "full")) this.#holdBack(transaction, fault);
    return transaction;
  }

  #hold(transaction) {
    const start = transaction._start;
    const goOn = () => {
      Object.assign(transaction, { isStuck: false, _start: start });
      if (transaction._state !== "finished") transaction._start();
    };
    Object.assign(transaction, {
      isStuck: true,
      _start() {
        this._started = true;
      },
    });
    this.clock.set(goOn, STALLED_MS);
  }

  #holdBack(transaction, fault) {
    const start = transaction._start;
    transaction._start = () => {
      if (transaction._requests.some((one) => one.request.readyState !== "done")) return start.call(transaction);
      if (fault === "full") return transaction._state === "finished" || transaction._abort("QuotaExceededError");
      if (transaction._state === "finished" || this.#stalled.has(transaction)) return undefined;
      transaction._state = "committing";
      this.#stalled.add(transaction);
      this.clock.set(() => {
        this.#stalled.delete(transaction);
        start.call(transaction);
      }, STALLED_MS);
      return undefined;
    };
    transaction._start.bind = () => transaction._start;
  }

  // The page is gone: its transactions are aborted, but for those whose commit has begun.
  end(life) {
    for (const [transaction, owner] of this.#running) {
      if (owner === life && transaction._state === "active") transaction.abort();
    }
  }

  // The committed records, without a transaction.
  raw() {
    const all = (name) => [...(this.#held?.rawObjectStores.get(name)?.records.values() ?? [])];
    return {
      sales: all("sales").map(({ value }) => value),
      facts: Object.fromEntries(all("facts").map(({ key, value }) => [key, value])),
    };
  }
}

const ZA = { ClientID: 1, ClientName: "Coffee", GMT: 2, CurrencyID: "ZAR", CurrencyDigits: 2, Today: "2026-11-23" };
const DE = { ClientID: 2, ClientName: "Kaffee", GMT: 1, CurrencyID: "EUR", CurrencyDigits: 2, Today: "2026-11-23" };
export const PEOPLE = {
  ann: {
    ...ZA,
    AgentID: 3,
    Name: "Ann",
    IsAdministrator: false,
    Email: "ann",
    country: "ZA",
    features: { Offline: true, AcceptCash: true, AcceptPrepaid: true },
  },
  ben: {
    ...DE,
    AgentID: 4,
    Name: "Ben",
    IsAdministrator: false,
    Email: "ben",
    country: "DE",
    features: { AcceptCash: true, AcceptCredit: true },
  },
  eve: {
    ...ZA,
    AgentID: 9,
    Name: "Eve",
    Email: "eve",
    country: "ZA",
    IsAdministrator: true,
    features: { AcceptCash: true },
  },
};
const byAgent = (agent) => Object.values(PEOPLE).find((one) => one.AgentID === agent);
const ACCOUNT_MS = 600_000;

// The service with what a page asks besides payments.
class WholeService extends Service {
  asked = new Map(); // when AuthAccount was answered, by agent
  submits = []; // {amount, agent}
  mixed = []; // requests about another agent or merchant than the session's
  askedTooOften = 0;
  isKind = false; // takes what it refused before
  isSilent = false; // says nothing about an agent but who it is
  #tokens = 0;

  handle(path, body, token, fault) {
    const agent = this.tokens.get(token);
    const [place] = path.split("?");
    if (place === "health") return { status: 200, body: { ErrorCode: 0 } };
    if (place === "user/login/session") return this.#signedIn(body);
    if (place === "payment/submit") {
      if (this.isKind && body.BasicTran.Description === "poison") body.BasicTran.Description = "";
      this.submits.push({ amount: body.BasicTran.Amount, agent });
      const { Receipt, ...bare } = body; // each address is right
      return this.answer(bare, token, fault);
    }
    if (fault === "down") return { status: 503, body: { ErrorCode: 903, ErrorMessage: "Out of reach." } };
    if (place === "user/logout/session") this.tokens.delete(token);
    if (!agent) return { status: 401, body: { ErrorCode: 105, ErrorMessage: "Sign in." } };
    const { features, country, ...me } = byAgent(agent);
    if (place === "user/me") return this.#with({ Data: { ...me, Features: features } });
    if (place === "payment/AuthAccount") return this.#account(agent, features);
    const [, merchant, kind, other] = place.match(/^merchant\/(\d+)\/(pos|pricelist)(?:\/(\d+))?$/) ?? [];
    if (!merchant) return this.#with({});
    if (Number(merchant) !== me.ClientID || (other && Number(other) !== agent)) {
      this.mixed.push(`${path} of ${me.Name}`);
      return { status: 403, body: { ErrorCode: 153, ErrorMessage: "Not yours." } };
    }
    if (this.isSilent) return { status: 503, body: { ErrorCode: 903, ErrorMessage: "Out of reach." } };
    if (kind === "pos")
      return this.#with({
        Pos: {
          MobileSettings: { Features: features, AllowLinkedCardsEffective: false },
          CountryID: country,
          CurrencyID: me.CurrencyID,
        },
      });
    return this.#with(
      path.includes("Version=1") ? {} : { PriceList: { Version: 1, Items: [{ Code: `of ${merchant}` }] } },
    );
  }

  #with(fields) {
    return { status: 200, body: { ErrorCode: 0, ...fields } };
  }

  #signedIn({ Email, Password }) {
    if (Password !== "right") return { status: 401, body: { ErrorCode: 101, ErrorMessage: "Wrong." } };
    this.#tokens += 1;
    const token = `${Email}-${this.#tokens}`;
    this.tokens.set(token, PEOPLE[Email].AgentID);
    return this.#with({ Data: { SessionID: token } });
  }

  #account(agent, features) {
    this.askedTooOften += this.now() - this.asked.get(agent) < ACCOUNT_MS ? 1 : 0;
    if (this.now() - this.asked.get(agent) < ACCOUNT_MS)
      return { status: 429, retryAfter: 60, body: { ErrorCode: 402, ErrorMessage: "Later." } };
    this.asked.set(agent, this.now());
    const kinds = [features.AcceptCash && 10, features.AcceptPrepaid && 8, features.AcceptCredit && 9].filter(Boolean);
    return this.#with({ PaymentOptions: kinds.map((Id) => ({ Id })) });
  }
}

// A telephone or a desk with the till. A life is its page from the start to a reload or a kill.
export class Phone {
  clock = new Clock();
  storage = new Storage(this.clock);
  service = new WholeService();
  local = new Map(); // localStorage
  session = new Map(); // sessionStorage
  faults = []; // of the next requests: "lost request", "lost answer", or one of the service's
  delay = 0; // milliseconds until an answer comes
  isReachable = true;
  presses = new Map(); // {agent, told: [...]} by the amount of a press of Take payment
  cleared = new Set(); // amounts of the sales that an administrator took from the device
  ends = 0; // of page lives
  problems = []; // what the page threw and nobody caught
  #drawn = 0;
  #amount = 0;

  constructor() {
    this.service.now = () => START + this.clock.now;
    this.storage.onCommit = () => {
      this.committed = this.storage.raw().facts.basket;
    };
  }

  drawn() {
    this.#drawn += 1;
    return `00000000-0000-4000-8000-${this.#drawn.toString(16).padStart(12, "0")}`;
  }

  nextAmount() {
    this.#amount += 1;
    return this.#amount;
  }

  // Wait until nothing goes on but for time.
  settle = async () => {
    for (let [quiet, rounds] = [0, 0]; quiet < 3; quiet += 1, rounds += 1) {
      await soon();
      if (this.storage.isBusy) quiet = -1;
      if (rounds > 2_000) throw new Error("The page does not come to rest.");
    }
  };

  pass(seconds) {
    return this.clock.pass(seconds * 1000, this.settle);
  }

  // The page ends, and is opened again.
  async again(how) {
    this.life[how]();
    this.life.isReplaced = true;
    await this.settle();
    const { basket } = this.storage.raw().facts;
    const { isWaiting } = this.storage; // then another basket may be committed before the page reads it
    await this.open();
    return isWaiting ? undefined : basket;
  }

  async open() {
    this.life = new Life(this);
    let isBegun = false;
    this.life.begin().then(() => {
      isBegun = true;
    });
    await this.settle();
    if (!isBegun) await this.pass(45); // its storage is slow
    return this.life;
  }

  async send(life, path, options) {
    const isSale = path === "payment/submit";
    const fault = isSale ? this.faults.shift() : undefined;
    const { signal } = options;
    const aborted = new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
    aborted.catch(() => {});
    if (!this.isReachable) throw new TypeError("Failed to fetch");
    if (fault === "lost request") return aborted;
    const token = options.headers.Authorization?.replace("Session ", "");
    const { status, body, retryAfter } = this.service.handle(
      path,
      options.body && JSON.parse(options.body),
      token,
      fault,
    );
    const answer = {
      status,
      text: async () => JSON.stringify(body),
      headers: new Map([
        ["Retry-After", retryAfter ?? 0],
        ["Date", new Date(this.service.now()).toUTCString()],
      ]),
    };
    if (fault === "lost answer") return aborted;
    if (fault === "never") return aborted;
    if (this.delay)
      await Promise.race([
        aborted,
        new Promise((come) => {
          this.clock.set(come, this.delay, { owner: life });
        }),
      ]);
    if (life.isOver) return new Promise(() => {});
    if (status === 401 && body.ErrorCode === 105 && path !== "user/logout/session") life.ended.add(token);
    return answer;
  }
}

class Life {
  isOver = false;
  pending = 0; // actions without an end
  locates = 0; // the milliseconds until the place is found
  ended = new Set(); // sessions that the page was told of
  isShown = false; // else the page says that the storage is broken
  #listeners = new Map();

  constructor(phone) {
    this.phone = phone;
    const { clock } = phone;
    const listen = (name, act) => {
      this.#listeners.set(name, [...(this.#listeners.get(name) ?? []), act]);
    };
    const shown = {
      visibilityState: "visible",
      baseURI: "https://pay.example/till",
      documentElement: {},
      activeElement: null,
      addEventListener: listen,
      querySelector: () => null,
    };
    const globals = {
      navigator: {
        onLine: true,
        languages: ["en"],
        permissions: { query: async () => ({ state: this.locates ? "granted" : "denied" }) },
        geolocation: {
          getCurrentPosition: (found) =>
            clock.set(() => found({ coords: { latitude: -34, longitude: 18 } }), this.locates, { owner: this }),
        },
      },
      document: shown,
      location: { hash: "", replace() {} },
      history: { state: { number: 1 } },
      addEventListener: listen,
      removeEventListener() {},
      matchMedia: () => ({ matches: false }),
      scrollTo() {},
      scrollY: 0,
      fetch: (url, options) =>
        this.isOver ? new Promise(() => {}) : phone.send(this, url.href.split("api/v1/")[1], options),
      crypto: { randomUUID: () => phone.drawn(), getRandomValues: (bytes) => bytes.fill(7) },
      localStorage: storageOf(phone.local, this),
      sessionStorage: storageOf(phone.session, this),
      ...timeOf(clock, this),
      AbortController: Patience,
      globalThis: { indexedDB: phone.storage.of(this) },
    };
    const hooks = {
      useState: (value) => [value, this.#show],
      useLayoutEffect: (act) => {
        this.unmount = act();
      },
    };
    const load = modules(globals, hooks);
    [this.till, this.sale, this.means] = [load("till/till.js"), load("till/sale.js"), load("till/rules.js")];
  }

  // As main.js does it.
  async begin() {
    try {
      await this.sale.resume(await this.till.start());
    } catch {
      return;
    }
    this.isShown = true;
    this.till.useTill();
    this.unmount = null; // only the view of the sale ends
    this.#show();
  }

  // What the frame shows: the sale in hand of the agent, and how it ended.
  #show = () => {
    if (!this.isShown || this.isOver || this.isShowing) return;
    this.isShowing = true;
    const { session } = this.till.till();
    if (session) this.sale.useSale();
    else this.unmount?.();
    this.isShowing = false;
    this.#noteResult(session);
  };

  #noteResult(session) {
    const { result } = this.sale.sale();
    if (!session || !result || result.state === "busy" || this.noted === result) return;
    this.noted = result;
    const minor = (result.sale?.draft ?? result.draft).minor;
    const word = result.sale ? this.means.shownState(result.sale) : "refused";
    this.phone.presses.get(minor).told.push(word);
  }

  happen(name) {
    for (const act of this.#listeners.get(name) ?? []) act();
  }

  // Press Take payment. Each press has an amount of its own, so that its sale is known everywhere.
  take(fields = {}) {
    return this.sale.take({ ...this.#draft("cash"), ...fields });
  }

  // Say that the other terminal has declined.
  decline() {
    return this.sale.decline(this.#draft("outerCard"));
  }

  #draft(tender) {
    const { phone } = this;
    const minor = phone.nextAmount();
    const { agent, result } = this.sale.sale();
    phone.presses.set(minor, { agent, told: [], isSecond: Boolean(result) && !result.refused });
    return { tender, minor, digits: 2, currency: "ZAR", country: "ZA", description: "", receivedMinor: minor };
  }

  takeWithoutReceipt() {
    const {
      phone,
      sale: { sale, takeWithoutReceipt },
    } = this;
    const { draft } = sale().result ?? {};
    if (!draft) return takeWithoutReceipt();
    const minor = phone.nextAmount(); // another press, whose sale is known by its amount
    phone.presses.set(minor, { agent: sale().agent, told: [] });
    draft.minor = minor;
    return takeWithoutReceipt();
  }

  async signOut() {
    const { phone, till } = this;
    if ((await till.signOut()) !== true) return;
    const { facts, sales } = phone.storage.raw();
    if (
      facts.session ||
      facts.basket ||
      sales.some((one) => one.queued !== undefined && one.agent === facts.session?.agent)
    )
      phone.problems.push("signed out, and something is left");
  }

  async clear() {
    const left = await this.till.leftSales();
    for (const one of left) this.phone.cleared.add(one.draft.minor);
    await this.till.clear(left);
  }

  // The page ends as at a reload: storing that has begun goes on, nothing else.
  end() {
    this.isOver = true;
    this.phone.ends += 1;
    this.phone.storage.end(this);
  }

  kill() {
    this.end();
    this.phone.session.clear();
  }
}
