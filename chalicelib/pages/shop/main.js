// The shop's page: its views, by their names in the address.
import { ChooseMerchant } from "./choose_merchant.js";
import { DayReport } from "./day_report.js";
import { Days } from "./days.js";
import { DrawerNow } from "./drawers.js";
import { Frame } from "./frame.js";
import { Notice } from "../kit/parts.js";
import { Payment } from "./payment.js";
import { Payments } from "./payments.js";
import { PriceList } from "./price_list.js";
import { isManager } from "../kit/session.js";
import { canStore } from "../kit/storage.js";
import { ShopPage } from "./shop_form.js";
import { TillPage } from "./till_page.js";
import { Tills } from "./tills.js";
import { texts } from "./texts.js";
import { Today } from "./today.js";
import { Webhooks } from "./webhooks.js";
import { Week } from "./week.js";
import { html, render } from "../kit/view.js";

const views = {
  today: { title: texts.today.title, view: Today },
  days: { title: texts.days.title, view: Days },
  week: { title: texts.week.title, view: Week, within: "days" },
  "day-report": { title: texts.report.title, view: DayReport, within: "days" },
  drawer: { title: texts.drawer.one, view: DrawerNow, within: "days" },
  payments: {
    title: texts.payments.title,
    view: Payments,
    one: Payment,
    oneTitle: texts.operations[1],
    isOfAnyMerchant: true,
  },
  tills: { title: texts.tills.title, view: Tills, one: TillPage, oneTitle: texts.tills.changeTitle },
  "price-list": { title: texts.prices.title, view: PriceList },
  shop: { title: texts.shop.title, view: ShopPage, isListed: isManager },
  webhooks: { title: texts.webhooks.title, view: Webhooks, isListed: isManager },
  merchant: { title: texts.merchant.title, view: ChooseMerchant, isListed: () => false },
};

render(
  canStore ? html`<${Frame} views=${views} />` : html`<${Notice} words=${texts.errors.blocked} />`,
  document.getElementById("app"),
);
