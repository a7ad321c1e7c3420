// Steps over time: what the host did and the GPU work that it launched, on a canvas that moves and zooms.
import { h, section } from "./dom.js";
import { number } from "./figures.js";
import { say } from "./words.js";

const PHASES = ["decode", "prefill", "mixed", "empty", "other"];
const ROW = 40, FIRST = 22, GAP = 56, HIGH = 150;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const tone = (phase) => colour("s" + Math.max(0, Math.min(4, PHASES.indexOf(phase))));
const time = (ns) => (ns >= 1e9 ? `${number(ns / 1e9)} s` : ns >= 1e6 ? `${number(ns / 1e6)} ms` : ns >= 1e3 ? `${number(ns / 1e3)} µs` : `${Math.round(ns)} ns`);

const boxesOf = (steps) => steps.flatMap((step) => [
  { step, row: 0, start: step.start, end: step.start + step.host },
  ...(step.gpu ? [{ step, row: 1, start: step.gpu[0], end: step.gpu[1] }] : []),
]);

const described = (step) => {
  const families = Object.entries(step.families).sort((a, b) => b[1] - a[1]).slice(0, 4).map(([name, ns]) => `${name} ${time(ns)}`).join(", ");
  return `${step.name} · ${say("lane_host")} ${time(step.host)} · ${say("lane_gpu")} ${step.busy}${families ? ` · ${families}` : ""}`;
};

class Lanes {
  constructor(line, canvas, tip) {
    Object.assign(this, { canvas, tip, end: line.end, from: 0, to: line.end, held: null, boxes: boxesOf(line.steps) });
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(this.at(event), event.deltaY > 0 ? 1.25 : 0.8); }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => { this.held = event.offsetX; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { this.held = null; });
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  at(event) { return this.from + (event.offsetX / this.canvas.clientWidth) * (this.to - this.from); }

  hover(event) {
    if (this.held !== null) {
      this.move(((this.held - event.offsetX) / this.canvas.clientWidth) * (this.to - this.from));
      this.held = event.offsetX;
      return;
    }
    const row = event.offsetY < FIRST + ROW + 10 ? 0 : 1, at = this.at(event);
    const found = this.boxes.find((box) => box.row === row && box.start <= at && at <= box.end);
    this.tip.textContent = found ? described(found.step) : say("traces_lanes");
  }

  key(event) {
    const span = this.to - this.from, middle = (this.from + this.to) / 2;
    const done = { ArrowLeft: () => this.move(-span / 5), ArrowRight: () => this.move(span / 5), ArrowUp: () => this.zoom(middle, 0.8), ArrowDown: () => this.zoom(middle, 1.25) }[event.key];
    if (done) { event.preventDefault(); done(); }
  }

  zoom(middle, factor) {
    const span = Math.min(Math.max((this.to - this.from) * factor, 1000), this.end);
    this.from = Math.max(0, Math.min(middle - ((middle - this.from) * span) / (this.to - this.from), this.end - span));
    this.to = this.from + span;
    this.draw();
  }

  move(by) {
    const span = this.to - this.from;
    this.from = Math.max(0, Math.min(this.from + by, this.end - span));
    this.to = this.from + span;
    this.draw();
  }

  draw() {
    const { canvas } = this, ratio = devicePixelRatio || 1, width = canvas.clientWidth;
    canvas.width = width * ratio;
    canvas.height = HIGH * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    for (const box of this.boxes) if (box.end >= this.from && box.start <= this.to) this.box(pen, box, width);
    pen.fillStyle = colour("muted");
    pen.fillText(say("lane_host"), 4, FIRST - 6);
    pen.fillText(say("lane_gpu"), 4, FIRST + GAP - 4);
    for (let tick = 0; tick <= 4; tick += 1) {
      pen.textAlign = tick === 4 ? "right" : tick ? "center" : "left";
      pen.fillText(time(this.from + ((this.to - this.from) * tick) / 4), (width * tick) / 4, HIGH - 8);
    }
  }

  box(pen, box, width) {
    const x = (ns) => ((ns - this.from) / (this.to - this.from)) * width;
    const left = x(box.start), wide = Math.max(x(box.end) - left, 1), top = FIRST + box.row * GAP;
    pen.globalAlpha = box.row ? 1 : 0.55;
    pen.fillStyle = tone(box.step.phase);
    pen.fillRect(left, top, wide, ROW);
    pen.globalAlpha = 1;
    if (wide < 60) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, wide, ROW);
    pen.clip();
    pen.fillStyle = colour("page");
    pen.fillText(box.step.phase, Math.max(left, 0) + 6, top + 24);
    pen.restore();
  }
}

export const laneSection = (line) => {
  const tip = h("p", { class: "note tip" }, say("traces_lanes"));
  const canvas = h("canvas", { class: "lanes", tabindex: "0", role: "img", "aria-label": `${say("traces_steps")}: ${line.file}` });
  new Lanes(line, canvas, tip);
  return section(say("traces_steps"), h("div", { class: "chart" }, canvas, tip));
};
