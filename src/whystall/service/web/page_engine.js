// One engine: the answer, its timelines, where a request's time goes, why, and what that rests on.
import { link } from "./address.js";
import { get } from "./api.js";
import { onsetMarks } from "./charts.js";
import * as part from "./diagnosis.js";
import { facts, h, section, table } from "./dom.js";
import { figure, moment, number, percent } from "./figures.js";
import { linksSection } from "./links.js";
import { incidentRows, nowOf } from "./page_incidents.js";
import { engineFacts } from "./page_fleet.js";
import { remedySection } from "./remedies.js";
import { bar } from "./spark.js";
import { stateOf } from "./verdict.js";
import { causeTitle, say, sayOr, text } from "./words.js";

const headline = (engine) => (engine.condition === "unreachable" && engine.error ? text(engine.error_text) : text(engine.headline));

const lines = (view) => {
  const { engine, diagnosis } = view;
  return [
    ...(diagnosis ? part.answerLines(diagnosis) : []),
    engine.forecast && [h("strong", {}, say("forecast"), say("colon")), text(engine.forecast.text)],
    engine.incident > 0 && h("a", { href: link("incident", engine.incident) }, say("open_incident", { id: engine.incident }),
      engine.since !== null && ` (${say("since_time", { time: moment(engine.since) })})`),
    engine.silenced && say("silenced", { why: engine.silenced }),
  ];
};

const headroom = ({ headroom: left }) => left && h("div", { class: "headroom wide" }, h("span", { class: "muted" }, say("col_headroom")),
  bar(1 - left.left_ratio, left.left_ratio < 0.1 ? "bad" : left.left_ratio < 0.25 ? "doubt" : "good"),
  h("strong", {}, say("headroom_left", { left: percent(left.left_ratio) })), h("span", {}, text(left.text)));

const timelines = (page, view) => section(say("timeline"), view.panels.length && view.t.length
  ? [h("p", { class: "note" }, say("chart_keys")), h("div", { class: "charts" }, page.charts.cards(view.panels, view.t, onsetMarks(view.onsets)))]
  : h("p", { class: "muted" }, say("no_timeline")));

const phases = (page, view) => {
  const known = view.phases.filter((phase) => Number.isFinite(phase.mean_s));
  if (!known.length) return null;
  const longest = Math.max(...known.map((phase) => phase.mean_s)) || 1;
  const panel = { id: "phases", title: say("phases_chart"), unit: "s", lines: view.phases.map((phase) => ({ ...phase, limit: null })) };
  return section(say("phases"), h("p", { class: "note" }, say("phases_note")),
    h("dl", { class: "phases" }, known.map((phase) => h("div", {}, h("dt", {}, text(phase.label)),
      h("dd", {}, bar(phase.mean_s / longest, "accent"), h("strong", {}, figure(phase.mean_s, "s")))))),
    view.phases_t.length > 1 && h("div", { class: "charts" }, page.charts.cards([panel], view.phases_t)));
};

const rate = (value) => (Number.isFinite(value) ? `${number(value)}×` : say("not_seen"));
const burn = (view) => view.burn.length > 0 && section(say("burn"), h("p", { class: "note" }, say("burn_note")), table(say("burn"),
  [say("promise"), say("short_window"), say("long_window")].map((title, i) => ({ title, right: i > 0 })),
  view.burn.map((one) => [sayOr(`m_${one.promise}`, one.promise), rate(one.short), rate(one.long)])));

const findings = (page, view) => {
  const { diagnosis, engine } = view;
  if (!diagnosis) return section(say("causes"), h("p", { class: "muted" }, say("no_diagnosis")));
  return [part.notices(diagnosis), part.causes(diagnosis), remedySection(page, engine.id, diagnosis.remedies, causeTitle), part.ruledOut(view.ruled_out),
    part.limits(view.limits), part.coverage(view.coverage), part.evidence(diagnosis)];
};

export const enginePage = {
  gone: "engine_gone",
  title: (page) => page.route.id,
  load: (page) => get(`engines/${encodeURIComponent(page.route.id)}`, { signal: page.signal }),
  wants: (page, event) => event.name !== "look" || !event.id || event.id === page.route.id,
  draw: (page, view) => [
    h("p", { class: "crumb" }, h("a", { href: link("fleet") }, say("fleet")), " / ", view.engine.id),
    part.answer(stateOf(view.engine), headline(view.engine), lines(view)),
    facts(engineFacts(view.engine), "facts wide"),
    headroom(view.engine),
    view.diagnosis && h("p", {}, h("a", { class: "action", href: link("whatif", view.engine.id) }, say("try_whatif"))),
    view.diagnosis && part.impact(view.diagnosis),
    timelines(page, view),
    phases(page, view),
    burn(view),
    linksSection(view.links, "links_engine_note"),
    findings(page, view),
    view.incidents.length > 0 && section(say("incidents_here"), incidentRows(view.incidents, (one) => nowOf(view.engine, Date.now() / 1000, one), false)),
  ],
};
