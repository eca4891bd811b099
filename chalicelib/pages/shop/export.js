// The export of payments: a list as CSV, or the takings as a journal with the bookkeeper's names of accounts.
import { ActButton, Dialog, useAct } from "../kit/dialogs.js";
import { useIsLeft } from "../kit/left.js";
import { Failure, Field, problemOf } from "../kit/parts.js";
import { merchant } from "../kit/session.js";
import { html, useState } from "../kit/view.js";
import { exported, exportedJournal } from "./history.js";
import { texts } from "./texts.js";

const FORMATS = ["csv", "hledger", "beancount", "xero"];
const DEFAULTS = {
  Sales: "Income:Sales",
  Returns: "Income:Returns",
  Cash: "Assets:Cash",
  Clearing: "Assets:Clearing",
  Receivable: "Assets:Receivable",
  Prepaid: "Liabilities:Prepaid",
};

// The names are kept on this device, because a bookkeeper needs the same each month.
const place = (format) => `accounts.${merchant().ClientID}.${format}`;
const remembered = (format) => JSON.parse(localStorage.getItem(place(format)) ?? "{}");

function Accounts({ format, error }) {
  const names = remembered(format);
  const isXero = format === "xero";
  const fields = [...Object.keys(DEFAULTS), "Tax", ...(isXero ? ["TaxRate"] : [])];
  return html`<details open=${isXero || fields.some((field) => problemOf(error, field))}>
    <summary>${texts.export.accounts}</summary>
    ${isXero && html`<p>${texts.export.codes}</p>`}
    ${fields.map(
      (field) => html`<${Field} key=${field} id=${`export-${field}`} name=${field} label=${texts.export.fields[field]}
      defaultValue=${names[field]} placeholder=${isXero ? undefined : DEFAULTS[field]} hint=${field === "Tax" && texts.export.noTax} problem=${problemOf(error, field)}
      autocomplete="off" spellcheck=${false} />`,
    )}
  </details>`;
}

// A refusal of days has words of its own. A refusal of names stands at their fields.
function Refused({ error }) {
  const properties = error.findings?.map((one) => one.Property) ?? [];
  if (properties.some((one) => one.startsWith("Period")))
    return html`<${Failure} error=${{ message: texts.export.notOver }} />`;
  return !properties.some((one) => one.startsWith("Accounts.")) && html`<${Failure} error=${error} />`;
}

function ExportDialog({ query, onClose }) {
  const [format, setFormat] = useState("csv");
  const isLeft = useIsLeft();
  const isJournal = format !== "csv";
  const choose = (event) => {
    setFormat(event.target.value);
    forget();
  };
  const { act, isBusy, error, forget } = useAct(async (event) => {
    const { format: _, ...names } = Object.fromEntries(new FormData(event.target));
    if (isJournal) localStorage.setItem(place(format), JSON.stringify(names));
    const url = await (isJournal ? exportedJournal(query, format, names) : exported(query));
    if (isLeft()) return; // it was cancelled
    location.assign(url); // a download, so the page stays
    onClose();
  });
  return html`<${Dialog} title=${texts.export.button} onClose=${onClose}><form onSubmit=${act}>
    <${Field} id="export-format" label=${texts.export.format}>
      <select id="export-format" name="format" value=${format} onChange=${choose}>
        ${FORMATS.map((one) => html`<option value=${one}>${texts.export.formats[one]}</option>`)}
      </select>
    <//>
    ${isJournal && html`<p><small>${texts.export.days}</small></p><${Accounts} key=${format} format=${format} error=${error} />`}
    ${error && html`<${Refused} error=${error} />`}
    <div class="actions">
      <${ActButton} class="main" isBusy=${isBusy}>${texts.export.button}<//>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  </form><//>`;
}

export function Export({ query }) {
  const [isOpen, open] = useState(false);
  return html`${isOpen && html`<${ExportDialog} query=${query} onClose=${() => open(false)} />`}
    <button type="button" hidden=${isOpen} onClick=${() => open(true)}>${texts.export.button}</button>`;
}
