// Sliders of knobs against predicted latency. Only the answer is drawn anew; the form stays under the reader's hand.
import { keep, link } from "./address.js";
import { get, post } from "./api.js";
import { h, section, svg } from "./dom.js";
import { figure } from "./figures.js";
import { predictionNote, predictionTable, predictionText } from "./remedies.js";
import { badge, stateOf } from "./verdict.js";
import { say, sayOr, text } from "./words.js";

const QUIET_MS = 500, LONG_MS = 200000, FIRST_LOOK = 6, ALL = 20;
const BARS = ["ttft_p95", "itl_p95", "e2e_p95", "tokens_per_s"];

// -- the question: what differs from how it is, kept in the URL as set=flag=value&assume=name=value

const asked = (page) => ({ change: Object.fromEntries(page.change), assume: Object.fromEntries(page.assume) });

const written = (page) => keep({
  set: [...page.change].map(([name, value]) => `${name}=${value}`).join(","), assume: [...page.assume].map(([name, value]) => `${name}=${value}`).join(","),
});

const pairs = (line) => (line ?? "").split(",").filter((part) => part.includes("=")).map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]);

const put = (page, kind, name, value, now) => {
  if (value === now) page[kind].delete(name); else page[kind].set(name, value);
  written(page);
  clearTimeout(page.timer);
  page.timer = setTimeout(() => answer(page), QUIET_MS);
};

// -- controls

const slider = (page, kind, one) => {
  const set = page[kind].get(one.id), start = one.values.indexOf(set ?? one.now);
  const id = `knob-${one.id}`, out = h("output", { for: id });
  const input = h("input", { id, type: "range", min: 0, max: one.values.length - 1, step: 1, "aria-describedby": `${id}-now` });
  input.value = start >= 0 ? start : Math.floor(one.values.length / 2);
  const said = () => {
    const value = one.values[Number(input.value)], fixed = start < 0 && !page[kind].has(one.id);
    out.textContent = fixed ? say("whatif_as_is") : one.id === "rate" ? `×${value}` : value;
    input.setAttribute("aria-valuetext", out.textContent);
    out.className = page[kind].has(one.id) ? "set" : "";
  };
  input.addEventListener("input", () => { put(page, kind, one.id, one.values[Number(input.value)], one.now); said(); });
  said();
  return [h("label", { for: id }, label(one)), input, out];
};

const picker = (page, kind, one) => {
  const id = `knob-${one.id}`;
  const names = { true: say("on"), false: say("off_word") };
  const node = h("select", { id, "aria-describedby": `${id}-now` }, h("option", { value: "" }, say("whatif_as_is")),
    one.values.map((value) => h("option", { value }, one.kind === "switch" ? names[value] : value)));
  node.value = page[kind].get(one.id) ?? "";
  node.addEventListener("change", () => put(page, kind, one.id, node.value, ""));
  return [h("label", { for: id }, label(one)), node, h("output", {})];
};

const label = (one) => (one.flag ? h("code", {}, one.flag) : say(`assume_${one.id}`));

const control = (page, kind, one) => {
  const now = one.now === "" ? say("whatif_not_known") : say("whatif_now", { value: one.kind === "switch" ? say(one.now === "true" ? "on" : "off_word") : one.now });
  return h("div", { class: "knob", title: text(one.what) }, ["whole", "number"].includes(one.kind) ? slider(page, kind, one) : picker(page, kind, one),
    h("p", { class: "note", id: `knob-${one.id}-now` }, now, text(one.what) && ` · ${text(one.what)}`));
};

const form = (page, view) => page.keep("form", () => h("form", { class: "knobs", onsubmit: (event) => event.preventDefault() },
  section(say("whatif_assume"), view.assume.map((one) => control(page, "assume", one))),
  section(say("whatif_knobs"), view.knobs.map((one) => control(page, "change", one))),
  h("p", {}, h("button", { type: "button", "data-key": "reset", onclick: () => {
    page.change.clear();
    page.assume.clear();
    written(page);
    page.nodes.delete("form");
    page.redraw();
    answer(page);
  } }, say("whatif_reset")))));

// -- the answer

