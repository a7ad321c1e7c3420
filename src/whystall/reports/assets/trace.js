"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const words = data.words;
  const PHASES = ["decode", "prefill", "mixed", "empty", "other", "capture"];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const tone = (phase) => colour("--s" + Math.max(0, Math.min(4, PHASES.indexOf(phase))));
  const time = (ns) => ns >= 1e9 ? (ns / 1e9).toPrecision(3) + " s" : ns >= 1e6 ? (ns / 1e6).toPrecision(3) + " ms"
    : ns >= 1e3 ? (ns / 1e3).toPrecision(3) + " µs" : Math.round(ns) + " ns";

  function lanes(canvas) {
    const one = data.timelines[Number(canvas.dataset.timeline)];
    const tip = canvas.nextElementSibling;
    let from = 0, to = one.end, held = null;

    const boxes = () => one.steps.flatMap((step) => {
      const host = {step, row: 0, start: step.start, end: step.start + step.host};
      return step.gpu ? [host, {step, row: 1, start: step.gpu[0], end: step.gpu[1]}] : [host];
    });

    function draw() {
      const ratio = window.devicePixelRatio || 1;
      const width = canvas.clientWidth, height = canvas.clientHeight;
      canvas.width = width * ratio;
      canvas.height = height * ratio;
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.font = "12px system-ui, sans-serif";
      const x = (ns) => (ns - from) / (to - from) * width;
      for (const box of boxes()) {
        if (box.end < from || box.start > to) continue;
        const left = x(box.start), wide = Math.max(x(box.end) - left, 1), top = 24 + box.row * 58;
        pen.fillStyle = tone(box.step.phase);
        pen.globalAlpha = box.row ? 1 : 0.55;
        pen.fillRect(left, top, wide, 40);
        pen.globalAlpha = 1;
        if (wide > 60) {
          pen.fillStyle = colour(box.row ? "--page" : "--ink");  // the host's row is faint
          pen.save();
          pen.beginPath();
          pen.rect(left, top, wide, 40);
          pen.clip();
          pen.fillText(box.step.phase, Math.max(left, 0) + 6, top + 24);
          pen.restore();
        }
      }
      pen.fillStyle = colour("--muted");
      pen.fillText(words.host, 4, 18);
      pen.fillText(words.gpu, 4, 77);
      for (let tick = 0; tick <= 4; tick++) {
        const at = from + (to - from) * tick / 4;
        pen.textAlign = tick === 4 ? "right" : tick ? "center" : "left";
        pen.fillText(time(at), width * tick / 4, height - 8);
      }
      pen.textAlign = "left";
    }

    function zoom(middle, factor) {
      const span = Math.min(Math.max((to - from) * factor, 1000), one.end);
      from = Math.max(0, Math.min(middle - (middle - from) * span / (to - from), one.end - span));
      to = from + span;
      draw();
    }

    function move(by) {
      const span = to - from;
      from = Math.max(0, Math.min(from + by, one.end - span));
      to = from + span;
      draw();
    }

    const at = (event) => from + (event.offsetX / canvas.clientWidth) * (to - from);
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(at(event), event.deltaY > 0 ? 1.25 : 0.8); }, {passive: false});
    canvas.addEventListener("pointerdown", (event) => { held = event.offsetX; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (held !== null) {
        move((held - event.offsetX) / canvas.clientWidth * (to - from));
        held = event.offsetX;
        return;
      }
      const row = event.offsetY < 73 ? 0 : 1;
      const found = boxes().find((box) => box.row === row && box.start <= at(event) && at(event) <= box.end);
      tip.textContent = found ? describe(found.step) : words.help;
    });
    canvas.addEventListener("keydown", (event) => {
      const steps = {ArrowLeft: () => move((from - to) / 5), ArrowRight: () => move((to - from) / 5),
        ArrowUp: () => zoom((from + to) / 2, 0.8), ArrowDown: () => zoom((from + to) / 2, 1.25)};
      if (steps[event.key]) { event.preventDefault(); steps[event.key](); }
    });
    window.addEventListener("resize", draw);
    draw();
  }

  function describe(step) {
    const families = Object.entries(step.families).sort((a, b) => b[1] - a[1]).slice(0, 4)
      .map(([name, ns]) => name + " " + time(ns)).join(", ");
    return step.name + "\n" + words.host + " " + time(step.host) + " · " + words.gpu + " " + step.busy + (families ? " · " + families : "");
  }

  function kernels(table) {
    const rows = data.timelines[Number(table.dataset.table)].kernels;
    const heads = [words.time, words.share, words.count, words.mean, words.longest, words.class, words.kernel];
    const filter = document.querySelector('[data-kernels="' + table.dataset.table + '"]');
    let by = 0, down = true;

    const head = document.createElement("tr");
    heads.forEach((name, column) => {
      const cell = document.createElement("th"), button = document.createElement("button");
      cell.scope = "col";
      cell.className = column < 5 ? "r" : "l";
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => { down = by === column ? !down : column < 5; by = column; fill(); });
      cell.append(button);
      head.append(cell);
    });
    table.tHead.append(head);

    function fill() {
      const wanted = filter.value.toLowerCase();
      const shown = rows.filter((row) => !wanted || (row[5] + " " + row[6]).toLowerCase().includes(wanted));
      shown.sort((a, b) => (a[by] < b[by] ? -1 : a[by] > b[by] ? 1 : 0) * (down ? -1 : 1));
      table.tBodies[0].replaceChildren(...shown.slice(0, 500).map((row) => {
        const line = document.createElement("tr");
        const texts = [time(row[0]), (row[1] * 100).toFixed(1) + "%", row[2].toLocaleString(), time(row[3]), time(row[4]), row[5], row[6]];
        texts.forEach((text, column) => {
          const cell = document.createElement("td");
          cell.className = column < 5 ? "r" : column === 6 ? "name" : "l";
          cell.textContent = text;
          line.append(cell);
        });
        return line;
      }));
      head.querySelectorAll("th").forEach((cell, column) => {
        cell.setAttribute("aria-sort", column === by ? (down ? "descending" : "ascending") : "none");
      });
    }
    filter.addEventListener("input", fill);
    fill();
  }

  document.querySelectorAll("canvas.lanes").forEach(lanes);
  document.querySelectorAll("table[data-table]").forEach(kernels);
})();
