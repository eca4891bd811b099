// The words of the till in its language.
import { speak } from "../kit/language.js";
import { af } from "./af.js";
import { en } from "./en.js";

export const texts = speak({ en, af });
