// A payment: its state, card, returns, receipt, photo and signature.
import { ErrorCode } from "../kit/error_codes.js";
import { formatMoment } from "../kit/dates.js";
import { canReturn, doneWords, ReturnDialog, unfinished, Unfinished } from "../kit/giving_back.js";
import { found, isReversal, isUnknown, returnsOf, tookMoney } from "./history.js";
import { useLoaded } from "../kit/load.js";
import { format, isZero } from "../kit/money.js";
import { Loaded, Money } from "../kit/parts.js";
import { Badge, latestList, meansOf, shownAmount } from "./payments.js";
import { ReceiptOf } from "./receipt.js";
import { taxName } from "./reports.js";
import { address, goBackTo } from "../kit/route.js";
import { merchant, session } from "../kit/session.js";
import { texts } from "./texts.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";
const FORBIDDEN = 403;

const listed = (facts, kind) =>
  facts
    .filter(([, value]) => value)
    .map(([name, value]) => html`<div key=${name} class=${kind}><dt>${name}</dt><dd>${value}</dd></div>`);

function Facts({ payment }) {
  const names = texts.payment;
  const money = (amount) => html`<${Money} amount=${amount} currency=${payment.CurrencyID} />`;
  const isReturned = !isReversal(payment) && payment.CountRvs > 0;
  const isRefused = !tookMoney(payment) && !payment.IsNotFinished;
  const facts = [
    [names.means, meansOf(payment)],
    [names.refusal, isRefused && payment.Result?.Message],
    [names.till, payment.TransPos.Name],
    [names.givenBack, isReturned && money(payment.AmountRvs)],
    [names.remains, isReturned && money(payment.AmountEff)],
    [names.taken, payment.Received && formatMoment(payment.Date)],
    [names.received, payment.Received && formatMoment(payment.Received)],
    [names.cashGot, payment.AmountCashGot !== null && money(payment.AmountCashGot)],
    ...(payment.TaxAmounts ?? []).map((tax) => [taxName(tax), names.taxIn(money(tax.Tax), money(tax.Gross))]),
    [names.invoice, payment.Invoice],
  ];
  const long = [
    [names.description, payment.Description],
    [names.receiptTo, [payment.ReceiptEmail, payment.ReceiptPhone].filter(Boolean).join(", ")],
    [
      names.original,
      isReversal(payment) &&
        payment.ReverseID &&
        html`<a href=${address("payments", {}, payment.ReverseID)}>${names.showOriginal}</a>`,
    ],
  ];
  const technical = [
    [names.card, payment.Card.PANMasked && `${payment.Card.IIN} ${payment.Card.PANMasked}`],
    [names.cardholder, payment.CardholderName],
    [names.terminal, payment.TerminalName],
    [names.acquirer, payment.AcquirerID],
    [names.state, `${payment.Status} · ${payment.State}/${payment.Substate}`],
    [
      names.result,
      payment.Result && [payment.Result.Code, payment.Result.Message].filter((one) => one !== null).join(" · "),
    ],
    [names.approval, payment.ApprovalCode],
    [names.rrn, payment.RRN],
    [names.extId, payment.ExtID],
  ];
  return html`<dl class="facts">${listed(facts)}${listed(long, "long")}</dl>
    <details class="technical"><summary>${names.technical}</summary><dl class="facts">${listed([[names.id, payment.ID]], "long")}${listed(technical)}</dl></details>`;
}

function Return({ one, payment }) {
  const reason = one.Description === payment.Description ? null : one.Description; // a return without one has the payment's
  return html`<li data-id=${one.ID}><a href=${address("payments", {}, one.ID)}>
    <time>${formatMoment(one.Date)}</time>
    <span class="what">${reason ?? texts.payment.noReason}</span>
    <span class="till">${one.TransPos.Name}</span>
    <${Badge} payment=${one} />
    <span class="amount"><${Money} amount=${shownAmount(one)} currency=${one.CurrencyID} /></span>
  </a></li>`;
}

// Another agent made the return. The payment says how much was given back.
function orNone(refusal) {
  if (refusal.status !== FORBIDDEN) throw refusal;
  return [];
}

