// The words of the shop's page in its language.
import { FEATURE_NAMES } from "../kit/kinds.js";
import { language, speak } from "../kit/language.js";
import { af } from "./af.js";
import { en } from "./en.js";

export const texts = speak({ en, af }, { features: FEATURE_NAMES[language] });
