// Each kind of payment of the table has its tender, its filter and its name in the pages, in each language.
import assert from "node:assert/strict";
import { FEATURE_NAMES, KINDS, KIND_NAMES } from "../../chalicelib/pages/kit/kinds.js";
import { PAYMENT, TILL, aShop, aTill, listed } from "./pages.mjs";
import { test } from "./runner.mjs";

const keys = Object.keys(KINDS);
const taken = keys.filter((key) => KINDS[key].isOffline);
const inLanguage = (language) => new Map([["payments.language", language]]);

for (const [language, names] of Object.entries(KIND_NAMES)) {
  test(`The till offers each of its tenders and names it, in ${language}`, async () => {
    const features = Object.fromEntries(keys.map((key) => [KINDS[key].feature, true]));
    const agent = { ...TILL, MobileSettings: { Features: features, AllowLinkedCardsEffective: 1 }, CurrencyID: "ZAR" };
    const tab = await aTill({ features, answers: { "merchant/pos/ID": { Pos: agent } }, local: inLanguage(language) });
    await tab.press(language === "af" ? "Tea R 25,00" : "Tea R 25.00");

    const sold = keys.filter((key) => KINDS[key].isTender);
    assert.deepEqual(
      tab.all(".tenders button").map((one) => one.label),
      sold.map((key) => names[key]),
    );
  });

  test(`The shop filters by each kind and names it, in ${language}`, async () => {
    const payments = keys.map((key) => ({ ...PAYMENT, ID: key, InputType: KINDS[key].inputType }));
    const tab = await aShop({
      hash: "#/payments",
      answers: { "payment/listHistoryEx": listed(...payments) },
      local: inLanguage(language),
    });

    const [, ...options] = tab.all("#filter-kind option");
    assert.deepEqual(
      options.map((one) => [Number(one.value), one.label]),
      keys.map((key) => [KINDS[key].inputType, names[key]]),
    );
    assert.deepEqual(
      keys.filter((key) => !tab.text.includes(names[key])),
      [],
    );
  });

  test(`The form of a till has each kind that a feature switches on, in ${language}`, async () => {
    const tab = await aShop({ hash: "#/tills", local: inLanguage(language) });
    await tab.press(language === "af" ? "Nuwe kassa" : "New till");

    const labels = Object.fromEntries(tab.all("label").map((one) => [one.querySelector("input")?.name, one.label]));
    assert.deepEqual(
      taken.map((key) => labels[KINDS[key].feature]),
      taken.map((key) => names[key]),
    );
    const features = Object.entries(FEATURE_NAMES[language]);
    assert.deepEqual(
      features.map(([name]) => labels[name]),
      features.map(([, text]) => text),
    );
  });
}
