// The frame: which page is shown, in which language and colours, and whether what it shows is up to date.
import { here, keep, link } from "./address.js";
import { Failure, enter, get } from "./api.js";
import { Charts } from "./charts.js";
import { h } from "./dom.js";
import { clock } from "./figures.js";
import { Live } from "./live.js";
import { casePage } from "./page_case.js";
import { casesPage } from "./page_cases.js";
import { enginePage } from "./page_engine.js";
import { fleetPage, foot } from "./page_fleet.js";
import { incidentPage } from "./page_incident.js";
import { incidentsPage } from "./page_incidents.js";
import { tracesPage } from "./page_traces.js";
import { whatifPage } from "./page_whatif.js";
import { language, say, setCatalogue, setLanguage } from "./words.js";

const PAGES = {
  fleet: fleetPage, engine: enginePage, incidents: incidentsPage, incident: incidentPage, traces: tracesPage, cases: casesPage,
  case: casePage, whatif: whatifPage,
};
const NAV = [["fleet", "fleet", "engine"], ["incidents", "incidents", "incident"], ["traces", "traces", "traces"],
  ["cases", "cases", "case"], ["whatif", "whatif", "whatif"]];
const SOONEST_MS = 2000, POLL_MS = 10000, SHARE = 10; // a page that is slow to load is loaded more seldom
const root = document.documentElement;
const at = (id) => document.getElementById(id);

const stored = (name, value) => {
  try {
    if (value !== undefined) localStorage.setItem(`whystall-${name}`, value);
    return localStorage.getItem(`whystall-${name}`);
  } catch { return null; }
};

// What lives as long as a page is shown: its charts, the nodes it keeps over redraws, the requests under way.
class Shown {
  constructor(route) {
    this.route = route;
    this.charts = new Charts();
    this.nodes = new Map();
    this.stop = new AbortController();
    this.signal = this.stop.signal;
    this.drawn = 0;
  }

  keep(key, make) {
    if (!this.nodes.has(key)) this.nodes.set(key, make());
    return this.nodes.get(key);
  }

  // Draws what is known already once more, as after a filter was changed.
  redraw() { if (this.data !== undefined) draw(this); }
  close() { this.stop.abort(); this.charts.close(); }
}

let shown = null;
let live = { state: "connecting", seconds: 0 };
let timer = 0;

// -- drawing

// Where the reader was: focus returns to the node with the same key.
const settled = (main, nodes) => {
  const key = document.activeElement?.dataset?.key, inside = main.contains(document.activeElement);
  const focused = document.activeElement;
  main.replaceChildren(...[nodes].flat(Infinity).filter((node) => node instanceof Node));
  if (!inside || document.activeElement === focused) return;
  const again = main.contains(focused) ? focused : key && main.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (again) again.focus({ preventScroll: true });
};

const draw = (page) => {
  settled(at("main"), page.route.what.draw(page, page.data));
  page.drawn = Date.now() / 1000;
  document.title = `${page.route.what.title(page, page.data)} · whystall`;
};

const message = (words, hint, ...more) => h("div", { class: "empty" }, h("p", { class: "big" }, words), hint && h("p", { class: "muted" }, hint), ...more);

const askToken = (wrong) => {
  const input = h("input", { id: "token", type: "password", autocomplete: "off" });
  const form = h("form", { class: "empty" }, h("p", { class: "big" }, say("token_title")), h("p", { class: "muted" }, say("token_why")),
    wrong && h("p", { class: "failed", role: "alert" }, wrong),
    h("label", { for: "token" }, say("token_label")), " ", input, " ", h("button", { type: "submit" }, say("token_send")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try { await enter(input.value.trim()); boot(); } catch (error) { askToken(error.status === 401 ? say("token_wrong") : error.message); }
  });
  at("main").replaceChildren(form);
  input.focus();
};

const failed = (page, error) => {
  if (error.status === 401) return askToken("");
  if (page.data !== undefined && error.status === 0) return banner(say("stale", { why: error.message, time: clock(page.drawn) }));
  const gone = error.status === 404 && page.route.what.gone;
  const retry = h("button", { type: "button", "data-key": "retry", onclick: () => load(page) }, say("retry"));
  at("main").replaceChildren(message(gone ? say(gone) : error.message, error.hint, gone ? h("a", { href: link("fleet") }, say("to_fleet")) : retry));
  page.data = undefined;
  return undefined;
};

const banner = (words) => {
  at("banner").hidden = !words;
  at("banner").textContent = words ?? "";
};

