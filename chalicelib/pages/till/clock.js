// The service's clock: the device's, corrected by the header Date of the last answers.
const MIN_OFFSET_MS = 1_500; // the header has whole seconds

let ahead = 0; // milliseconds that the service's clock is ahead
let answeredBy; // the setting of the device's clock at the last answer of this page

// It changes when somebody sets the clock, and where sleep stops the other one.
const setting = () => Date.now() - performance.now();

export const offset = () => ahead;
export const serviceNow = () => Date.now() + ahead;
export const isClockKnown = () => Math.abs(setting() - answeredBy) < MIN_OFFSET_MS; // the offset is that of this setting

export function setOffset(known) {
  ahead = known;
}

// Note the time of an answer. Return whether the offset is another one.
export function noteDate(date) {
  answeredBy = setting();
  const found = date - Date.now();
  if (Math.abs(found - ahead) < MIN_OFFSET_MS) return false;
  ahead = found;
  return true;
}
