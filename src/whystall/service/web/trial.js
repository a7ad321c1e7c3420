// What a trial measured, beside what was predicted.
import { facts, h, section, table } from "./dom.js";
import { change, duration, figure } from "./figures.js";
import { say, sayOr, text } from "./words.js";

const SIGNS = { WIN: "✔", HARM: "✘", FUTILE: "=", INCONCLUSIVE: "?" };
const TONES = { WIN: "good", HARM: "bad", FUTILE: "plain", INCONCLUSIVE: "doubt" };
const amount = (value, scale) => (Number.isFinite(value) ? scale === "relative" ? change(value) : `${Math.round(value * 1000) / 10} pp` : "–");

const range = (low, high, scale) => (Number.isFinite(low) && Number.isFinite(high) ? `${amount(low, scale)} – ${amount(high, scale)}` : "–");

const predicted = (prediction, metric) => {
  const found = prediction?.metrics.find((one) => one.id === metric)?.relative;
  return found ? `${change(found.mid)} (${change(found.low)} – ${change(found.high)})` : "–";
};

const effects = (trial, prediction) => table(say("predicted_and_measured"), [say("whatif_metric"), "A", "B", say("change"), say("trial_interval"), say("whatif_predicted")]
  .map((title, i) => ({ title, right: i > 0 })), trial.effects.map((effect) => [
  [sayOr(`m_${effect.metric}`, effect.metric), effect.metric === trial.primary && " ★"], figure(effect.a, effect.unit), figure(effect.b, effect.unit),
  h("strong", {}, amount(effect.mid, effect.scale)), range(effect.low, effect.high, effect.scale), predicted(prediction, effect.metric),
]));

const guards = (trial) => trial.guards.length > 0 && [h("h4", {}, say("guards")), table(say("guards"),
  [say("whatif_metric"), say("worse_by"), say("margin"), say("verdict")].map((title, i) => ({ title, right: i === 1 || i === 2 })),
  trial.guards.map((guard) => [sayOr(`m_${guard.metric}`, guard.metric), range(guard.harm_low, guard.harm_high, guard.scale), amount(guard.margin, guard.scale),
    say(`guard_${guard.verdict}`)]))];

// `found`: a case with a trial.
export const trialSection = ({ trial, prediction }) => section(say("trial"),
  h("p", { class: "advice" }, h("span", { class: `badge ${TONES[trial.verdict] ?? "plain"}` }, `${SIGNS[trial.verdict] ?? "·"} ${say(`trial_${trial.verdict}`)}`), " ", text(trial.because)),
  facts([["A", trial.a.target], ["B", trial.b.target], [say("pairs"), trial.pairs], [say("lasted"), duration(trial.seconds)], [say("load"), trial.load]], "facts"),
  effects(trial, prediction), guards(trial));
