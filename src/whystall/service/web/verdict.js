// The state of an engine or an incident: always a symbol and a word, the colour only comes on top.
import { h } from "./dom.js";
import { sayOr, say } from "./words.js";

const SIGNS = {
  healthy: ["✔", "good"], bottleneck: ["✘", "bad"], unknown: ["?", "doubt"], starting: ["…", "plain"],
  unreachable: ["⊘", "bad"], warning: ["◔", "doubt"], open: ["●", "bad"], recovered: ["✔", "good"], left: ["⊘", "plain"],
  ok: ["✔", "good"], slower: ["◔", "doubt"], lost: ["◔", "doubt"], away: ["⊘", "bad"],
};

// What stands in the fleet: the condition where it says more than the verdict.
export const stateOf = (engine) => {
  if (engine.condition === "unreachable") return "unreachable";
  if (engine.condition === "warning" && engine.verdict !== "bottleneck") return "warning";
  return engine.verdict ?? "starting";
};

// What stands beside an incident: of one whose engine went nobody saw it recover.
export const stateOfIncident = (incident) => (incident.steps.some((step) => step.id === "left") ? "left" : incident.state);

export const badge = (state, prefix = "verdict") => {
  const [sign, tone] = SIGNS[state] ?? ["·", "plain"];
  return h("span", { class: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, sign), " ", sayOr(`${prefix}_${state}`, say(state)));
};

export const tone = (state) => (SIGNS[state] ?? ["", "plain"])[1];
