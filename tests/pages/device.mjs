// A device with a till, and a model of the service, for tests of the queue. Time, the network, kills and the storage's
// faults are the test's.
import { createRequire } from "node:module";
import { Queue } from "../../chalicelib/pages/till/queue.js";
import { Store } from "../../chalicelib/pages/till/store.js";

const require = createRequire(`${process.env.TILL_TOOLS}/`);
export const fc = require("fast-check");
export const { IDBFactory, IDBKeyRange } = require("fake-indexeddb");
globalThis.IDBKeyRange = IDBKeyRange;
const kept = new Map(); // localStorage of the newest device
export const forget = () => kept.clear();
globalThis.localStorage = {
  getItem: (name) => kept.get(name) ?? null,
  setItem: (name, text) => {
    kept.set(name, text);
  },
};

export const START = Date.UTC(2026, 10, 23, 12);
const CODES = {
  signIn: [401, 105],
  blocked: [403, 152],
  busy: [429, 402],
  inProgress: [409, 301],
  down: [503, 903],
  broken: [500, 901],
  stranger: [404, 207],
};

// The service: it takes each ID once, and answers a repeated request with the first result.
export class Service {
  taken = new Map(); // {agent, content, times} by ID
  refused = []; // IDs that it refused for what they are
  tokens = new Map(); // agent by session
  blocked = new Set(); // agents
  sent = []; // {id, agent} in the order of the requests

  answer(request, token, fault) {
    const { ID: id, Description: description, OfflineTran: { Paid, ...offline } = {}, ...basic } = request.BasicTran;
    const agent = this.tokens.get(token);
    this.sent.push({ id, agent });
    if (fault in CODES) return this.#refusal(...CODES[fault]);
    if (!agent) return this.#refusal(...CODES.signIn);
    if (this.blocked.has(agent)) return this.#refusal(...CODES.blocked);
    if (description === "poison")
      return this.#noted(id, 400, 202, [{ Type: 1, Property: "BasicTran.Amount", Message: "Too much." }]);
    if (request.Receipt)
      return this.#noted(id, 400, 202, [
        { Type: 1, Property: "Receipt.Phone", Message: "A telephone number is expected." },
      ]);
    if (Paid && Date.parse(`${Paid}Z`) - (request.GMT ?? 0) * 3_600_000 > this.now() + 120_000) {
      return this.#refusal(400, 202, [{ Type: 1, Property: "BasicTran.OfflineTran.Paid", Message: "Too late." }]);
    }
    const content = JSON.stringify({ basic, offline, description, card: request.Card });
    const known = this.taken.get(id);
    if (known && known.content !== content) return this.#refusal(422, 302);
    if (!known) this.taken.set(id, { agent, content, isDeclined: description === "declined", Paid });
    if (fault === "unknown") return { status: 200, body: { ErrorCode: 310, TransactionID: id } };
    const isDeclined = this.taken.get(id).isDeclined;
    return {
      status: 200,
      body: {
        ErrorCode: isDeclined ? 1005 : 0,
        ErrorMessage: isDeclined ? "Do not honour" : null,
        TransactionID: id,
        Transaction: { Invoice: "1", CanReturn: true },
      },
    };
  }

  #refusal(status, code, findings = null) {
    return {
      status,
      retryAfter: status === 429 ? 2 : 0,
      body: { ErrorCode: code, ErrorMessage: "Refused", Validations: findings },
    };
  }

  #noted(id, ...refusal) {
    if (!this.taken.has(id)) this.refused.push(id);
    return this.#refusal(...refusal);
  }
}

const never = () => new Promise(() => {});

// The page from its start to its end. After the end nothing of it goes on.
class Visit {
  isOver = false;
  stepsLeft = Infinity;

  // A place where the page may be killed.
  step() {
    if (this.stepsLeft === 0) this.isOver = true;
    this.stepsLeft -= 1;
    return this.isOver ? never() : undefined;
  }
}

