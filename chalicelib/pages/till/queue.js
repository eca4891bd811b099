// The queue of a till: it takes a sale, sends it, and sends it again until the service has answered for it.
//
// It needs a store, and `send(request, session)`, which returns an answer as `meaning` reads it and throws nothing.
// One queue at a time may work on a store: the page holds a lock of the browser.
import {
  State,
  Means,
  PATIENCE_S,
  TENDERS,
  maySellOffline,
  meaning,
  pause,
  requestAt,
  requestOf,
  roomOf,
  settled,
} from "./rules.js";
import { isWaiting } from "./store.js";

const MAX_LOST = 2; // answers in a row, before the others wait too: a single sale holds nobody back

// A sale that was refused before any money was taken. `why` is "storage", "limit", "connection" or the service's verdict.
export class Refused extends Error {
  constructor(why, verdict = {}) {
    super(verdict.message ?? why);
    Object.assign(this, { why, ...verdict });
  }
}

export class Queue {
  #store;
  #send;
  #now;
  #elapsed;
  #draining = null;
  #isWanted = false; // something came while it drained
  #pauses = new Map(); // {failures, until} by sale
  #all = { until: 0, isAsked: false }; // nothing is sent before; `isAsked`: the service asked for it
  #atTheTill = new Set(); // sales that are sent while the customer waits
  #problem = null; // the answer that says why nobody may send with this session: {means, code, message, token}
  #failure = null; // of the storage, while it drained

  // `facts()` returns {session, features, offset, isClockKnown, isPersistent}: the signed-in agent, its features, the
  // milliseconds that the service's clock is ahead, whether they are those of the clock as it is set now, and whether the browser promised to delete nothing. `elapsed` is a clock that nobody sets.
  constructor({
    store,
    send,
    facts,
    now = Date.now,
    elapsed = () => performance.now(),
    newId = () => crypto.randomUUID().toUpperCase(),
    onChange = () => {},
  }) {
    Object.assign(this, { facts, newId, onChange });
    this.#store = store;
    this.#send = send;
    this.#now = now;
    this.#elapsed = elapsed;
  }

  get problem() {
    return this.#problem;
  }

  // A sale is being taken.
  get isSelling() {
    return this.#atTheTill.size > 0;
  }

  get failure() {
    return this.#failure;
  }

