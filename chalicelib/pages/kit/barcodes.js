// Barcodes: EAN-8, UPC-A, EAN-13 and GTIN-14, and what a scanner reads.
const BARCODE = /^(?:\d{8}|\d{12,14})$/;
const AIM_PREFIX = /^\][A-Za-z][0-9A-Za-z]/; // some scanners name the kind of the barcode
export const SEPARATOR = "\x1d"; // FNC1 in a GS1 string, after a value of any length
// The length of a value with its identifier, by the first two digits, where GS1 defines one.
const LENGTHS = { "00": 20, "01": 16, "02": 16, "03": 16, "04": 18, 20: 4, 41: 16 };
for (let first = 11; first <= 19; first += 1) LENGTHS[first] = 8;
for (let first = 31; first <= 36; first += 1) LENGTHS[first] = 10;

// Whether a text is a barcode with its right check digit.
export function isBarcode(text) {
  const sum = [...text].reverse().reduce((total, digit, place) => total + Number(digit) * (place % 2 ? 3 : 1), 0);
  return BARCODE.test(text) && sum % 10 === 0;
}

// The form in which barcodes are compared: the four kinds of one number are equal.
export const comparable = (text) => (BARCODE.test(text) ? text.padStart(14, "0") : text);

// The number (01) of a GS1 string, with brackets as people read it or without them as scanners do, or undefined.
function numberIn(text) {
  const [, printed] = /\(01\)(\d{14})/.exec(text) ?? [];
  if (printed) return printed;
  for (let rest = text; /^\d\d/.test(rest); ) {
    const length = LENGTHS[rest.slice(0, 2)];
    if (rest.startsWith("01")) return isBarcode(rest.slice(2, 16)) ? rest.slice(2, 16) : undefined;
    const separated = rest.indexOf(SEPARATOR);
    if (!length && separated < 0) break;
    rest = rest.slice(length ?? separated);
    if (rest.startsWith(SEPARATOR)) rest = rest.slice(1);
  }
  return undefined;
}

// What a scanned text can be equal to: itself, itself without the scanner's prefix, and its number.
export function meanings(scan) {
  const bare = scan.replace(AIM_PREFIX, "").split(SEPARATOR).filter(Boolean).join(SEPARATOR);
  return [scan, bare, numberIn(bare)].filter(Boolean).map(comparable);
}
