// The start of a page: the lock of the till, a page that comes back, and a browser that stores nothing.
import assert from "node:assert/strict";
import { Locks, Tab } from "./browser.mjs";
import { CASHIER, OWNER, Shop, aTill } from "./pages.mjs";
import { test } from "./runner.mjs";

const paid = (tab) => tab.sent.filter((one) => one.path === "payment/submit").length;
const [GOES, COMES] = [
  ["pagehide", "freeze"],
  ["pageshow", "resume"],
];

// A till with a basket, from which its browser went elsewhere. `sells` tries everything that sells and sends.
async function away(locks, place) {
  const tab = await aTill({ locks, hash: "#/amount" });
  await tab.press("5", "00", "Cash");
  tab.fire(tab.document.root, GOES[place]);
  return tab;
}

async function sells(tab) {
  const before = paid(tab);
  await tab.press("Take payment");
  await tab.pass(3);
  return paid(tab) > before;
}

for (const [place, comes] of COMES.entries()) {
  test(`After ${GOES[place]} a page sells nothing until it knows that it has its lock`, async () => {
    const tab = await away(new Locks(), place);
    const first = await sells(tab);
    tab.fire(tab.document.root, comes);
    tab.click(tab.button("Take payment")); // the answer about the lock is not there yet
    const second = paid(tab);
    await tab.settle();

    assert.deepEqual([first, second, await sells(tab)], [false, 0, true]);
  });

  test(`A page that lost its lock to another tab sells, sends and stores nothing after ${comes}`, async () => {
    const locks = new Locks();
    const tab = await away(locks, place);
    locks.lose();
    const shop = new Shop();
    const second = new Tab("till", shop.answer, { locks, local: tab.local, globals: { indexedDB: tab.indexedDB } });
    shop.elapsed = () => second.clock.now;
    shop.sign(CASHIER);
    await second.settle();
    await second.press("Sign out", "Sign out");
    await second.settle();
    await second.fill({ email: OWNER.Email, password: "secret" });
    second.submit(second.all("form")[0]);
    await second.pass(1);
    const sent = tab.sent.length;
    tab.fire(tab.document.root, comes);
    await tab.pass(60);
    const asked = tab.sent.slice(sent).map((one) => one.path);
    const isTold = tab.text.includes("open in another tab");
    locks.lose();
    await tab.pass(1);

    assert.deepEqual([...new Set(asked)], ["health"]);
    assert.ok(isTold);
    assert.equal((await tab.store.facts()).session.agent, OWNER.AgentID);
    assert.ok(tab.text.includes("Olga"), "it begins with what the other tab left");
  });
}

// A storage of a browser that blocks it.
const forbidden = () => {
  throw new Error("SecurityError");
};
const BLOCKED = { getItem: forbidden, setItem: forbidden, removeItem: forbidden, clear: forbidden };
const WORDS = { en: "This browser blocks cookies", af: "Hierdie blaaier blokkeer koekies" };

for (const page of ["shop", "till"]) {
  for (const name of ["local", "session"]) {
    for (const [language, words] of Object.entries(WORDS)) {
      test(`The page ${page} says in ${language} that the browser blocks the storage of ${name} data`, async () => {
        const blocked = { [`${name}Storage`]: BLOCKED, navigator: { languages: [language] } };
        const tab = new Tab(page, () => ({}), { globals: { indexedDB: {}, ...blocked } });
        await tab.settle();

        assert.ok(tab.text.includes(words), tab.text);
      });
    }
  }
}

test("A till whose browser denies the lock says that it is blocked, and not that another tab has it", async () => {
  const locks = { request: async () => forbidden(), query: async () => forbidden() };
  const tab = await aTill({ globals: { navigator: { locks } } });

  assert.ok(tab.text.includes(WORDS.en));
});

test("A database that does not answer is told within five seconds, and the till goes on when it does", async () => {
  let answer;
  const opened = (...given) => {
    const request = factory.open(...given);
    const open = new Promise((come) => {
      answer = come;
    });
    const shown = {
      set onsuccess(act) {
        request.onsuccess = () => open.then(() => act());
      },
      get result() {
        return request.result;
      },
    };
    return shown;
  };
  const { indexedDB: factory } = await aTill();
  const tab = new Tab("till", new Shop().answer, { globals: { indexedDB: { open: opened } } });
  await tab.pass(5);
  const told = tab.text;
  answer();
  await tab.pass(1);

  assert.match(told, /has not answered yet/);
  assert.ok(tab.offered().includes("Sign out"), tab.text);
});

test("A till whose database never answers says so, and names no other tab", async () => {
  const tab = new Tab("till", () => ({}), { globals: { indexedDB: { open: () => ({}) } } });
  for (let second = 0; second < 40; second += 1) {
    await tab.pass(1);
    assert.ok(!tab.text.includes("another tab"), `after ${second} seconds`);
    if (second > 4) assert.match(tab.text, /has not answered yet|blocks cookies and stored data/);
  }
});
