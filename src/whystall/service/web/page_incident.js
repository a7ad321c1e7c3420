// One incident: its course, the chain of causes, what to change, what was tried.
import { link } from "./address.js";
import { Failure, address, get } from "./api.js";
import { onsetMarks } from "./charts.js";
import * as part from "./diagnosis.js";
import { facts, h, section } from "./dom.js";
import { moment } from "./figures.js";
import { lasted, nowOf } from "./page_incidents.js";
import { remedySection } from "./remedies.js";
import { trialSection } from "./trial.js";
import { badge, stateOfIncident, tone } from "./verdict.js";
import { causeTitle, say, sayOr, text } from "./words.js";

// What may be missing without making the page useless.
const maybe = async (asked) => {
  try { return await asked; } catch (error) {
    if (error instanceof Failure && error.status !== 401) return null;
    throw error;
  }
};

const answer = (incident) => h("div", { class: `answer ${tone(stateOfIncident(incident))}` },
  h("p", { class: "verdict" }, badge(stateOfIncident(incident), "state")), h("h1", { class: "headline" }, text(incident.headline)),
  text(incident.first_step) && h("p", {}, h("strong", {}, say("do_first"), say("colon")), text(incident.first_step)),
  incident.forecast && h("p", {}, `◔ ${text(incident.forecast.text)}`),
  incident.silenced && h("p", {}, say("silenced", { why: incident.silenced })));

const course = (incident) => section(say("course"), h("ol", { class: "course" }, incident.steps.map((step) => h("li", {},
  h("time", { datetime: new Date(step.at * 1000).toISOString() }, moment(step.at)),
  h("strong", {}, sayOr(`step_${step.id}`, step.id)), h("span", {}, text(step.text))))));

const moments = (incident) => [["began", incident.since], ["opened_at", incident.opened], ["recovered_at", incident.recovered]]
  .filter(([, at]) => at !== null).map(([label, at]) => ({ at, low: at, high: at, label: say(label) }));

// The charts around the incident from the store; without one the engine's own, where they still reach back to it.
const charts = (page, incident, view, then) => {
  if (then?.t.length) return section(say("timeline"), h("p", { class: "note" }, say("charts_then"), " ", say("chart_keys")),
    h("div", { class: "charts" }, page.charts.cards(then.panels, then.t, moments(incident))));
  if (!view || !view.t.length || view.t[view.t.length - 1] < incident.since) return null;
  const marks = incident.recovered === null ? onsetMarks(view.onsets) : moments(incident);
  return section(say("timeline"), h("p", { class: "note" }, say("charts_now"), " ", say("chart_keys")),
    h("div", { class: "charts" }, page.charts.cards(view.panels, view.t, marks)));
};

export const postmortemLink = (id) => h("a", { class: "action", href: address(`cases/${id}/postmortem`), target: "_blank", rel: "noopener" }, say("postmortem"));

const kept = (incident) => (incident.case > 0
  ? h("p", { class: "actions" }, h("a", { class: "action", href: link("case", incident.case) }, say("case_link", { id: incident.case })), " ", postmortemLink(incident.case))
  : h("p", { class: "muted" }, say("not_kept")));

const trial = (incident, found) => {
  if (found?.trial) return trialSection(found);
  return incident.kind !== "unreachable" && section(say("trial"), h("p", { class: "muted" }, say("trial_none"), " ", h("code", {}, `whystall fix ${incident.target}`)));
};

const remedies = (page, incident, found) => {
  const listed = incident.diagnosis?.remedies ?? [], predicted = found?.prediction;
  const withPrediction = listed.map((one) => (predicted && found.remedy?.id === one.id ? { ...one, prediction: predicted } : one));
  return remedySection(page, incident.engine_id, withPrediction, causeTitle);
};

export const incidentPage = {
  gone: "incident_gone",
  title: (page) => say("incident_title", { id: page.route.id }),
  load: async (page) => {
    const how = { signal: page.signal };
    const incident = await get(`incidents/${encodeURIComponent(page.route.id)}`, how);
    const [view, then, found] = await Promise.all([
      maybe(get(`engines/${encodeURIComponent(incident.engine_id)}`, how)), maybe(get(`incidents/${incident.id}/charts`, how)), incident.case > 0 ? maybe(get(`cases/${incident.case}`, how)) : null]);
    return { incident, view, then, found };
  },
  draw: (page, { incident, view, then, found }) => [
    h("p", { class: "crumb" }, h("a", { href: link("incidents") }, say("incidents")), ` / #${incident.id}`),
    answer(incident),
    facts([
      [say("col_engine"), h("a", { href: link("engine", incident.engine_id) }, incident.engine_id)],
      [say("model"), incident.engine.model],
      [say("kind_of"), sayOr(`kind_${incident.kind}`, incident.kind)],
      [say("began"), moment(incident.since)], [say("opened_at"), moment(incident.opened)],
      [say("recovered_at"), incident.recovered === null ? "" : moment(incident.recovered)], [say("lasted"), lasted(incident, nowOf(view?.engine, Date.now() / 1000, incident))],
    ], "facts wide"),
    kept(incident),
    course(incident),
    charts(page, incident, view, then),
    incident.diagnosis ? [part.impact(incident.diagnosis), part.causes(incident.diagnosis)] : h("p", { class: "muted" }, say("no_incident_diagnosis")),
    remedies(page, incident, found),
    trial(incident, found),
    incident.diagnosis && [part.ruledOut(incident.diagnosis.ruled_out), part.coverage(incident.diagnosis.coverage), part.evidence(incident.diagnosis)],
  ],
};
