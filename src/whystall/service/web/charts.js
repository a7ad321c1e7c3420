// Timelines that share one cursor and one zoom. uPlot draws; limits and onsets are drawn over it.
import { h } from "./dom.js";
import { clock, figure } from "./figures.js";
import { causeTitle, language, say, text } from "./words.js";

const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
const COLOURS = 4, HEIGHT = 190, BRIDGED = 5;
const root = document.documentElement;

const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
const font = (weight, size) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

// -- over the lines

const label = (ctx, words, x, y, align, ink) => {
  ctx.font = font(500, 11 * devicePixelRatio);
  ctx.textAlign = align;
  ctx.textBaseline = "bottom";
  ctx.lineWidth = 3 * devicePixelRatio;
  ctx.strokeStyle = colour("card");
  ctx.strokeText(words, x, y);
  ctx.fillStyle = ink;
  ctx.fillText(words, x, y);
};

const stroke = (ctx, ink, width, dash, from, to) => {
  ctx.strokeStyle = ink;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.setLineDash(dash.map((part) => part * devicePixelRatio));
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.setLineDash([]);
};

const clipped = (u, draw) => {
  const { left, top, width, height } = u.bbox;
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(left, top, width, height);
  u.ctx.clip();
  draw(u.ctx, left, top, width, height);
  u.ctx.restore();
};

const shadeOnsets = (drawn) => (u) => clipped(u, (ctx, left, top, width, height) => {
  for (const mark of drawn.marks.slice(0, 1)) {
    const from = u.valToPos(mark.low, "x", true), to = u.valToPos(mark.high, "x", true);
    ctx.fillStyle = colour("shade");
    ctx.fillRect(from, top, Math.max(to - from, 1), height);
  }
});

const drawOnsets = (drawn) => (u) => clipped(u, (ctx, left, top, width, height) => {
  [...drawn.marks].reverse().forEach((mark, i) => {
    const first = i === drawn.marks.length - 1, x = u.valToPos(mark.at, "x", true);
    stroke(ctx, first ? colour("limit") : colour("muted"), first ? 1.5 : 1, first ? [] : [2, 4], [x, top], [x, top + height]);
    // Only the first is named: where two begin together their names would cover each other.
    if (!first) return;
    const right = x > left + width * 0.6;
    label(ctx, mark.label, x + (right ? -5 : 5) * devicePixelRatio,
      right ? top + height - 4 * devicePixelRatio : top + 14 * devicePixelRatio, right ? "right" : "left", colour("limit"));
  });
});

const drawLimits = (drawn) => (u) => clipped(u, (ctx, left, top, width) => {
  let above = 0;
  const edge = left + width - 4 * devicePixelRatio;
  for (const line of drawn.panel.lines) {
    if (!Number.isFinite(line.limit)) continue;
    const level = figure(line.limit, drawn.panel.unit), given = text(line.limit_label);
    const name = given.includes(level) ? given : `${given} ${level}`.trim();
    if (line.limit > u.scales.y.max) {
      above += 1;
      label(ctx, "▲ " + say("chart_limit_above", { label: name }), edge, top + 14 * above * devicePixelRatio, "right", colour("muted"));
      continue;
    }
    const y = u.valToPos(line.limit, "y", true);
    stroke(ctx, colour("limit"), 1.5, [6, 4], [left, y], [left + width, y]);
    label(ctx, name, edge, y - 2 * devicePixelRatio, "right", colour("limit"));
  }
});

// -- the lines

// The top of the axis: the limit is part of the picture where the line comes near it.
const top = (panel, highest) => {
  const limits = panel.lines.map((line) => line.limit).filter((limit) => Number.isFinite(limit) && limit <= 2.5 * highest);
  return Math.max(highest, ...limits) * 1.12 || 1;
};

// A mean has no value in an interval without a request. A short gap is bridged, a longer one stays open.
const gaps = (u, series, first, last, found) => {
  const t = u.data[0], step = t.length > 1 ? (t[t.length - 1] - t[0]) / (t.length - 1) : 1;
  const widest = u.valToPos(u.scales.x.min + (BRIDGED + 0.5) * step, "x", true) - u.valToPos(u.scales.x.min, "x", true);
  return found.filter(([from, to]) => to - from > widest);
};

// A value that no line reaches is drawn as a dot.
const alone = (u, series) => {
  const values = u.data[series], dots = [];
  const empty = (from, to) => { for (let i = Math.max(0, from); i <= to; i += 1) if (values[i] != null) return false; return true; };
  for (let i = u.series[series].idxs[0]; i <= u.series[series].idxs[1]; i += 1)
    if (values[i] != null && empty(i - BRIDGED, i - 1) && empty(i + 1, i + BRIDGED)) dots.push(i);
  return dots;
};

