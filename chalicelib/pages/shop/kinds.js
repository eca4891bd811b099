// Kinds of payment: the interface's InputType.
import { texts } from "texts";

export const KINDS = [10, 4, 3, 2, 1, 5, 7, 8, 9];
export const CARD_KINDS = new Set([1, 2, 3, 4, 5]);

export const kindName = (inputType) => texts.kinds[inputType] ?? texts.kindOf(inputType);
