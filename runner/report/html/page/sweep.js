// The page of a sweep.

function sweepCards(sweep, best) {
  if (sweep.kind !== "sweep") {
    const {race, metrics} = sweep;
    const figure = metrics?.[sweep.metric];
    return el("div", {class: "cards"},
      figure ? card(sweep.metric, `${number(figure.mean)} ± ${number(figure.std)}`, "mean and standard deviation") : null,
      race ? card("winner", race.winner || "undecided", race.metric) : null,
      race ? card("mean of A − B", number(race.mean), isNumber(race.low) ? `${number(race.low)} … ${number(race.high)}` : null) : null,
      race ? card("pairs", count(race.pairs.length), `of at most ${count(sweep.trials / 2)}`) : card("runs", count(sweep.trials), outcomes(sweep)),
      card("time", duration(sweep.seconds)));
  }
  return el("div", {class: "cards"}, best ? card(`best ${sweep.metric}`, number(best.metric), trialLabel(best)) : null,
    card("trials", count(sweep.trials), outcomes(sweep)),
    card("method", sweep.method || MISSING, `${sweep.goal === "max" ? "largest" : "smallest"} ${sweep.metric}`),
    card("time", duration(sweep.seconds)),
    best ? sweep.parameters.map((key) => card(key, brief(best.parameters[key]), "of the best trial")) : null);
}

// "9 completed, 2 at a rung"
function outcomes(sweep) {
  const known = ["completed", "stopped", "failed", "waiting"].filter((word) => sweep[word] > 0);
  return known.map((word) => `${count(sweep[word])} ${statusText(word)}`).join(", ");
}

// Only a server has pages of trials.
function trialLink(sweep, {trial, folder}) {
  if (!sweep.trials_page) return trial;
  const run = sweep.trials_page + folder.split("/").pop();
  return el("a", {href: `/report?${new URLSearchParams({run})}`}, trial);
}

function rankingSection(sweep) {
  const ranks = sweep.kind === "sweep";
  // Of a run its seed and its fold are enough: the other keys vary with them.
  const own = ["candidate", "seed", "folds.repeat", "folds.fold"];
  const columns = [
    ...(ranks ? [{name: "#", cell: (trial) => (isNumber(trial.place) ? trial.place : MISSING), value: (trial) => trial.place}] : []),
    {name: ranks ? "trial" : "run", cell: (trial) => trialLink(sweep, trial), value: (trial) => trial.trial},
    {name: "status", cell: (trial) => statusPill(trial.status), value: (trial) => trial.status, text: true},
    {name: sweep.metric || "metric", cell: (trial) => number(trial.metric), value: (trial) => trial.metric},
    ...sweep.parameters.filter((key) => ranks || own.includes(key)).map((key) => ({
      name: key,
      cell: (trial) => el("span", {title: shown(trial.parameters[key])}, brief(trial.parameters[key])),
      value: (trial) => trial.parameters[key],
      text: sweep.ranking.some((trial) => typeof trial.parameters[key] === "string")
    })),
    {name: "epochs", cell: (trial) => count(trial.epochs), value: (trial) => trial.epochs},
    {name: "time", cell: (trial) => (trial.seconds > 0 ? duration(trial.seconds) : MISSING), value: (trial) => trial.seconds},
  ];
  if (sweep.ranking.some((trial) => trial.error)) {
    columns.push({
      name: "error",
      cell: (trial) => (trial.error ? el("span", {class: "short", title: trial.error}, trial.error) : ""),
      value: (trial) => trial.error,
      text: true
    });
  }
  return section(sweep.kind === "sweep" ? "Ranking" : "Runs", sortable(sweep.ranking, columns, (trial) => trial.trial),
    sweep.repeat ? el("p", {class: "note"}, "train the best trial alone: ", el("code", {}, sweep.repeat)) : null);
}

// The runs of a cross-validation, and those of a race by its files.
function groupsOf(sweep) {
  const done = (trial) => trial.status === "completed";
  if (sweep.kind === "cv") return [["mean of the runs", done]];
  return ["A", "B"].map((name) => [`mean of ${name}`, (trial) => done(trial) && trial.parameters.candidate === name]);
}