const load = async (page) => {
  try {
    const begun = performance.now();
    const data = await page.route.what.load(page);
    if (page !== shown) return;
    page.took = performance.now() - begun;
    page.data = data;
    banner("");
    draw(page);
  } catch (error) {
    if (page !== shown || page.signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    failed(page, error);
  }
};

const show = () => {
  const address = here(), what = PAGES[address.page];
  shown?.close();
  frame();
  if (!what) {
    shown = null;
    at("main").replaceChildren(message(say("nothing_here"), "", h("a", { href: link("fleet") }, say("to_fleet"))));
    return;
  }
  const page = (shown = new Shown({ ...address, what }));
  at("main").replaceChildren(h("p", { class: "empty loading", role: "status" }, say("loading")));
  load(page);
};

// -- live

const refresh = (event) => {
  if (!shown || timer || shown.route.what.still) return;
  if (event && !(shown.route.what.wants?.(shown, event) ?? true)) return;
  timer = setTimeout(() => { timer = 0; if (shown && !document.hidden) load(shown); }, Math.max(SOONEST_MS, SHARE * (shown.took ?? 0)));
};

const happened = (name, data) => {
  let event = {};
  try { event = JSON.parse(data); } catch { /* an event without a body still says that something is new */ }
  refresh({ name, ...event });
};

const changed = (state, seconds) => {
  const back = state === "live" && live.state === "lost";
  live = { state, seconds };
  drawLive();
  if (back) refresh();
};

const events = new Live(happened, changed);
setInterval(() => { if (live.state !== "live" && !document.hidden) refresh(); }, POLL_MS);
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });

// -- the frame

const drawLive = () => {
  const sign = { live: "●", lost: "○", connecting: "○", off: "◌" }[live.state];
  const node = at("live");
  if (!node) return;
  node.className = `live ${live.state}`;
  node.replaceChildren(h("span", { "aria-hidden": "true" }, sign), " ", say(live.state, { seconds: live.seconds }));
};

const theme = (name) => {
  root.dataset.theme = name;
  shown?.charts.close();
  shown?.redraw();
};

const switchLanguage = async () => {
  const wanted = language() === "zh" ? "en" : "zh";
  stored("lang", wanted);
  keep({ lang: wanted });
  await start();
};

const frame = () => {
  const { page } = here(), dark = root.dataset.theme === "dark";
  root.lang = language() === "zh" ? "zh-CN" : "en";
  at("skip").textContent = say("skip");
  const links = NAV.map(([key, ...pages]) => h("a", { href: link(key), "data-key": `nav ${key}`, "aria-current": [key, ...pages].includes(page) && "page" }, say(key)));
  const focused = document.activeElement?.id;
  at("top").replaceChildren(
    h("a", { class: "brand", href: link("fleet") }, "whystall"),
    h("nav", { "aria-label": say("nav") }, links),
    h("span", { id: "live", class: "live", role: "status" }),
    h("div", { class: "buttons" },
      h("button", { id: "lang", type: "button", lang: language() === "zh" ? "en" : "zh-CN", onclick: switchLanguage }, say("other_language")),
      h("button", { id: "theme", type: "button", "aria-label": say("theme_name"), onclick: () => {
        const name = root.dataset.theme === "dark" ? "light" : "dark";
        stored("theme", name);
        theme(name);
        frame();
      } }, say(dark ? "light" : "dark"))));
  if (focused === "lang" || focused === "theme") at(focused).focus();
  drawLive();
  foot();
};

const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => { if (!stored("theme")) { theme(system.matches ? "dark" : "light"); frame(); } });

const chosen = () => here().query.get("lang") ?? stored("lang") ?? (navigator.language.startsWith("zh") ? "zh" : "en");

const start = async () => {
  setLanguage(chosen());
  frame();
  try {
    setCatalogue(await get("catalogue"));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.status === 401) return askToken("");
    at("main").replaceChildren(message(error.message, error.hint, h("button", { type: "button", onclick: boot }, say("retry"))));
    return false;
  }
  show();
  return true;
};

const boot = async () => { if (await start()) events.start(); };

addEventListener("hashchange", () => {
  const wanted = here().query.get("lang");
  if (wanted && wanted !== language()) { stored("lang", wanted); start(); } else show();
  scrollTo(0, 0);
  at("main").focus({ preventScroll: true });
});
at("skip").addEventListener("click", (event) => { event.preventDefault(); at("main").focus(); });
root.dataset.theme = stored("theme") || (system.matches ? "dark" : "light");
boot();
