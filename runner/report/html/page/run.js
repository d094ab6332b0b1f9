// The page of one run, or of several side by side.

const STATUSES = ["running", "stuck", "completed", "failed", "interrupted", "stopped", "waiting"];
const statusPill = (status) => el("span", {class: `pill ${STATUSES.includes(status) ? status : ""}`}, statusText(status));
// A trial that asha stopped may continue later.
const statusText = (status) => (status === "stopped" ? "at a rung" : status);

const card = (name, value, below = null) => el("div", {class: "card"}, el("div", {class: "name"}, breakable(name)),
  el("div", {class: "value"}, value), below ? el("div", {class: "below"}, below) : null);

const tagsAndNote = ({tags, note}) => (tags.length > 0 || note
  ? el("p", {class: "lead"}, tags.map((tag) => el("span", {class: "pill"}, tag)), note) : null);

function runHeader(run) {
  return [
    el("h1", {}, run.name || run.label, el("span", {class: "id"}, run.run_id)),
    el("p", {class: "lead"}, statusPill(run.stuck ? "stuck" : run.status),
      run.stopped_by ? el("span", {}, `by stop.${run.stopped_by}`) : null,
      run.stuck ? el("span", {}, run.stuck) : null,
      el("span", {}, `started ${moment(run.started)}`),
      el("span", {}, `${plural(run.world_size, "rank")} on ${devicesText(run.devices)}`),
      run.backend && run.backend !== "none" ? el("span", {}, `backend ${run.backend}`) : null,
      run.status === "running" ? el("span", {}, progressText(run)) : null),
    tagsAndNote(run)
  ];
}

// "step 340 of 1,000, loss 0.12, 12 s left"
function progressText(run) {
  const steps = run.total_steps > 0 ? `step ${count(run.steps)} of ${count(run.total_steps)}` : `step ${count(run.steps)}`;
  return [steps, isNumber(run.loss) && `loss ${number(run.loss)}`,
    isNumber(run.seconds_left) && `${duration(run.seconds_left)} left`].filter(Boolean).join(", ");
}

// ["cpu", "cpu"] is "2 × cpu".
function devicesText(devices) {
  const counts = new Map();
  devices.forEach((device) => counts.set(device, (counts.get(device) ?? 0) + 1));
  return [...counts].map(([device, n]) => (n > 1 ? `${n} × ${device}` : device)).join(", ") || MISSING;
}

function errorBox(run, titled) {
  if (!run.error) return null;
  const rank = run.error.rank >= 0 ? `rank ${run.error.rank} failed` : "failed";
  return el("div", {class: "error", role: "alert"}, el("b", {}, titled ? `${run.label}: ${rank}` : rank),
    el("pre", {}, run.error.what),
    run.error.log ? el("p", {class: "note"}, `the log of rank ${run.error.rank}: `, el("code", {}, run.error.log)) : null);
}

function runCards(run) {
  const rate = run.seconds > 0 && run.per_epoch.columns.samples_per_second ?
    middle(run.per_epoch.columns.samples_per_second.mean) :
    null;
  return el("div", {class: "cards"},
    card("trained", plural(run.steps, "step"), run.epochs > 0 ? plural(run.epochs, "epoch") : null),
    card("training time", duration(run.seconds), run.restarts > 0 ? plural(run.restarts, "restart") : null),
    rate ? card("samples/s", number(rate, 3), "median of the epochs") : null);
}

function middle(values) {
  const sorted = values.filter(isNumber).sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[sorted.length >> 1] : null;
}

// Several runs: one row each, with their colours.
function runTable(runs) {
  const training = (run) => Object.fromEntries(Object.entries(run.best ?? {}).filter(([name]) => name.startsWith("train_")));
  const figures = (run) => ({...training(run), ...run.best?.values, ...run.test?.values});
  const metrics = inMetricOrder(runs.flatMap((run) => Object.keys(figures(run))));
  const columns = [
    {
      name: "run",
      cell: (run, i) => [lineSample(`${runColour(i)} ${i >= 8 ? "dashed" : ""}`), run.label],
      value: (run) => run.label,
      text: true
    },
    // First what is compared: a telephone shows two or three columns.
    ...metrics.map(
      (metric) => ({name: metric, cell: (run) => number(figures(run)[metric]), value: (run) => figures(run)[metric]})),
    {name: "status", cell: (run) => statusPill(run.status), value: (run) => run.status, text: true},
    {name: "best epoch", cell: (run) => count(run.best?.epoch), value: (run) => run.best?.epoch},
    {name: "epochs", cell: (run) => count(run.epochs), value: (run) => run.epochs},
    {name: "steps", cell: (run) => count(run.steps), value: (run) => run.steps},
    {name: "time", cell: (run) => duration(run.seconds), value: (run) => run.seconds},
    {name: "ranks", cell: (run) => count(run.world_size), value: (run) => run.world_size},
    {name: "started", cell: (run) => moment(run.started), value: (run) => run.started ?? "", text: true},
  ];
  const measured = new Set(runs.map((run) => run.held_out).filter(Boolean));
  return section("Runs",
    measured.size > 1 ? el("p", {class: "note over"}, "These runs were not all measured on the same rows.") : null,
    sortable(runs, columns, (run, i) => i));
}

