// Profiler and span files: upload one, or pick one that the service has.
import { link } from "./address.js";
import { get, post } from "./api.js";
import { h, section, table } from "./dom.js";
import { figure, moment } from "./figures.js";
import { laneSection } from "./lanes.js";
import { say } from "./words.js";

const ROWS = 200, LONG_MS = 180000;

const sheet = (one) => section(one.title, table(one.title, one.header.map((title, i) => ({ title, right: one.align[i] === "r" })), one.rows.slice(0, ROWS)),
  one.rows.length > ROWS && h("p", { class: "note" }, say("traces_more_rows", { count: one.rows.length - ROWS })), one.note && h("p", { class: "note" }, one.note));

// What a file said, as the report's own tables.
const report = (found) => [
  h("div", { class: "answer plain" }, h("h2", { class: "headline" }, found.headline), found.about.map((line) => h("p", { class: "muted" }, line))),
  found.notes.length > 0 && h("ul", { class: "plainlist" }, found.notes.map((note) => h("li", {}, note.level === "warning" ? "⚠ " : "", note.text))),
  found.timelines.map((one) => laneSection(one)),
  found.sheets.map(sheet),
];

const failure = (error) => h("div", { class: "failed", role: "alert" }, h("p", {}, error.message), error.hint && h("p", {}, error.hint));

const send = async (page, file) => {
  const size = figure(file.size, "bytes"), most = figure(page.data.max_bytes, "bytes");
  const out = page.nodes.get("out");
  if (file.size > page.data.max_bytes) {
    return out.replaceChildren(failure({ message: say("traces_too_large", { name: file.name, size, most }), hint: say("traces_too_large_hint") }));
  }
  out.replaceChildren(h("p", { class: "loading", role: "status" }, say("traces_sending", { name: file.name, size })));
  return answered(page, post("traces", file, { query: { name: file.name }, timeout: LONG_MS, signal: page.signal }));
};

const answered = async (page, asked) => {
  const out = page.nodes.get("out");
  try {
    const found = await asked;
    out.replaceChildren(...report(found).flat(Infinity).filter((node) => node instanceof Node));
    out.focus({ preventScroll: true });
  } catch (error) {
    if (!page.signal.aborted) out.replaceChildren(failure(error));
  }
};

const chooser = (page, most) => page.keep("chooser", () => {
  const input = h("input", { type: "file", id: "file", class: "unseen" });
  const drop = h("div", { class: "drop" }, input, h("label", { for: "file", class: "action" }, say("traces_drop")), h("p", { class: "note" }, say("traces_kinds", { size: figure(most, "bytes") })));
  input.addEventListener("change", () => { if (input.files[0]) send(page, input.files[0]); });
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files[0]) send(page, event.dataTransfer.files[0]);
  });
  return drop;
});

const stored = (files) => section(say("traces_stored"), files.length
  ? table(say("traces_stored"), [say("traces_file"), say("traces_size"), say("traces_written")].map((title, i) => ({ title, right: i === 1 })),
    files.map((file) => [h("a", { href: link("traces", file.name) }, file.name), figure(file.bytes, "bytes"), moment(file.modified)]))
  : [h("p", { class: "muted" }, say("traces_none")), h("p", { class: "note" }, say("traces_folder"))]);

export const tracesPage = {
  still: true,
  title: (page) => page.route.id || say("traces"),
  load: (page) => get("traces", { signal: page.signal }),
  draw: (page, list) => {
    const { id } = page.route;
    const out = page.keep("out", () => {
      const node = h("div", { class: "out", tabindex: "-1", "aria-live": "polite" });
      if (id) {
        node.append(h("p", { class: "loading", role: "status" }, say("traces_reading", { name: id })));
        queueMicrotask(() => answered(page, get(`traces/${encodeURIComponent(id)}`, { timeout: LONG_MS, signal: page.signal })));
      }
      return node;
    });
    const head = h("h1", {}, say("traces_title"), " ", id && h("small", {}, id));
    if (id) return [h("p", { class: "crumb" }, h("a", { href: link("traces") }, say("traces")), ` / ${id}`), head, out];
    return [head, chooser(page, list.max_bytes), out, stored(list.files)];
  },
};
