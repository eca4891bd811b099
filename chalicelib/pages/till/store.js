// The sales and facts of this device, in IndexedDB. A change is durable before its promise is fulfilled.
import { KEPT_DAYS, State } from "./rules.js";

const NAME = "payments.till";
const VERSION = 1;
const SALES = "sales";
const FACTS = "facts";
const DAY_MS = 86_400_000;
const PATIENCE_MS = 10_000; // for the browser to open the database, or to end a transaction
const REFUSED = "payments.till.refused"; // in localStorage: the database itself may be at fault
const MAX_REFUSED = 1_000; // IDs, the newest
const UNSENT = "payments.till.unsent"; // in localStorage: the numbers of the sales that were shown as paid and wait, by ID

const ended = (request) =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("The storage does not answer.")), PATIENCE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// `queued` and `answeredAt` are indexes of the sales that have them: the queue in its order, and the sales to forget.
function upgrade(database) {
  const sales = database.createObjectStore(SALES, { keyPath: "id" });
  for (const index of ["counter", "queued", "answeredAt"]) sales.createIndex(index, index);
  database.createObjectStore(FACTS);
}

export class Store {
  #database = null;
  #opening = null;
  #factory;
  #refused = new Set();
  #unsent = {}; // as in localStorage
  #basket; // the newest: a repeated transaction stores no older one

  constructor(factory = globalThis.indexedDB) {
    this.#factory = factory;
  }

