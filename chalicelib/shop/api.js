// Requests of the interface. Numbers with decimals are read as texts: a float would not be exact.
import { change, end, session } from "./session.js";
import { texts } from "./texts.js";

const DECIMAL = /("(?:[^"\\]|\\.)*")|-?\d+\.\d+/g;
const REPEATS = 2; // of a request that was asked to come again in a few seconds
const MAX_WAIT_S = 5;
const MAX_ANSWER_S = 40; // the service answers in 29 s or not at all
const LOST = 0; // in place of an ErrorCode: no answer came
const IN_PROGRESS = 301;

export class Refusal extends Error {
  constructor({ code, message, findings = [], status = 0, retryAfter = 0 }) {
    super(message);
    Object.assign(this, { code, findings, status, retryAfter });
  }

  // Nobody knows whether the service did what it was asked to do.
  get isLost() {
    return this.code === LOST || this.code === IN_PROGRESS || this.status >= 500;
  }
}

const parse = (text) => JSON.parse(text.replace(DECIMAL, (found, quoted) => quoted ?? `"${found}"`));
export const wait = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

async function send(method, path, { body, key, token }) {
  const headers = {};
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (token) headers.Authorization = `Session ${token}`;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), MAX_ANSWER_S * 1000);
  const { signal } = patience;
  const options = { method, headers, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store", signal };
  let answer;
  let read;
  try {
    answer = await fetch(new URL(`api/v1/${path}`, document.baseURI), options);
    read = parse(await answer.text());
  } catch {
    read = null;
  } finally {
    clearTimeout(timer);
  }
  // What is not in the service's words is of something between here and there.
  if (!read || !(answer.ok || read.ErrorMessage)) throw new Refusal({ code: LOST, message: texts.errors.noAnswer, status: answer?.status });
  if (answer.ok) return read;
  throw new Refusal({
    code: read.ErrorCode,
    message: read.ErrorMessage,
    findings: read.Validations ?? [],
    status: answer.status,
    retryAfter: Number(answer.headers.get("Retry-After") ?? 0),
  });
}

// One sign-in serves all requests that wait for it.
let signingIn = null;
export const expired = {
  onAsk: () => {}, // shows the dialog; set by the frame
  signedIn(token) {
    change({ token });
    signingIn?.resolve();
    signingIn = null;
  },
};

function signInAgain() {
  if (!signingIn) {
    signingIn = Promise.withResolvers ? Promise.withResolvers() : {};
    signingIn.promise ??= new Promise((resolve) => { signingIn.resolve = resolve; });
    expired.onAsk();
  }
  return signingIn.promise;
}

export function signOut() {
  signingIn = null; // what waits for it is forgotten with its view
  end();
}

// Return the answer to a request, or throw a Refusal. `body` makes it a POST. One with `key`, or that changes nothing,
// may be sent again when the service says so. A session that has ended is begun again, and the request goes on.
export async function call(path, body, { key, isRepeatable = true } = {}) {
  for (let sent = 0; ; ) {
    const { token } = session() ?? {};
    try {
      return await send(body ? "POST" : "GET", path, { body, key, token });
    } catch (refusal) {
      if (refusal.status === 401 && token) {
        if (session()?.token === token) await signInAgain();
        continue;
      }
      const isSoon = refusal.retryAfter > 0 && refusal.retryAfter <= MAX_WAIT_S;
      if (!isRepeatable || !isSoon || sent === REPEATS) throw refusal;
      sent += 1;
      await wait(refusal.retryAfter);
    }
  }
}

// A request before there is a session, or of a new one.
export const callAs = (token, path, body) => send(body ? "POST" : "GET", path, { body, token });

// 128 random bits: also on a page that is not https, where crypto.randomUUID is missing.
export function randomText(bytes = 16) {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (one) => one.toString(16).padStart(2, "0")).join("");
}
