// Numbers and moments as a person reads them here; numbers.js, which the reports have too, has the rules of the numbers.
import { language, say } from "./words.js";

export const { number, percent, duration } = whystallNumbers;
const { MANIFOLD } = whystallNumbers;

export const figure = (value, unit) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return say("not_seen");
  return unit === "flag" ? say(value ? "yes" : "no") : whystallNumbers.figure(value, unit ?? "");
};

export const probability = (value) => (value > 0.99 ? ">99%" : value < 0.01 ? "<1%" : `${(value * 100).toFixed(0)}%`);

export const change = (ratio) => {
  const whole = Math.round(ratio * 100);
  if (ratio >= MANIFOLD) return `×${number(1 + ratio)}`;
  return whole === 0 ? "0%" : `${whole > 0 ? "+" : ""}${whole}%`;
};

const valid = (unix) => Number.isFinite(unix) && Math.abs(unix) < 8e12;
const locale = () => (language() === "zh" ? "zh-CN" : "en-GB");

export const clock = (unix) => (valid(unix) ? new Date(unix * 1000).toLocaleTimeString(locale(), { hour12: false }) : "–");

// The day too where it is not today's.
export const moment = (unix) => {
  if (!valid(unix)) return "–";
  const then = new Date(unix * 1000);
  const day = then.toDateString() === new Date().toDateString() ? "" : then.toLocaleDateString("sv-SE") + " ";
  return day + clock(unix);
};

export const ago = (unix, now = Date.now() / 1000) => {
  if (!valid(unix)) return "–";
  const seconds = Math.max(0, now - unix);
  return say("ago", { time: seconds < 1 ? say("a_moment") : duration(Math.round(seconds)) });
};