function eventsSection(runs) {
  const rows = runs.flatMap((run) => run.events.map((event) => [
    ...ofRun(runs, run), count(event.step), count(event.epoch), duration(event.seconds), event.event, whyText(event),
  ]));
  if (rows.length === 0) return null;
  const left = runs.reduce((n, run) => n + run.events_in_all - run.events.length, 0);
  const head = ["after step", "epoch", "training time", "event", "cause or changes"];
  return section("Restarts and resumes", scrolling(table([...ofRun(runs, {label: "run"}), ...head], rows)),
    left > 0 ? el("p", {class: "note"}, `and ${count(left)} earlier ones`) : null);
}

// A column that names the run, if there are several.
const ofRun = (runs, run) => (runs.length > 1 ? [run.label] : []);

function whyText(event) {
  const rank = event.rank >= 0 ? `rank ${event.rank}: ` : "";
  if (event.event === "restart") return el("span", {class: "cause"}, rank, event.cause ?? MISSING);
  const ranks = isNumber(event.world_size) ? plural(event.world_size, "rank") : "";
  const origin = event.origin ? `fork of ${event.origin.run ?? MISSING}` : "";
  return [origin, ranks, changesText(event.changes)].filter(Boolean).join("; ");
}

function changesText(changes) {
  return Object.entries(changes ?? {})
    .map(([key, values]) => `${key}: ${(Array.isArray(values) ? values : [values]).map(shown).join(" → ")}`)
    .join("; ");
}

function environmentSection(runs) {
  const names = [...new Set(runs.flatMap((run) => Object.keys(run.versions)))];
  const rows = [
    ["run", (run) => run.folder],
    ["devices", (run) => devicesText(run.devices)],
    ["ranks", (run) => count(run.world_size)],
    ["backend", (run) => run.backend || MISSING],
    ["git", (run) => (run.git ? run.git.replace(/\+$/, " with uncommitted changes") : "no checkout")],
    ...names.map((name) => [name, (run) => run.versions[name] ?? MISSING]),
    ["started", (run) => moment(run.started)],
    ["ended", (run) => moment(run.ended)],
  ];
  const own = ["run", "started", "ended"];  // these always differ
  const differs = (name, of) => !own.includes(name) && new Set(runs.map(of)).size > 1;
  return section("Environment", scrolling(el("table", {class: "config"}, runs.length > 1 ? runsHead(runs) : null,
    el("tbody", {}, rows.map(([name, of]) => el("tr", {class: differs(name, of) ? "differs" : ""},
      el("th", {scope: "row"}, name), runs.map((run) => el("td", {}, of(run)))))))));
}

const runsHead = (runs) => el("thead", {},
  el("tr", {}, el("th", {}, ""), runs.map((run) => el("th", {scope: "col"}, run.label))));

function checkpointsSection(runs) {
  const rows = runs.flatMap((run) => run.checkpoints.map((saved) => [
    ...ofRun(runs, run), count(saved.step), count(saved.epoch), el("code", {}, saved.path ?? MISSING),
    saved.reason ?? "regular", duration(saved.seconds), duration(saved.stall),
  ]));
  if (rows.length === 0) return null;
  const left = runs.reduce((n, run) => n + run.checkpoints_in_all - run.checkpoints.length, 0);
  const head = ["step", "epoch", "folder", "reason", "training time", "training waited"];
  return section("Checkpoints", el("p", {class: "note"}, "All saved checkpoints; older ones may have been removed."),
    scrolling(table([...ofRun(runs, {label: "run"}), ...head], rows, {class: "numbers"})),
    left > 0 ? el("p", {class: "note"}, `and ${count(left)} earlier ones`) : null);
}

function prepare(run) {
  run.places = {per_step: placesOf(run.per_step, run.per_epoch), per_epoch: placesOf(run.per_epoch, run.per_epoch)};
}

function runsPage(data) {
  const {runs} = data;
  const one = runs.length === 1;
  document.title = `${one ? runs[0].label : `${runs.length} runs`} – ddp-exp`;
  return [
    el("header", {}, one ? runHeader(runs[0]) : [el("h1", {}, `${runs.length} runs`)]),
    runs.map((run) => errorBox(run, !one)),
    one ? modelSection(runs[0]) : runTable(runs),
    evaluationSections(runs),
    importanceSection(runs),
    one ? section("Training", runCards(runs[0])) : null,
    curvesSection(runs),
    eventsSection(runs),
    configSection(runs),
    layersSection(runs),
    environmentSection(runs),
    checkpointsSection(runs),
  ];
}
