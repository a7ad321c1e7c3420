(() => {
  "use strict";
  const root = document.documentElement;
  const engines = JSON.parse(document.getElementById("chart-data").textContent);
  const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3]];
  const drawn = [];

  const color = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();

  const round = (value) => {
    const size = Math.abs(value);
    if (size >= 1000) return Math.round(value).toLocaleString("en-US");
    const text = size === 0 ? "0" : value.toPrecision(3);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };
  const seconds = (value) =>
    value === 0 ? "0" : Math.abs(value) < 0.001 ? round(value * 1e6) + " µs"
      : Math.abs(value) < 1 ? round(value * 1000) + " ms" : round(value) + " s";
  const bytes = (value) => {
    const names = ["B", "KiB", "MiB", "GiB", "TiB"];
    const step = value > 0 ? Math.min(4, Math.floor(Math.log2(value) / 10)) : 0;
    return round(value / 2 ** (10 * step)) + " " + names[step];
  };
  const figure = (value, unit) => {
    if (value == null) return "–";
    if (unit === "ratio") return round(value * 100) + "%";
    if (unit === "s") return seconds(value);
    if (unit === "bytes") return bytes(value);
    if (unit === "Hz") return round(value / 1e6) + " MHz";
    return round(value) + (unit === "1/s" ? "/s" : unit === "W" ? " W" : "");
  };
  const span = (value) => {
    const size = Math.abs(Math.round(value * 10) / 10);
    if (size < 120) return round(value) + " s";
    const minutes = Math.floor(size / 60), rest = Math.round(size % 60);
    return (value < 0 ? "-" : "") + minutes + ":" + String(rest).padStart(2, "0");
  };
  const clock = (unix) => {
    const date = new Date(unix * 1000);
    return isNaN(date) ? "" : date.toISOString().slice(11, 19) + " UTC";
  };

  // The top of the axis: the limit is part of the picture where the line comes near it.
  const top = (panel, highest) => {
    const limits = panel.lines.map((line) => line.limit).filter((limit) => limit != null && limit <= 2.5 * highest);
    return Math.max(highest, ...limits) * 1.12 || 1;
  };

  const label = (ctx, text, x, y, align, ink) => {
    ctx.font = `500 ${11 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textAlign = align;
    ctx.textBaseline = "bottom";
    ctx.lineWidth = 3 * devicePixelRatio;
    ctx.strokeStyle = color("card");
    ctx.strokeText(text, x, y);
    ctx.fillStyle = ink;
    ctx.fillText(text, x, y);
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
    const { left, top: up, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, up, width, height);
    u.ctx.clip();
    draw(u.ctx, left, up, width, height);
    u.ctx.restore();
  };

  const onsetShade = (engine) => (u) => clipped(u, (ctx, left, up, width, height) => {
    const first = engine.onsets.find((onset) => onset.first);
    if (!first) return;
    const from = u.valToPos(first.low, "x", true), to = u.valToPos(first.high, "x", true);
    ctx.fillStyle = color("shade");
    ctx.fillRect(from, up, Math.max(to - from, 1), height);
  });

  const onsetLines = (engine) => (u) => clipped(u, (ctx, left, up, width, height) => {
    for (const onset of engine.onsets) {
      const x = u.valToPos(onset.seconds, "x", true);
      stroke(ctx, onset.first ? color("limit") : color("muted"), onset.first ? 1.5 : 1, onset.first ? [] : [2, 4],
        [x, up], [x, up + height]);
    }
    const first = engine.onsets.find((onset) => onset.first);
    if (!first) return;
    // At the top, where lines leave room; at the right end a limit's name stands there, so at the foot.
    const x = u.valToPos(first.seconds, "x", true), right = x > left + width * 0.6;
    label(ctx, `${engine.words.onset} ${span(first.seconds)}`, x + (right ? -5 : 5) * devicePixelRatio,
      right ? up + height - 4 * devicePixelRatio : up + 14 * devicePixelRatio, right ? "right" : "left", color("limit"));
  });

  const limitLines = (engine, panel) => (u) => clipped(u, (ctx, left, up, width, height) => {
    let above = 0;
    const edge = left + width - 4 * devicePixelRatio;
    for (const line of panel.lines) {
      if (line.limit == null) continue;
      const level = figure(line.limit, panel.unit), given = line.limit_label;
      const name = given.includes(level) ? given : `${given} ${level}`.trim();
      if (line.limit > u.scales.y.max) {
        above += 1;
        label(ctx, "▲ " + engine.words.above.replace("{label}", name), edge, up + 14 * above * devicePixelRatio, "right", color("muted"));
        continue;
      }
      const y = u.valToPos(line.limit, "y", true);
      stroke(ctx, color("limit"), 1.5, [6, 4], [left, y], [left + width, y]);
      label(ctx, name, edge, y - 2 * devicePixelRatio, "right", color("limit"));
    }
  });

  // A mean has no value in an interval without a request. A short gap is bridged, a longer one stays open.
  const BRIDGED = 5;
  const gaps = (t) => {
    const step = t.length > 1 ? (t[t.length - 1] - t[0]) / (t.length - 1) : 1;
    return (u, series, first, last, found) => {
      const widest = u.valToPos((BRIDGED + 0.5) * step, "x", true) - u.valToPos(0, "x", true);
      return found.filter(([from, to]) => to - from > widest);
    };
  };

  // A value that no line reaches is drawn as a dot.
  const alone = (values) => {
    const near = (i, side) => values.slice(side < 0 ? Math.max(0, i - BRIDGED) : i + 1, side < 0 ? i : i + 1 + BRIDGED);
    const empty = (some) => some.every((value) => value == null);
    const dots = values.flatMap((value, i) => (value != null && empty(near(i, -1)) && empty(near(i, 1)) ? [i] : []));
    return (u, series) => dots.filter((i) => i >= u.series[series].idxs[0] && i <= u.series[series].idxs[1]);
  };

  const options = (engine, panel, width) => ({
    width,
    height: 190,
    cursor: { sync: { key: "whystall" }, y: false, points: { size: 6 } },
    legend: {
      markers: { width: 2, stroke: (u, i) => color("s" + ((i - 1) % 4)), dash: (u, i) => ((i - 1) % 4 ? "dashed" : "solid") },
    },
    scales: { x: { time: false }, y: { range: (u, low, high) => [Math.min(0, low || 0), top(panel, high || 0)] } },
    axes: [
      { stroke: color("muted"), grid: { show: false }, ticks: { stroke: color("line"), size: 5 }, size: 30, gap: 4, space: 64,
        font: axisFont(), values: (u, marks) => marks.map(span) },
      { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { show: false }, size: 58, gap: 6, space: 34,
        font: axisFont(), values: (u, marks) => marks.map((mark) => figure(mark, panel.unit)) },
    ],
    series: [
      { label: engine.words.time, value: (u, at) => (at == null ? "–" : `${span(at)} · ${clock(engine.start + at)}`) },
      ...panel.lines.map((line, i) => ({
        label: line.label, stroke: color("s" + (i % 4)), width: 1.75, dash: DASHES[i % 4], gaps: gaps(engine.t),
        points: { show: true, size: 4, filter: alone(line.values) }, value: (u, value) => figure(value, panel.unit),
      })),
    ],
    hooks: { drawClear: [onsetShade(engine)], draw: [onsetLines(engine), limitLines(engine, panel)] },
  });

  const axisFont = () => "11.5px " + getComputedStyle(document.body).fontFamily;

  // Arrow keys move the cursor of a focused chart, and with it every other chart's.
  const keys = (u, engine) => (event) => {
    const last = engine.t.length - 1, now = u.cursor.idx ?? 0;
    const goal = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last, PageUp: now - 10, PageDown: now + 10 }[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    const left = u.valToPos(engine.t[Math.min(last, Math.max(0, goal))], "x");
    u.setCursor({ left, top: u.over.clientHeight / 2 }, true, true);
  };

  const summary = (panel) =>
    panel.title + ": " + panel.lines.map((line) => {
      const seen = line.values.filter((value) => value != null);
      const low = seen.reduce((a, b) => Math.min(a, b), Infinity), high = seen.reduce((a, b) => Math.max(a, b), -Infinity);
      return seen.length ? `${line.label} ${figure(low, panel.unit)} – ${figure(high, panel.unit)}` : line.label;
    }).join("; ");

  const cardOf = (panel) => {
    const card = document.createElement("div");
    card.className = "chart";
    card.tabIndex = 0;
    card.setAttribute("role", "group");
    card.setAttribute("aria-label", summary(panel));
    const title = document.createElement("h3");
    title.textContent = panel.title + (panel.unit === "tok/s" ? " (tok/s)" : "");
    card.append(title);
    return card;
  };

  const drawChart = (engine, panel, card) => {
    const inner = () => Math.max(200, card.clientWidth - 20);
    const chart = new uPlot(options(engine, panel, inner()), [engine.t, ...panel.lines.map((line) => line.values)], card);
    card.addEventListener("keydown", keys(chart, engine));
    const watcher = new ResizeObserver(() => chart.setSize({ width: inner(), height: 190 }));
    watcher.observe(card);
    drawn.push(() => { watcher.disconnect(); chart.destroy(); card.remove(); });
  };

  const drawSection = (section) => {
    const engine = engines[Number(section.dataset.number)];
    if (!engine || !engine.t.length || !engine.panels.length) return;
    section.hidden = false;
    section.querySelector(".onset").hidden = !engine.onsets.some((onset) => onset.first);
    const holder = section.querySelector(".charts");
    if (holder.childElementCount || section.closest("details:not([open])")) return;
    // All cards first: how wide one is depends on how many there are.
    const cards = engine.panels.map(cardOf);
    holder.append(...cards);
    engine.panels.forEach((panel, i) => drawChart(engine, panel, cards[i]));
  };
  const draw = () => document.querySelectorAll(".timeline").forEach(drawSection);
  const redraw = () => { drawn.splice(0).forEach((remove) => remove()); draw(); };

  // A page opened from a file may have no storage; the choice then lasts as long as the page.
  const stored = (value) => {
    try {
      if (value) localStorage.setItem("whystall-theme", value);
      return localStorage.getItem("whystall-theme");
    } catch { return null; }
  };
  const button = document.getElementById("theme");
  const theme = (name) => {
    root.dataset.theme = name;
    button.setAttribute("aria-pressed", String(name === "dark"));
    redraw();
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  button.addEventListener("click", () => {
    const name = root.dataset.theme === "dark" ? "light" : "dark";
    stored(name);
    theme(name);
  });
  system.addEventListener("change", () => { if (!stored()) theme(system.matches ? "dark" : "light"); });
  document.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", draw));
  let before = "light";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    document.querySelectorAll("details").forEach((one) => { one.open = true; });
    theme("light");
  });
  addEventListener("afterprint", () => theme(before));
  document.getElementById("download").addEventListener("click", () => {
    const body = new Blob([document.getElementById("diagnosis").textContent], { type: "application/json" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(body);
    link.download = "diagnosis.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  theme(stored() || (system.matches ? "dark" : "light"));
})();
