// The shop's page: its views, by their names in the address.
import { Frame } from "./frame.js";
import { texts } from "./texts.js";
import { Today } from "./today.js";
import { html, render } from "./view.js";

const views = {
  today: { title: texts.today.title, view: Today },
};

render(html`<${Frame} views=${views} />`, document.getElementById("app"));
