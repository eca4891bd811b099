// The service worker of the till: which version it stores, what it answers when a cache or the network fails, and when the
// page lets a new version take over.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";
import { aTill } from "./pages.mjs";
import { test } from "./runner.mjs";

const TEXT = readFileSync(new URL("../../chalicelib/pages/till/service_worker.js", import.meta.url), "utf8");
const FILES = ["till/main.js", "kit/api.js", "till/icon.svg"];
const PAGE = "https://pay.example/till",
  MAIN = "https://pay.example/till/v1/till/main.js";
const WHOLE = '<script src="till/v1/till/main.js">';

// A worker whose network has this page. Its caches are maps of addresses by name.
function aWorker({ page = WHOLE, status = 200, others = [], network = true } = {}) {
  const acts = {},
    stored = new Map(others.map((name) => [name, new Map()]));
  const fetch = async (request) => {
    if (!network) throw new TypeError("no connection");
    const address = request.url ?? request;
    return new Response(address === PAGE ? page : address, { status: address === PAGE ? status : 200 });
  };
  const open = async (name) => {
    if (!stored.has(name)) stored.set(name, new Map());
    const held = stored.get(name);
    return {
      match: async (address) => held.get(address)?.clone(),
      put: async (address, answer) => {
        held.set(address, answer);
      },
      addAll: async (addresses) => {
        for (const one of addresses) held.set(one, await fetch(one));
      },
    };
  };
  const self = {
    location: new URL("https://pay.example/till/worker.js"),
    addEventListener: (name, act) => {
      acts[name] = act;
    },
    clients: { claim: async () => {} },
  };
  const caches = { open, keys: async () => [...stored.keys()], delete: async (name) => stored.delete(name) };
  runInContext(
    TEXT.replace("{version}", "v1")
      .replace('"{files}"', JSON.stringify(FILES))
      .replace("PATIENCE_MS = 1_000", "PATIENCE_MS = 20"),
    createContext({ self, caches, fetch, URL, setTimeout, Promise }),
  );
  const wait = (name) =>
    new Promise((done, fail) => {
      acts[name]({ waitUntil: (work) => work.then(done, fail) });
    });
  const ask = (url, facts = {}) =>
    new Promise((answered) => {
      acts.fetch({ request: { url, method: "GET", mode: "cors", ...facts }, respondWith: answered });
      answered(null); // it passes by
    });
  return { stored, caches, install: () => wait("install"), activate: () => wait("activate"), ask };
}

test("A version is stored whole, and a page of another version or a failure is none", async () => {
  const worker = aWorker();
  await worker.install();
  const [[, held]] = worker.stored;
  assert.deepEqual([...held.keys()].sort(), [PAGE, ...FILES.map((name) => `${PAGE}/v1/${name}`)].sort());
  for (const wrong of [{ page: WHOLE.replace("v1", "v2") }, { status: 503 }]) {
    const other = aWorker(wrong);
    await assert.rejects(other.install());
    assert.equal(other.stored.size, 0);
  }
});

test("A new version forgets the earlier ones of the till, and nothing else", async () => {
  const worker = aWorker({ others: ["payments.till v0", "of somebody else"] });
  await worker.install();
  await worker.activate();

  assert.deepEqual([...worker.stored.keys()], ["of somebody else", "payments.till v1"]);
});

test("A version begins its work whatever the caches do: the browser holds all requests back until then", async () => {
  for (const broken of [
    async () => {
      throw new Error("broken");
    },
    () => new Promise(() => {}),
  ]) {
    for (const call of ["keys", "delete"]) {
      const worker = aWorker({ others: ["payments.till v0"] });
      worker.caches[call] = broken;
      const end = await Promise.race([
        worker.activate(),
        new Promise((late) => {
          setTimeout(late, 500, "late");
        }),
      ]);
      assert.equal(end, undefined);
    }
  }
});

