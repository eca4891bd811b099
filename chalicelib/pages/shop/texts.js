// A language is a file in texts/ and a line here. Texts with values are functions.
import { chosen, localeOf } from "../kit/language.js";
import { en } from "./texts/en.js";

const LANGUAGES = { en };
export const language = chosen(LANGUAGES);
export const texts = LANGUAGES[language];
export const locale = localeOf(language);
