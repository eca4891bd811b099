// The entries of a price list: rows to read, and the row that is being changed.
import { format, typedAmount } from "../kit/money.js";
import { Field } from "../kit/parts.js";
import { merchant } from "../kit/session.js";
import { digits, fieldsOf } from "./price_draft.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useMemo, useRef } from "../kit/view.js";

export const nameOf = (one) => one.Title || one.Name || one.Code || texts.prices.unnamed;

export function priceOf(price) {
  if (price === null || price === undefined || price === "") return texts.prices.typed;
  const amount = typedAmount(String(price), merchant().CurrencyID);
  return amount === null ? String(price) : format(amount, merchant().CurrencyID, digits());
}

export function rateOf(rate) {
  const number = typedAmount(String(rate ?? ""));
  return `${number === null ? (rate ?? "") : format(number)}\u00a0%`;
}

function Shown({ kind, one, isWrong, mayChange, open }) {
  const names = texts.prices;
  const facts = kind === "Items" ? [one.Code, one.Group, one.TaxCode, one.Barcode] : [one.Code];
  const figure = kind === "Items" ? `${priceOf(one.Price)}${one.Unit ? ` / ${one.Unit}` : ""}` : rateOf(one.Rate);
  return html`<li class="price" data-code=${one.Code}>
    <span class="what"><b>${nameOf(one)}</b>
      ${one.Active === false && html` <span class="badge">${names.notOnSale}</span>`}
      ${isWrong && html` <span class="badge bad">${names.problem}</span>`}
      <small>${facts.filter(Boolean).join(" · ")}</small></span>
    <span class="money">${figure}</span>
    ${
      mayChange &&
      html`<button type="button" class="quiet" data-key=${one.key} onClick=${() => open({ kind, key: one.key })}>
      ${names.change} <span class="unseen">${nameOf(one)}</span></button>`
    }
  </li>`;
}

// Only rows that changed are made again, so that a long list follows the fingers.
const Row = ({ kind, one, isWrong, mayChange, open }) =>
  useMemo(
    () => html`<${Shown} kind=${kind} one=${one} isWrong=${isWrong} mayChange=${mayChange} open=${open} />`,
    [one, isWrong, mayChange],
  );

function Editor({ kind, one, taxes, problems, change, remove, close }) {
  const names = texts.prices;
  const row = useRef(null);
  const id = (field) => `price-${field}`;
  const problem = (field) => problems.find((found) => found.field === field)?.words;
  useLayoutEffect(() => {
    const input = row.current.querySelector("[aria-invalid]") ?? row.current.querySelector("input");
    input.focus();
  }, [problems.length]);
  const press = (event) => {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    close();
  };
  const field = (name) => {
    const attributes = {
      key: name,
      id: id(name),
      label: names.fields[name],
      hint: kind === "Items" || name !== "Code" ? names.hints[name] : null,
    };
    if (name === "Active")
      return html`<label class="check"><input type="checkbox" checked=${one.Active} onChange=${(event) => change({ Active: event.target.checked })} /> ${names.fields.Active}</label>`;
    if (name === "TaxCode")
      return html`<${Field} ...${attributes} problem=${problem(name)}>
      <select id=${id(name)} value=${one.TaxCode ?? ""} onChange=${(event) => change({ TaxCode: event.target.value || null })}
        aria-invalid=${problem(name) ? "true" : undefined} aria-describedby=${problem(name) ? `${id(name)}-problem` : undefined}>
        <option value="">${names.noTax}</option>
        ${[...new Set([...taxes.map((tax) => tax.Code), one.TaxCode].filter(Boolean))].map((code) => html`<option value=${code}>${code}</option>`)}
      </select><//>`;
    return html`<${Field} ...${attributes} value=${one[name] ?? ""} problem=${problem(name)} autocomplete="off" spellcheck=${false}
      inputmode=${name === "Price" || name === "Rate" ? "decimal" : name === "Barcode" ? "numeric" : undefined}
      onInput=${(event) => change({ [name]: event.target.value || null })} />`;
  };
  return html`<li class="card price-editor" ref=${row} onKeyDown=${press}>
    <div class="filters">${fieldsOf(kind).map(field)}</div>
    <div class="actions">
      <button type="button" onClick=${close}>${names.close}</button>
      <button type="button" onClick=${remove}>${names.remove}</button>
    </div>
  </li>`;
}

const found = (one, sought) =>
  [one.Code, one.Title, one.Group, one.Barcode].some((text) => text?.toLowerCase().includes(sought));

// The items that a search finds. The one that is being changed stays.
export function matching(all, search, opened) {
  const sought = search.trim().toLowerCase();
  return sought ? all.filter((one) => one.key === opened?.key || found(one, sought)) : all;
}

export function Entries({ kind, shown, taxes, opened, problems, mayChange, open, change, remove, close }) {
  const wrong = new Set(problems.filter((one) => one.kind === kind).map((one) => one.key));
  return html`<ul class="prices">${shown.map((one) =>
    opened?.kind === kind && opened.key === one.key
      ? html`<${Editor} key=${one.key} kind=${kind} one=${one} taxes=${taxes} close=${close}
        problems=${problems.filter((problem) => problem.kind === kind && problem.key === one.key)}
        change=${(fields) => change(kind, one.key, fields)} remove=${() => remove(kind, one)} />`
      : html`<${Row} key=${one.key} kind=${kind} one=${one} isWrong=${wrong.has(one.key)} mayChange=${mayChange} open=${open} />`,
  )}</ul>`;
}