function mortal(store, visit, device) {
  return new Proxy(store, {
    get: (target, name) => {
      const method = target[name];
      if (typeof method !== "function") return method;
      return async (...given) => {
        await visit.step();
        const isWrite = ["take", "change", "remove"].includes(name);
        if (device.isStorageFull && isWrite) throw new DOMException("full", "QuotaExceededError");
        if (device.isStorageLate && name === "take") {
          device.late.push(() => method.apply(target, given));
          throw new Error("The storage does not answer.");
        }
        const result = await method.apply(target, given);
        if (device.isStorageLate && isWrite) throw new Error("The storage does not answer.");
        await visit.step();
        return result;
      };
    },
  });
}

export class Device {
  elapsed = 0;
  skew = 0; // of the device's clock
  faults = []; // of the next requests: "lost request", "lost answer", or one of the service's
  isStorageFull = false;
  isStorageLate = false; // its commits end after the page has given up
  late = []; // these commits
  isPersistent = true;
  features = { Offline: true };
  shown = new Map(); // the result that the page showed, by ID
  refused = new Set(); // the IDs that the page showed as refused
  attempts = 0;
  #id = 0;

  constructor() {
    forget();
    this.factory = new IDBFactory();
    this.service = new Service();
    this.service.now = () => START + this.elapsed;
    this.offset = 0;
  }

  now() {
    return START + this.elapsed + this.skew;
  }

  async begin() {
    const store = new Store(this.factory);
    const { device = { prefix: "TEST2", counter: 0 }, session } = await store.facts();
    await store.remember({ device });
    this.visit = new Visit();
    this.store = store;
    this.session = session;
    this.queue = new Queue({
      store: mortal(store, this.visit, this),
      send: (request, session) => this.send(request, session, this.visit),
      facts: () => ({
        session: this.session,
        features: this.features,
        offset: this.offset,
        isClockKnown: this.measured === this.skew,
        isPersistent: this.isPersistent,
      }),
      now: () => this.now(),
      elapsed: () => this.elapsed,
      newId: () => this.newId(),
    });
  }

  newId() {
    this.#id += 1;
    return this.#idOf(this.#id);
  }

  #idOf(number) {
    return `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`;
  }

  // The storage commits what it held back.
  async commitLate() {
    for (const commit of this.late.splice(0)) await commit().catch(() => {});
  }

  kill() {
    this.visit.isOver = true;
    return this.begin();
  }

  async signIn(agent = 3) {
    const token = `session-${this.newId()}`;
    this.service.tokens.set(token, agent);
    this.session = { token, agent, gmt: 2 };
    await this.store.remember({ session: this.session });
    this.queue.signedIn();
  }

  endSessions() {
    this.service.tokens.clear();
  }

  async send(request, session, visit) {
    await visit.step();
    const fault = this.faults.shift();
    if (fault === "lost request") return {};
    if (fault === "page of another") return { status: 200 };
    const answer = this.service.answer(JSON.parse(JSON.stringify(request)), session.token, fault);
    await visit.step();
    if (fault === "lost answer") return {};
    this.offset = this.service.now() - this.now();
    this.measured = this.skew;
    return answer;
  }

  // Sell as the page does it, every second time goods; return the result that the customer sees.
  async sell({ tender = "cash", minor = 1234, description = "", receipt, isOnline = true } = {}) {
    this.attempts += 1;
    const key = this.attempts;
    const lines = key % 2 ? [] : [{ title: "Coffee", price: minor, quantity: "1", taxes: ["VAT15"], minor }];
    const draft = { tender, minor, digits: 2, currency: "ZAR", description, receipt, lines, key, lang: "en" };
    const before = this.#id;
    this.store.keepBasket({ key }).catch(() => {});
    try {
      const sale = await this.queue.sell(draft, { isOnline });
      this.shown.set(sale.id, sale.state);
      return sale;
    } catch (refused) {
      if (!refused.why) throw refused;
      if (this.#id > before) this.refused.add(this.#idOf(this.#id));
      return { refused };
    }
  }

  wait(seconds) {
    this.elapsed += seconds * 1000;
    return this.queue.drain();
  }

  // All faults end, the agent signs in, and the queue drains until nothing changes.
  async heal() {
    Object.assign(this, { faults: [], isStorageFull: false, isStorageLate: false });
    await this.commitLate();
    this.service.blocked.clear();
    await this.kill();
    await this.signIn(3);
    for (let round = 0; round < 12; round += 1) await this.wait(60);
    return this.store.newest(3, 10_000);
  }
}
