// Numbers as a person reads them, for the report and the dashboard: the same rules as reports/figures.py.
var whystallNumbers = (() => {
  "use strict";
  const MANIFOLD = 2;
  const BYTES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
  const UNITS = { "tok/s": " tok/s", "1/s": "/s", "req": "", "req/s": "/s", "W": " W", "x": "×", "count": "", "celsius": " °C", "c": " °C" };

  const number = (value) => {
    const size = Math.abs(value);
    if (Number.isInteger(value) || size >= 1000) return Math.round(value).toLocaleString("en-US");
    const text = value.toFixed(Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(size)))));
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  };

  const percent = (ratio) => {
    const hundred = ratio * 100, size = Math.abs(hundred);
    const text = size < 10 || (size >= 99 && size < 100) ? hundred.toFixed(1) : hundred.toFixed(0);
    return text.replace(/\.0$/, "") + "%";
  };

  const duration = (seconds) => {
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

  const bytes = (value) => {
    const [scale, name] = BYTES.find(([size]) => Math.abs(value) >= size) ?? [1, "B"];
    return `${number(value / scale)} ${name}`;
  };

  // A finite value with its unit.
  const figure = (value, unit = "") => {
    if (unit === "s" || unit === "seconds") return duration(value);
    if (unit === "ratio" || unit === "share") return Math.abs(value) < MANIFOLD ? percent(value) : `${number(value)}×`;
    if (unit === "bytes" || unit === "B") return bytes(value);
    if (unit === "Hz" || unit === "hz") return `${number(value / 1e6)} MHz`;
    const sign = UNITS[unit] ?? UNITS[unit.toLowerCase()];
    return sign === undefined ? `${number(value)} ${unit.replace(/^1(?=\/)/, "").replaceAll("_", " ")}`.trim() : number(value) + sign;
  };

  return { number, percent, duration, figure, MANIFOLD };
})();
