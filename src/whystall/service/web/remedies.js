// What to change: in words, with what it would do where that was predicted.
import { post } from "./api.js";
import { link } from "./address.js";
import { facts, h, section, table } from "./dom.js";
import { change, clock, duration, figure } from "./figures.js";
import { say, sayOr, text } from "./words.js";

const LOWER_IS_BETTER = new Set(["ttft_mean", "ttft_p95", "itl_mean", "itl_p95", "e2e_p95", "preemptions"]);
const FELT = 0.02, LONG_MS = 200000;

export const flagText = (flag, value) => (value === "" ? say("flag_removed", { flag }) : value === "true" ? flag : `${flag} ${value}`);
const changeText = (remedy) => [
  ...Object.entries(remedy.change ?? {}).map(([flag, value]) => flagText(flag, value)),
  ...Object.entries(remedy.assume ?? {}).map(([name, value]) => `${sayOr(`assume_${name}`, name)} ${value}`),
];

const direction = (metric) => {
  const relative = metric.relative?.mid;
  if (!Number.isFinite(relative) || Math.abs(relative) < FELT) return say("same");
  return say((relative < 0) === LOWER_IS_BETTER.has(metric.id) ? "better" : "worse");
};

const changed = (metric) => {
  if (metric.id === "kv_headroom" && Number.isFinite(metric.now)) {
    const points = Math.round((metric.predicted.mid - metric.now) * 100);
    return `${points > 0 ? "+" : ""}${points} pp`;
  }
  return metric.relative ? `${change(metric.relative.mid)} (${direction(metric)})` : "–";
};

export const predictionTable = (prediction) => {
  const columns = [say("whatif_metric"), say("whatif_measured"), say("whatif_predicted"), say("whatif_interval"), say("change")];
  return table(say("whatif_predicted"), columns.map((title, i) => ({ title, right: i > 0 })), prediction.metrics.map((metric) => [
    sayOr(`m_${metric.id}`, metric.id), figure(metric.now, metric.unit), h("strong", {}, figure(metric.predicted.mid, metric.unit)),
    `${figure(metric.predicted.low, metric.unit)} – ${figure(metric.predicted.high, metric.unit)}`, changed(metric),
  ]));
};

export const predictionText = (prediction) => [
  h("p", { class: "advice" }, h("strong", {}, say(`advice_${prediction.advice}`), say("colon")), text(prediction.because)),
  text(prediction.binds_next.text) && h("p", {}, h("span", { class: "muted" }, say("whatif_next"), say("colon")), text(prediction.binds_next.text)),
];

export const predictionNote = (prediction) => h("p", { class: "note" }, say("whatif_window", {
  seconds: duration(prediction.seconds), time: clock(prediction.start), draws: prediction.draws, profile: text(prediction.profile.text),
}));

const effects = (effect) => Object.entries(effect ?? {}).map(([name, range]) => say("effect_value", {
  name: sayOr(`m_${name}`, name), mid: change(range.mid), low: change(range.low), high: change(range.high),
})).join(say("comma"));

// The button that asks for a prediction on the engine's current window; `page.kept` keeps the answer over redraws.
const predictor = (page, engine, remedy) => page.keep(`predict ${remedy.id}`, () => {
  const out = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "button", "data-key": `predict ${remedy.id}` }, say("predict"));
  button.addEventListener("click", async () => {
    button.disabled = true;
    out.replaceChildren(h("p", { class: "muted" }, say("predicting")));
    try {
      const found = await post("whatif", { engine, change: remedy.change ?? {}, assume: remedy.assume ?? {} }, { timeout: LONG_MS, signal: page.signal });
      const [prediction] = found.predictions, [no] = found.not_predicted ?? [];
      out.replaceChildren(...(prediction
        ? [...predictionText(prediction).filter(Boolean), predictionTable(prediction), h("p", { class: "note" }, say("predict_old"))]
        : [h("p", {}, text(no?.because))]));
    } catch (error) {
      out.replaceChildren(h("p", { class: "failed" }, error.message, " ", error.hint ?? ""));
    }
    button.disabled = false;
  });
  return h("div", { class: "predict" }, button, out);
});

const remedyCard = (page, engine, remedy, titleOf) => {
  const flags = changeText(remedy), can = engine && flags.length > 0 && !remedy.prediction;
  const restart = say(remedy.restart ? "needs_restart" : "no_restart");
  return h("article", { class: "remedy" },
    h("h3", {}, text(remedy.text), " ", h("small", {}, `${sayOr(`kind_${remedy.aim}`, remedy.aim)} · ${restart}`)),
    facts([
      [say("flags"), flags.length ? flags.map((one) => [h("code", {}, one), " "]) : ""],
      [say("effect"), effects(remedy.effect)],
      [say("buys"), text(remedy.buys)],
      [say("risk"), text(remedy.risk)],
      [say("undo"), text(remedy.undo)],
      [say("tried"), remedy.tried ? say("tried_value", remedy.tried) : ""],
      [say("cause"), remedy.cause ? titleOf(remedy.cause) : ""],
    ], "pairs"),
    remedy.prediction && [...predictionText(remedy.prediction), predictionTable(remedy.prediction)],
    (remedy.not_offered ?? []).length > 0 && h("div", { class: "against" }, h("p", { class: "muted" }, say("not_offered")),
      h("ul", {}, remedy.not_offered.map((one) => h("li", {}, text(one.claim), say("colon"), text(one.because))))),
    can && predictor(page, engine, remedy));
};

// `engine`: whose window a prediction is made on, "" where there is none.
export const remedySection = (page, engine, remedies, titleOf) => remedies.length > 0 && section(say("remedies"),
  remedies.map((remedy) => remedyCard(page, engine, remedy, titleOf)),
  engine && h("p", { class: "actions" }, h("a", { class: "action", href: link("whatif", engine) }, say("try_whatif"))));
