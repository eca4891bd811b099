// A forgotten password: the form that asks for a link, and the page of the link.
import { callAs } from "../kit/api.js";
import { ActButton, useAct } from "../kit/dialogs.js";
import { ErrorCode } from "../kit/error_codes.js";
import { Failure, Field, Languages, problemOf } from "../kit/parts.js";
import { address } from "../kit/route.js";
import { end, session } from "../kit/session.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const names = texts.signIn;

export function Forgotten() {
  const form = useRef(null);
  const [isOpen, open] = useState(false);
  const [said, say] = useState("");
  const { act, isBusy, error } = useAct(async () => {
    say("");
    await callAs(null, "user/password/forgot", { Email: form.current.elements.forgotten.value });
    say(names.linkSent);
  });
  return html`<details onToggle=${(event) => open(event.target.open)}><summary>${names.forgotten}</summary>
    ${
      isOpen &&
      html`<form ref=${form} onSubmit=${act}>
      ${error && html`<${Failure} error=${error} />`}
      <${Field} id="forgotten" name="forgotten" type="email" label=${names.email} hint=${names.linkHint} required autocomplete="username"
        defaultValue=${document.getElementById("email").value} />
      <p class="said" role="status">${said}</p>
      <div class="actions"><${ActButton} isBusy=${isBusy}>${names.sendLink}<//></div>
    </form>`
    }
    <p>${names.newPassword}</p></details>`;
}

export function ResetPassword({ token }) {
  const form = useRef(null);
  const done = useRef(null);
  const [isDone, finish] = useState(false);
  const { act, isBusy, error } = useAct(async () => {
    await callAs(null, "user/password/reset", { Token: token, Password: form.current.elements.password.value });
    if (session()) end(); // the reset ended it
    finish(true);
  });
  const problem = problemOf(error, "Password", texts.tills.problems.Password);
  const shown = error?.code === ErrorCode.TOKEN_INVALID ? { message: names.linkDead } : error;
  useLayoutEffect(() => {
    (done.current ?? form.current.elements.password).focus();
  }, [isDone]);
  return html`<main class="sign-in">
    <div class="card">
      <p class="brand">${texts.name}</p>
      <h1>${texts.tills.newPassword}</h1>
      ${
        isDone
          ? html`<p role="status" tabindex="-1" ref=${done}>${names.passwordSet}</p>`
          : html`<form ref=${form} onSubmit=${act}>
            ${shown && !problem && html`<${Failure} error=${shown} />`}
            <${Field} id="password" name="password" type="password" label=${texts.tills.fields.Password}
              hint=${texts.tills.problems.Password} autocomplete="new-password" required problem=${problem} />
            <div class="actions"><${ActButton} class="main" isBusy=${isBusy}>${texts.tills.setPassword}<//></div>
          </form>`
      }
      <p><a href=${address("today")}>${names.title}</a></p>
    </div>
    <${Languages} />
  </main>`;
}
