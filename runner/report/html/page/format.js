// Numbers, times and other values as text for people.

const MISSING = "–";

const LOSSES = ["train_loss", "val_loss"];

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const count = (value) => (isNumber(value) ? value.toLocaleString("en-US", {maximumFractionDigits: 0}) : MISSING);

const power = (value, digits) =>
  value.toExponential(digits).replace("e+", "e").replace(/\.?0+e/, "e").replace("-", "−");

// A measured value with `digits` significant digits.
function number(value, digits = 4) {
  if (!isNumber(value)) return MISSING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e9 || size < 1e-4) return power(value, digits - 1);
  if (Number.isInteger(value) || size >= 10 ** digits)
    return count(Number(value.toPrecision(Math.max(digits, 6)))).replace("-", "−");
  return value.toPrecision(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "").replace("-", "−");
}

function duration(seconds) {
  if (!isNumber(seconds)) return MISSING;
  if (seconds < 0.0995) return `${number(seconds * 1000, 2)} ms`;
  if (seconds < 59.95) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes] =
    [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60];
  if (days > 0) return `${days} d ${hours} h`;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

// "2026-11-21T21:04:05Z" in the reader's time zone.
function moment(text) {
  const time = new Date(text ?? NaN);
  if (Number.isNaN(time.getTime())) return MISSING;
  return time.toLocaleString("sv-SE", {dateStyle: "short", timeStyle: "short"});
}

// A value of a configuration or other JSON, in a form that can be copied into a file.
function shown(value) {
  if (value === undefined || value === null || value === "") return MISSING;
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value).replace("e+", "e");
  if (Array.isArray(value) && value.every((item) => typeof item !== "object"))
    return `[${value.map(shown).join(", ")}]`;
  return JSON.stringify(value);
}

// The same with few digits: 0.03444, not 0.034436041935044244.
const brief = (value) => (isNumber(value) && !Number.isInteger(value) ? number(value, 4) : shown(value));

const TITLES = {loss: "Loss", lr: "Learning rate", samples_per_second: "Throughput"};
const MEASURED = {train: "Training", val: "Validation", test: "Test"};

// "Validation accuracy" for val_accuracy; other names stay unchanged.
function metricName(name) {
  if (Object.hasOwn(TITLES, name)) return TITLES[name];
  const at = name.indexOf("_");
  const kind = name.slice(0, Math.max(at, 0));
  return Object.hasOwn(MEASURED, kind) ? `${MEASURED[kind]} ${name.slice(at + 1).replaceAll("_", " ")}` : name;
}

// Metrics in display order, each once: losses first, then the others by name.
function inMetricOrder(names) {
  const place = (name) => LOSSES.includes(name) ? LOSSES.indexOf(name) : LOSSES.length;
  const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...new Set(names)].sort((a, b) => place(a) - place(b) || byName(a, b));
}

const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
