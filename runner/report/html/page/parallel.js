// Parallel coordinates: an axis for each parameter and one for the metric, a line for each trial.

function parallelCoordinates(sweep, trials) {
  const drawn = trials.filter((trial) => Object.keys(trial.parameters).length > 0);
  if (drawn.length === 0 || sweep.parameters.length === 0) return null;
  const plot = svg("svg", {
    class: "plot parallel",
    role: "img",
    "aria-label": "parallel coordinates of the trials; the ranking has the same values"
  });
  const tip = withTip(plot);
  const figure = el("figure", {class: "chart wide"},
    el("figcaption", {}, el("h3", {}, "Trials at a glance"),
      el("span", {class: "note"}, "a line for each trial, from its parameters to ", el("b", {}, sweep.metric),
        ", best on top")),
    scrolling(tip.frame), scaleKey(sweep, drawn));
  // On a phone the chart is wider than the screen and scrolls in its frame.
  asWide(tip.frame, 115 * (sweep.parameters.length + 1), (width) => {
    tip.frame.style.width = `${width}px`;
    drawParallel(plot, tip, width, sweep, drawn);
  });
  return figure;
}

function drawParallel(plot, tip, width, sweep, trials) {
  const [left, right, top, bottom] = [64, width - 70, 40, 304];
  const axes = [
    ...sweep.parameters.map((key) => ({name: key, of: (trial) => trial.parameters[key]})),
    {name: sweep.metric, of: (trial) => trial.metric ?? undefined, metric: true}
  ];
  axes.forEach((axis, i) => {
    axis.x = left + (i * (right - left)) / (axes.length - 1);
    const flipped = axis.metric && sweep.goal !== "max";  // best on top
    axis.scale = scaleOf(trials.map(axis.of), flipped ? top : bottom, flipped ? bottom : top);
  });
  // The best trials are drawn last, over the others.
  const lines =
    [...trials].sort((a, b) => (b.place ?? Infinity) - (a.place ?? Infinity) || a.trial - b.trial).map((trial) => {
      const points =
        axes.filter((axis) => axis.of(trial) !== undefined).map((axis) => [axis.x, axis.scale.at(axis.of(trial))]);
      return drawTrial(trial, curveThrough(points), tip, sweep);
    });
  plot.setAttribute("viewBox", `0 0 ${width} 320`);
  plot.replaceChildren(...lines, ...axes.map((axis, i) => drawAxis(axis, top, bottom, i === axes.length - 1)));
}

function drawTrial(trial, path, tip, sweep) {
  return svg("g", {
    class: `curve ${trialClass(trial, sweep)}`,
    "data-run": trial.trial,
    pointerenter: () => spotlight.on(trial.trial),
    pointermove: (event) => tip.show(event, trialTip(trial, sweep)),
    pointerleave: () => {
      tip.hide();
      spotlight.on(null);
    },
  },
    svg("path", {class: "line", d: path}), svg("path", {class: "touch", d: path}));
}

function curveThrough(points) {
  return points
    .map(([x, y], i) => {
      if (i === 0) return `M${x.toFixed(1)} ${y.toFixed(1)}`;
      const [px, py] = points[i - 1];
      const middle = ((px + x) / 2).toFixed(1);
      return `C${middle} ${py.toFixed(1)} ${middle} ${y.toFixed(1)} ${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

function drawAxis(axis, top, bottom, last) {
  return svg("g", {class: "parallel-axis"}, svg("line", {class: "axis", x1: axis.x, x2: axis.x, y1: top, y2: bottom}),
    svg("text", {class: "axis-name", x: axis.x, y: 18, "text-anchor": "middle"}, axis.name),
    axis.scale.ticks.map(
      (tick) => [svg("line",
                   {class: "axis", x1: axis.x - 3, x2: axis.x + 3, y1: axis.scale.at(tick), y2: axis.scale.at(tick)}),
        svg("text", {
          class: "tick halo",
          x: axis.x + (last ? 8 : -8),
          y: axis.scale.at(tick) + 4,
          "text-anchor": last ? "start" : "end"
        },
          axis.scale.text(tick))]));
}

// The legend of the colours.
function scaleKey(sweep, trials) {
  const sample = (kind, text) => el("span", {class: "key"}, lineSample(kind), text);
  const swatch = (i) => svg("rect", {class: `s${i}`, x: i * 12, y: 0, width: 12, height: 10});
  const swatches = Array.from({length: 8}, (_, i) => swatch(i));
  return el("p", {class: "note scale"},
    sweep.ranked > 1 ? ["best", svg("svg", {class: "swatches", viewBox: "0 0 96 10"}, swatches), "worst"] : null,
    trials.some((trial) => isPruned(trial, sweep)) ? sample("plain pruned", "at a rung") : null,
    trials.some((trial) => trial.status === "failed") ? sample("grey dashed", "failed") : null);
}
