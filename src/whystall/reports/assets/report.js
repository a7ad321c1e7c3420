(() => {
  "use strict";
  const root = document.documentElement;
  const engines = JSON.parse(document.getElementById("chart-data").textContent);
  const drawn = [];
  const { number } = whystallNumbers;

  // After the window's start: seconds up to two minutes, then as on a stop-watch.
  const span = (value) => {
    const size = Math.abs(Math.round(value * 10) / 10);
    if (size < 120) return number(value) + " s";
    const two = (part) => String(part).padStart(2, "0");
    const whole = Math.round(size), hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
    const front = hours ? `${hours}:${two(minutes)}` : `${minutes}`;
    return `${value < 0 ? "-" : ""}${front}:${two(whole % 60)}`;
  };
  const clock = (unix) => {
    const date = new Date(unix * 1000);
    return isNaN(date) ? "" : date.toISOString().slice(11, 19) + " UTC";
  };

  const ways = (engine) => ({
    tick: span, words: engine.words, x: (at) => `${span(at)} · ${clock(engine.start + at)}`,
  });

  const marksOf = (engine) => engine.onsets.map((onset) => ({
    at: onset.seconds, low: onset.low, high: onset.high, first: onset.first, label: `${engine.words.onset} ${span(onset.seconds)}`,
  }));

  const drawSection = (section) => {
    const engine = engines[Number(section.dataset.number)];
    if (!engine || !engine.t.length || !engine.panels.length) return;
    section.hidden = false;
    section.querySelector(".onset").hidden = !engine.onsets.some((onset) => onset.first);
    const holder = section.querySelector(".charts");
    if (holder.childElementCount || section.closest("details:not([open])")) return;
    // All cards first: how wide one is depends on how many there are.
    const charts = engine.panels.map((panel) => new whystallTimeline.Chart(panel, ways(engine)));
    holder.append(...charts.map((chart) => chart.card));
    charts.forEach((chart, i) => chart.show(engine.panels[i], engine.t, marksOf(engine)));
    drawn.push(() => charts.forEach((chart) => chart.close()));
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
