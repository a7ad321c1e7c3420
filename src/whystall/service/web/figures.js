// Numbers as a person reads them: the same rules as reports/figures.py.
import { language, say } from "./words.js";

const MANIFOLD = 2;
const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const UNITS = { "tok/s": "tok/s", "1/s": "/s", "req": "", "req/s": "/s", "W": " W", "x": "×", "count": "", "celsius": " °C", "c": " °C" };

export const number = (value) => {
  const size = Math.abs(value);
  if (Number.isInteger(value) || size >= 1000) return Math.round(value).toLocaleString("en-US");
  const text = value.toFixed(Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(size)))));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
};

export const percent = (ratio) => {
  const hundred = ratio * 100, size = Math.abs(hundred);
  const text = size < 10 || (size >= 99 && size < 100) ? hundred.toFixed(1) : hundred.toFixed(0);
  return text.replace(/\.0$/, "") + "%";
};

export const duration = (seconds) => {
  const size = Math.abs(seconds), sign = seconds < 0 ? "-" : "";
  if (size >= 120) {
    const minutes = Math.floor(Math.round(size) / 60), rest = Math.round(size) % 60;
    if (minutes >= 2880) return `${sign}${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
    return minutes >= 60 ? `${sign}${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${sign}${minutes} min ${rest} s`;
  }
  if (size === 0) return "0 s";
  if (size >= 1) return `${number(seconds)} s`;
  return size >= 1e-3 ? `${number(seconds * 1e3)} ms` : `${number(seconds * 1e6)} µs`;
};

export const figure = (value, unit) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return say("not_seen");
  if (unit === "s" || unit === "seconds") return duration(value);
  if (unit === "ratio" || unit === "share") return Math.abs(value) < MANIFOLD ? percent(value) : `${number(value)}×`;
  if (unit === "flag") return say(value ? "yes" : "no");
  if (unit === "bytes" || unit === "B") {
    const [scale, name] = BYTES.find(([size]) => Math.abs(value) >= size) ?? [1, "B"];
    return `${number(value / scale)} ${name}`;
  }
  if (unit === "Hz" || unit === "hz") return `${number(value / 1e6)} MHz`;
  const sign = UNITS[unit] ?? UNITS[(unit ?? "").toLowerCase()];
  if (sign === "tok/s") return `${number(value)} tok/s`;
  if (sign !== undefined) return number(value) + sign;
  return `${number(value)} ${(unit ?? "").replace(/^1(?=\/)/, "").replaceAll("_", " ")}`.trim();
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