// The mean of several runs' curves, and a band of one standard deviation around it.
function meanCurves(sweep, runs, column, table) {
  const trials = new Map(sweep.ranking.map((trial) => [trial.trial, trial]));
  return groupsOf(sweep).map(([label, holds], i) => {
    const curves = runs.filter((run) => trials.has(run.trial) && holds(trials.get(run.trial))).map((run) => curveOf({
      run: i, table: run[table], places: run.places[table], column, label, colour: `c${i}`,
      smooth: table === "per_step"
    })).filter(Boolean);
    if (curves.length === 0) return null;
    const rows = Math.min(...curves.map((curve) => curve.mean.length));
    const at = Array.from({length: rows}, (_, k) => spreadOf(curves.map((curve) => curve.mean[k]).filter(isNumber)));
    const cut = (list) => list.slice(0, rows);
    const places = Object.fromEntries(Object.entries(curves[0].places).map(([axis, xs]) => [axis, cut(xs)]));
    return {
      ...curves[0], places, step: cut(curves[0].step), notFinite: new Map(), mean: at.map(([mean]) => mean),
      min: at.map(([mean, std]) => (mean === null ? null : mean - std)),
      max: at.map(([mean, std]) => (mean === null ? null : mean + std))
    };
  });
}

// [mean, standard deviation]
function spreadOf(values) {
  if (values.length === 0) return [null, null];
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return [mean, values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0];
}

// The mean and spread of each metric of a cross-validation.
function figuresSection(sweep) {
  if (!sweep.metrics) return null;
  const range = ({low, high}) => (isNumber(low) ? `${number(low)} … ${number(high)}` : MISSING);
  const names = inMetricOrder(Object.keys(sweep.metrics));
  return section("Results", scrolling(table(["metric", "mean", "±", "95 % interval", "values"],
    names.map((name) => [name, sweep.metrics[name]])
      .map(([name, figure]) => [name, number(figure.mean), number(figure.std), range(figure), count(figure.n)]), {class: "numbers"})));
}

// The pairs of a race, and the interval of their mean difference as it narrows.
function raceSection(sweep) {
  const {race, intervals} = sweep;
  if (!race || race.pairs.length === 0) return null;
  const line = (label, colour, points, more = {}) => ({run: 0, label, colour, points, ...more});
  // The first bounds may be a million times wider than the last ones.
  const width = ({low, high}) => (isNumber(low) ? high - low : Infinity);
  const bounded = intervals.filter((one) => width(one) <= 8 * width(intervals[intervals.length - 1]) && isNumber(one.low));
  const end = (which) => bounded.map((one) => [one.n, one[which]]);
  const curves = [
    line("no difference", "grey", [[1, 0], [race.pairs.length, 0]], {dash: true}),
    line("each pair", "c2", race.pairs.map(({difference}, i) => [i + 1, difference]), {cloud: true}),
    line("mean so far", "c0", intervals.map(({n, mean}) => [n, mean])),
    ...(bounded.length > 0 ? ["low", "high"].map((which) => line(`${which} end of the interval`, "c1", end(which), {dots: true})) : []),
  ];
  const rows = race.pairs.map(({seed, a, b, difference, e}) => [String(seed), number(a), number(b), number(difference), number(e)]);
  return section("Pairs", el("p", {class: "note over"}, race.winner ?
    `${race.winner} is better in ${race.metric}: the evidence has reached ${number(1 / race.alpha)}.` :
    `Undecided: the evidence has not reached ${number(1 / race.alpha)}.`),
  el("div", {class: "planes"}, plane({title: `Difference A − B of ${race.metric}`, x: "pairs", y: "difference", curves, height: 300})),
  scrolling(table(["seed", "A", "B", "A − B", "evidence"], rows, {class: "numbers"})));
}

