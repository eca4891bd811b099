// A language is a file in texts/ of this folder and of kit, and a line here. Texts with values are functions.
import { KIND_NAMES } from "../kit/kinds.js";
import { chosen, localeOf } from "../kit/language.js";
import { af } from "./texts/af.js";
import { en } from "./texts/en.js";

export const LANGUAGES = { en, af };
export const language = chosen(LANGUAGES);
export const texts = { ...LANGUAGES[language], kinds: KIND_NAMES[language] };
export const locale = localeOf(language);
