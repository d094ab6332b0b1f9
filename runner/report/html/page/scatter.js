// The metric against one parameter.

function scatter(sweep, trials, key) {
  const points = trials.filter((trial) => isNumber(trial.metric) && trial.parameters[key] !== undefined);
  if (points.length === 0) return null;
  const plot = svg("svg", {class: "plot", role: "img", "aria-label": `${sweep.metric} against ${key}`});
  const tip = withTip(plot);
  const figure = el("figure", {class: "chart"}, el("figcaption", {}, el("h3", {}, key)), tip.frame);
  asWide(tip.frame, 240, (width) => drawScatter(plot, tip, width, sweep, points, key));
  return figure;
}

function drawScatter(plot, tip, width, sweep, points, key) {
  const height = 240;
  const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
  const x = scaleOf(points.map((trial) => trial.parameters[key]), left + 16, right - 16);
  const values = points.map((trial) => trial.metric);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = spansDecades(values);
  const y = (log ? logScale : linearScale)(low, high, bottom, top, 5, true);
  plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
  plot.replaceChildren(
    ...y.ticks.flatMap(
      (tick) => [svg("line", {class: "grid", x1: left, x2: right, y1: y.at(tick), y2: y.at(tick)}),
        svg("text", {class: "tick", x: left - 8, y: y.at(tick) + 4, "text-anchor": "end"}, y.text(tick))]),
    svg("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}),
    ...spread(x.ticks, x)
      .flatMap((tick) => [svg("line", {class: "axis", x1: x.at(tick), x2: x.at(tick), y1: bottom, y2: bottom + 4}),
                 svg("text", {class: "tick", x: x.at(tick), y: bottom + 16, "text-anchor": "middle"}, x.text(tick))]),
    svg("text", {class: "tick name", x: right, y: height - 3, "text-anchor": "end"},
      `${sweep.metric}${log ? " (log)" : ""} against ${key}${x.log ? " (log)" : ""}`),
    ...drawPoints(points, tip, sweep, (trial) => [x.at(trial.parameters[key]), y.at(trial.metric)]));
}

// The best trials are drawn last, on top.
function drawPoints(points, tip, sweep, placeOf) {
  return [...points].sort((a, b) => b.place - a.place).map((trial) => {
    const [cx, cy] = placeOf(trial);
    return svg("circle", {
      class: `point ${trialClass(trial, sweep)}`,
      "data-run": trial.trial,
      cx,
      cy,
      r: trial.place === 1 ? 6 : 4.5,
      pointerenter: (event) => {
        spotlight.on(trial.trial);
        tip.show(event, trialTip(trial, sweep));
      },
      pointerleave: () => {
        tip.hide();
        spotlight.on(null);
      },
    });
  });
}

// Ticks on a horizontal axis need room for their text.
function spread(ticks, scale) {
  let end = -Infinity;
  return ticks.filter((tick) => {
    const half = scale.text(tick).length * 3.4 + 4;
    const fits = scale.at(tick) - half >= end;
    if (fits) end = scale.at(tick) + half;
    return fits;
  });
}
