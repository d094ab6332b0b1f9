// Shared by the pictures of a sweep: the colours and tips of trials, and the axes of parameters.

// Counts the ranked trials and the epochs of the furthest one, for functions that look at one trial.
function survey(sweep) {
  sweep.ranked = sweep.ranking.filter((trial) => isNumber(trial.place)).length;
  sweep.furthest = sweep.ranking.reduce((epochs, trial) => Math.max(epochs, trial.epochs), 0);
}

// Colours s0 … s7 go from the best trial to the worst; pruned: the trial was stopped.
function trialClass(trial, sweep) {
  if (trial.status === "failed") return "grey dashed";
  if (trial.status === "running") return "c0";
  if (!isNumber(trial.place)) return "grey";
  const share = sweep.ranked > 1 ? (trial.place - 1) / (sweep.ranked - 1) : 0;
  const colour = `s${Math.min(7, Math.floor(share * 8))}`;
  return `${colour} ${trial.place === 1 ? "best" : ""} ${isPruned(trial, sweep) ? "pruned" : ""}`;
}

// Was the trial stopped while others went further? If a sweep stops all trials, the furthest ones are not pruned.
function isPruned(trial, sweep) {
  return (trial.status === "stopped" || trial.status === "interrupted") && trial.epochs < sweep.furthest;
}

const trialLabel = (trial) => `trial ${trial.trial}`;

function trialTip(trial, sweep) {
  return [
    el("div", {class: "where"}, trialLabel(trial), " ", statusPill(trial.status)),
    el("div", {class: "row"}, el("span", {class: "label"}, sweep.metric), el("b", {}, number(trial.metric))),
    ...sweep.parameters.map(
      (key) => el("div", {class: "row"}, el("span", {class: "label"}, key), el("b", {}, brief(trial.parameters[key]))))
  ];
}

// Draws a picture as wide as the available room, and redraws it when that changes. draw(width)
function asWide(frame, least, draw) {
  let drawn = 0;
  new ResizeObserver(() => {
    const width = Math.max(least, Math.round(frame.parentElement.clientWidth));
    if (width === drawn || frame.parentElement.clientWidth === 0) return;
    drawn = width;
    draw(width);
  }).observe(frame.parentElement);
}

// A picture with a tip that follows the pointer.
function withTip(plot) {
  const tip = el("div", {class: "tip", hidden: true, role: "status"});
  const frame = el("div", {class: "frame"}, plot, tip);
  return {
    frame,
    show(event, rows) {
      tip.replaceChildren(...rows);
      tip.hidden = false;
      const box = frame.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      const side = x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14;
      tip.style.left = `${Math.max(0, Math.min(box.width - tip.offsetWidth, side))}px`;
      tip.style.top = `${Math.max(0, Math.min(box.height - tip.offsetHeight, y - tip.offsetHeight / 2))}px`;
    },
    hide() { tip.hidden = true; },
  };
}

// Returns the scale of values: logarithmic for numbers that span decades, one place each for other values.
function scaleOf(values, from, to) {
  const known = values.filter((value) => value !== undefined && value !== null);
  if (known.length === 0) return placesScale([""], from, to);
  if (!known.every(isNumber)) {
    const texts = [...new Set(known.map(shown))].sort();
    const scale = placesScale(texts, from, to);
    return {...scale, at: (value) => scale.at(shown(value))};
  }
  const distinct = [...new Set(known)].sort((a, b) => a - b);
  const [low, high] = [distinct[0], distinct[distinct.length - 1]];
  const log = spansDecades(known);
  const scale = (log ? logScale : linearScale)(low, high, from, to, 5, false);
  // With few values, label exactly these.
  if (distinct.length <= 6) Object.assign(scale, {ticks: distinct, text: (value) => number(value, 4)});
  return {...scale, log, ticks: apart(scale.ticks, scale.at)};
}

// Are they above 0, a decade or more apart, and more evenly spread over a logarithmic axis than over a linear one?
function spansDecades(values) {
  const sorted = [...values].sort((a, b) => a - b);
  if (!(sorted[0] > 0) || sorted[sorted.length - 1] / sorted[0] < 10) return false;
  return largestGap(sorted.map(Math.log)) <= largestGap(sorted);
}

// Returns the largest gap as a share of the range.
function largestGap(sorted) {
  const gaps = sorted.slice(1).map((value, i) => value - sorted[i]);
  return Math.max(...gaps) / (sorted[sorted.length - 1] - sorted[0]);
}

// Keeps the first of ticks that would overlap.
function apart(ticks, at) {
  let last = -Infinity;
  return ticks.filter((tick) => {
    const far = Math.abs(at(tick) - last) >= 13;
    if (far) last = at(tick);
    return far;
  });
}
