// Timelines, as the report and the dashboard draw them: uPlot draws lines, this draws limits and onsets over them. A plain script
// and no module, like uPlot's own: a report's only script block cannot import.
//
// A panel is {title, unit, lines: [{label, values, limit, limit_label}]} in one language; a mark is {at, low, high, label, first},
// the first one named; `ways` says how moments are written and holds the words: x(value), tick(value, step), words {time, above}.
var whystallTimeline = (() => {
  "use strict";
  const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
  const COLOURS = 4, HEIGHT = 190;
  const BRIDGED = 5;  // a mean has no value in an interval without a request; a longer gap than this stays open
  // Steps that a clock has, from a microsecond to days: 200 s are no mark that a person would choose.
  const STEPS = [...[-6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((digit) => Number(`${digit}e${power}`))),
    1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 432000, 864000];
  const MINUTE = 60, HALF_HOUR = 1800, DAY = 86400;
  const root = document.documentElement;
  const { number, figure } = whystallNumbers;

  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const font = (weight, size) => `${weight} ${size}px ${getComputedStyle(document.body).fontFamily}`;

  // The same for all marks of an axis; `step` lies between two of them.
  const secondsMark = (value, step) => {
    if (value === 0) return "0";
    if (step >= DAY) return `${number(value / DAY)} d`;
    if (step >= HALF_HOUR) return `${number(value / 3600)} h`;
    if (step >= MINUTE) return `${number(value / 60)} min`;
    if (step >= 1) return `${number(value)} s`;
    return step >= 1e-3 ? `${number(value * 1e3)} ms` : `${number(value * 1e6)} µs`;
  };

  // -- over the lines

  const written = (ctx, label, at) => {
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.strokeStyle = colour("card");
    ctx.strokeText(label.text, ...at);
    ctx.fillStyle = label.ink;
    ctx.fillText(label.text, ...at);
  };

  // A label takes the first of its places that lies within the chart and where no other stands, else one moved sideways into it.
  const put = (ctx, labels, { left, top, width, height }) => {
    const high = 13 * devicePixelRatio, taken = [];
    ctx.font = font(500, 11 * devicePixelRatio);
    for (const label of labels) {
      label.text = fitting(ctx, label.text, width - 8 * devicePixelRatio);
      const wide = ctx.measureText(label.text).width;
      const boxes = label.places.map(([x, y, side]) => [side === "right" ? x - wide : x, y - high, wide, high]);
      const into = ([x, y, ...size]) => [Math.max(left, Math.min(x, left + width - wide)), Math.max(top, Math.min(y, top + height - high)), ...size];
      const inside = (one) => into(one).every((part, i) => part === one[i]);
      const clear = ([x, y, w]) => taken.every((box) => x + w < box[0] || box[0] + box[2] < x || y + high <= box[1] || box[1] + high <= y);
      const box = boxes.find((one) => inside(one) && clear(one)) ?? boxes.map(into).find(clear) ?? into(boxes[0]);
      taken.push(box);
      written(ctx, label, [box[0], box[1] + high]);
    }
  };

  const fitting = (ctx, text, width) => {
    let short = text;
    while (short.length > 1 && ctx.measureText(short === text ? text : short + "…").width > width) short = short.slice(0, -1);
    return short === text ? text : short + "…";
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
    draw(u.ctx, u.bbox);
    u.ctx.restore();
  };

  const shade = (drawn) => (u) => clipped(u, (ctx, { top, height }) => {
    for (const mark of drawn.marks.filter((one) => one.first)) {
      const from = u.valToPos(mark.low, "x", true), to = u.valToPos(mark.high, "x", true);
      ctx.fillStyle = colour("shade");
      ctx.fillRect(from, top, Math.max(to - from, 1), height);
    }
  });

  // Only the first onset is named: where two begin together their names would cover each other.
  const onsetLabels = (u, ctx, marks, { left, top, width, height }) => marks.flatMap((mark) => {
    const x = u.valToPos(mark.at, "x", true), gap = 5 * devicePixelRatio;
    if (x < left || x > left + width) return [];
    stroke(ctx, colour(mark.first ? "limit" : "muted"), mark.first ? 1.5 : 1, mark.first ? [] : [2, 4], [x, top], [x, top + height]);
    if (!mark.first) return [];
    const high = top + 14 * devicePixelRatio, low = top + height - 4 * devicePixelRatio, middle = top + height / 2;
    const heights = x > left + width * 0.6 ? [low, high, middle] : [high, low, middle];
    return [{ text: mark.label, ink: colour("limit"), places: heights.flatMap((y) => [[x + gap, y, "left"], [x - gap, y, "right"]]) }];
  });

  const limitLabels = (u, ctx, drawn, { left, top, width }) => drawn.panel.lines.filter((line) => Number.isFinite(line.limit)).map((line) => {
    const edge = left + width - 4 * devicePixelRatio, row = 14 * devicePixelRatio;
    const level = figure(line.limit, drawn.panel.unit), given = line.limit_label;
    const name = given.includes(level) ? given : `${given} ${level}`.trim();
    if (line.limit > u.scales.y.max)
      return { text: "▲ " + drawn.ways.words.above.replace("{label}", name), ink: colour("muted"), places: [1, 2, 3, 4].map((i) => [edge, top + i * row, "right"]) };
    const y = u.valToPos(line.limit, "y", true), under = y + row + 2 * devicePixelRatio, over = y - 2 * devicePixelRatio, start = left + 4 * devicePixelRatio;
    stroke(ctx, colour("limit"), 1.5, [6, 4], [left, y], [left + width, y]);
    return { text: name, ink: colour("limit"), places: [[edge, over, "right"], [edge, under, "right"], [start, over, "left"], [start, under, "left"]] };
  });

  const overlay = (drawn) => (u) => clipped(u, (ctx, box) => {
    const onsets = onsetLabels(u, ctx, [...drawn.marks].sort((a, b) => a.first - b.first), box);
    put(ctx, [...limitLabels(u, ctx, drawn, box), ...onsets], box);
  });

  // -- the lines

  // The top of the axis: the limit is part of the picture where the line comes near it.
  const top = (panel, highest) => {
    const limits = panel.lines.map((line) => line.limit).filter((limit) => Number.isFinite(limit) && limit <= 2.5 * highest);
    return Math.max(highest, ...limits) * 1.12 || 1;
  };

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

  // Without a cursor the legend has the newest values; one that is older than a bridged gap is not shown for new.
  const newest = (values) => {
    const at = values.findLastIndex((value) => value != null);
    return at >= 0 && at >= values.length - 1 - BRIDGED ? values[at] : null;
  };

  const axes = ({ panel, ways }) => [
    { stroke: colour("muted"), grid: { show: false }, ticks: { stroke: colour("line"), size: 5 }, size: 30, gap: 4, space: 64, incrs: STEPS,
      font: font(400, 11.5), values: (u, marks, axis, space, step) => marks.map((mark) => ways.tick(mark, step)) },
    { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, size: 62, gap: 6, space: 34,
      ...(panel.unit === "s" ? { incrs: STEPS } : {}), font: font(400, 11.5), values: (u, marks, axis, space, step) => marks.map((mark) =>
        (panel.unit === "s" ? secondsMark(mark, step) : figure(mark, panel.unit === "tok/s" ? "" : panel.unit))) },
  ];

  const series = ({ panel, ways }) => [
    { label: ways.words.time, value: (u, at) => (u.data[0].length ? ways.x(at ?? u.data[0][u.data[0].length - 1]) : "–") },
    ...panel.lines.map((line, i) => ({
      label: line.label, stroke: colour("s" + (i % COLOURS)), width: 1.75, dash: DASHES[i % COLOURS], gaps,
      points: { show: true, size: 4, filter: alone },
      value: (u, value, index, at) => {
        const shown = at == null ? newest(u.data[index]) : value;
        return shown == null ? "–" : figure(shown, panel.unit);
      },
    })),
  ];

  const options = (drawn, width) => ({
    width,
    height: HEIGHT,
    cursor: { sync: { key: "whystall" }, y: false, points: { size: 6 } },
    legend: { markers: { width: 2, stroke: (u, i) => colour("s" + ((i - 1) % COLOURS)), dash: (u, i) => ((i - 1) % COLOURS ? "dashed" : "solid") } },
    scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low || 0), top(drawn.panel, high || 0)] } },
    axes: axes(drawn),
    series: series(drawn),
    hooks: { drawClear: [shade(drawn)], draw: [overlay(drawn)] },
  });

  // Arrow keys move the cursor of a focused chart, and with it every other chart's.
  const keys = (u) => (event) => {
    const t = u.data[0], last = t.length - 1, now = u.cursor.idx ?? 0;
    const goal = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, PageUp: now - 10, PageDown: now + 10 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    u.setCursor({ left: u.valToPos(t[Math.min(last, Math.max(0, goal))], "x"), top: u.over.clientHeight / 2 }, true, true);
  };

  const titleOf = (panel) => panel.title + (panel.unit === "tok/s" ? " (tok/s)" : "");

  const summary = (panel) => panel.title + ": " + panel.lines.map((line) => {
    let low = Infinity, high = -Infinity;
    for (const value of line.values) if (value != null) { low = Math.min(low, value); high = Math.max(high, value); }
    return low <= high ? `${line.label} ${figure(low, panel.unit)} – ${figure(high, panel.unit)}` : line.label;
  }).join("; ");

  // One chart: its card stays, and only its data change, while the same lines come.
  class Chart {
    constructor(panel, ways) {
      this.panel = panel;
      this.ways = ways;
      this.marks = [];
      this.card = document.createElement("div");
      this.card.className = "chart";
      this.card.tabIndex = 0;
      this.card.setAttribute("role", "group");
      const title = document.createElement("h3");
      title.textContent = titleOf(panel);
      this.card.append(title);
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
      this.card.remove();
    }
  }

  return { Chart };
})();
