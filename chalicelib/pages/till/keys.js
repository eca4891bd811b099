// The keyboard. Nothing in the page hears a key before this module, which tells a scanner from a person: at least three keys
// that come less than 60 ms apart and end with Enter or Tab are a scan. So a character is held back until the pause after it
// has shown that a person typed it; then it goes to its field. A scan reaches nothing but `scan`.
import { SEPARATOR } from "../kit/barcodes.js";

const GAP_MS = 60;
const MIN_KEYS = 3;
const MODIFIERS = new Set(["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock", "NumLock"]);
const TEXTS = "input:is([type=text], [type=search], [type=email], [type=tel], :not([type])), textarea";

// The hearer of the keys:
// - isOn(): whether somebody is signed in; before, all keys are typing
// - scan(text)
// - type(text): characters outside of fields. Return a function that takes them back
// - press(event): every other key
// - begin(): before each key that is not the end of a scan
let ear = { isOn: () => false };
export const hear = (given) => {
  ear = given;
};

// The keys that came without a pause: which, when the last one, where, those that are held back, and how to take the others back.
const burst = { keys: [], at: -Infinity, target: null, held: "", undo: [], guarded: null, isScan: false };
let timer = null;
let isUnnamed = false; // the last key: a keyboard on the screen, or an input method, says only what it writes
const taken = new Set(); // keys whose end must reach nothing either

const begin = (target) => Object.assign(burst, { keys: [], target, undo: [], isScan: false });

function take(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

const isEnd = ({ key, ctrlKey }) => ["Enter", "Tab", "\n"].includes(key) || (ctrlKey && /^[jm]$/i.test(key)); // Ctrl and J is a line feed

// The character that a key writes, or an empty text. `isInScan`: the keys before it came too fast for a person.
function characterOf(event, isInScan) {
  const { key, ctrlKey, altKey, metaKey } = event;
  if (ctrlKey && key === "]") return SEPARATOR;
  if (isInScan && (ctrlKey || altKey || /^F\d/.test(key))) return SEPARATOR; // FNC1, as scanners send it
  const isShortcut = (ctrlKey || altKey || metaKey) && !event.getModifierState("AltGraph");
  return !isShortcut && [...key].length === 1 ? key : "";
}

function pressed(event) {
  const { target, timeStamp } = event;
  const isFast = timeStamp - burst.at < GAP_MS;
  isUnnamed = event.keyCode === 229 || event.key === "Unidentified";
  if (!ear.isOn() || target.type === "password" || isUnnamed || event.isComposing) return release();
  if (MODIFIERS.has(event.key)) {
    if (isFast) burst.at = timeStamp;
    return undefined;
  }
  if (isFast && isEnd(event) && (burst.isScan || burst.keys.length >= MIN_KEYS)) {
    take(event);
    taken.add(event.code);
    burst.at = timeStamp;
    return burst.isScan ? undefined : end();
  }
  ear.begin();
  const isInScan = isFast && !burst.isScan && burst.keys.length >= MIN_KEYS;
  const character = event.repeat ? "" : characterOf(event, isInScan);
  if (!character) {
    release();
    burst.at = -Infinity;
    return ear.press(event);
  }
  if (!isFast || burst.isScan) {
    release();
    begin(target);
  }
  note(character, timeStamp);
  if (target.type === "date" && character !== " ") return guard(target);
  take(event);
  taken.add(event.code);
  burst.held += character;
  return undefined;
}

function note(text, at) {
  burst.keys.push(...text);
  burst.at = at;
  clearTimeout(timer);
  timer = setTimeout(release, GAP_MS);
}

// A person typed these keys: the held ones go to their field. If the page was slow, they may become a scan all the same.
function release() {
  clearTimeout(timer);
  timer = null;
  const { held, target, guarded } = burst;
  burst.held = "";
  burst.guarded = null;
  guarded?.tell();
  if (!held) return;
  const undo = target.matches?.(TEXTS) ? insert(target, held) : held === " " ? activate(target) : ear.type(held);
  if (undo) burst.undo.push(undo);
}

function end() {
  clearTimeout(timer);
  timer = null;
  const { keys, undo } = burst;
  Object.assign(burst, { isScan: true, held: "", undo: [], guarded: null });
  for (const back of undo.reverse()) back();
  ear.scan(keys.join(""));
}

const tell = (field, type) => field.dispatchEvent(new Event(type, { bubbles: true }));

const restorer = (field, type = "input") => {
  const { value } = field;
  return () => {
    field.value = value;
    tell(field, type);
  };
};

// Write into a field as a key does. Return a function that takes it back.
export function insert(field, held) {
  const text = held.replace(/\p{Cc}/gu, "");
  const undo = restorer(field);
  if (field.readOnly || field.disabled) return undo;
  if (document.activeElement === field && document.execCommand) {
    document.execCommand("insertText", false, text); // its events, its limits, and Ctrl+Z are those of a key
    return undo;
  }
  const { value, selectionStart: from, selectionEnd: to } = field;
  if (from === null) field.value = value + text;
  else field.setRangeText(text, from, to, "end");
  tell(field, "input");
  return undo;
}

// A space presses a button, opens a calendar, and scrolls elsewhere.
function activate(target) {
  if (target.matches("button, summary, [type=checkbox], [type=radio]")) target.click();
  else if (target.type === "date") target.showPicker?.();
  else scrollTo(0, scrollY + document.documentElement.clientHeight * 0.9);
}

// Nothing but a key can write into a field of a date. The page hears of it when it is a person's.
function guard(field) {
  if (!burst.undo.length) burst.undo.push(restorer(field, "change"));
  const { value } = field;
  burst.guarded ??= { field, tell: () => field.value !== value && tell(field, "change") };
}
function keepFrom(event) {
  if (burst.guarded?.field === event.target) event.stopImmediatePropagation();
}

// A scanner that writes through an input method has its text in the field already.
function written({ target, inputType, data, timeStamp }) {
  if (!isUnnamed || inputType !== "insertText" || !data || !ear.isOn() || !target.matches?.(TEXTS)) return;
  if (timeStamp - burst.at >= GAP_MS || burst.isScan) begin(target);
  if (!burst.keys.length) burst.undo.push(restorer(target));
  note(data, timeStamp);
}

function lifted(event) {
  if (taken.delete(event.code)) take(event);
}

for (const [name, act] of Object.entries({
  keydown: pressed,
  keyup: lifted,
  beforeinput: written,
  input: keepFrom,
  change: keepFrom,
  pointerdown: () => {
    release();
    ear.begin?.();
  },
}))
  addEventListener(name, act, { capture: true });
