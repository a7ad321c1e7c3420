// What the server is asked. Every failure becomes a `Failure` with words for a person.
import { language, say } from "./words.js";

export class Failure extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

const failure = async (answer) => {
  let body = {};
  try { body = await answer.json(); } catch { /* no JSON: the status says it */ }
  const said = typeof body.error === "string" ? body.error : say("http_error", { status: answer.status });
  return new Failure(said, typeof body.hint === "string" ? body.hint : "", answer.status);
};

export const address = (path, query = {}) => `api/${path}?${new URLSearchParams({ ...query, lang: language() })}`;

const ask = async (path, { query, signal, timeout = 30000, ...how } = {}) => {
  const signals = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  let answer;
  try {
    const all = { cache: "no-store", credentials: "same-origin", ...how, signal: AbortSignal.any(signals) };
    answer = await fetch(address(path, query), all);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure(say(error.name === "TimeoutError" ? "timed_out" : "not_reachable"), say("not_reachable_hint"));
  }
  if (!answer.ok) throw await failure(answer);
  try { return await answer.json(); } catch { throw new Failure(say("broken_answer"), say("not_reachable_hint")); }
};

export const get = (path, options) => ask(path, options);
export const post = (path, body, options = {}) => ask(path, {
  ...options, method: "POST", body: body instanceof Blob ? body : JSON.stringify(body),
  headers: { "Content-Type": body instanceof Blob ? "application/octet-stream" : "application/json" },
});

// Gives the token once; the service answers with a cookie that no script can read.
export const enter = (token) => post("session", { token });
