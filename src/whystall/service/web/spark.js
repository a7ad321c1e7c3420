// A small line without axes, as SVG.
import { svg } from "./dom.js";

const WIDE = 120, HIGH = 28;

// `values`: numbers or null, oldest first. A gap stays a gap; one value alone is a dot.
export const spark = (values, said, ceiling = null) => {
  const seen = values.filter((value) => Number.isFinite(value));
  const high = Math.max(ceiling ?? 0, ...seen) || 1;
  const x = (i) => (values.length > 1 ? (i / (values.length - 1)) * (WIDE - 4) + 2 : WIDE / 2);
  const y = (value) => HIGH - 2 - (Math.max(0, value) / high) * (HIGH - 5);
  let path = "", pen = false;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) { pen = false; return; }
    path += `${pen ? "L" : "M"}${x(i).toFixed(1)} ${y(value).toFixed(1)}${pen ? "" : "h.01"}`;
    pen = true;
  });
  const last = values.findLastIndex((value) => Number.isFinite(value));
  return svg("svg", { class: "spark", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": said, preserveAspectRatio: "none" },
    svg("path", { class: "ground", d: `M2 ${HIGH - 2}H${WIDE - 2}` }),
    svg("path", { class: "line", d: path }),
    last >= 0 && svg("circle", { class: "end", cx: x(last), cy: y(values[last]), r: 2 }));
};

// How much of a limit is used, as a bar; the words beside it say the same.
export const bar = (ratio, tone) => svg("svg", { class: `bar ${tone}`, viewBox: "0 0 100 8", "aria-hidden": "true", preserveAspectRatio: "none" },
  svg("rect", { class: "all", width: 100, height: 8, rx: 2 }),
  svg("rect", { class: "part", width: Math.max(0, Math.min(100, ratio * 100)), height: 8, rx: 2 }));
