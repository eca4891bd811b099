// The frame around the views: the agent, the connection, the waiting sales, and the sign-in.
import { CodeField, Failure, Field, Languages, Skip, useTitle } from "../kit/parts.js";
import { Act, ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { expired } from "../kit/api.js";
import { ErrorCode } from "../kit/error_codes.js";
import { format } from "../kit/money.js";
import { address, useRoute } from "../kit/route.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
import { currencyOf } from "./account.js";
import { isEmpty } from "./basket.js";
import { Means, roomOf } from "./rules.js";
import { amountOf } from "./receipt.js";
import { MyDay } from "./my_day.js";
import { Sales, exportSales } from "./sales.js";
import { leftOf, limitOf } from "./result.js";
import { sale } from "./sale.js";
import { Sell } from "./sell.js";
import { isSet, setTo, sound } from "./settings.js";
import { texts } from "./texts.js";
import { clear, forgetLost, install, isEnded, leftSales, queue, signIn, signOut, till, useTill } from "./till.js";

const wordsOf = ({ status, body, isAnother, isBroken }, email) => {
  if (isBroken) return texts.notices.broken;
  if (isAnother) return texts.signIn.another(email);
  if (!body) return texts.errors.noAnswer;
  return texts.errors.codes[body.ErrorCode] ?? body.ErrorMessage ?? String(status);
};

function SignInForm({ email = "", onDone, children }) {
  const form = useRef(null);
  const [left, setLeft] = useState(null);
  const [needsCode, askCode] = useState(false);
  useLayoutEffect(() => {
    form.current.querySelector(email ? "[type=password]" : "input").focus();
  }, []);
  const { act, isBusy, error } = useAct(async () => {
    const typed = new FormData(form.current);
    const refused = await signIn(typed.get("email").trim(), typed.get("password"), typed.get("code")).catch(() => ({
      isBroken: true,
    }));
    if (refused?.mayClear) return setLeft(await leftSales());
    if (refused) {
      if (refused.body?.ErrorCode === ErrorCode.SECOND_FACTOR) askCode(true);
      else form.current.querySelector("[type=password]").select();
      throw new Error(wordsOf(refused, till().session?.me.Email ?? ""));
    }
    onDone?.();
    return undefined;
  });
  if (left) return html`<${LeftSales} left=${left} onClose=${onDone} />`;
  return html`<form ref=${form} onSubmit=${act}>
    ${error && html`<${Failure} error=${error} />`}
    <${Field} id="email" name="email" type="email" label=${texts.signIn.email} autocomplete="username" required
      defaultValue=${email} autocapitalize="none" spellcheck=${false} />
    <${Field} id="password" name="password" type="password" label=${texts.signIn.password} required autocomplete="current-password" autofocus=${Boolean(email)} />
    ${needsCode && html`<${CodeField} asked=${error} />`}
    <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${texts.signIn.button}<//>${children}</div>
  </form>`;
}

// The sales of an agent that has left, for an administrator of its merchant: to export, and then to delete.
function LeftSales({ left, onClose }) {
  const [isExported, setExported] = useState(false);
  const [isSure, setSure] = useState(false);
  const heading = useRef(null);
  useLayoutEffect(() => {
    heading.current.focus();
  }, []);
  const { Email } = till().session.me;
  const { act, isBusy, error } = useAct(() =>
    clear(left).catch(() => {
      throw new Error(texts.notices.broken);
    }),
  );
  const save = () => {
    exportSales(left, `sales-${left[0].device}`);
    setExported(true);
  };
  return html`<section class="left"><h2 ref=${heading} tabindex="-1">${texts.left.title(left.length, Email)}</h2>
    <p>${texts.left.explained}</p>
    <ul>${left.map((sale) => html`<li key=${sale.id}>${sale.number} · ${format(amountOf(sale), sale.draft.currency)} · ${texts.results[sale.state]}</li>`)}</ul>
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions"><button type="button" class="main" onClick=${save}>${texts.list.export}</button>
      ${!isSure && html`<button type="button" disabled=${!isExported} onClick=${() => setSure(true)}>${texts.left.delete(left.length)}</button>`}
      <button type="button" onClick=${onClose}>${texts.cancel}</button></div>
    ${isSure && html`<div class="note bad" role="alert"><p>${texts.left.sure}</p><${ActButton} type="button" isBusy=${isBusy} onClick=${act}>${texts.left.confirm}<//></div>`}
  </section>`;
}

// Sales that were paid here, and that nobody has.
const Lost = ({ lost }) =>
  lost.length > 0 &&
  html`<div class="note bad" role="alert"><p>${texts.notices.lost(lost.join(", "))}</p>
    <button type="button" onClick=${forgetLost}>${texts.noted}</button></div>`;

const SignIn = ({ lost }) => html`<main class="sign-in"><${Lost} lost=${lost} />
  <div class="card"><p class="brand">${texts.name}</p><h1>${texts.signIn.title}</h1><${SignInForm} /></div>
  <${Languages} />
</main>`;

const SignInAgain = ({ onClose }) => html`<${Dialog} title=${texts.signIn.again} onClose=${onClose}>
  <p>${texts.notices.ended}</p>
  <${SignInForm} email=${till().session.me.Email} onDone=${onClose}><button type="button" onClick=${onClose}>${texts.signIn.later}</button><//>
<//>`;

const Administrator = ({ onClose }) => html`<${Dialog} title=${texts.left.open} onClose=${onClose}>
  <p>${texts.left.who(till().session.me.ClientName)}</p>
  <${SignInForm} onDone=${onClose}><button type="button" onClick=${onClose}>${texts.cancel}</button><//>
<//>`;

function Header({ view, state }) {
  const { session, isOnline, waiting, parked } = state;
  const connection = isOnline ? "online" : "offline";
  const link = (name) =>
    html`<a href=${address(name)} aria-current=${name === view ? "page" : undefined}>${texts[name]}</a>`;
  const count = (name, number) =>
    html`<span class=${number ? `badge ${name}` : "unseen"} aria-hidden=${number ? undefined : "true"}><b data-testid=${name}>${number}</b> ${texts[name]}</span>`;
  return html`<header class="till">
    <p class="who"><b>${session.me.ClientName}</b> <span>${session.me.Name}</span></p>
    <p class="badges" role="status">${count("waiting", waiting)} ${count("parked", parked)}
      <span class=${`badge ${isOnline ? "good" : "warn"}`} data-testid="connection" data-state=${connection}>${texts.connection[connection]}</span></p>
    <nav aria-label=${texts.navigation}>${link("sell")}${link("sales")}${link("day")}<${SignOut} state=${state} /></nav>
  </header>`;
}

// The reasons why nothing can be sold, sent or stored.
function Notices({ state, onSignIn }) {
  const { problem, isBroken, session } = state;
  const note = (kind, words) => html`<div class=${`note ${kind}`} role="alert"><p>${words}</p></div>`;
  return html`
    ${isEnded(state) && onSignIn && html`<div class="note warn" role="alert"><p>${texts.notices.ended}</p><button type="button" onClick=${onSignIn}>${texts.signIn.open}</button></div>`}
    ${problem?.means === Means.BLOCKED && note("bad", texts.notices.blocked[problem.code]?.(session.me.Email, session.me.ClientName) ?? problem.message)}
    ${isBroken && note("bad", texts.notices.broken)}<${Lost} lost=${state.lost} />`;
}

// Signing out asks first. It is refused while sales are on the device; then an administrator may take them from there.
function SignOut({ state }) {
  const [step, go] = useState(null); // "ask", "refused" or "clear"
  const close = () => go(null);
  const left = state.waiting + state.parked;
  const leave = () =>
    signOut().then((isDone) => {
      if (!isDone) throw new Error(texts.mustWait(1));
    });
  const isHeld = left > 0 || queue.isSelling;
  return html`<button type="button" class="quiet" onClick=${() => go(isHeld ? "refused" : "ask")}>${texts.signOut}</button>
    ${step === "ask" && html`<${Act} title=${texts.signOut} words=${`${isEmpty(sale()) ? "" : texts.signOutLoses} ${texts.signOutAsks}`} run=${leave} onClose=${close} />`}
    ${
      step === "refused" &&
      isHeld &&
      html`<div class="note warn" role="alert"><p>${texts.mustWait(Math.max(left, 1))}</p>
      <button type="button" onClick=${() => go("clear")}>${texts.left.open}</button></div>`
    }
    ${step === "clear" && html`<${Administrator} onClose=${close} />`}`;
}

const KNOWN = "payments.till.mayLose"; // that the browser may delete sales was read on this device

// The settings of this device. Sounds are on unless somebody switches them off.
function Settings({ onClose }) {
  const box = (
    name,
    isOn,
    words,
    act,
  ) => html`<label class="check"><input type="checkbox" name=${name} defaultChecked=${isOn}
    onChange=${({ target }) => act(target.checked)} /> ${words}</label>`;
  return html`<${Dialog} title=${texts.settings.title} onClose=${onClose}>
    ${box("sounds", !isSet("silent"), texts.settings.sounds, (isOn) => {
      setTo("silent", !isOn);
      sound("paid");
    })}
    ${box("prints", isSet("prints"), texts.settings.prints, (isOn) => setTo("prints", isOn))}
    <div class="actions"><button type="button" class="main" onClick=${onClose}>${texts.done}</button></div>
  <//>`;
}

function Footer({ state }) {
  const [isKnown, setKnown] = useState(Boolean(localStorage.getItem(KNOWN)));
  const [isAsked, ask] = useState(false);
  const sold = currencyOf(state);
  const room = roomOf(state.queued, sold);
  const isLimited = !state.isPersistent && state.features?.Offline && sold.currency && room < Infinity;
  const left = state.waiting + state.parked;
  const mayInstall = !state.isInstalled && (left === 0 || state.installer); // this browser's own offer keeps the storage
  const known = () => {
    localStorage.setItem(KNOWN, "1");
    setKnown(true);
  };
  return html`<footer>
    ${!state.isInstalled && !mayInstall && html`<p class="hint">${texts.notices.sendFirst(left)}</p>`}
    ${isLimited && room < roomOf([], sold) / 2 && html`<p class="hint">${texts.notices.room(leftOf(sold))}</p>`}
    ${
      isLimited &&
      !isKnown &&
      html`<p class="hint">${texts.notices.mayLose(limitOf(sold))} ${mayInstall && texts.notices.homeScreen}
      <button type="button" class="quiet" onClick=${known}>${texts.understood}</button></p>`
    }
    ${mayInstall && state.installer && html`<p class="hint"><button type="button" onClick=${install}>${texts.install}</button></p>`}
    <button type="button" class="quiet" onClick=${() => ask(true)}>${texts.settings.title}</button>
    <${Languages} />
    ${isAsked && html`<${Settings} onClose=${() => ask(false)} />`}
  </footer>`;
}

// The focus is never on the body: keys of a keyboard reach the view.
function keepFocus() {
  const { activeElement, body } = document;
  if (!activeElement || activeElement === body) document.getElementById("main")?.focus({ preventScroll: true });
}

const VIEWS = { sell: Sell, sales: Sales, day: MyDay };

export function Frame() {
  const state = useTill();
  const route = useRoute();
  const view = Object.hasOwn(VIEWS, route.view) ? route.view : "sell";
  const [dismissed, dismiss] = useState(null); // the session whose dialog was closed
  const main = useRef(null);
  useLayoutEffect(() => {
    expired.onAsk = () => {
      // a return, whose session has ended
      queue.note({ means: Means.SIGN_IN }, till().session);
      dismiss(null);
    };
  }, []);
  useLayoutEffect(() => {
    const observer = new MutationObserver(() => queueMicrotask(keepFocus)); // after a dialog that ended gave the focus back
    observer.observe(document.getElementById("app"), { childList: true, subtree: true });
    const later = () => setTimeout(keepFocus);
    addEventListener("focusout", later);
    return () => {
      observer.disconnect();
      removeEventListener("focusout", later);
    };
  }, []);
  useLayoutEffect(() => {
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
  }, [view]);

  useTitle(state.session ? view !== "sell" && texts[view] : texts.signIn.title, texts.name);
  if (!state.session) return html`<${SignIn} lost=${state.lost} />`;
  const { token, agent } = state.session;
  const isAsked = isEnded(state) && dismissed !== token;
  return html`
    <${Skip} />
    <${Header} view=${view} state=${state} />
    <main id="main" class="till" ref=${main} tabindex="-1">
      <${Notices} state=${state} onSignIn=${isAsked ? null : () => dismiss(null)} />
      <${VIEWS[view]} key=${`${view} ${agent}`} state=${state} route=${route} query=${route.query} />
    </main>
    <${Footer} state=${state} />
    ${isAsked && html`<${SignInAgain} onClose=${() => dismiss(token)} />`}`;
}
