// The second factor of the signed-in person: begun with a QR code, confirmed by a code, switched off.
import { call } from "../kit/api.js";
import { ActButton, useAct } from "../kit/dialogs.js";
import { useRead } from "../kit/load.js";
import { CodeField, Failure } from "../kit/parts.js";
import { change, session } from "../kit/session.js";
import { Secret } from "./secrets.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const names = texts.secondFactor;
const BORDER = 4; // modules of white around the code, which cameras need
const ask = async (body) => (await call("user/totp", body, { isRepeatable: false })).Data;
const set = (TotpOn) => change({ me: { ...session().me, TotpOn } });

// The drawer of QR codes is loaded only here. Without it the person types the secret.
function QrCode({ text }) {
  const [code, show] = useState(null);
  useRead(async () => (await import("./uqr.mjs")).encode(text, { border: BORDER }), show, [text]);
  const row = (cells, y) => cells.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")).join("");
  return (
    code &&
    html`<svg class="qr" role="img" aria-label=${names.qrCode} viewBox=${`0 0 ${code.size} ${code.size}`}><path d=${code.data.map(row).join("")} /></svg>`
  );
}

function CodeForm({ title, run, onClose, kind = "main" }) {
  const form = useRef(null);
  const { act, isBusy, error } = useAct(() => run(form.current.elements.code.value));
  return html`<form ref=${form} onSubmit=${act}>
    ${error && html`<${Failure} error=${error} />`}
    <${CodeField} asked=${error} />
    <div class="actions">
      <${ActButton} class=${kind} isBusy=${isBusy}>${title}<//>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  </form>`;
}

// The recovery codes, which are shown once.
function Codes({ codes, onClose }) {
  const words = useRef(null);
  useLayoutEffect(() => {
    words.current.focus();
  }, []); // the focused button is gone
  return html`<p ref=${words} tabindex="-1">${names.codesOnce}</p>
    <${Secret} secret=${codes.join(" ")}>
      <button type="button" onClick=${() => print()}>${texts.report.print}</button>
      <button type="button" onClick=${onClose}>${texts.done}</button>
    <//>`;
}

export function SecondFactor() {
  const [step, go] = useState({});
  const title = useRef(null);
  const isOn = session().me.TotpOn;
  const { act: begin, isBusy, error } = useAct(async () => go({ begun: await ask({}) }));
  const close = () => {
    go({});
    title.current.focus(); // the focused button goes
  };
  const confirm = async (Code) => {
    const { RecoveryCodes: codes } = await ask({ Code });
    go({ codes });
    set(true);
  };
  const end = async (Code) => {
    await ask({ Off: true, Code });
    set(false);
    close();
  };
  const start = html`<p>${isOn ? names.on : names.off}</p>
    ${error && html`<${Failure} error=${error} />`}
    <div class="actions">
      <${ActButton} type="button" isBusy=${isBusy} onClick=${begin}>${isOn ? names.another : names.begin}<//>
      ${isOn && html`<button type="button" class="danger" onClick=${() => go({ isEnding: true })}>${names.end}</button>`}
    </div>`;
  return html`<section class=${`card narrow${step.codes ? " codes" : ""}`}><h2 ref=${title} tabindex="-1">${names.title}</h2>
    ${
      step.codes
        ? html`<${Codes} codes=${step.codes} onClose=${close} />`
        : step.begun
          ? html`<p>${names.scan}</p><${QrCode} text=${step.begun.Uri} />
            <details><summary>${names.noCamera}</summary><${Secret} secret=${step.begun.Secret} /></details>
            <${CodeForm} title=${names.confirm} run=${confirm} onClose=${close} />`
          : step.isEnding
            ? html`<${CodeForm} title=${names.end} kind="danger" run=${end} onClose=${close} />`
            : start
    }
  </section>`;
}
