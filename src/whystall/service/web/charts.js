// The charts of a page, kept from one drawing to the next. How one looks stands in timeline.js, which the reports have too.
import { clock } from "./figures.js";
import { causeTitle, language, say, text } from "./words.js";

const root = document.documentElement;
const MINUTE = 60;

const ways = () => ({
  x: clock,
  tick: (at, step) => (step < MINUTE ? clock(at) : clock(at).slice(0, -3)),
  words: { time: say("chart_time"), above: say("chart_limit_above", { label: "{label}" }) },
});

const spoken = (panel) => ({
  ...panel, title: text(panel.title), lines: panel.lines.map((line) => ({ ...line, label: text(line.label), limit_label: text(line.limit_label) })),
});

export class Charts {
  constructor() { this.open = new Map(); }

  cards(panels, t, marks = []) {
    return panels.map((panel) => {
      const key = [panel.id, language(), root.dataset.theme, ...panel.lines.map((line) => line.id)].join(" ");
      const said = spoken(panel);
      if (!this.open.has(key)) this.open.set(key, new whystallTimeline.Chart(said, ways()));
      const chart = this.open.get(key);
      chart.show(said, t, marks.map((mark, i) => ({ ...mark, first: i === 0 })));
      return chart.card;
    });
  }

  close() {
    this.open.forEach((chart) => chart.close());
    this.open.clear();
  }
}

export const onsetMarks = (onsets) => onsets.map((mark) => ({ ...mark, label: say("onset_mark", { what: causeTitle(mark.id) }) }));