  // Store a sale with the next number of the device, in one transaction. The same ID is stored once.
  take(id, sale) {
    return this.#write(async ({ sales, facts }) => {
      const known = await ended(sales.get(id));
      if (known) return known;
      const device = await ended(facts.get("device"));
      const counter = device.counter + 1;
      const taken = sale({
        device: device.prefix,
        counter,
        number: `${device.prefix}-${String(counter).padStart(6, "0")}`,
      });
      facts.put({ ...device, counter }, "device");
      if (this.#basket && this.#basket.key === taken.draft.key) {
        // this attempt's: a commit may be late
        this.#basket = { ...this.#basket, id };
        facts.put(this.#basket, "basket");
      }
      sales.add(taken);
      return taken;
    });
  }

  // Change a sale; return it, or undefined when it is gone or is not the meant one. A change to undefined deletes the field.
  change(id, changes, isMeant = () => true) {
    return this.#write(async ({ sales }) => {
      const known = await ended(sales.get(id));
      if (!known || !isMeant(known)) return undefined;
      const sale = { ...known, ...changes };
      for (const name of Object.keys(changes)) if (changes[name] === undefined) delete sale[name];
      sales.put(sale);
      return sale;
    });
  }

  async remove(id) {
    await this.#write(({ sales }) => {
      sales.delete(id);
    });
    const { [id]: removed, ...others } = this.#allUnsent();
    if (removed) this.#noteUnsent(others);
  }

  // Note these sales of the queue. Return the numbers of those that were noted before and are gone without an answer: somebody
  // cleared the data of the browser.
  async lost(queued) {
    const noted = this.#allUnsent();
    const waiting = Object.fromEntries(queued.filter((one) => one.isShownPaid).map(({ id, number }) => [id, number]));
    const missing = Object.keys(noted).filter((id) => !(id in waiting));
    const refused = this.#allRefused();
    const gone = {};
    for (const id of missing) if (!refused.has(id) && !(await this.sale(id))) gone[id] = noted[id];
    const unsent = { ...gone, ...waiting };
    if (Object.keys(unsent).join() !== Object.keys(noted).join()) this.#noteUnsent(unsent);
    return Object.values(gone);
  }

  // Somebody knows of the lost sales.
  forgetLost() {
    this.#noteUnsent({});
  }

  #allUnsent() {
    try {
      return { ...JSON.parse(localStorage.getItem(UNSENT)), ...this.#unsent };
    } catch {
      return this.#unsent; // another text
    }
  }

  #noteUnsent(unsent) {
    this.#unsent = unsent;
    try {
      localStorage.setItem(UNSENT, JSON.stringify(unsent));
    } catch {
      /* this page remembers it */
    }
  }

  // Remember that a sale was refused, and delete it. A commit may be late: then the sale is hidden, and deleted again.
  refuse(id) {
    const ids = [...this.#allRefused().add(id)].slice(-MAX_REFUSED);
    this.#refused = new Set(ids);
    try {
      localStorage.setItem(REFUSED, JSON.stringify(ids));
    } catch {
      /* this page remembers it */
    }
    this.#removeLater([id]);
  }

  #allRefused() {
    try {
      for (const id of JSON.parse(localStorage.getItem(REFUSED)) ?? []) this.#refused.add(id);
    } catch {
      /* it has none, or another text */
    }
    return this.#refused;
  }

  // Hide refused sales from the reader, and delete them.
  #withoutRefused(sales) {
    const refused = this.#allRefused();
    const [late, others] = [true, false].map((isLate) => sales.filter((sale) => refused.has(sale.id) === isLate));
    this.#removeLater(late.map((sale) => sale.id));
    return others;
  }

  // Delete sales without waiting. A failure is repeated when they are read again.
  #removeLater(ids) {
    for (const id of ids) this.remove(id).catch(() => {});
  }

  async sale(id) {
    const sale = await this.#read(({ sales }) => ended(sales.get(id)));
    return this.#withoutRefused(sale ? [sale] : [])[0];
  }

  // The sales that wait for the service or are parked, in the order in which they were made.
  async queue() {
    return this.#withoutRefused(await this.#read(({ sales }) => ended(sales.index("queued").getAll())));
  }

  // The newest sales of an agent for which `fits` returns true.
  async newest(agent, count, fits = () => true) {
    return this.#withoutRefused(
      await this.#read(
        ({ sales }) =>
          new Promise((resolve, reject) => {
            const found = [];
            const cursor = sales.index("counter").openCursor(null, "prev");
            cursor.onerror = () => reject(cursor.error);
            cursor.onsuccess = () => {
              const { result } = cursor;
              if (!result || found.length === count) return resolve(found);
              if (result.value.agent === agent && fits(result.value)) found.push(result.value);
              return result.continue();
            };
          }),
      ),
    );
  }

  // Delete the sales that the service answered long ago.
  forget(now) {
    const before = IDBKeyRange.upperBound(now - KEPT_DAYS * DAY_MS);
    return this.#write(async ({ sales }) => {
      for (const id of await ended(sales.index("answeredAt").getAllKeys(before))) sales.delete(id);
    });
  }

  // All facts by their names.
  facts() {
    return this.#read(async ({ facts }) => {
      const [names, values] = await Promise.all([ended(facts.getAllKeys()), ended(facts.getAll())]);
      return Object.fromEntries(names.map((name, number) => [name, values[number]]));
    });
  }

  // Store facts by name. Undefined deletes one.
  remember(named) {
    return this.#write(({ facts }) => {
      for (const [name, value] of Object.entries(named)) {
        if (name === "basket") this.#basket = value;
        if (value === undefined) facts.delete(name);
        else facts.put(value, name);
      }
    });
  }

  // Store the basket, also when the page ends in this moment. Undefined deletes it.
  keepBasket(basket) {
    this.#basket = basket;
    return this.#write(({ facts }, transaction) => {
      if (this.#basket) facts.put(this.#basket, "basket");
      else facts.delete("basket");
      transaction.commit();
    }, "relaxed"); // it may be lost with the device's power, but it is stored at each tap
  }

  #read(work) {
    return this.#run("readonly", work);
  }

  #write(work, durability) {
    return this.#run("readwrite", work, durability);
  }

  // Run `work` in a transaction. A connection that broke is opened again, once: `work` may run twice.
  async #run(mode, work, durability = "strict") {
    const used = this.#database;
    try {
      return await this.#once(mode, work, durability);
    } catch {
      if (this.#database === used) this.#close(); // another transaction may have opened it again
      return this.#once(mode, work, durability);
    }
  }

  // Open the database, once for all that wait for it.
  async #opened() {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = null;
    });
    this.#database = await this.#opening;
    return this.#database;
  }

  async #once(mode, work, durability) {
    const database = this.#database ?? (await this.#opened());
    const transaction = database.transaction([SALES, FACTS], mode, { durability });
    const completed = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("The storage refused."));
    });
    completed.catch(() => {}); // the work's own error comes first
    try {
      const result = await inTime(
        work({ sales: transaction.objectStore(SALES), facts: transaction.objectStore(FACTS) }, transaction),
      );
      await inTime(completed);
      return result;
    } catch (error) {
      try {
        transaction.abort();
      } catch {
        /* it is over already, or its commit began */
      }
      throw error;
    }
  }

  async #open() {
    const request = this.#factory.open(NAME, VERSION);
    request.onupgradeneeded = () => upgrade(request.result);
    const database = await inTime(ended(request)).catch((error) => {
      request.onsuccess = () => request.result.close(); // late
      throw error;
    });
    database.onclose = () => this.#close();
    database.onversionchange = () => this.#close(); // a later version waits for it
    return database;
  }

  #close() {
    this.#database?.close();
    this.#database = null;
  }
}

export const isWaiting = (sale) => sale.state === State.WAITING || sale.state === State.UNKNOWN;