const axes = (panel) => [
  { stroke: colour("muted"), grid: { show: false }, ticks: { stroke: colour("line"), size: 5 }, size: 30, gap: 4, space: 76,
    font: font(400, 11.5), values: (u, marks) => marks.map(clock) },
  { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, size: 62, gap: 6, space: 34,
    font: font(400, 11.5), values: (u, marks) => marks.map((mark) => figure(mark, panel.unit === "tok/s" ? "" : panel.unit)) },
];

const options = (drawn, width) => ({
  width,
  height: HEIGHT,
  cursor: { sync: { key: "whystall" }, y: false, points: { size: 6 } },
  legend: { markers: { width: 2, stroke: (u, i) => colour("s" + ((i - 1) % COLOURS)), dash: (u, i) => ((i - 1) % COLOURS ? "dashed" : "solid") } },
  scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low || 0), top(drawn.panel, high || 0)] } },
  axes: axes(drawn.panel),
  series: [
    { label: say("chart_time"), value: (u, at) => (at == null ? "–" : clock(at)) },
    ...drawn.panel.lines.map((line, i) => ({
      label: text(line.label), stroke: colour("s" + (i % COLOURS)), width: 1.75, dash: DASHES[i % COLOURS], gaps,
      points: { show: true, size: 4, filter: alone }, value: (u, value) => (value == null ? "–" : figure(value, drawn.panel.unit)),
    })),
  ],
  hooks: { drawClear: [shadeOnsets(drawn)], draw: [drawOnsets(drawn), drawLimits(drawn)] },
});

// Arrow keys move the cursor of a focused chart, and with it every other chart's.
const keys = (u) => (event) => {
  const t = u.data[0], last = t.length - 1, now = u.cursor.idx ?? 0;
  const goal = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, PageUp: now - 10, PageDown: now + 10 }[event.key];
  if (goal === undefined) return;
  event.preventDefault();
  u.setCursor({ left: u.valToPos(t[Math.min(last, Math.max(0, goal))], "x"), top: u.over.clientHeight / 2 }, true, true);
};

const summary = (panel) => text(panel.title) + ": " + panel.lines.map((line) => {
  let low = Infinity, high = -Infinity;
  for (const value of line.values) if (value != null) { low = Math.min(low, value); high = Math.max(high, value); }
  return low <= high ? `${text(line.label)} ${figure(low, panel.unit)} – ${figure(high, panel.unit)}` : text(line.label);
}).join("; ");

// One chart: its card stays, and only its data change, while the same lines come.
class Chart {
  constructor(panel) {
    this.panel = panel;
    this.marks = [];
    this.title = h("h3", {}, text(panel.title) + (panel.unit === "tok/s" ? " (tok/s)" : ""));
    this.card = h("div", { class: "chart", tabindex: "0", role: "group" }, this.title);
    this.watcher = new ResizeObserver(() => this.fit());
    this.watcher.observe(this.card);
  }

  get inner() { return Math.max(200, this.card.clientWidth - 20); }

  fit() {
    if (!this.card.clientWidth || !this.data) return;
    if (this.plot) this.plot.setSize({ width: this.inner, height: HEIGHT });
    else {
      this.plot = new uPlot(options(this, this.inner), this.data, this.card);
      this.card.addEventListener("keydown", keys(this.plot));
    }
  }

  show(panel, t, marks) {
    this.panel = panel;
    this.marks = marks;
    this.data = [t, ...panel.lines.map((line) => line.values)];
    this.card.setAttribute("aria-label", summary(panel));
    if (!this.plot) return this.fit();
    const before = this.plot.data[0], { min, max } = this.plot.scales.x;
    const zoomed = min > before[0] || max < before[before.length - 1];
    this.plot.setData(this.data, !zoomed);
    if (zoomed) this.plot.redraw();
    return undefined;
  }

  close() {
    this.watcher.disconnect();
    this.plot?.destroy();
  }
}

// The charts of one page, kept from one drawing to the next.
export class Charts {
  constructor() { this.open = new Map(); }

  cards(panels, t, marks = []) {
    return panels.map((panel) => {
      const key = [panel.id, language(), root.dataset.theme, ...panel.lines.map((line) => line.id)].join(" ");
      if (!this.open.has(key)) this.open.set(key, new Chart(panel));
      const chart = this.open.get(key);
      chart.show(panel, t, marks);
      return chart.card;
    });
  }

  close() {
    this.open.forEach((chart) => chart.close());
    this.open.clear();
  }
}

export const onsetMarks = (onsets) => onsets.map((mark) => ({ ...mark, label: say("onset_mark", { what: causeTitle(mark.id) }) }));
