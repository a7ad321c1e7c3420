// A diagnosis, section by section: the same order and words as the report.
import { facts, fold, h, section, table } from "./dom.js";
import { clock, duration, figure, moment, percent, probability } from "./figures.js";
import { badge, tone } from "./verdict.js";
import { causeTitle, causeWhat, say, sayOr, text } from "./words.js";

const IMPACT = [["ttft_mean_s", "s"], ["ttft_p95_s", "s"], ["itl_mean_s", "s"], ["itl_p95_s", "s"], ["e2e_p95_s", "s"], ["queue_s", "s"],
  ["tokens_per_s", "tok/s"], ["errors_per_s", "1/s"], ["rejected_per_s", "1/s"], ["requests_affected_ratio", "ratio"]];
const SIGNALS = 8, SHOWN_OUT = 8;

// On the clock: seconds after a window's start say nothing on a page whose window moves.
const onset = (value, start) => (value
  ? say("onset_value", { at: moment(start + value.seconds), low: clock(start + value.low), high: clock(start + value.high) })
  : say("from_the_start"));

const since = (diagnosis) => {
  const { window, causes } = diagnosis;
  const first = causes.find((cause) => cause.onset);
  if (diagnosis.verdict === "bottleneck" && first) {
    return say("since_clock", { when: onset(first.onset, window.start) });
  }
  if (!(window.seconds > 0)) return say("nothing_scraped");
  return say("looked_at", { seconds: duration(window.seconds), start: clock(window.start), end: clock(window.end) });
};

// The first screen: verdict, headline, since when, what to do. `state` may say more than the verdict does.
export const answer = (state, headline, lines) => h("div", { class: `answer ${tone(state)}` },
  h("p", { class: "verdict" }, badge(state)), h("h1", { class: "headline" }, headline), lines.filter(Boolean).map((line) => h("p", {}, line)));

export const answerLines = (diagnosis) => {
  const first = diagnosis.remedies[0];
  return [since(diagnosis), first && [h("strong", {}, say("do_first"), say("colon")), text(first.text), first.restart ? say("restart_note") : ""]];
};

export const impact = (diagnosis) => {
  const seen = IMPACT.filter(([name]) => Number.isFinite(diagnosis.impact[name]));
  const over = diagnosis.impact.window_s;
  return seen.length > 0 && section([say(diagnosis.verdict === "healthy" ? "impact_healthy" : "impact"),
    over > 0 && h("small", {}, say("impact_over", { seconds: duration(over) }))],
  facts(seen.map(([name, unit]) => [say(name), figure(diagnosis.impact[name], unit)]), "tiles"));
};

// -- causes

const why = (one, byId) => h("li", { class: one.holds ? "holds" : "fails" },
  h("span", { class: "check" }, one.holds ? `✔ ${say("holds")}` : `✘ ${say("does_not_hold")}`), text(one.claim),
  one.evidence.length > 0 && h("ul", { class: "numbers" }, one.evidence.map((id) => byId.get(id)).filter(Boolean)
    .map((evidence) => h("li", {}, h("strong", {}, figure(evidence.value, evidence.unit)), " ",
      !text(one.claim).includes(text(evidence.text)) && h("span", { class: "muted" }, text(evidence.text))))),
  text(one.rejects) && h("p", { class: "rejects" }, say("rejects", { what: text(one.rejects) })));

const evidenceList = (title, ids, byId) => {
  const found = ids.map((id) => byId.get(id)).filter(Boolean);
  return found.length > 0 && [h("h4", {}, title), h("ul", {}, found.map((one) => h("li", {}, text(one.text))))];
};

const reproduced = (value) => value && [
  say(value.holds ? "reproduced_yes" : "reproduced_no"),
  Number.isFinite(value.sufficiency) && say("made_share", { share: percent(value.sufficiency), what: sayOr(value.figure, value.figure) }),
  Number.isFinite(value.necessity) && say("went_share", { share: percent(value.necessity) }),
].filter(Boolean).join("; ");

