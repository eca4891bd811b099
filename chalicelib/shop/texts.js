// A language is a file in texts/ and a line here. Texts with values are functions.
import { en } from "./texts/en.js";

const LANGUAGES = { en };
export const language = navigator.languages.map((tag) => tag.slice(0, 2)).find((code) => code in LANGUAGES) ?? "en";

export const texts = LANGUAGES[language];
// For dates: the person's own form of the language, such as en-ZA.
export const locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language;
document.documentElement.lang = language;
