// The start of a page: the lock of the till, and a page that comes back.
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
