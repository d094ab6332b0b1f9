// The curves of one or several runs, and their shared controls.

const runColour = (i) => `c${i % 8}`;

// The palette has eight colours; further runs are dashed.
function runCurves(runs, table, column, options = {}) {
  return runs.map((run, i) => curveOf({
    run: i,
    table: run[table],
    places: run.places[table],
    column,
    smooth: table === "per_step",
    label: runs.length > 1 ? run.label : metricName(column),
    colour: runs.length > 1 ? runColour(i) : "c0",
    dash: i >= 8,
    bestStep: column === run.best?.metric || column.startsWith("val_") ? run.best?.step : null,
    lastStep: column.startsWith("val_") ? run.last?.step : null,
    ...options,
  }));
}

function marksOf(runs) {
  return runs.flatMap((run, i) => run.events.map((event) => {
    const place = {step: event.step, seconds: event.seconds, epoch: event.epoch};
    const first = run.per_step.step.findIndex((step) => step >= event.step);
    if (first >= 0) place.epoch = run.places.per_step.epoch[first];
    return {
      ...place,
      run: i,
      colour: runs.length > 1 ? `owned ${runColour(i)}` : "",
      event: markKind(event),
      text: `${runs.length > 1 ? `${run.label}: ` : ""}${happened(event)}`
    };
  }));
}

// Restarts and resumes have their own marks; all other events share one.
const markKind = (event) => ["restart", "resume"].includes(event.event) ? event.event : "other";

function happened(event) {
  const where = event.step > 0 ? `after step ${count(event.step)}` : "from the start";
  if (event.event === "resume")
    return `resumed ${where}${isNumber(event.world_size) ? `, ${plural(event.world_size, "rank")}` : ""}`;
  if (event.event !== "restart") return `${event.event} ${where}`;
  return `restarted ${where}: ${(event.cause ?? "no recorded cause").split("\n")[0]}`;
}

// Returns 1 / ranks at each point. All ranks take the same number of samples per step, so a rank's throughput is its
// share of the whole. An event records a resume with other ranks.
function perRankFactors(run) {
  const resumes = run.events.filter((event) => event.event === "resume" && event.world_size > 0);
  return run.per_step.step.map((step) => {
    const since = resumes.filter((event) => event.step < step).pop();
    const ranks = since ? since.world_size : resumes.length > 0 ? ranksBefore(resumes[0]) : run.world_size;
    return ranks > 0 ? 1 / ranks : null;
  });
}

// Returns the number of ranks before a resume: the same if device_pool did not change; otherwise one per entry, if that
// holds after the resume; otherwise 0, unknown.
function ranksBefore(resume) {
  const [before, after] = resume.changes?.device_pool ?? [];
  if (before === undefined) return resume.world_size;
  return Array.isArray(before) && Array.isArray(after) && after.length === resume.world_size ? before.length : 0;
}

// The activities of rank 0 in an epoch, each with the label and the colour of its curve.
const TIMES = {
  seconds_training: ["training", "c0"],
  seconds_waiting_for_data: ["of it: waiting for data", "c2"],
  seconds_forward: ["forward", "c3"],
  seconds_backward: ["backward", "c4"],
  seconds_waiting_for_ranks: ["waiting for ranks", "c5"],
  seconds_optimizer: ["optimizer", "c6"],
  seconds_validating: ["validating", "c1"],
  seconds_saving: ["saving", "c7"]
};

function timesChart(runs, marks) {
  if (runs.length > 1 || runs[0].per_epoch.rows < 2 || !runs[0].per_epoch.columns.seconds_training) return null;
  const curves = () => Object.entries(TIMES).flatMap(
    ([column, [label, colour]]) => runCurves(runs, "per_epoch", column, {label, colour, bestStep: null}));
  return new Chart({
    title: "Seconds of an epoch", curves, marks, fromZero: true, key: Object.values(TIMES).map(([text, kind]) => [kind, text])
  });
}

// A single epoch makes no curve: its values are elsewhere on the page.
function epochColumns(runs) {
  if (!runs.some((run) => run.per_epoch.rows > 1)) return [];
  return inMetricOrder(runs.flatMap((run) => Object.keys(run.per_epoch.columns))).filter(
    (c) => c !== "samples_per_second" && !TIMES[c]);
}

// Training and validation loss in one picture: readers look for the gap.
function epochLossChart(runs, marks) {
  const one = runs.length === 1;
  const of = (column, what, options) => runCurves(runs, "per_epoch", column, options).map((curve) => {
    return curve && !one ? {...curve, label: `${curve.label} · ${what}`} : curve;
  });
  const curves = () => [
    ...of("val_loss", "validation", one ? {colour: "c1"} : {}),
    ...of("train_loss", "training", one ? {} : {dash: true}),
  ];
  const kinds = one ? {training: "c0", validation: "c1"} : {validation: "plain", training: "plain dashed"};
  const both = epochColumns(runs).includes("val_loss");
  const key = both ? Object.entries(kinds).map(([text, kind]) => [kind, text]) : [];
  return new Chart({title: "Loss per epoch", curves, marks, key});
}

