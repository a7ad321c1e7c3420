// The server's events, by fetch rather than EventSource: only fetch says why it was refused, and when it will try again.
import { address } from "./api.js";

const FIRST_MS = 1000, LONGEST_MS = 30000;

export class Live {
  // `happened(name, data)` for every event, `changed(state, seconds)` with live, waiting, lost or off.
  constructor(happened, changed) {
    this.happened = happened;
    this.changed = changed;
    this.delay = FIRST_MS;
    this.timer = 0;
    this.stop = new AbortController();
  }

  async start() {
    clearTimeout(this.timer);
    this.stop.abort();
    const stop = (this.stop = new AbortController());
    try {
      const answer = await fetch(address("events"), {
        headers: { Accept: "text/event-stream" }, cache: "no-store", credentials: "same-origin", signal: stop.signal,
      });
      if (answer.status === 404) return this.changed("off", 0);
      if (!answer.ok || !answer.body) throw new Error(String(answer.status));
      this.delay = FIRST_MS;
      this.changed("live", 0);
      await this.read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch { /* lost: the next lines say so and try again */ }
    if (!stop.signal.aborted) this.again();
  }

  async read(reader) {
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      rest = (rest + value).slice(-1000000).replaceAll("\r\n", "\n");
      const blocks = rest.split("\n\n");
      rest = blocks.pop();
      blocks.forEach((block) => this.event(block));
    }
  }

  event(block) {
    let name = "message";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) name = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
    }
    if (data.length) this.happened(name, data.join("\n"));
  }

  again() {
    const wait = this.delay * (0.75 + Math.random() / 2);
    this.delay = Math.min(this.delay * 2, LONGEST_MS);
    this.changed("lost", Math.round(wait / 1000));
    this.timer = setTimeout(() => this.start(), wait);
  }
}
