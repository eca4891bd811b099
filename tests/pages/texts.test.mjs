// The languages of the pages: each has the same words.
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "./runner.mjs";

const FOLDER = new URL("../../chalicelib/pages/", import.meta.url);
const languages = readdirSync(new URL("kit/", FOLDER))
  .filter((name) => /^[a-z]{2}\.js$/.test(name))
  .map((name) => name.replace(".js", ""));

// The paths of all words, each with its kind: a text, or a function of so many values.
function words(found, path = "") {
  if (typeof found !== "object") return [`${path} ${typeof found === "function" ? found.length : typeof found}`];
  return Object.keys(found)
    .sort()
    .flatMap((name) => words(found[name], `${path}.${name}`));
}

for (const page of ["kit", "shop", "till"]) {
  test(`The words of ${page} are in each language`, async () => {
    const all = await Promise.all(languages.map((language) => import(new URL(`${page}/${language}.js`, FOLDER))));
    const [first, ...others] = all.map((module, number) => words(module[languages[number]]));
    for (const other of others) assert.deepEqual(other, first);
  });
}
