// The price list: its items and taxes. Nothing is stored before it is saved.
import { ErrorCode } from "../kit/error_codes.js";
import { Act, ActButton, useAct } from "../kit/dialogs.js";
import { useLoaded } from "../kit/load.js";
import { formatCount } from "../kit/money.js";
import { Failure, Field, Loaded } from "../kit/parts.js";
import { isManager, merchant } from "../kit/session.js";
import { merged, TAX_FIELDS } from "./price_changes.js";
import { MOST_BYTES, read, write } from "./price_csv.js";
import { Changed, Preview, WrongFile } from "./price_dialogs.js";
import {
  changesOf,
  digits,
  draftOf,
  entries,
  keep,
  kept,
  load,
  place,
  problemsOf,
  save,
  typedTaxOf,
} from "./price_draft.js";
import { Entries, matching, nameOf } from "./price_entries.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const NEW = {
  Items: { Code: null, Title: null, Price: null, Unit: null, TaxCode: null, Group: null, Barcode: null, Active: true },
  Taxes: { Code: null, Name: null, Rate: null },
};

function download(items) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([write(entries(items), merchant().CurrencyID)], { type: "text/csv" }));
  link.download = "price-list.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The items of a file, or its problems.
async function readFile(file, draft) {
  if (file.size > MOST_BYTES) return { problems: [{ code: "large" }] };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    const { CurrencyID: currency } = merchant();
    return read(text, { taxes: draft.Taxes, items: entries(draft.Items), digits: digits(), currency });
  } catch {
    return { problems: [{ code: "letters" }] };
  }
}

function Files({ draft, mayChange, onRead }) {
  const names = texts.prices;
  const choose = async (event) => {
    const input = event.target;
    const [file] = input.files;
    if (file) onRead(await readFile(file, draft));
    input.value = ""; // the same file can be chosen again
  };
  return html`<button type="button" onClick=${() => download(draft.Items)}>${names.export}</button>
    ${
      mayChange &&
      html`<label class="button file" for="price-file">${names.import}
      <input id="price-file" type="file" accept=".csv,text/csv" onChange=${choose} /></label>`
    }`;
}

// The bar that stays in sight: the number of changes, and the refusal of the service.
function SaveBar({ count, act, isBusy, said, error, problems, draft, opened, open, discard }) {
  const names = texts.prices;
  const others = problems.filter((one) => one.key !== opened?.key); // an open entry has its problems at its fields
  const named = ({ kind, key }) => nameOf(draft[kind].find((one) => one.key === key));
  const isWhole = error?.findings?.some((one) => one.Property === "Items" || one.Property === "Taxes");
  const isShown = problems.length > 0 || (error?.findings?.length > 0 && !isWhole);
  const refusal =
    error?.code === ErrorCode.TOO_LARGE ? { message: names.tooLarge } : isWhole ? { message: names.tooMany } : error;
  return html`<div class="card save-bar">
    ${
      others.length > 0 &&
      html`<div class="note bad" role="alert"><p>${names.problems}</p><ul>${others.slice(0, 3).map(
        (one) => html`<li>
      <button type="button" class="quiet" onClick=${() => open(one)}>${named(one)}</button> ${names.fields[one.field]}: ${one.words}</li>`,
      )}</ul></div>`
    }
    ${error && !isShown && html`<${Failure} error=${refusal} />`}
    <p role="status">${count ? names.unsaved(formatCount(count)) : said || names.allSaved}</p>
    <div class="actions">
      <${ActButton} type="button" class="main" isBusy=${isBusy} disabled=${!count} onClick=${act}>${names.save}<//>
      ${count > 0 && html`<button type="button" onClick=${discard}>${names.discard}</button>`}
    </div>
  </div>`;
}