  // Take a sale and return it: paid, declined, or waiting. Throw Refused when no money may be taken. `locate` finds the place
  // of one that is offline.
  async sell(draft, { isOnline, locate = () => {} }) {
    const { session, features, offset } = this.facts();
    const mayWait = maySellOffline(draft.tender, features);
    if (!isOnline && !mayWait) throw new Refused("connection");
    const id = this.newId();
    this.#atTheTill.add(id); // before anything is awaited: nobody may sign out now
    try {
      if (!isOnline) await this.#checkLimit(draft);
      const location = isOnline ? undefined : await locate();
      const sale = await this.#take(id, (numbers) => {
        const made = {
          id,
          ...numbers,
          version: 1,
          agent: session.agent,
          gmt: session.gmt,
          draft: { ...draft, ...(location && { location }) },
          minor: draft.minor,
          isOffline: !isOnline,
          isShownPaid: !isOnline,
          takenAt: this.#now() + offset,
          queued: numbers.counter,
          state: mayWait ? State.WAITING : State.UNKNOWN,
        };
        return { ...made, request: requestOf(made) };
      });
      return isOnline ? await this.#sendAtTheTill(sale, mayWait) : sale;
    } finally {
      this.#atTheTill.delete(id);
      this.onChange();
      this.drain();
    }
  }

  // A storage that is full or broken refuses the sale before money is taken.
  async #take(id, made) {
    try {
      return await this.#store.take(id, made);
    } catch {
      await this.#store.refuse(id);
      throw new Refused("storage");
    }
  }

  async #checkLimit(draft) {
    if (this.facts().isPersistent) return;
    let queued;
    try {
      queued = await this.#store.queue();
    } catch {
      throw new Refused("storage");
    }
    if (draft.minor > roomOf(queued, draft)) throw new Refused("limit");
  }

  async #sendAtTheTill(sale, mayWait) {
    const seconds = TENDERS[sale.draft.tender].isOffline ? PATIENCE_S.offline : PATIENCE_S.online;
    const verdict = await this.#ask(sale, seconds);
    if ([Means.REFUSED, Means.NO_RECEIPT, Means.BLOCKED].includes(verdict.means)) {
      await this.#store.refuse(sale.id); // before the page says so: the service may accept it later
      throw new Refused("service", verdict);
    }
    if (verdict.means === Means.PAID || verdict.means === Means.DECLINED) {
      const changes = settled(sale, verdict, this.#now());
      return (await this.#stored(this.#store.change(sale.id, changes))) ?? { ...sale, ...changes };
    }
    this.#pauseOf(sale, verdict);
    if (!mayWait) return sale;
    // From now on the page says that it is paid, so a later refusal parks it.
    return (
      (await this.#stored(this.#store.change(sale.id, { isShownPaid: true }))) ?? { ...sale, state: State.UNKNOWN }
    );
  }

  // Return null when the storage fails. The sale stays in the queue then, and the service answers for it again.
  async #stored(change) {
    try {
      return await change;
    } catch (error) {
      this.#failure = error;
      return null;
    }
  }

  // Send a sale and return the meaning of the answer.
  async #ask(sale, seconds) {
    const { session, offset, isClockKnown } = this.facts();
    if (session?.agent !== sale.agent) return { means: Means.AGAIN };
    const request = requestAt(sale, this.#now() + offset, isClockKnown);
    const verdict = meaning(sale.id, await this.#send(request, session, seconds));
    const isTold = verdict.means === Means.BLOCKED && this.#atTheTill.has(sale.id); // at the sale in hand
    if (verdict.means !== Means.AGAIN && !isTold) this.note(verdict, session);
    return verdict;
  }

  // Note an answer to a request of this session: whether the agent may go on.
  note(verdict, { token }) {
    if (token !== this.facts().session?.token) return; // it comes late
    const isProblem = verdict.means === Means.SIGN_IN || verdict.means === Means.BLOCKED;
    this.#problem = isProblem ? { ...verdict, token } : null;
    if (verdict.means === Means.BLOCKED) this.#pauseAll(pause(Infinity));
    if (isProblem) this.onChange();
  }

  #pauseOf(sale, { retryAfter, isForAll }) {
    const failures = (this.#pauses.get(sale.id)?.failures ?? 0) + 1;
    const seconds = pause(failures, retryAfter);
    this.#pauses.set(sale.id, { failures, until: this.#elapsed() + seconds * 1000, isAsked: Boolean(retryAfter) });
    if (isForAll) this.#pauseAll(seconds, Boolean(retryAfter));
    return seconds;
  }

  #pauseAll(seconds, isAsked = false) {
    this.#all = { until: this.#elapsed() + seconds * 1000, isAsked };
  }

  // Somebody looks at the page, or a connection came: send without the usual pauses. The service's own are kept.
  hurry() {
    for (const [id, one] of this.#pauses) if (!one.isAsked) this.#pauses.delete(id);
    if (!this.#all.isAsked) this.#all.until = 0;
    return this.drain();
  }

  // Somebody signed in: the answer to the session before says nothing about this one.
  signedIn() {
    this.#problem = null;
    this.onChange();
    return this.hurry();
  }

  // Put a parked sale back into the queue.
  async sendAgain(id) {
    const isParked = (sale) => sale.state === State.PARKED; // it may have been sent since it was shown
    const isStored = await this.#stored(this.#store.change(id, { state: State.WAITING, reason: undefined }, isParked));
    if (isStored) this.#pauses.delete(id);
    this.onChange();
    if (isStored) await this.drain();
  }

  // Send each sale that waits, in order, one at a time.
  drain() {
    this.#isWanted = true;
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = null;
    });
    return this.#draining;
  }

  async #drain() {
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        await this.#round();
        this.#failure = null;
      }
    } catch (error) {
      this.#failure = error; // of the storage; the next drain tries again
      this.onChange();
    }
  }

  async #round() {
    let lost = 0;
    for (const { id } of (await this.#store.queue()).filter(isWaiting)) {
      if (this.#all.until > this.#elapsed()) return;
      if (this.#atTheTill.has(id)) continue;
      const sale = await this.#store.sale(id); // it may have been settled, refused or shown as paid since the list was read
      if (!sale || !isWaiting(sale) || !this.#isDue(sale)) continue;
      const verdict = await this.#ask(sale, PATIENCE_S.online);
      if (verdict.means === Means.SIGN_IN || verdict.means === Means.BLOCKED) return;
      if (verdict.means === Means.AGAIN) {
        const seconds = this.#pauseOf(sale, verdict);
        lost += verdict.isUnknown ? 0 : 1;
        if (lost === MAX_LOST) this.#pauseAll(seconds, Boolean(verdict.retryAfter));
        continue;
      }
      lost = 0;
      await this.#settle(sale, verdict);
    }
  }

  async #settle(sale, verdict) {
    this.#pauses.delete(sale.id);
    const isTimeless = verdict.means === Means.NO_TIME && !sale.hasNoTime;
    const isUnsent = verdict.means === Means.NO_RECEIPT && sale.isShownPaid && !sale.hasNoReceipt;
    if (isTimeless || isUnsent) {
      await this.#store.change(sale.id, isTimeless ? { hasNoTime: true } : { hasNoReceipt: true });
      this.#isWanted = true;
    } else {
      await this.#store.change(sale.id, settled(sale, verdict, this.#now()));
    }
    this.onChange();
  }

  // No sale is sent under another agent, and none with a session that ended.
  #isDue(sale) {
    const { session } = this.facts();
    if (!session || session.agent !== sale.agent) return false;
    if (this.#problem?.means === Means.SIGN_IN && this.#problem.token === session.token) return false;
    return (this.#pauses.get(sale.id)?.until ?? 0) <= this.#elapsed();
  }
}
