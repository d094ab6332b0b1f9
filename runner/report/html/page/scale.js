// Axes: convert values to places on the screen, and choose the round values beside the axis.

// Returns the distance of about `most` ticks: 1, 2 or 5 times a power of ten.
function niceStep(range, most) {
  const rough = range / Math.max(1, most);
  const base = 10 ** Math.floor(Math.log10(rough));
  const factor = [1, 2, 5, 10].find((f) => base * f >= rough * 0.999);
  return base * (factor ?? 10);
}

// The ticks of an axis have the same decimals, or the same power.
function tickText(step, largest) {
  if (largest >= 1e15 || (largest > 0 && largest < 1e-3)) return (value) => (value === 0 ? "0" : power(value, 1));
  for (const [size, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    const unit = letter === "k" ? 1e3 : size;
    if (largest >= size) return (value) => (value === 0 ? "0" : `${plain(value / unit, step / unit)}${letter}`);
  }
  return (value) => plain(value, step);
}

function plain(value, step) {
  const decimals = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  return value.toFixed(decimals).replace("-", "−");
}

// A scale: at(value) returns its place; ticks are the values to write, text(value) their text. `round`: the ends become
// ticks.
function linearScale(low, high, from, to, most, round) {
  if (!(high > low)) [low, high] = widened(low);
  const halves = high / 2 - low / 2;  // high - low may be infinite
  const step = niceStep(halves, most / 2);
  if (round) {
    low = Math.max(-Number.MAX_VALUE, Math.floor(low / step + 1e-9) * step);
    high = Math.min(Number.MAX_VALUE, Math.ceil(high / step - 1e-9) * step);
  }
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6 && ticks.length < 50; ++i)
    ticks.push(i * step);
  return {
    low,
    high,
    ticks,
    text: tickText(step, Math.max(Math.abs(low), Math.abs(high))),
    at: (value) => from + ((value / 2 - low / 2) / (high / 2 - low / 2)) * (to - from),
  };
}

function widened(value) {
  if (!Number.isFinite(value)) return [0, 1];
  const by = Math.abs(value) * 0.1 || 1;
  return [value - by, value + by];
}

// For two ends above 0.
function logScale(low, high, from, to, most, round) {
  if (!(high > low)) [low, high] = [low / 2, low * 2];
  let [a, b] = [Math.log10(low), Math.log10(high)];
  const decades = b - a;
  let ticks = [];
  if (decades > 4) {
    if (round) [a, b] = [Math.floor(a + 1e-9), Math.ceil(b - 1e-9)];
    const every = Math.max(1, Math.ceil((b - a) / most));
    for (let i = Math.ceil(a - 1e-9); i <= b + 1e-9; i += every) ticks.push(10 ** i);
    ticks = ticks.filter((t) => t > 0);  // 10 ** -324 underflows to 0
  } else {
    const factors = decades > 2.5 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
    for (let i = Math.floor(a); i <= Math.ceil(b); ++i) ticks.push(...factors.map((f) => f * 10 ** i));
    if (round) {
      a = Math.log10(Math.max(...ticks.filter((t) => t <= low * 1.0001)));
      b = Math.log10(Math.min(...ticks.filter((t) => t >= high * 0.9999), 10 ** Math.ceil(b + 1e-9)));
    }
    ticks = ticks.filter((t) => Math.log10(t) >= a - 1e-9 && Math.log10(t) <= b + 1e-9);
    if (ticks.length < 2) ticks = [low, high];
  }
  return {
    low: 10 ** a,
    high: 10 ** b,
    ticks,
    text: (value) => (value >= 0.001 && value < 1e4 ? number(value, 3) :
        value < 1e15 && value >= 1e4                ? tickText(value, value)(value) :
                                                      power(value, 1)),
    at: (value) => from + ((Math.log10(value) - a) / (b - a)) * (to - from),
  };
}

// Values that are not numbers, one place each.
function placesScale(values, from, to) {
  const gap = (to - from) / values.length;
  return {
    ticks: values,
    text: shown,
    at: (value) => from + gap * (values.indexOf(value) + 0.5),
  };
}
