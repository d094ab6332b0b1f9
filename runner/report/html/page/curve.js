// A curve: one column of one run, prepared for drawing.

// Returns the places of a table's points along each axis. The epoch axis counts finished epochs: a step inside an epoch
// has a fraction.
function placesOf(table, perEpoch) {
  const ends = perEpoch.step.map((step, i) => [step, perEpoch.epoch[i] + 1]);
  return {
    step: table.step,
    seconds: table.seconds,
    epoch: table.step.map((step, i) => epochsDone(step, table.epoch[i], ends))
  };
}

function epochsDone(step, epoch, ends) {
  if (ends.length === 0) return epoch;
  let after = ends.findIndex(([end]) => end >= step);
  if (after < 0) after = ends.length - 1;  // in an unfinished epoch: as long as the last one
  const [end, done] = ends[after];
  const [start, before] = after > 0 ? ends[after - 1] : [0, done - 1];
  return end > start ? before + ((step - start) / (end - start)) * (done - before) : done;
}

// smooth: smoothed as the reader chooses; calm: smoothed at least this much; factors: multiplied with the points.
function curveOf({
  run,
  table,
  places,
  column,
  label,
  colour,
  dash = false,
  smooth = false,
  calm = 0,
  bestStep = null,
  lastStep = null,
  factors = null
}) {
  const data = table.columns[column];
  if (!data) return null;
  const at = (values) =>
    (factors ? values.map((v, i) => (v === null || factors[i] === null ? null : v * factors[i])) : values);
  return {
    run,
    label,
    colour,
    dash,
    smooth,
    calm,
    places,
    column,
    mean: at(data.mean),
    min: data.min ? at(data.min) : null,
    max: data.max ? at(data.max) : null,
    bestStep,
    lastStep,
    notFinite: new Map(data.not_finite),
    step: table.step,
  };
}

// An exponential moving average without the bias towards its first value.
function smoothed(values, weight) {
  let average = 0;
  let seen = 0;
  return values.map((value) => {
    if (value === null) return null;
    average = average * weight + value * (1 - weight);
    seen = seen * weight + (1 - weight);
    return average / seen;
  });
}

// Returns the index of the point nearest to x.
function nearest(xs, x) {
  let low = 0;
  let high = xs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] < x)
      low = middle;
    else
      high = middle;
  }
  return Math.abs(xs[low] - x) <= Math.abs(xs[high] - x) ? low : high;
}

// Returns the SVG path through points; null is a gap.
function pathThrough(xs, ys) {
  let path = "";
  let pen = "M";
  for (let i = 0; i < xs.length; ++i) {
    if (ys[i] === null) {
      pen = "M";
    } else {
      path += `${pen}${xs[i].toFixed(1)} ${ys[i].toFixed(1)}`;
      pen = "L";
    }
  }
  return path;
}

// Returns the path of the band between two curves, cut at gaps.
function bandBetween(xs, lows, highs) {
  let path = "";
  for (let i = 0; i < xs.length;) {
    let end = i;
    while (end < xs.length && lows[end] !== null && highs[end] !== null) ++end;
    if (end > i) {
      const there = xs.slice(i, end).map((x, k) => `${x.toFixed(1)} ${highs[i + k].toFixed(1)}`);
      const back = xs.slice(i, end).map((x, k) => `${x.toFixed(1)} ${lows[i + k].toFixed(1)}`).reverse();
      path += `M${there.join("L")}L${back.join("L")}Z`;
    }
    i = end + 1;
  }
  return path;
}
