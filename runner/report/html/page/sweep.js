// The page of a sweep.

function sweepCards(sweep, best) {
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
function trialLink(sweep, {trial}) {
  if (!sweep.trials_page) return trial;
  const run = sweep.trials_page + String(trial).padStart(3, "0");
  return el("a", {href: `/report?${new URLSearchParams({run})}`}, trial);
}

function rankingSection(sweep) {
  const columns = [
    {name: "#", cell: (trial) => (isNumber(trial.place) ? trial.place : MISSING), value: (trial) => trial.place},
    {name: "trial", cell: (trial) => trialLink(sweep, trial), value: (trial) => trial.trial},
    {name: "status", cell: (trial) => statusPill(trial.status), value: (trial) => trial.status, text: true},
    {name: sweep.metric || "metric", cell: (trial) => number(trial.metric), value: (trial) => trial.metric},
    ...sweep.parameters.map((key) => ({
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
  return section("Ranking", sortable(sweep.ranking, columns, (trial) => trial.trial),
    sweep.repeat ? el("p", {class: "note"}, "train the best trial alone: ", el("code", {}, sweep.repeat)) : null);
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
      curves: () => trialCurves(sweep, runs, column, table),
      height: column === first ? 300 : 230,
    }));
  const grey = sweep.ranking.some((trial) => isPruned(trial, sweep));
  return section("Curves of the trials", curveControls([]), chartGrid(charts),
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

function sweepPage(data) {
  const {sweep, runs} = data;
  document.title = `${sweep.name} ${sweep.run_id} – ddp-exp sweep`;
  survey(sweep);
  const best = sweep.ranking.find((trial) => trial.place === 1);
  // Trials may have different steps per epoch, so epochs are the axis if there are any.
  view.along = runs.some((run) => run.per_epoch.rows > 1) ? "epoch" : "step";
  return [
    el("header", {}, el("h1", {}, sweep.name || "sweep", el("span", {class: "id"}, sweep.run_id)),
      el("p", {class: "lead"}, statusPill(sweep.status), el("span", {}, `started ${moment(sweep.started)}`),
        el("span", {}, `sweep of ${plural(sweep.trials, "trial")}`)),
      tagsAndNote(sweep)),
    sweepCards(sweep, best),
    rankingSection(sweep),
    differenceSection(sweep),
    trialsSection(sweep, runs, sweep.runs_left_out),
    sweepConfigSection(sweep),
    runs.length > 0 ? environmentSection([data.environment]) : null,
  ];
}
