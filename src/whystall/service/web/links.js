// The ways to other daemons: round trips now, what is usual, what was lost.
import { h, section, table } from "./dom.js";
import { figure, moment, percent } from "./figures.js";
import { spark } from "./spark.js";
import { badge } from "./verdict.js";
import { say } from "./words.js";

const rtt = (value) => (Number.isFinite(value) ? figure(value, "s") : say("not_seen"));

const course = ({ peer, rtts_s }) => {
  const seen = rtts_s.filter((value) => Number.isFinite(value));
  if (!seen.length) return h("span", { class: "muted" }, say("not_seen"));
  const said = say("spark_said", { name: peer, low: rtt(Math.min(...seen)), high: rtt(Math.max(...seen)), last: rtt(rtts_s.at(-1)) });
  return h("div", { class: "sparkcell", title: said }, spark(rtts_s, said));
};

const row = (link) => [badge(link.condition, "link"), h("strong", {}, link.peer), rtt(link.median_s),
  Number.isFinite(link.low_s) ? `${rtt(link.low_s)} – ${rtt(link.high_s)}` : say("not_seen"), rtt(link.usual_s), percent(link.lost_ratio), course(link), moment(link.at)];

const COLUMNS = ["col_state", "link_peer", "link_rtt", "link_range", "link_usual", "link_lost_share", "link_course", "link_at"];

// Nothing where nobody is named: most watches run alone. `note` says which ways these are.
export const linksSection = (links, note) => (links.length > 0) && h("div", { class: "links" }, section(say("links"), h("p", { class: "note" }, say(note)),
  table(say("links"), COLUMNS.map((key) => ({ title: say(key) })), links.map((link) => row(link)))));
