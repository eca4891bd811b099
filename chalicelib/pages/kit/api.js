// Requests of the interface. Decimal numbers are read as texts, because a float is not exact.
import { ErrorCode } from "./error_codes.js";
import { change, end, session } from "./session.js";
import { texts } from "./language.js";

const DECIMAL = /("(?:[^"\\]|\\.)*")|-?\d+\.\d+/g;
const REPEATS = 2; // of a request, when the service asks for a retry in a few seconds
const MAX_WAIT_S = 5;
const MAX_ANSWER_S = 40; // the service answers within 29 s or not at all
const LOST = 0; // no answer came, so there is no ErrorCode
const OF_CODES = new Set([ErrorCode.LOGIN_LOCKED, ErrorCode.SECOND_FACTOR]); // these leave the session as it is
const NOT_ATTEMPTED = ErrorCode.DEPENDENCY_UNAVAILABLE; // nothing was sent to the bank, and the key is used up

export class Refusal extends Error {
  constructor({ code, message, findings = [], status = 0, retryAfter = 0 }) {
    super(message);
    Object.assign(this, { code, findings, status, retryAfter });
  }

  // The outcome of the request is not known.
  get isLost() {
    return (
      this.code === LOST || this.code === ErrorCode.IN_PROGRESS || (this.status >= 500 && this.code !== NOT_ATTEMPTED)
    );
  }
}

const parse = (text) => JSON.parse(text.replace(DECIMAL, (found, quoted) => quoted ?? `"${found}"`));
export const wait = (seconds) =>
  new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000);
  });

// The header Retry-After, which is a number or a time, in seconds.
function secondsOf(header) {
  const seconds = Number(header ?? 0);
  return Math.max(0, Number.isNaN(seconds) ? (Date.parse(header) - Date.now()) / 1000 || 0 : seconds);
}

// Send a request once. Return {status, body, retryAfter, date} when the service answers within `seconds`. Return it without
// `body` for a page that came from something else, such as a proxy, and without `status` when nothing came. Nothing is thrown.
export async function exchange(method, path, { body, key, token, seconds = MAX_ANSWER_S }) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (token) headers.Authorization = `Session ${token}`;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), seconds * 1000);
  const { signal } = patience;
  const options = {
    method,
    headers,
    body: body && JSON.stringify(body),
    credentials: "omit",
    cache: "no-store",
    signal,
  };
  let status;
  let retryAfter = 0;
  try {
    const answer = await fetch(new URL(`api/v1/${path}`, document.baseURI), options);
    status = answer.status;
    retryAfter = secondsOf(answer.headers.get("Retry-After"));
    const read = parse(await answer.text());
    if (!Number.isInteger(read?.ErrorCode)) return { status, retryAfter };
    return { status, body: read, retryAfter, date: Date.parse(answer.headers.get("Date")) };
  } catch {
    return { status, retryAfter };
  } finally {
    clearTimeout(timer);
  }
}

async function send(method, path, options) {
  const { status, body, retryAfter } = await exchange(method, path, options);
  if (!body) throw new Refusal({ code: LOST, message: texts.errors.noAnswer, status });
  if (status >= 200 && status < 300) return body;
  throw new Refusal({
    code: body.ErrorCode,
    message: texts.errors.codes[body.ErrorCode] ?? body.ErrorMessage,
    findings: body.Validations ?? [],
    status,
    retryAfter,
  });
}

// All waiting requests share one sign-in.
let signingIn = null;
export const expired = {
  onAsk: () => {}, // shows the dialog; the frame sets it
  signedIn(token) {
    change({ token });
    signingIn?.resolve();
    signingIn = null;
  },
  // Nobody signs in for the waiting requests, which end with their view: no other agent may send them.
  leave() {
    signingIn = null;
  },
};

function signInAgain() {
  if (!signingIn) {
    signingIn = Promise.withResolvers ? Promise.withResolvers() : {};
    signingIn.promise ??= new Promise((resolve) => {
      signingIn.resolve = resolve;
    });
    expired.onAsk();
  }
  return signingIn.promise;
}

export function signOut() {
  expired.leave();
  const { token } = session();
  end();
  send("POST", "user/logout/session", { body: {}, token }).catch(() => {}); // it may have ended before
}

// Return the answer to a request, or throw a Refusal. `body` makes it a POST. A request that changes nothing, or has a
// `key`, is repeated when the service asks for it. After a session ends, the person signs in and the request continues. It is
// never repeated for another person.
export async function call(path, body, { key, isRepeatable = true } = {}) {
  const person = session()?.me.AgentID;
  for (let sent = 0; ; ) {
    const { token } = session() ?? {};
    try {
      return await send(body ? "POST" : "GET", path, { body, key, token });
    } catch (refusal) {
      const isSoon = refusal.retryAfter > 0 && refusal.retryAfter <= MAX_WAIT_S;
      if (refusal.status === 401 && token && !OF_CODES.has(refusal.code)) {
        if (session()?.token === token) await signInAgain();
      } else if (isRepeatable && isSoon && sent < REPEATS) {
        sent += 1;
        await wait(refusal.retryAfter);
      } else {
        throw refusal;
      }
      if (session()?.me.AgentID !== person) throw refusal;
    }
  }
}

// A request before there is a session, or with a new one.
export const callAs = (token, path, body) => send(body ? "POST" : "GET", path, { body, token });

// 128 random bits. Pages without https have no crypto.randomUUID.
export function randomText(bytes = 16) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (one) => one.toString(16).padStart(2, "0")).join("");
}
