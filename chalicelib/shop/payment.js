// A payment: its state, card, returns, receipt, photo and signature.
import { formatMoment } from "./dates.js";
import { canReturn, ReturnDialog, unfinished, Unfinished } from "./giving_back.js";
import { found, isReversal, isUnknown } from "./history.js";
import { kindName } from "./kinds.js";
import { useLoaded } from "./load.js";
import { format, isZero } from "./money.js";
import { Loaded, Money } from "./parts.js";
import { Badge, latestList, shownAmount } from "./payments.js";
import { ReceiptOf } from "./receipt.js";
import { address } from "./route.js";
import { texts } from "./texts.js";
import { html, useEffect, useRef, useState } from "./view.js";

const UNKNOWN = 310;

function Facts({ payment }) {
  const names = texts.payment;
  const money = (amount) => html`<${Money} amount=${amount} currency=${payment.CurrencyID} />`;
  const link = (id) => html`<a href=${address("payments", {}, id)}>${id}</a>`;
  const facts = [
    [names.kind, kindName(payment.InputType)],
    [names.acquirer, payment.AcquirerID],
    [names.card, payment.Card.PANMasked && `${payment.Card.IIN} ${payment.Card.PANMasked}`],
    [names.cardholder, payment.CardholderName],
    [names.till, payment.TransPos.Name],
    [names.terminal, payment.TerminalName],
    [names.cashGot, payment.AmountCashGot !== null && money(payment.AmountCashGot)],
    [names.givenBack, !isReversal(payment) && payment.CountRvs > 0 && money(payment.AmountRvs)],
    [names.remains, !isReversal(payment) && payment.CountRvs > 0 && money(payment.AmountEff)],
    [names.state, `${payment.Status} · ${payment.State}/${payment.Substate}`],
    [names.result, payment.Result && [payment.Result.Code, payment.Result.Message].filter((one) => one !== null).join(" · ")],
    [names.invoice, payment.Invoice],
    [names.approval, payment.ApprovalCode],
    [names.rrn, payment.RRN],
  ];
  const long = [
    [names.description, payment.Description],
    [names.receiptTo, [payment.ReceiptEmail, payment.ReceiptPhone].filter(Boolean).join(", ")],
    [isReversal(payment) ? names.original : names.lastReturn, payment.ReverseID && link(payment.ReverseID)],
    [names.extId, payment.ExtID],
    [names.id, payment.ID],
  ];
  const listed = (some, kind) => some.filter(([, value]) => value).map(([name, value]) =>
    html`<div key=${name} class=${kind}><dt>${name}</dt><dd>${value}</dd></div>`);
  return html`<dl class="facts">${listed(facts)}${listed(long, "long")}</dl>`;
}

function Pictures({ payment }) {
  const shown = [[payment.PhotoUrl, texts.payment.photo], [payment.SignatureUrl, texts.payment.signature]].filter(([url]) => url);
  return shown.map(([url, name]) => html`<section class="card"><h2>${name}</h2><img class="picture" src=${url} alt=${name} /></section>`);
}

// The outcome of a return in a sentence. A declined return shows the service's words.
function Outcome({ answer }) {
  const { Amount, CurrencyID } = answer.Transaction;
  const amount = format(Amount, CurrencyID);
  const sentence = useRef(null);
  useEffect(() => { sentence.current.focus(); }, [answer]); // the focused button may be gone
  const said = (kind, role, words) => html`<p ref=${sentence} class=${`note ${kind}`} role=${role} tabindex="-1">${words}</p>`;
  if (answer.ErrorCode === 0) return said("good", "status", texts.return.done(amount));
  if (answer.ErrorCode === UNKNOWN) return said("warn", "status", texts.return.unknown(amount));
  return said("bad", "alert", texts.return.declined(answer.ErrorMessage ?? ""));
}

function Shown({ payment, reload }) {
  const [isReturning, setReturning] = useState(false);
  const [answer, setAnswer] = useState(null);
  const attempt = unfinished(payment.ID);
  const answered = (next) => {
    setReturning(false);
    setAnswer(next);
    reload();
  };
  return html`
    <section class="card headline">
      <p class="line"><${Badge} payment=${payment} /> <span>${formatMoment(payment.Date)}</span></p>
      <p class="net"><${Money} amount=${shownAmount(payment)} currency=${payment.CurrencyID} /></p>
      ${answer && html`<${Outcome} answer=${answer} />`}
      ${isUnknown(payment) && html`<div class="note warn"><p>${isReversal(payment) ? texts.payment.unknownReturn : texts.payment.unknown}</p>
        <button type="button" onClick=${reload}>${texts.payment.ask}</button></div>`}
      ${attempt && html`<${Unfinished} payment=${payment} attempt=${attempt} hidden=${isReturning} onAgain=${() => setReturning(true)} />`}
      ${canReturn(payment) && !isZero(payment.AmountEff) && !attempt && html`<div class="actions" hidden=${isReturning}>
        <button type="button" onClick=${() => { setAnswer(null); setReturning(true); }}>${texts.return.open}</button></div>`}
      ${isReturning && html`<${ReturnDialog} payment=${payment} onClose=${() => setReturning(false)} onAnswered=${answered} />`}
      <${Facts} payment=${payment} />
    </section>
    <${Pictures} payment=${payment} />
    <${ReceiptOf} payment=${payment} />`;
}

export function Payment({ id }) {
  const state = useLoaded(() => found(id), id);
  const operation = state.data && texts.operations[state.data.OperationID];
  return html`<div class="title">
      <h1>${operation ?? texts.operations[1]}</h1>
      <p><a href=${latestList()}>${texts.payment.back}</a></p>
    </div>
    <${Loaded} state=${state}>${(payment) => html`<${Shown} payment=${payment} reload=${state.reload} />`}<//>`;
}
