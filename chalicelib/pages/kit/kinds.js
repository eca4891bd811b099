// The kinds of payment and their names, which `make reference` writes from chalicelib/domain/kinds.py.
// isTender: the till sells by it. isOffline: also without connection.
export const KINDS = {
  cash: { inputType: 10, feature: "AcceptCash", isTender: true, isOffline: true },
  prepaid: { inputType: 8, feature: "AcceptPrepaid", isTender: true, isOffline: true },
  onAccount: { inputType: 9, feature: "AcceptCredit", isTender: true, isOffline: true },
  outerCard: { inputType: 7, feature: "AcceptOuterCard", isTender: true, isOffline: true },
  linkedCard: { inputType: 5, feature: "AllowLinkedCards", isTender: true, isOffline: false },
  contactless: { inputType: 4, feature: "AcceptCards", isTender: false, isOffline: false },
  chip: { inputType: 3, feature: "AcceptCards", isTender: false, isOffline: false },
  magneticStripe: { inputType: 2, feature: "AcceptCards", isTender: false, isOffline: false },
  manualEntry: { inputType: 1, feature: "AcceptCards", isTender: false, isOffline: false },
};
export const KIND_NAMES = {
  en: { cash: "Cash", prepaid: "Prepaid", onAccount: "On account", outerCard: "Card on another terminal", linkedCard: "Linked card", contactless: "Card, contactless", chip: "Card, chip", magneticStripe: "Card, magnetic stripe", manualEntry: "Card, keyed in" },
  af: { cash: "Kontant", prepaid: "Voorafbetaald", onAccount: "Op rekening", outerCard: "Kaart op ander terminaal", linkedCard: "Gekoppelde kaart", contactless: "Kaart, kontakloos", chip: "Kaart, skyfie", magneticStripe: "Kaart, magneetstrook", manualEntry: "Kaart, ingesleutel" },
};
// The features in the form of a till.
export const FEATURE_NAMES = {
  en: { AcceptCash: "Cash", AcceptPrepaid: "Prepaid", AcceptCredit: "On account", AcceptOuterCard: "Card on another terminal", Returns: "Gives money back", Discounts: "Gives discounts", Offline: "Sells without connection", AutoLogin: "Stays signed in" },
  af: { AcceptCash: "Kontant", AcceptPrepaid: "Voorafbetaald", AcceptCredit: "Op rekening", AcceptOuterCard: "Kaart op ander terminaal", Returns: "Gee geld terug", Discounts: "Gee afslag", Offline: "Verkoop sonder verbinding", AutoLogin: "Bly aangemeld" },
};