test("The page and its files are answered from the cache, and every other request passes by", async () => {
  const worker = aWorker();
  await worker.install();
  assert.equal(await (await worker.ask(`${PAGE}?day=1`, { mode: "navigate" })).text(), WHOLE);
  assert.equal(await (await worker.ask(MAIN)).text(), MAIN);
  for (const [url, facts] of [
    ["https://pay.example/api/v1/payment/submit", { method: "POST" }],
    ["https://pay.example/api/v1/user/me", {}],
    [PAGE, {}],
    [MAIN, { method: "POST" }],
  ]) {
    assert.equal(await worker.ask(url, facts), null, url);
  }
});

test("A cache that is broken, empty or silent keeps nobody from the page", async () => {
  for (const open of [
    async () => {
      throw new Error("broken");
    },
    async () => ({ match: async () => undefined }),
    () => new Promise(() => {}),
  ]) {
    const worker = aWorker();
    worker.caches.open = open;
    assert.equal(await (await worker.ask(PAGE, { mode: "navigate" })).text(), WHOLE);
  }
  const offline = aWorker({ network: false });
  offline.caches.open = async () => {
    await new Promise((done) => {
      setTimeout(done, 60);
    });
    return { match: async () => new Response("late") };
  };
  assert.equal(await (await offline.ask(MAIN)).text(), "late");
});

// A browser with a service worker: what the page asks of it.
function withWorker({ controller = {}, isRefused = false } = {}) {
  const asked = [];
  const acts = {};
  const registration = {
    waiting: null,
    update: async () => {
      asked.push("looks for a version");
      throw new Error("There is no connection.");
    },
  };
  const register = async (address, { scope, updateViaCache }) => {
    asked.push(`registers ${address} for ${scope}, cache ${updateViaCache}`);
    if (isRefused) throw new Error("The browser forbids it.");
    return registration;
  };
  return {
    asked,
    waits: () => {
      registration.waiting = { postMessage: (words) => asked.push(words) };
    },
    takesOver: () => acts.controllerchange(),
    globals: {
      navigator: {
        serviceWorker: {
          controller,
          register,
          addEventListener: (name, act) => {
            acts[name] = act;
          },
        },
      },
    },
  };
}

// The states in which no new version takes over: the steps to each, and out of it.
const BUSY = {
  "goods are in the basket": [["Tea R 25.00"], ["Remove"]],
  "a description is typed": [[{ description: "a" }], [{ description: "" }]],
  "a dialog is open": [["Sign out"], ["Cancel"]],
  "somebody types a search": [
    [{ search: "x" }, (tab) => tab.document.getElementById("search").focus()],
    [{ search: "" }],
  ],
  "a result is new": [["Tea R 25.00", "Cash", "Take payment"], [(tab) => tab.pass(30)]],
};

for (const [name, [busy, free]] of Object.entries(BUSY)) {
  test(`No new version of the till takes over while ${name}, and one does after it`, async () => {
    const worker = withWorker();
    const tab = await aTill({ globals: worker.globals });
    const act = (step) =>
      typeof step === "string" ? tab.press(step) : typeof step === "function" ? step(tab) : tab.fill(step);
    const isTold = async () => {
      await tab.pass(2);
      return worker.asked.includes("take over");
    };
    for (const step of busy) await act(step);
    worker.waits();
    assert.equal(await isTold(), false);
    for (const step of free) await act(step);
    assert.equal(await isTold(), true);
  });
}

test("The till registers its worker, looks for a version each hour, and is loaded again when another one takes over", async () => {
  for (const [fields, looks, loads] of [
    [{}, 2, [true, true]],
    [{ controller: null }, 2, [false, true]],
    [{ isRefused: true }, 0, [true, true]],
  ]) {
    const worker = withWorker(fields);
    const tab = await aTill({ globals: worker.globals });
    await tab.clock.pass(7_201_000, async () => {});
    assert.deepEqual(worker.asked, [
      "registers https://pay.example/till/worker.js for /till, cache none",
      ...Array(looks).fill("looks for a version"),
    ]);
    for (const isLoaded of loads) {
      const { root } = tab.document;
      worker.takesOver();
      assert.equal(tab.document.root !== root, isLoaded);
    }
  }
});