// The choice of the tax of amounts that are typed at a till.
function TypedTax({ draft, mayChange, choose }) {
  const names = texts.prices;
  const codes = draft.Taxes.map((one) => one.Code).filter(Boolean);
  return html`<${Field} id="typed-tax" label=${names.typedTax} hint=${names.typedTaxHint}>
    <select id="typed-tax" value=${typedTaxOf(draft) ?? ""} disabled=${!mayChange} aria-describedby="typed-tax-hint"
      onChange=${(event) => choose(event.target.value || null)}>
      <option value="">${names.noTax}</option>${codes.map((code) => html`<option value=${code}>${code}</option>`)}
    </select><//>`;
}

// The tax that most items have: a new one probably has it as well.
function usualTax(items) {
  const counts = new Map();
  for (const { TaxCode: code } of items) counts.set(code ?? null, (counts.get(code ?? null) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? null;
}

// The draft, and the functions that change it. Each change is kept on the device.
function useDraft(stored) {
  const [at] = useState(place);
  const [draft, setDraft] = useState(() => kept(at) || draftOf(stored));
  const [opened, open] = useState(null);
  const [removed, setRemoved] = useState(null);
  useLayoutEffect(() => {
    const now = () => keep(at, draft);
    const timer = setTimeout(now, 200);
    addEventListener("pagehide", now);
    return () => {
      clearTimeout(timer);
      removeEventListener("pagehide", now);
      now();
    };
  }, [draft]);
  const replace = (kind, all) => setDraft({ ...draft, [kind]: all });
  const add = (kind) => {
    const next = draftOf(draft.base, {
      ...draft,
      [kind]: [...draft[kind], { ...NEW[kind], ...(kind === "Items" && { TaxCode: usualTax(draft.Items) }) }],
    });
    setDraft(next);
    open({ kind, key: next[kind].at(-1).key });
  };
  const change = (kind, key, fields) =>
    replace(
      kind,
      draft[kind].map((one) => (one.key === key ? { ...one, ...fields } : one)),
    );
  const remove = (kind, one) => {
    setRemoved({ one, before: draft });
    replace(
      kind,
      draft[kind].filter((other) => other !== one),
    );
    open(null);
  };
  const undo = () => {
    setDraft(removed.before);
    setRemoved(null);
  };
  return { draft, setDraft, opened, open, removed, setRemoved, add, change, remove, undo };
}

// Save the draft; find the list that somebody else stored meanwhile.
function useSave({ draft, setDraft, open, setRemoved }) {
  const [said, say] = useState("");
  const [theirs, setTheirs] = useState(null);
  const [wanted, want] = useState(draft); // the draft that was sent
  const latest = useRef(draft);
  latest.current = draft;
  const store = async (next) => {
    want(next);
    setRemoved(null);
    try {
      const stored = await save(next);
      setDraft((now) => (now === next ? draftOf(stored) : draftOf(stored, now))); // changes during the saving stay
      open((now) => (latest.current === next ? null : now));
      say(texts.prices.saved);
    } catch (refusal) {
      const [first] = problemsOf(refusal, next);
      if (first) open(first);
      if (refusal.code !== ErrorCode.PRICE_LIST_CHANGED) throw refusal;
      setTheirs(await load());
    }
  };
  const keepMine = () => {
    setDraft(
      draftOf(theirs, {
        Items: merged(draft.base.Items, entries(draft.Items), theirs.Items),
        Taxes: merged(draft.base.Taxes, entries(draft.Taxes), theirs.Taxes, TAX_FIELDS),
        ...(draft.TypedTaxCode !== draft.base.TypedTaxCode && { TypedTaxCode: draft.TypedTaxCode }),
      }),
    );
    open(null);
    setTheirs(null);
  };
  const [next, setNext] = useState(null); // the draft with the items of a file
  const { act, isBusy, error } = useAct(() => store(next ?? draft));
  useLayoutEffect(() => {
    if (!next) return;
    setDraft(next);
    act().then(() => setNext(null));
  }, [next]);
  return {
    act,
    isBusy,
    error,
    said,
    theirs,
    setTheirs,
    keepMine,
    wanted,
    storeItems: (Items) => setNext(draftOf(draft.base, { ...draft, Items })),
  };
}

function Listed({ stored }) {
  const names = texts.prices;
  const mayChange = isManager();
  const own = useDraft(stored);
  const { draft, opened, open, add } = own;
  const saving = useSave(own);
  const [search, setSearch] = useState("");
  const [file, setFile] = useState(null);
  const [isAsked, ask] = useState(false);
  const count = changesOf(draft);
  const isThere = (problem) =>
    draft[problem.kind].find((one) => one.key === problem.key)?.[problem.field] ===
    saving.wanted[problem.kind].find((one) => one.key === problem.key)?.[problem.field];
  const problems = problemsOf(saving.error, saving.wanted).filter(
    (problem) => draft[problem.kind].some((one) => one.key === problem.key) && isThere(problem),
  );
  const shown = matching(draft.Items, search, opened);
  const close = () => {
    const { key } = opened;
    open(null);
    queueMicrotask(() => document.querySelector(`[data-key="${key}"]`)?.focus()); // the row is shown again
  };
  const parts = {
    taxes: draft.Taxes,
    opened,
    problems,
    mayChange,
    open,
    change: own.change,
    remove: own.remove,
    close,
  };
  return html`<div class="actions price-actions">
      ${
        mayChange &&
        html`<button type="button" onClick=${() => add("Items")}>${names.newItem}</button>
        <button type="button" onClick=${() => add("Taxes")}>${names.newTax}</button>`
      }
      <${Files} draft=${draft} mayChange=${mayChange} onRead=${setFile} />
    </div>
    <section class="card"><h2>${names.taxes}</h2><p><small>${names.included}</small></p>
      <${Entries} kind="Taxes" shown=${draft.Taxes} ...${parts} />
      ${draft.Taxes.length > 0 && html`<${TypedTax} draft=${draft} mayChange=${mayChange} choose=${(TypedTaxCode) => own.setDraft({ ...draft, TypedTaxCode })} />`}</section>
    <section class="card"><h2>${names.items}</h2>
      <${Field} id="price-search" type="search" label=${names.search} value=${search} onInput=${(event) => setSearch(event.target.value)} />
      <p class="counted" role="status">${draft.Items.length ? names.counted(formatCount(shown.length), formatCount(draft.Items.length)) : mayChange ? names.none : names.noneToSee}</p>
      <${Entries} kind="Items" shown=${shown} ...${parts} /></section>
    ${
      own.removed &&
      html`<div class="note" role="status"><p>${names.removed(nameOf(own.removed.one))}</p>
      <button type="button" onClick=${own.undo}>${names.undo}</button></div>`
    }
    ${mayChange && html`<${SaveBar} count=${count} draft=${draft} opened=${opened} open=${open} problems=${problems} discard=${() => ask(true)} ...${saving} />`}
    ${
      isAsked &&
      html`<${Act} title=${names.discard} words=${names.discardWords} onClose=${() => ask(false)}
      run=${() => {
        own.setDraft(draftOf(draft.base));
        open(null);
        own.setRemoved(null);
      }} />`
    }
    ${file?.problems.length > 0 && html`<${WrongFile} problems=${file.problems} onExport=${() => download(draft.Items)} onClose=${() => setFile(null)} />`}
    ${
      file?.problems.length === 0 &&
      html`<${Preview} before=${entries(draft.Items)} file=${file} isUnsaved=${count > 0}
      onImport=${(items) => {
        setFile(null);
        saving.storeItems(items);
      }} onClose=${() => setFile(null)} />`
    }
    ${saving.theirs && html`<${Changed} base=${draft.base} theirs=${saving.theirs} onKeep=${saving.keepMine} onClose=${() => saving.setTheirs(null)} />`}`;
}

export function PriceList() {
  const state = useLoaded(load, String(merchant().ClientID));
  return html`<div class="title"><h1>${texts.prices.title}</h1></div>
    <${Loaded} state=${state}>${(stored) => html`<${Listed} stored=${stored} />`}<//>`;
}
