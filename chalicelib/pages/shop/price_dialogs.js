// The dialogs of the price list: the changes of a file, its problems, and the changes of somebody else.
import { Dialog } from "../kit/dialogs.js";
import { formatCount } from "../kit/money.js";
import { FIELDS, TAX_FIELDS, countOf, difference } from "./price_changes.js";
import { withItems } from "./price_csv.js";
import { nameOf, priceOf, rateOf } from "./price_entries.js";
import { texts } from "./texts.js";
import { html, useState } from "../kit/view.js";

const MOST_PROBLEMS = 50;

function wordsOf(field, value) {
  if (field === "Price") return priceOf(value);
  if (field === "Rate") return rateOf(value);
  if (field === "Active") return value ? texts.prices.yes : texts.prices.no;
  return String(value ?? "") || texts.prices.empty;
}

function Changes({ of: { added, changed, gone } }) {
  const names = texts.prices;
  const figure = (one) => ("Rate" in one ? rateOf(one.Rate) : priceOf(one.Price));
  const entry = (one) => html`<li><b>${nameOf(one)}</b> <small>${one.Code} · ${figure(one)}</small></li>`;
  const list = (title, all, item) =>
    all.length > 0 &&
    html`<h3>${title(formatCount(all.length))}</h3><ul class="changes" tabindex="0">${all.map(item)}</ul>`;
  return html`${list(names.added, added, entry)}
    ${list(
      names.changed,
      changed,
      ({ one, changes }) => html`<li><b>${nameOf(one)}</b> <small>${one.Code}</small>
      ${changes.map(({ field, from, to }) => html`<p>${names.fromTo(names.fields[field], wordsOf(field, from), wordsOf(field, to))}</p>`)}</li>`,
    )}
    ${list(names.gone, gone, entry)}`;
}

// The changes of a file, before they are made. `before` are the items of the page, `others` columns that are not read.
export function Preview({ before, file: { items: read, others }, isUnsaved, onImport, onClose }) {
  const names = texts.prices;
  const [isWhole, setWhole] = useState(false);
  const items = isWhole ? read : withItems(before, read);
  const changes = difference(before, items);
  const choice = (words, value) => html`<label class="check">
    <input type="radio" name="whole" checked=${isWhole === value} onChange=${() => setWhole(value)} /> ${words}</label>`;
  return html`<${Dialog} title=${names.importTitle} onClose=${onClose}>
    <fieldset><legend>${names.importHow}</legend>${choice(names.importPart, false)}${choice(names.importWhole, true)}</fieldset>
    <p>${isWhole && names.importWords} ${isUnsaved && names.unsavedToo}</p>
    ${others.length > 0 && html`<p class="note">${names.others(others.join(", "))}</p>`}
    ${countOf(changes) ? html`<${Changes} of=${changes} />` : html`<p class="note">${names.nothingNew}</p>`}
    <div class="actions">
      <button type="button" class="main" onClick=${() => onImport(items)}>${names.import}</button>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}

export function WrongFile({ problems, onExport, onClose }) {
  const names = texts.prices;
  return html`<${Dialog} title=${names.fileTitle} onClose=${onClose}>
    <p>${names.fileWords}</p>
    <ul class="changes">${problems.slice(0, MOST_PROBLEMS).map(
      ({ line, column, code }) => html`<li>
      ${line && html`<b>${names.place(line, column)}</b> `}${names.file[code]}</li>`,
    )}</ul>
    ${problems.length > MOST_PROBLEMS && html`<p>${names.more(formatCount(problems.length - MOST_PROBLEMS))}</p>`}
    ${problems[0].code === "noColumn" && html`<p class="note">${names.fileColumns(FIELDS.join(", "))}</p>`}
    <div class="actions">
      ${problems[0].code === "noColumn" && html`<button type="button" class="main" onClick=${onExport}>${names.export}</button>`}
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}

// `theirs` is the list that somebody stored after `base`.
export function Changed({ base, theirs, onKeep, onClose }) {
  const names = texts.prices;
  const items = difference(base.Items, theirs.Items);
  const taxes = difference(base.Taxes, theirs.Taxes, TAX_FIELDS);
  return html`<${Dialog} title=${names.changedTitle} onClose=${onClose}>
    <p>${names.changedWords(formatCount(countOf(items) + countOf(taxes)))}</p>
    <${Changes} of=${items} /><${Changes} of=${taxes} />
    <p>${names.keepWords}</p>
    <div class="actions">
      <button type="button" class="main" onClick=${onKeep}>${names.keep}</button>
      <button type="button" onClick=${onClose}>${texts.cancel}</button>
    </div>
  <//>`;
}
