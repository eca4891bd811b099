// Small parts of views.
import { LANGUAGES, choose, language, texts } from "./language.js";
import { format, isNegative } from "./money.js";
import { settle } from "./route.js";
import { html, useLayoutEffect, useRef } from "./view.js";

// The title of the tab tells the step; without words it stays.
export const useTitle = (...words) =>
  useLayoutEffect(() => {
    if (words[0]) document.title = words.join(" · ");
  }, words);

// The first stop of a keyboard leads past the navigation.
export const Skip = () =>
  html`<a class="skip" href="#main" onClick=${(event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  }}>${texts.skip}</a>`;

// A page that cannot work says why.
export const Notice = ({ words }) =>
  html`<main class="sign-in"><div class="card"><h1 class="brand">${texts.name}</h1><p role="alert">${words}</p></div></main>`;

export function Money({ amount, currency, testid }) {
  const minus = isNegative(amount) ? " minus" : "";
  return html`<span class=${`money${minus}`} data-amount=${String(amount)} data-testid=${testid}>${format(amount, currency)}</span>`;
}

// The problem of a field in a refusal, in the words of the page. A field such as Types also has those of Types[1].
export function problemOf(error, field, words) {
  const found = error?.findings?.find((one) => one.Property.split(".").pop().split("[")[0] === field);
  return found && (words ?? texts.errors.checks[found.Code] ?? texts.errors.field);
}

// A refusal that no field shows. Its findings name fields of the interface, so the page does not show them.
export function Failure({ error, retry }) {
  const note = useRef(null);
  useLayoutEffect(() => {
    if (!retry) note.current.scrollIntoView({ block: "nearest" }); // the button may be far below
  }, [error]);
  return html`<div ref=${note} class="note bad" role="alert">
    <p>${error.message}</p>
    ${retry && html`<button type="button" onClick=${retry}>${texts.retry}</button>`}
  </div>`;
}

function Placed({ children }) {
  useLayoutEffect(settle);
  return children;
}

// A view's data, or a text until it arrives or when it fails.
export function Loaded({ state, children }) {
  if (state.error) return html`<${Failure} error=${state.error} retry=${state.reload} />`;
  if (!state.data) return html`<p class="loading" role="status">${texts.loading}</p>`;
  return html`<div class="loaded" aria-busy=${state.isLoading ? "true" : "false"}>
    <${Placed}>${children(state.data)}<//></div>`;
}

export function Field({ label, hint, problem, children, ...input }) {
  const described = [problem && `${input.id}-problem`, hint && `${input.id}-hint`].filter(Boolean).join(" ");
  return html`<div class="field">
    <label for=${input.id}>${label}</label>
    ${children ?? html`<input ...${input} aria-invalid=${problem ? "true" : undefined} aria-describedby=${described || undefined} />`}
    <${Problem} id=${input.id} words=${problem} />
    ${hint && html`<small id=${`${input.id}-hint`}>${hint}</small>`}
  </div>`;
}

// The code of a second factor. It takes the focus anew for each new value of `asked`.
export function CodeField({ asked }) {
  useLayoutEffect(() => {
    const field = document.getElementById("code");
    field.focus();
    field.select();
  }, [asked]);
  return html`<${Field} id="code" name="code" label=${texts.code} hint=${texts.codeHint} required maxlength="64"
    autocomplete="one-time-code" autocapitalize="none" spellcheck=${false} />`;
}

// The problem of the field with this ID.
export const Problem = ({ id, words }) =>
  words && html`<small id=${`${id}-problem`} class="bad" role="alert">${words}</small>`;

// The languages of the page, each by its own name.
export function Languages() {
  const button = ([code, { language: name }]) =>
    html`<button type="button" class="quiet" lang=${code} aria-pressed=${code === language} onClick=${() => choose(code)}>${name}</button>`;
  return html`<p class="languages" role="group" aria-label=${texts.chooseLanguage}>${Object.entries(LANGUAGES).map(button)}</p>`;
}
