// The English words of the parts that both pages have.
import { ErrorCode } from "./error_codes.js";

export const en = {
  language: "English",
  chooseLanguage: "Language",
  loading: "Loading…",
  retry: "Try again",
  cancel: "Cancel",
  done: "Done",
  errors: {
    noAnswer: "No answer came from the service. Look at the connection and try again.",
    blocked:
      "This browser blocks cookies and stored data, so the page cannot work. Allow both for this address in its settings, then open the page again.",
    field: "This cannot be used here.",
    checks: {
      1: "This is needed.",
      3: "This is not in the right form.",
      4: "This is too long.",
      5: "This is outside the limits of this field.",
      7: "This has too many decimals.",
      12: "This does not fit the other entries.",
    },
    codes: {
      [ErrorCode.BAD_CREDENTIAL]: "The login or its secret is wrong.",
      [ErrorCode.AGENT_BLOCKED]: "This login is blocked. Ask an administrator of the shop.",
      [ErrorCode.LOGIN_LOCKED]:
        "This login is locked after wrong passwords. Wait 30 minutes, or ask an administrator of the shop.",
      [ErrorCode.MERCHANT_BLOCKED]: "The shop is blocked. Ask the support of this service.",
      [ErrorCode.VALIDATION_FAILED]: "Something that was entered cannot be used. Change it and try again.",
      [ErrorCode.EMAIL_TAKEN]: "Another login has this e-mail already.",
      [ErrorCode.ORIGINAL_UNFINISHED]: "This payment is not finished, or no money moved.",
      [ErrorCode.THROTTLED]: "Too many requests. Wait a moment and try again.",
      [ErrorCode.INTERNAL]: "Something went wrong in the service. Try again.",
      [ErrorCode.DEPENDENCY_UNAVAILABLE]:
        "The bank cannot be reached now, and nothing was done. Try again in a moment.",
      [ErrorCode.STORE_UNAVAILABLE]: "The service cannot reach its data now. Try again in a moment.",
    },
  },
  send: {
    open: "Send receipt",
    email: "E-mail",
    phone: "Telephone",
    button: "Send",
    busy: "Sending…",
    sent: (addresses) => `The receipt was sent to ${addresses}.`,
    checks: {
      1: "Type an e-mail address or a telephone number.",
      5: "Nothing was sent there: the service sends no receipts to this address, or no more today.",
    },
  },
  return: {
    open: "Return…",
    title: "Return",
    remains: (amount) => `${amount} can be returned.`,
    amount: "Amount",
    noAmount: "Type an amount, such as 12.30.",
    problems: {
      tooSmall: "Type an amount above zero.",
      tooMuch: (amount) => `At most ${amount} can be returned.`,
      decimals: (digits) => (digits ? `Type at most ${digits} decimals.` : "Type an amount without decimals."),
    },
    reason: "Reason (optional)",
    reasonHint: "It also stands on the customer's receipt.",
    button: (amount) => (amount ? `Return ${amount}` : "Return"),
    nothingLeft: "Nothing more was given back: another return has given back everything meanwhile.",
    lessLeft: (amount) => `Nothing was given back, because the payment has changed meanwhile. Now ${amount} is left.`,
    busy: "Returning…",
    again: (amount) =>
      `A return of ${amount} was sent before. If you send it again, the money is given back only once.`,
    lost: (amount) =>
      `A return of ${amount} was sent, and its outcome is not known. Send it again to learn the outcome: the money is given back only once.`,
    ask: "Send again",
    done: (amount) => `${amount} was given back.`,
    byHand: {
      7: "The money must be given back on the other terminal: here it is only noted.",
      8: "No cash is paid out: the money goes back to the customer's prepayment.",
      9: "No cash is paid out: the customer owes that much less.",
      10: "Take the cash out of your own drawer: the return counts there.",
    },
    unknown: (amount) => `The bank has not said yet whether ${amount} was given back. Do not return it again.`,
    declined: (message) => `Nothing was given back. ${message}`,
  },
  drawer: {
    float: "Float",
    cash: "Cash taken, less given back",
    paidIn: "Put in",
    paidOut: "Taken out",
    expected: "Expected",
    counted: "Counted",
    difference: "Difference",
    outside: "No open drawer held this cash.",
    by: (id) => `by agent ${id}`,
    kinds: { open: "opened", in: "put in", out: "taken out", close: "counted", note: "note" },
  },
};
