// The language of a page: a chosen one, else the first of the browser's that the pages have, else English. A language is
// the files `kit`, `shop` and `till` have of it, and a line here and in the `texts.js` of each page.
import { af } from "./af.js";
import { en } from "./en.js";
import { KIND_NAMES } from "./kinds.js";
import { canStore } from "./storage.js";

const PLACE = "payments.language";
export const LANGUAGES = { en, af };
const wanted = [canStore && localStorage.getItem(PLACE), ...navigator.languages.map((tag) => tag.slice(0, 2))];
export const language = wanted.find((code) => Object.hasOwn(LANGUAGES, code)) ?? "en";
// For dates: the person's own form of the language, such as en-ZA.
export const locale = navigator.languages.find((tag) => tag.slice(0, 2) === language) ?? language;
// The words of the page, for the modules here. The page's `texts.js` fills it.
export const texts = {};

document.documentElement.lang = language;

// `words` are those of the page, by language. Words with values are functions.
export const speak = (words, others = {}) =>
  Object.assign(texts, words[language], { kinds: KIND_NAMES[language] }, others);

// The page is loaded again in the chosen language.
export function choose(code) {
  localStorage.setItem(PLACE, code);
  location.reload();
}