function trialCurves(sweep, runs, column, table) {
  const trials = new Map(sweep.ranking.map((trial) => [trial.trial, trial]));
  // The best trials are drawn last, over the others.
  return runs.map((run) => [run, trials.get(run.trial)])
    .filter(([, trial]) => trial)
    .sort(([, a], [, b]) => (b.place ?? Infinity) - (a.place ?? Infinity))
    .map(([run, trial]) => curveOf({
      run: trial.trial,
      table: run[table],
      places: run.places[table],
      column,
      label: trialLabel(trial),
      colour: isPruned(trial, sweep) ? "grey" : trialClass(trial, sweep),
      smooth: table === "per_step"
    }))
    .filter(Boolean);
}

function trialsSection(sweep, runs, left) {
  if (runs.length === 0) return null;
  const columns = epochColumns(runs);
  const first = columns.includes(sweep.metric) ? sweep.metric : columns[0];
  const ordered = [first, ...columns.filter((column) => column !== first)].filter(Boolean);
  const charts =
    [...ordered.map((column) => ["per_epoch", column]), ["per_step", "loss"]].map(([table, column]) => new Chart({
      title: table === "per_step" ? "Loss per step" : metricName(column),
      curves: () => (sweep.kind === "sweep" ? trialCurves : meanCurves)(sweep, runs, column, table),
      height: column === first ? 300 : 230,
      key: sweep.kind === "sweep" ? [] : groupsOf(sweep).map(([label], i) => [`c${i}`, label]),
      note: sweep.kind === "sweep" || column !== first ? "" : "band: one standard deviation",
    }));
  const grey = sweep.ranking.some((trial) => isPruned(trial, sweep));
  return section(sweep.kind === "sweep" ? "Curves of the trials" : "Curves", curveControls([]), chartGrid(charts),
    grey ? el("p", {class: "note marks"}, el("span", {class: "key"}, lineSample("grey"), "at a rung")) : null,
    left > 0 ?
      el("p", {class: "note"}, `shown: the first ${count(runs.length)} of the ranking; ${count(left)} more have begun`) :
      null);
}

function differenceSection(sweep) {
  const scatters = sweep.parameters.map((key) => scatter(sweep, sweep.ranking, key)).filter(Boolean);
  const glance = parallelCoordinates(sweep, sweep.ranking);
  if (!glance && scatters.length === 0) return null;
  return section("Parameters and results", glance, scatters.length === 0 ? null : [
    el("h3", {class: "over"}, `${metricName(sweep.metric)} against each parameter`),
    el("div", {class: `charts ${scatters.length % 3 === 0 ? "small" : ""}`}, scatters),
  ]);
}

const KINDS = {sweep: "sweep", cv: "cross-validation", race: "race"};

function sweepPage(data) {
  const {sweep, runs} = data;
  document.title = `${sweep.name} ${sweep.run_id} – ddp-exp ${KINDS[sweep.kind]}`;
  survey(sweep);
  const best = sweep.ranking.find((trial) => trial.place === 1);
  // Trials may have different steps per epoch, so epochs are the axis if there are any.
  view.along = runs.some((run) => run.per_epoch.rows > 1) ? "epoch" : "step";
  return [
    el("header", {}, el("h1", {}, sweep.name || "sweep", el("span", {class: "id"}, sweep.run_id)),
      el("p", {class: "lead"}, statusPill(sweep.status), el("span", {}, `started ${moment(sweep.started)}`),
        el("span", {}, sweep.kind === "race" ? "race" : `${KINDS[sweep.kind]} of ${plural(sweep.trials, sweep.kind === "sweep" ? "trial" : "run")}`)),
      tagsAndNote(sweep)),
    sweepCards(sweep, best),
    figuresSection(sweep),
    raceSection(sweep),
    rankingSection(sweep),
    sweep.kind === "sweep" ? differenceSection(sweep) : null,
    trialsSection(sweep, runs, sweep.runs_left_out),
    sweepConfigSection(sweep),
    runs.length > 0 ? environmentSection([data.environment]) : null,
  ];
}
