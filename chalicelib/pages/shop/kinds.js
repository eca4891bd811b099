// The names of the kinds of payment.
import { KINDS } from "../kit/kinds.js";
import { texts } from "./texts.js";

const keys = new Map(Object.entries(KINDS).map(([key, kind]) => [kind.inputType, key]));

// The name of an InputType.
export const kindName = (inputType) => texts.kinds[keys.get(inputType)] ?? texts.kindOf(inputType);
