// One kept case: what was found, what was done, what came of it.
import { link } from "./address.js";
import { get } from "./api.js";
import * as part from "./diagnosis.js";
import { facts, h, section } from "./dom.js";
import { moment } from "./figures.js";
import { postmortemLink } from "./page_incident.js";
import { predictionTable, predictionText, remedySection } from "./remedies.js";
import { trialSection } from "./trial.js";
import { causeTitle, say, sayOr, text } from "./words.js";

const course = (found) => found.steps.length > 0 && section(say("course"), h("ol", { class: "course" }, found.steps.map((step) => h("li", {},
  h("time", { datetime: new Date(step.at * 1000).toISOString() }, moment(step.at)), h("strong", {}, sayOr(`step_${step.id}`, step.id)), h("span", {}, text(step.text))))));

const notes = (found) => found.notes.length > 0 && section(say("notes"), h("ul", { class: "plainlist" },
  found.notes.map((note) => h("li", {}, h("span", { class: "muted" }, moment(note.at), " "), note.text))));

const predicted = (found) => found.prediction && !found.trial && section(say("whatif_predicted"), predictionText(found.prediction), predictionTable(found.prediction));

export const casePage = {
  still: true,
  gone: "case_gone",
  title: (page) => say("case_title", { id: page.route.id }),
  load: (page) => get(`cases/${encodeURIComponent(page.route.id)}`, { signal: page.signal }),
  draw: (page, found) => [
    h("p", { class: "crumb" }, h("a", { href: link("cases") }, say("cases")), ` / #${found.id}`),
    part.answer(found.verdict, text(found.headline), [[h("strong", {}, say("case_outcome"), say("colon")), say(`outcome_${found.outcome}`)],
      found.remedy && [h("strong", {}, say("case_done"), say("colon")), text(found.remedy.text)]]),
    facts([[say("target"), found.target], [say("model"), found.engine.model], [say("col_opened"), moment(found.opened)],
      [say("pm_closed"), found.closed === null ? "" : moment(found.closed)], [say("col_origin"), found.origin === "example" ? say("example") : found.origin]], "facts wide"),
    h("p", { class: "actions" }, postmortemLink(found.id)),
    course(found),
    part.impact(found.diagnosis),
    part.causes(found.diagnosis),
    remedySection(page, "", found.remedy ? [found.remedy] : found.diagnosis.remedies, causeTitle),
    predicted(found),
    found.trial && trialSection(found),
    notes(found),
    part.ruledOut(found.diagnosis.ruled_out),
    part.evidence(found.diagnosis),
  ],
};
