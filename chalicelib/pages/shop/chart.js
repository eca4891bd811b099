// A bar chart. It is only for the eye: a table next to it has the same numbers.
import { formatScale } from "../kit/money.js";
import { html, useLayoutEffect, useRef, useState } from "../kit/view.js";

const HEIGHT = 220;
const LEFT = 60;
const BOTTOM = 24;
const TOP = 10;
const MAX_WIDTH = 1200;
const NARROW = 330; // the width of a card on a phone, so that letters keep their size
const LABEL_WIDTH = 60;

// A round step that gives about four lines.
function step(span) {
  const power = 10 ** Math.floor(Math.log10(span / 4 || 1));
  return [1, 2, 5, 10].map((factor) => factor * power).find((size) => span / size <= 5);
}

function useWidth() {
  const chart = useRef(null);
  const [width, setWidth] = useState(NARROW);
  useLayoutEffect(() => {
    const measure = () => setWidth(Math.min(MAX_WIDTH, Math.max(NARROW, chart.current.clientWidth)));
    const observer = new ResizeObserver(measure);
    observer.observe(chart.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return [chart, width];
}

// `bars` are {label, value, before, title}. `before` is the value of a second, paler bar behind.
export function Chart({ label, bars, currency, labelWidth = LABEL_WIDTH }) {
  const [chart, width] = useWidth();
  const labelEvery = Math.ceil((labelWidth * bars.length) / (width - LEFT));
  const values = bars.flatMap((bar) => [bar.value, bar.before ?? 0]);
  const size = step(Math.max(0, ...values) - Math.min(0, ...values));
  const top = Math.max(size, Math.ceil(Math.max(0, ...values) / size) * size);
  const low = Math.floor(Math.min(0, ...values) / size) * size;
  const y = (value) => TOP + ((top - value) / (top - low)) * (HEIGHT - TOP - BOTTOM);
  const lines = Array.from({ length: Math.round((top - low) / size) + 1 }, (_, number) => low + number * size);
  const room = (width - LEFT) / bars.length;
  // Only every nth bar has a label, if the label does not end outside the chart.
  const isLabelled = (number) => number % labelEvery === 0 && (bars.length - number - 0.5) * room >= labelWidth / 3;

  const bar = (value, kind, left, wide) =>
    value !== 0 &&
    html`<rect class=${kind} x=${left} width=${wide}
    y=${Math.min(y(value), y(0))} height=${Math.max(1, Math.abs(y(value) - y(0)))} rx="2" />`;

  return html`<svg ref=${chart} class="chart" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label=${label}>
    ${lines.map(
      (value) => html`<g class="line">
      <line x1=${LEFT} x2=${width} y1=${y(value)} y2=${y(value)} />
      <text x=${LEFT - 8} y=${y(value) + 4} text-anchor="end">${formatScale(value, currency)}</text>
    </g>`,
    )}
    ${bars.map(
      (one, number) => html`<g>
      <title>${one.title}</title>
      <rect class="ground" x=${LEFT + number * room} width=${room} y=${TOP} height=${HEIGHT - TOP - BOTTOM} />
      ${bar(one.before ?? 0, "before", LEFT + (number + 0.05) * room, room * 0.9)}
      ${bar(one.value, "now", LEFT + (number + 0.2) * room, room * 0.6)}
      ${isLabelled(number) && html`<text x=${LEFT + (number + 0.5) * room} y=${HEIGHT - 6} text-anchor="middle">${one.label}</text>`}
    </g>`,
    )}
  </svg>`;
}
