// The frame around every view: navigation, the signed-in person, and the sign-in when there is no session.
import { callAs, expired, signOut } from "../kit/api.js";
import { Languages, Skip, useTitle } from "../kit/parts.js";
import { address, useRoute } from "../kit/route.js";
import { account, change, merchant, session, useSession } from "../kit/session.js";
import { ResetPassword } from "./forgotten.js";
import { SignIn, SignInAgain } from "./sign_in.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

// Refresh the person's rights and the day, which may have changed. The view's own requests notice an ended session.
async function refresh() {
  const { token, me: known } = session();
  const { AccountID } = account();
  const of = AccountID ?? (known.ClientID && known.AgentID); // the currency is the merchant's, not that of a terminal
  const { Data: me } = await callAs(token, of ? `user/me?AccountID=${of}` : "user/me");
  if (session()?.token === token && account().AccountID === AccountID) change({ me, askedAt: Date.now() });
}

function Header({ view, views }) {
  const { me } = session();
  const chosen = merchant().Name;
  const link = ([name, { title }]) =>
    html`<a href=${address(name)} aria-current=${name === (views[view].within ?? view) ? "page" : undefined}>${title}</a>`;
  return html`<header>
    <p class="who"><b>${chosen ?? me.ClientName ?? texts.name}</b> <span>${me.Name}</span>
      ${chosen && html` <a href=${address("merchant")}>${texts.merchant.another}</a>`}</p>
    <button type="button" class="quiet" onClick=${signOut}>${texts.signOut}</button>
    <nav aria-label=${texts.navigation}>${Object.entries(views)
      .filter(([, one]) => !one.within && (one.isListed?.() ?? true))
      .map(link)}</nav>
  </header>`;
}

// `views` are {title, view} by their name in the address. `isListed`: the navigation shows the view. `within`: it shows
// another view, which leads to this one.
export function Frame({ views }) {
  const signedIn = useSession();
  const { view, id, query } = useRoute();
  const [isExpired, setExpired] = useState(false);
  const main = useRef(null);
  const name = Object.hasOwn(views, view) ? view : "today"; // the address may be anything
  const shown = views[name];
  const who = signedIn && `${signedIn.me.AgentID} ${merchant().ClientID}`;

  const title = id && shown.one ? shown.oneTitle : shown.title;
  useTitle(
    view === "reset" ? texts.tills.newPassword : signedIn ? title : texts.signIn.title,
    (signedIn && (merchant().Name ?? signedIn.me.ClientName)) || texts.name,
  );
  useLayoutEffect(() => {
    expired.onAsk = () => setExpired(true);
    if (session()) refresh().catch(() => {}); // stored facts are good enough; the view shows errors
  }, []);
  useLayoutEffect(() => {
    if (signedIn) main.current?.focus({ preventScroll: true });
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view, id, who]);

  if (view === "reset") return html`<${ResetPassword} token=${id} />`;
  if (!signedIn) return html`<${SignIn} />`;
  const needsMerchant = signedIn.me.IsSystemUser && !signedIn.merchant && !(id && shown.isOfAnyMerchant); // one payment brings its merchant
  const View = needsMerchant ? views.merchant.view : (id && shown.one) || shown.view;
  // Another person or merchant gets a new view, so nothing of the previous one stays.
  return html`
    <${Skip} />
    <${Header} view=${name} views=${views} />
    <main id="main" ref=${main} tabindex="-1"><${View} key=${`${who}/${view}/${id}`} id=${id} query=${query} /></main>
    <footer><${Languages} /></footer>
    ${isExpired && html`<${SignInAgain} onDone=${() => setExpired(false)} />`}`;
}
