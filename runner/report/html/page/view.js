// All charts, and the reader's choices for their curves.

const view = {
  along: "step",      // or "epoch", "seconds"
  smoothing: 0,       // 0 … 0.99: weight of the past in an exponential moving average
  perRank: false,     // throughput
  hidden: new Set(),  // runs whose curves are hidden
  charts: [],
  set(changes) {
    Object.assign(view, changes);
    view.charts.forEach((chart) => chart.draw());
  },
};

const AXES = {
  step: {name: "step", text: (x) => `step ${count(x)}`},
  epoch: {name: "epochs done", text: (x) => `epoch ${number(x, 3)}`},
  seconds: {name: "training time (s)", text: (x) => duration(x)},
};

// The crosshair: all charts show the same place.
const crosshair = {
  move(x) { view.charts.forEach((chart) => chart.cross(x)); },
};

// Highlights the trial or run under the pointer in all pictures: marks the elements with its data-run as "lit".
const spotlight = {
  run: null,
  on(run) {
    if (spotlight.run === run) return;
    spotlight.run = run;
    document.body.classList.toggle("spotlight", run !== null);
    document.querySelectorAll(".lit").forEach((node) => node.classList.remove("lit"));
    if (run === null) return;
    document.querySelectorAll(`[data-run="${Number(run)}"]`).forEach((node) => node.classList.add("lit"));
  },
};
