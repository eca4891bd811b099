// Sign-in: the page without a session, and the dialog when a session ends during work.
import { callAs, expired, signOut } from "../kit/api.js";
import { ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { ErrorCode } from "../kit/error_codes.js";
import { Forgotten } from "./forgotten.js";
import { useIsLeft } from "../kit/left.js";
import { CodeField, Failure, Field, Languages } from "../kit/parts.js";
import { begin, session } from "../kit/session.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

async function signIn(email, password, code) {
  const body = { Email: email, Password: password, ...(code && { Code: code }) };
  const { Data } = await callAs(null, "user/login/session", body);
  const { Data: me } = await callAs(Data.SessionID, "user/me");
  if (!me.ClientID) return { token: Data.SessionID, me };
  // Sums are in the merchant's currency; the agent's own terminal may have another one.
  const {
    Data: { CurrencyID, CurrencyDigits },
  } = await callAs(Data.SessionID, `user/me?AccountID=${me.AgentID}`);
  return { token: Data.SessionID, me: { ...me, CurrencyID, CurrencyDigits } };
}

function SignInForm({ email = "", onSignedIn, children }) {
  const form = useRef(null);
  const [needsCode, askCode] = useState(false);
  const isLeft = useIsLeft();
  useLayoutEffect(() => {
    form.current.querySelector(email ? "[type=password]" : "input").focus();
  }, []);

  const { act, isBusy, error } = useAct(async () => {
    const typed = new FormData(form.current);
    try {
      const signedIn = await signIn(typed.get("email").trim(), typed.get("password"), typed.get("code"));
      if (isLeft())
        callAs(signedIn.token, "user/logout/session", {}).catch(() => {}); // somebody gave it up
      else onSignedIn(signedIn);
    } catch (refusal) {
      if (refusal.code === ErrorCode.SECOND_FACTOR) askCode(true);
      else form.current?.querySelector("[type=password]").select();
      throw refusal;
    }
  });

  return html`<form ref=${form} onSubmit=${act}>
    ${error && html`<${Failure} error=${error} />`}
    <${Field} id="email" name="email" type="email" label=${texts.signIn.email} autocomplete="username" required
      defaultValue=${email} autocapitalize="none" spellcheck=${false} />
    <${Field} id="password" name="password" type="password" label=${texts.signIn.password} required
      autocomplete="current-password" autofocus=${Boolean(email)} />
    ${needsCode && html`<${CodeField} asked=${error} />`}
    <div class="actions">
      <${ActButton} class="main" isBusy=${isBusy}>${texts.signIn.button}<//>
      ${children}
    </div>
  </form>`;
}

export function SignIn() {
  return html`<main class="sign-in">
    <div class="card">
      <p class="brand">${texts.name}</p>
      <h1>${texts.signIn.title}</h1>
      <${SignInForm} onSignedIn=${({ token, me }) => begin(token, me)} />
      <${Forgotten} />
    </div>
    <p class="aside"><a href="docs">${texts.signIn.reference}</a></p>
    <${Languages} />
  </main>`;
}

export function SignInAgain({ onDone }) {
  // Another person starts from scratch, because unfinished work belongs to the previous person.
  const signedIn = ({ token, me }) => {
    onDone();
    if (me.AgentID === session().me.AgentID) {
      expired.signedIn(token);
    } else {
      signOut();
      begin(token, me);
    }
  };
  const leave = () => {
    onDone();
    signOut();
  };
  return html`<${Dialog} title=${texts.signIn.again} mayClose=${() => false}>
    <p>${texts.signIn.ended}</p>
    <${SignInForm} email=${session().me.Email} onSignedIn=${signedIn}>
      <button type="button" onClick=${leave}>${texts.signOut}</button>
    <//>
  <//>`;
}