function Returns({ payment }) {
  const state = useLoaded(
    () => returnsOf(payment).catch(orNone),
    `${payment.ID} ${payment.AmountRvs} ${payment.CountRvs}`,
  );
  return html`<section class="card rows returns"><h2>${texts.returns}</h2>
    <${Loaded} state=${state}>${(returns) => html`
      <ul>${returns.map((one) => html`<${Return} key=${one.ID} one=${one} payment=${payment} />`)}</ul>
      ${returns.length < payment.CountRvs && html`<p class="empty">${texts.payment.moreReturns}</p>`}`}<//>
  </section>`;
}

function Pictures({ payment }) {
  const shown = [
    [payment.PhotoUrl, texts.payment.photo],
    [payment.SignatureUrl, texts.payment.signature],
  ].filter(([url]) => url);
  return shown.map(
    ([url, name]) =>
      html`<section class="card"><h2>${name}</h2><img class="picture" src=${url} alt=${name} /></section>`,
  );
}

// The outcome of a return in a sentence. A declined return shows the service's words.
function Outcome({ answer, payment }) {
  const sentence = useRef(null);
  useLayoutEffect(() => {
    sentence.current.focus();
  }, [answer]); // the focused button may be gone
  const said = (kind, role, words) =>
    html`<p ref=${sentence} class=${`note ${kind}`} role=${role} tabindex="-1">${words}</p>`;
  if (answer.isStale) {
    const words = isZero(payment.AmountEff)
      ? texts.return.nothingLeft
      : texts.return.lessLeft(format(payment.AmountEff, payment.CurrencyID));
    return said("bad", "alert", words);
  }
  const amount = format(answer.Transaction.Amount, answer.Transaction.CurrencyID);
  if (answer.ErrorCode === 0) return said("good", "status", doneWords(answer.Transaction));
  if (answer.ErrorCode === ErrorCode.OUTCOME_UNKNOWN) return said("warn", "status", texts.return.unknown(amount));
  return said("bad", "alert", texts.return.declined(answer.ErrorMessage ?? ""));
}

function Shown({ payment, reload }) {
  const [isReturning, setReturning] = useState(false);
  const [answer, setAnswer] = useState(null);
  const attempt = unfinished(payment.ID);
  // The payment is read again first, so that the sentence and the payment agree.
  const answered = async (next) => {
    setReturning(false);
    if (next.isStale) await reload();
    setAnswer(next);
    if (!next.isStale) reload();
  };
  return html`
    <section class="card headline">
      <p class="line"><${Badge} payment=${payment} /> ${payment.Received && html`<span class="badge">${texts.offline}</span>`}
        <span>${formatMoment(payment.Date)}</span></p>
      <p class="net"><${Money} amount=${shownAmount(payment)} currency=${payment.CurrencyID} /></p>
      ${answer && html`<${Outcome} answer=${answer} payment=${payment} />`}
      ${
        isUnknown(payment) &&
        html`<div class="note warn"><p>${isReversal(payment) ? texts.payment.unknownReturn : texts.payment.unknown}</p>
        <button type="button" onClick=${reload}>${texts.payment.ask}</button></div>`
      }
      ${attempt && html`<${Unfinished} payment=${payment} attempt=${attempt} hidden=${isReturning} onAgain=${() => setReturning(true)} />`}
      ${
        canReturn(payment) &&
        session().me.Features?.Returns !== false &&
        !isZero(payment.AmountEff) &&
        !attempt &&
        html`<div class="actions" hidden=${isReturning}>
        <button type="button" onClick=${() => {
          setAnswer(null);
          setReturning(true);
        }}>${texts.return.open}</button></div>`
      }
      ${
        isReturning &&
        html`<${ReturnDialog} payment=${payment} onClose=${() => setReturning(false)} onAnswered=${answered}
        onStale=${() => answered({ isStale: true })} />`
      }
      <${Facts} payment=${payment} />
    </section>
    <${ReceiptOf} payment=${payment} />
    ${!isReversal(payment) && payment.CountRvs > 0 && html`<${Returns} payment=${payment} />`}
    <${Pictures} payment=${payment} />`;
}

export function Payment({ id }) {
  const state = useLoaded(() => found(id), id);
  const operation = state.data && texts.operations[state.data.OperationID];
  return html`<div class="title">
      <h1>${operation ?? texts.operations[1]}</h1>
      ${session().me.IsSystemUser && merchant().Name && html`<p>${merchant().Name}</p>`}
      <p><a href=${latestList()} onClick=${goBackTo(latestList())}>${texts.payment.back}</a></p>
    </div>
    <${Loaded} state=${state}>${(payment) => html`<${Shown} payment=${payment} reload=${state.reload} />`}<//>`;
}
