// Every engine: what binds, how far the next limit is, how it went. The worst first.
import { keep, link } from "./address.js";
import { get } from "./api.js";
import { h, table } from "./dom.js";
import { ago, duration, figure, moment, percent } from "./figures.js";
import { linksSection } from "./links.js";
import { bar, spark } from "./spark.js";
import { badge, stateOf } from "./verdict.js";
import { causeTitle, say, text } from "./words.js";

const STATES = ["bottleneck", "unreachable", "unknown", "warning", "healthy", "starting"];
const LINES = { waiting: "req", running: "req", kv_ratio: "ratio", ttft_s: "s", itl_s: "s", tokens_per_s: "tok/s" };
const AT_ONCE = 100, TIGHT = 0.1, NEAR = 0.25;

const last = (values) => values.findLast((value) => Number.isFinite(value));
const mean = (values) => {
  const seen = values.filter((value) => Number.isFinite(value));
  return seen.length ? seen.reduce((a, b) => a + b, 0) / seen.length : -1;
};

const SORTS = {
  worst: null, // the server's own order
  name: (a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id),
  headroom: (a, b) => (a.headroom?.left_ratio ?? 2) - (b.headroom?.left_ratio ?? 2),
  ttft: (a, b) => mean(b.spark.ttft_s) - mean(a.spark.ttft_s),
  waiting: (a, b) => (last(b.spark.waiting) ?? -1) - (last(a.spark.waiting) ?? -1),
};

// -- what is chosen stands in the URL

const chosen = (page) => ({
  q: page.query.get("q") ?? "", show: page.query.get("show") ?? "", sort: page.query.get("sort") ?? "worst", line: page.query.get("line") ?? "waiting",
});

const choose = (page, name, value, standard) => {
  keep({ [name]: value === standard ? "" : value });
  page.query.set(name, value);
  page.most = AT_ONCE;
  page.redraw();
};

const select = (page, name, label, standard, options) => {
  const node = h("select", { "data-key": `fleet ${name}` }, options.map(([value, words]) => h("option", { value }, words)));
  node.value = chosen(page)[name];
  node.addEventListener("change", () => choose(page, name, node.value, standard));
  return h("label", {}, h("span", {}, label), node);
};

const toolbar = (page) => page.keep("toolbar", () => {
  const search = h("input", { type: "search", placeholder: say("filter"), "aria-label": say("filter"), value: chosen(page).q, "data-key": "fleet q" });
  search.addEventListener("input", () => choose(page, "q", search.value.trim(), ""));
  return h("form", { class: "tools", onsubmit: (event) => event.preventDefault() }, search,
    select(page, "show", say("show_state"), "", [["", say("all")], ...STATES.map((state) => [state, say(`verdict_${state}`)])]),
    select(page, "sort", say("sort"), "worst", Object.keys(SORTS).map((name) => [name, say(`sort_${name}`)])),
    select(page, "line", say("spark_of"), "waiting", Object.keys(LINES).map((name) => [name, say(`spark_${name}`)])));
});

const fits = (engine, { q, show }) => {
  if (show && stateOf(engine) !== show) return false;
  const words = [engine.name, engine.id, engine.target, engine.engine.model, engine.binding_limit, causeTitle(engine.binding_limit), text(engine.headline)];
  return q.toLowerCase().split(/\s+/).every((part) => words.some((word) => String(word).toLowerCase().includes(part)));
};

// -- cells

const nameCell = (engine) => [
  h("a", { class: "name", href: link("engine", engine.id), "data-key": `engine ${engine.id}` }, engine.id),
  h("p", { class: "muted" }, [engine.engine.model, engine.engine.version && `${engine.engine.name} ${engine.engine.version}`].filter(Boolean).join(" · ") || engine.target),
];

const answerCell = (engine) => {
  const headline = engine.condition === "unreachable" && engine.error ? text(engine.error_text) : text(engine.headline);
  const binds = engine.binding_limit ? causeTitle(engine.binding_limit) : "", ahead = engine.forecast ? text(engine.forecast.text) : "";
  return [
    binds && !headline.startsWith(binds) && h("p", { class: "binds" }, binds),
    h("p", {}, headline),
    engine.since !== null && h("p", { class: "muted" }, say("since_time", { time: moment(engine.since) })),
    ahead && ahead !== headline && h("p", { class: "forecast" }, `◔ ${ahead}`),
    text(engine.beside) && h("p", { class: "forecast" }, `≠ ${text(engine.beside)}`),
    engine.silenced && h("p", { class: "muted" }, say("silenced", { why: engine.silenced })),
  ];
};

const headroomCell = ({ headroom }) => {
  if (!headroom) return h("span", { class: "muted" }, say("headroom_none"));
  const tone = headroom.left_ratio < TIGHT ? "bad" : headroom.left_ratio < NEAR ? "doubt" : "good";
  return [h("div", { class: "headroom" }, bar(1 - headroom.left_ratio, tone), h("strong", {}, say("headroom_left", { left: percent(headroom.left_ratio) }))),
    h("p", { class: "muted" }, text(headroom.text))];
};