const causeCard = (cause, rank, byId, start) => h("article", { class: "cause" },
  h("header", {}, h("h3", {}, h("span", { class: "rank" }, `${rank + 1}`), causeTitle(cause.id)),
    h("p", { class: "chance" }, h("strong", {}, probability(cause.probability)), " ", h("span", { class: "muted" }, say(`role_${cause.role}`)))),
  h("p", { class: "summary" }, text(cause.summary)),
  facts([
    [say("onset"), onset(cause.onset, start)],
    [say("binding_limit"), cause.limit ? say("limit_value", { name: cause.limit.name, value: figure(cause.limit.value, ""), how: say(cause.limit.known) }) : ""],
    [say("emulated"), reproduced(cause.reproduced) || ""],
  ], "facts"),
  cause.whys.length > 0 && [h("h4", {}, say("why")), h("ol", { class: "whys" }, cause.whys.map((one) => why(one, byId)))],
  fold(`cause ${cause.id}`, `${say("evidence_for")} · ${say("evidence_against")}`,
    causeWhat(cause.id) && h("p", { class: "muted" }, causeWhat(cause.id)),
    evidenceList(say("evidence_for"), cause.evidence_for, byId), evidenceList(say("evidence_against"), cause.evidence_against, byId)));

export const causes = (diagnosis) => {
  const byId = new Map(diagnosis.evidence.map((one) => [one.id, one]));
  const cards = diagnosis.causes.map((cause, rank) => causeCard(cause, rank, byId, diagnosis.window.start));
  return section(say("causes"), cards.length ? cards : h("p", { class: "muted" }, say("no_causes")));
};

export const ruledOut = (list) => {
  const rows = (some) => h("ul", { class: "plainlist" }, some.map((one) => h("li", {}, h("strong", {}, causeTitle(one.id)), say("colon"), text(one.because))));
  return list.length > 0 && section(say("ruled_out"), rows(list.slice(0, SHOWN_OUT)),
    list.length > SHOWN_OUT && fold("ruled out", say("also_ruled_out", { count: list.length }), rows(list.slice(SHOWN_OUT))));
};

// -- what it rests on

const speaks = (strength) => say(strength >= 0.75 ? "strongly_for" : strength >= 0.15 ? "for" : strength > -0.15 ? "neutral"
  : strength > -0.75 ? "against" : "strongly_against");

export const evidence = (diagnosis) => {
  const columns = [say("statement"), say("value"), say("speaks"), say("from")].map((title, i) => ({ title, right: i === 1 }));
  const sorted = [...diagnosis.evidence].sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength));
  return sorted.length > 0 && section(say("evidence"), fold("evidence", say("all_evidence", { count: sorted.length }),
    table(say("evidence"), columns, sorted.map((one) => [
      [text(one.text), one.anomaly && h("p", { class: "muted" }, `⚠ ${say("departs")}`)],
      figure(one.value, one.unit), speaks(one.strength), sayOr(`signal_${one.from}`, one.from),
    ]))));
};

export const limits = (list) => list.length > 0 && section(say("limits"), table(say("limits"),
  [say("name"), say("value"), say("known")].map((title, i) => ({ title, right: i === 1 })),
  list.map((one) => [h("code", {}, one.name), figure(one.value, ""), `${say(one.known)}${one.source ? ` · ${one.source}` : ""}`])));

export const coverage = (value) => section(say("coverage"),
  h("p", {}, say("signals_seen"), say("colon"), value.signals.map((one) => sayOr(`signal_${one}`, one)).join(say("comma")) || say("signals_none")),
  value.missing.length > 0 && table(say("missing"), [say("missing"), say("would_settle"), say("how")].map((title) => ({ title })),
    value.missing.slice(0, SIGNALS).map((one) => [sayOr(`signal_${one.signal}`, one.signal),
      one.would_settle.map(causeTitle).slice(0, 6).join(say("comma")) + (one.would_settle.length > 6 ? " …" : ""), text(one.how)])),
  value.unknown_names.length > 0 && h("p", { class: "muted" }, say("unknown_names"), say("colon"), value.unknown_names.slice(0, 8).join(say("comma")),
    value.unknown_names.length > 8 && ` ${say("more", { count: value.unknown_names.length - 8 })}`));

export const notices = (diagnosis) => (diagnosis.warnings ?? []).length > 0 && section(say("warnings"),
  h("ul", { class: "plainlist" }, diagnosis.warnings.map((one) => h("li", {}, `⚠ ${text(one.text)}`))));
