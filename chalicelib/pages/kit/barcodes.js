// Barcodes: EAN-8, UPC-A, EAN-13 and GTIN-14.
const BARCODE = /^(?:\d{8}|\d{12,14})$/;

// Whether a text is a barcode with its right check digit.
export function isBarcode(text) {
  const sum = [...text].reverse().reduce((total, digit, place) => total + Number(digit) * (place % 2 ? 3 : 1), 0);
  return BARCODE.test(text) && sum % 10 === 0;
}

export const longBarcode = (text) => (text.length === 12 ? `0${text}` : text); // a UPC-A is an EAN-13