function throughputChart(runs, marks) {
  const many = runs.some((run) => perRankFactors(run).some((factor) => factor !== null && factor < 1));
  const note = `Averaged over some steps; pale: as measured. ${
    many ? "Per rank: the total divided by the number of ranks, which take equal shares." : ""}`;
  const choice = many ?
    [segmented("throughput of", [[false, "all ranks"], [true, "per rank"]], false, (perRank) => view.set({perRank}))] :
    [];
  const curves = () => runCurves(runs, "per_step", "samples_per_second", {calm: 0.9}).map((curve, i) => {
    if (!view.perRank || !curve) return curve;
    return curveOf({...curve, table: runs[i].per_step, factors: perRankFactors(runs[i])});
  });
  return new Chart({
    title: "Throughput, samples/s",
    curves,
    marks,
    fromZero: true,
    more: choice,
    below: el("p", {class: "note"}, note)
  });
}

// The controls of smoothing and of the curves' axis.
function curveControls(runs) {
  const weight = () => (view.smoothing > 0 ? view.smoothing.toFixed(2) : "off");
  const value = el("output", {}, weight());
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 0.99,
    step: 0.01,
    value: view.smoothing,
    "aria-label": "smoothing of the curves per step",
    input: () => {
      view.set({smoothing: Number(slider.value)});
      value.textContent = weight();
    },
  });
  return el("div", {class: "controls"},
    segmented("curves over", [["step", "steps"], ["epoch", "epochs"], ["seconds", "time"]], view.along,
      (along) => view.set({along})),
    el("label", {class: "slider"}, "smoothing", slider, value), runs.length > 1 ? runLegend(runs) : null);
}

// A click hides or shows a run's curves.
function runLegend(runs) {
  return el("div", {class: "legend"},
    runs.map(
      (run, i) => toggle([lineSample(`${runColour(i)} ${i >= 8 ? "dashed" : ""}`), run.label], true, (shownNow) => {
        if (shownNow)
          view.hidden.delete(i);
        else
          view.hidden.add(i);
        view.set({});
      }, {pointerenter: () => spotlight.on(i), pointerleave: () => spotlight.on(null)})));
}

function curvesSection(runs) {
  const marks = () => marksOf(runs);
  const columns = epochColumns(runs);
  const charts = [
    new Chart({
      title: "Loss per step",
      curves: () => runCurves(runs, "per_step", "loss"),
      marks,
      height: 300,
      note: aggregated(runs)
    }),
    columns.some((column) => LOSSES.includes(column)) ? epochLossChart(runs, marks) : null,
    ...columns.filter((column) => !LOSSES.includes(column))
      .map(
        (column) => new Chart({title: metricName(column), curves: () => runCurves(runs, "per_epoch", column), marks})),
    new Chart({
      title: "Learning rate",
      curves: () => runCurves(runs, "per_step", "lr", {smooth: false}),
      marks,
      fromZero: true
    }),
    timesChart(runs, marks),
    throughputChart(runs, marks),
  ].filter(Boolean);
  return section("Curves", curveControls(runs), chartGrid(charts), markKey(runs, marks()));
}

// The first chart is as wide as the page; so is the last one if it would be alone in its row.
function chartGrid(charts) {
  charts[0].figure.classList.add("wide");
  if (charts.length % 2 === 0) charts[charts.length - 1].figure.classList.add("wide");
  return el("div", {class: "charts"}, charts.map((chart) => chart.figure));
}

function aggregated(runs) {
  const rows = Math.max(...runs.map((run) => run.per_step.rows_per_point));
  return rows > 1 ? `each point: mean of ${count(rows)} steps; band: smallest to largest` : "";
}

function markKey(runs, marks) {
  const some = (kind) => marks.some((mark) => mark.event === kind);
  const entry = (kind, d, text) => el("span", {class: "key"},
    svg("svg", {class: `shape ${kind}`, viewBox: "0 0 10 10"}, svg("path", {d})), text);
  const known = (what) => runs.some((run) => run[what] && run.per_epoch.rows > 1);
  return el("p", {class: "note marks"},
    some("restart") ? entry("mark restart", "M1 1h8l-4 7z", "ranks failed and were restarted") : null,
    some("resume") ? entry("mark resume", "M2 1v8l7 -4z", "resumed") : null,
    some("other") ? entry("mark other", "M5 1l4 4l-4 4l-4 -4z", "another event") : null,
    known("best") ? entry("ring", "M1.5 5a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0", "best checkpoint") : null,
    known("last") ? entry("ring", "M1.5 1.5h7v7h-7z", "last validation") : null);
}