// Now against predicted, each to the longer of the two.
const bars = (prediction) => {
  const shown = BARS.map((id) => prediction.metrics.find((metric) => metric.id === id)).filter(Boolean);
  return h("div", { class: "bars" }, shown.map((metric) => {
    const { low, mid, high } = metric.predicted, now = metric.now, most = Math.max(now ?? 0, high) || 1, x = (value) => (value / most) * 100;
    const said = `${sayOr(`m_${metric.id}`, metric.id)}: ${say("whatif_measured")} ${figure(now, metric.unit)}, ${say("whatif_predicted")} ${figure(mid, metric.unit)}`;
    return h("div", { class: "versus" }, h("p", {}, h("strong", {}, sayOr(`m_${metric.id}`, metric.id)), " ", h("span", { class: "muted" }, figure(now, metric.unit)), " → ", h("strong", {}, figure(mid, metric.unit))),
      svg("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", role: "img", "aria-label": said },
        Number.isFinite(now) && svg("rect", { class: "before", width: x(now), height: 6 }),
        svg("rect", { class: "after", y: 8, width: x(mid), height: 6 }), svg("path", { class: "whisker", d: `M${x(low)} 11H${x(high)}` })));
  }), h("p", { class: "note" }, say("whatif_bars")));
};

const rough = (page, prediction) => prediction.draws < ALL && h("p", { class: "note" }, say("whatif_rough", { draws: prediction.draws }), " ",
  h("button", { type: "button", "data-key": "full", onclick: () => answer(page, ALL) }, say("whatif_full")));

const told = (page, found) => {
  const [prediction] = found.predictions, [no] = found.not_predicted ?? [];
  if (!prediction) return [h("p", { class: "failed" }, text(no?.because))];
  return [...predictionText(prediction), rough(page, prediction), bars(prediction), predictionTable(prediction),
    prediction.warnings.length > 0 && [h("h4", {}, say("whatif_warnings")), h("ul", {}, prediction.warnings.map((one) => h("li", {}, text(one))))],
    predictionNote(prediction)];
};

const shown = (page, ...nodes) => page.nodes.get("answer").replaceChildren(...nodes.flat(Infinity).filter((node) => node instanceof Node));

const answer = async (page, draws = FIRST_LOOK) => {
  page.asking?.abort();
  if (!page.change.size && !page.assume.size) return shown(page, h("p", { class: "empty" }, say("whatif_idle")));
  const asking = (page.asking = new AbortController());
  page.nodes.get("answer").classList.add("waiting");
  shown(page, h("p", { class: "loading", role: "status" }, say("whatif_working", { draws })), [...page.nodes.get("answer").children].filter((node) => !node.classList.contains("loading")));
  try {
    const found = await post("whatif", { engine: page.route.id, ...asked(page), draws }, { timeout: LONG_MS, signal: AbortSignal.any([asking.signal, page.signal]) });
    shown(page, told(page, found));
  } catch (error) {
    if (asking.signal.aborted || page.signal.aborted) return undefined;
    shown(page, h("div", { class: "failed", role: "alert" }, h("p", {}, error.message), error.hint && h("p", {}, error.hint)));
  }
  page.nodes.get("answer").classList.remove("waiting");
  return undefined;
};

// -- pages

const choose = (fleet) => [h("h1", {}, say("whatif_title")), h("p", { class: "muted" }, say("whatif_note")), fleet.engines.length
  ? section(say("whatif_pick"), h("ul", { class: "pick" }, fleet.engines.map((engine) => h("li", {}, h("a", { href: link("whatif", engine.id) }, engine.id), " ", badge(stateOf(engine)), h("p", { class: "muted" }, text(engine.headline))))))
  : h("p", { class: "empty" }, say("whatif_none"))];

export const whatifPage = {
  still: true,
  gone: "engine_gone",
  title: (page) => `${say("whatif_title")} ${page.route.id}`,
  load: (page) => {
    page.change ??= new Map(pairs(page.route.query.get("set")));
    page.assume ??= new Map(pairs(page.route.query.get("assume")));
    return page.route.id ? get(`whatif/${encodeURIComponent(page.route.id)}`, { signal: page.signal, timeout: LONG_MS }) : get("fleet", { signal: page.signal });
  },
  draw: (page, view) => {
    if (!page.route.id) return choose(view);
    const out = page.keep("answer", () => {
      queueMicrotask(() => answer(page));
      return h("div", { class: "predicted", "aria-live": "polite" });
    });
    return [h("p", { class: "crumb" }, h("a", { href: link("engine", page.route.id) }, page.route.id), ` / ${say("whatif")}`),
      h("h1", {}, say("whatif_title"), " ", h("small", {}, page.route.id)), h("p", { class: "muted" }, say("whatif_note")),
      h("div", { class: "split" }, form(page, view), out)];
  },
};
