// All incidents, the newest first.
import { keep, link } from "./address.js";
import { get } from "./api.js";
import { h, table } from "./dom.js";
import { duration, moment } from "./figures.js";
import { badge, stateOfIncident } from "./verdict.js";
import { causeTitle, say, sayOr, text } from "./words.js";

const STATES = ["open", "warning", "recovered"];

// `now`: the newest time of the engine's clock that is known; an incident is written only when something becomes of it.
export const lasted = (incident, now) => {
  const time = duration(Math.round(Math.max(0, (incident.recovered ?? Math.max(incident.updated, now ?? 0)) - incident.since)));
  return incident.recovered === null ? say("lasts", { time }) : time;
};

export const incidentRows = (incidents, now, withEngine = true) => {
  const columns = ["col_state", "col_headline", ...(withEngine ? ["col_engine"] : []), "began", "lasted"];
  return table(say("incidents_title"), columns.map((key) => ({ title: say(key) })), incidents.map((one) => [
    badge(stateOfIncident(one), "state"),
    [h("a", { class: "name", href: link("incident", one.id), "data-key": `incident ${one.id}` }, text(one.headline)),
      h("p", { class: "muted" }, `#${one.id} · ${one.cause ? causeTitle(one.cause) : sayOr(`kind_${one.kind}`, one.kind)}`,
        one.silenced && ` · ${say("silenced", { why: one.silenced })}`)],
    ...(withEngine ? [h("a", { href: link("engine", one.engine_id) }, one.engine_id)] : []),
    moment(one.since), lasted(one, now(one)),
  ]));
};

const DAY_S = 86400;

// The clock of an incident's engine: its last page, else the service's own where it can be the same.
export const nowOf = (engine, at, incident) => Math.max(engine?.last_page ?? 0, Math.abs((at ?? 0) - incident.updated) < DAY_S && !engine?.last_page ? at : 0);

const clocks = (fleet) => {
  const byId = new Map(fleet.engines.map((engine) => [engine.id, engine]));
  return (incident) => nowOf(byId.get(incident.engine_id), fleet.at, incident);
};

const picker = (page) => page.keep("picker", () => {
  const node = h("select", { "data-key": "incidents show" }, [["", say("all")], ...STATES.map((state) => [state, say(`state_${state}`)])]
    .map(([value, words]) => h("option", { value }, words)));
  node.value = page.query.get("show") ?? "";
  node.addEventListener("change", () => {
    page.query.set("show", node.value);
    keep({ show: node.value });
    page.redraw();
  });
  return h("form", { class: "tools" }, h("label", {}, h("span", {}, say("show_state")), node));
});

export const incidentsPage = {
  title: () => say("incidents_title"),
  load: (page) => {
    page.query ??= page.route.query;
    return Promise.all([get("incidents", { signal: page.signal }), get("fleet", { signal: page.signal })]);
  },
  wants: (page, event) => event.name !== "look",
  draw: (page, [{ incidents }, fleet]) => {
    const head = h("h1", {}, say("incidents_title"));
    if (!incidents.length) return [head, h("div", { class: "empty" }, h("p", { class: "big" }, say("incidents_none")), h("p", { class: "muted" }, say("incidents_none_hint")))];
    const state = page.query.get("show") ?? "", found = incidents.filter((one) => !state || one.state === state);
    return [head, picker(page), found.length ? incidentRows(found, clocks(fleet)) : h("p", { class: "empty" }, say("incidents_no_match", { state: say(`state_${state}`) }))];
  },
};