const sparkCell = (engine, name) => {
  const values = engine.spark[name] ?? [], seen = values.filter((value) => Number.isFinite(value)), unit = LINES[name];
  if (!seen.length) return h("span", { class: "muted" }, say("not_seen"));
  const word = say(`spark_${name}`), now = figure(last(values), unit);
  const said = say("spark_said", { name: word, low: figure(Math.min(...seen), unit), high: figure(Math.max(...seen), unit), last: now });
  return h("div", { class: "sparkcell", title: said }, spark(values, said, name === "kv_ratio" ? 1 : null), h("span", {}, now));
};

const row = (engine, line, at) => [badge(stateOf(engine)), nameCell(engine), answerCell(engine), headroomCell(engine), sparkCell(engine, line),
  engine.last_page === null ? "–" : ago(engine.last_page, at)];

const counts = (engines) => h("p", { class: "counts" }, STATES.map((state) => [state, engines.filter((one) => stateOf(one) === state).length])
  .filter(([, count]) => count).map(([state, count]) => h("span", {}, h("strong", {}, count), " ", badge(state))));

const list = (page, engines, at) => {
  const { sort, line } = chosen(page);
  const order = SORTS[sort], sorted = order ? [...engines].sort(order) : engines, most = page.most ?? AT_ONCE;
  const columns = ["col_state", "col_engine", "col_answer", "col_headroom", `spark_${Object.hasOwn(LINES, line) ? line : "waiting"}`, "col_seen"];
  return [
    table(say("fleet_title"), columns.map((key) => ({ title: say(key) })), sorted.slice(0, most).map((one) => row(one, Object.hasOwn(LINES, line) ? line : "waiting", at))),
    sorted.length > most && h("button", { type: "button", "data-key": "more", onclick: () => { page.most = most + AT_ONCE; page.redraw(); } },
      say("show_more", { count: Math.min(AT_ONCE, sorted.length - most) })),
  ];
};

// The newest page's clock where a replay or an emulator runs on a time of its own.
const clockOf = (fleet) => {
  const newest = Math.max(...fleet.engines.map((one) => one.last_page ?? 0));
  return Math.abs(fleet.at - newest) > 3600 ? newest : Math.max(fleet.at, newest);
};

let known = null; // what the foot says, also in the language that is chosen later

export const foot = (fleet = known) => {
  known = fleet;
  if (known) document.getElementById("foot").replaceChildren(say("made_by", { version: known.version, time: moment(known.started) }));
};

export const fleetPage = {
  title: () => say("fleet_title"),
  load: async (page) => {
    page.query ??= page.route.query;
    return get("fleet", { signal: page.signal });
  },
  draw: (page, fleet) => {
    foot(fleet);
    const { engines, store } = fleet;
    const head = h("div", { class: "head" }, h("h1", {}, say("fleet_title"), " ",
      h("small", {}, engines.length === 1 ? say("fleet_one") : say("fleet_count", { count: engines.length }))), counts(engines));
    const broken = store?.error && h("p", { class: "failed" }, `⚠ ${say("store_error", { why: text(store.error_text), held: store.held })}`);
    const late = fleet.own?.late && h("p", { class: "failed" }, `⚠ ${text(fleet.own.text)}`);
    if (!engines.length) return [head, broken, late, linksSection(fleet.links, "links_note"), h("div", { class: "empty" }, h("p", { class: "big" }, say("fleet_empty")), h("p", { class: "muted" }, say("fleet_empty_hint")))];
    const found = engines.filter((one) => fits(one, chosen(page)));
    const none = () => h("div", { class: "empty" }, h("p", { class: "big" }, say("no_match")), h("button", { type: "button", onclick: () => {
      page.nodes.delete("toolbar");
      keep({ q: "", show: "" });
      page.query.delete("q");
      page.query.delete("show");
      page.redraw();
    } }, say("clear_filter")));
    return [head, broken, late, toolbar(page), found.length ? list(page, found, clockOf(fleet)) : none(), linksSection(fleet.links, "links_note")];
  },
};

export const engineFacts = (engine) => [
  [say("target"), engine.target],
  [say("engine"), `${engine.engine.name} ${engine.engine.version || say("version_unknown")}`],
  [say("model"), engine.engine.model],
  [say("engine_id"), engine.engine.id],
  [say("scrapes"), say("scrapes_value", { scrapes: engine.scrapes, failed: engine.failed })],
  [say("col_seen"), engine.last_page === null ? "–" : moment(engine.last_page)],
  [say("own_cost"), engine.cost_s > 0 ? duration(engine.cost_s) : ""],
  [say("last_error"), text(engine.error_text)],
];
