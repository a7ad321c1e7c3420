// The book of cases: what happened before, what was done, and whether it helped.
import { keep, link } from "./address.js";
import { get } from "./api.js";
import { h, section, table } from "./dom.js";
import { moment } from "./figures.js";
import { causeTitle, say, text } from "./words.js";

const search = (page) => page.keep("search", () => {
  const input = h("input", { type: "search", placeholder: say("filter_cases"), "aria-label": say("filter_cases"), value: page.query.get("q") ?? "", "data-key": "cases q" });
  input.addEventListener("input", () => {
    page.query.set("q", input.value.trim());
    keep({ q: input.value.trim() });
    page.redraw();
  });
  return h("form", { class: "tools", onsubmit: (event) => event.preventDefault() }, input);
});

const leading = (one) => Object.entries(one.signature.causes).sort((a, b) => b[1] - a[1]).slice(0, 2).map(([id]) => id);

const fits = (one, words) => words.toLowerCase().split(/\s+/).every((part) =>
  [one.target, one.engine.model, text(one.headline), text(one.remedy_text), one.remedy, ...leading(one).flatMap((id) => [id, causeTitle(id)])]
    .some((word) => String(word).toLowerCase().includes(part)));

const row = (one) => [
  `#${one.id}`,
  [h("a", { class: "name", href: link("case", one.id), "data-key": `case ${one.id}` }, text(one.headline)),
    h("p", { class: "muted" }, [one.target, ...leading(one).map(causeTitle)].join(" · "))],
  [say(`outcome_${one.outcome}`), one.came_back && h("p", { class: "muted" }, `⚠ ${say("came_back")}`)],
  text(one.remedy_text) || "–", one.origin === "example" ? say("example") : one.origin, moment(one.opened),
];

const success = (found) => Object.keys(found).length > 0 && section(say("success"), table(say("success"),
  [say("col_remedy"), say("success_helped")].map((title) => ({ title })),
  Object.entries(found).map(([id, tried]) => [h("code", {}, id), say("success_value", tried)])));

export const casesPage = {
  still: true,
  title: () => say("cases"),
  load: (page) => {
    page.query ??= page.route.query;
    return get("cases", { signal: page.signal });
  },
  draw: (page, list) => {
    const head = h("h1", {}, say("cases"), " ", list.store && h("small", {}, list.store));
    if (!list.cases.length) return [head, h("div", { class: "empty" }, h("p", { class: "big" }, say("cases_empty")), h("p", { class: "muted" }, say("cases_none_hint")))];
    const found = list.cases.filter((one) => fits(one, page.query.get("q") ?? ""));
    const columns = ["case_id", "col_headline", "case_outcome", "col_remedy", "col_origin", "col_opened"].map((key) => ({ title: say(key) }));
    return [head, search(page), found.length ? table(say("cases"), columns, found.map(row)) : h("p", { class: "empty" }, say("cases_no_match")), success(list.success)];
  },
};
