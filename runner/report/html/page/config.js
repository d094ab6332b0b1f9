// Configurations: the keys of a section ("optimizer.lr", "optimizer.betas") stay together.

function grouped(keys) {
  const groups = new Map([["", []]]);
  for (const key of keys) {
    const dot = key.indexOf(".");
    const group = dot < 0 ? "" : key.slice(0, dot);
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(key);
  }
  return [...groups].filter(([, own]) => own.length > 0);
}

const withoutGroup = (group, key) => (group ? key.slice(group.length + 1) : key);

// Small tables side by side, one for each section. textOf(key): its value; stands(key): is it highlighted?
function configGroups(keys, textOf, stands = () => false) {
  const row = (group, key) => el("tr", {class: stands(key) ? "differs" : ""},
    el("th", {scope: "row"}, withoutGroup(group, key)), el("td", {}, textOf(key)));
  return el("div", {class: "groups"}, grouped(keys).map(([group, own]) => el("div", {class: "group"},
    el("h3", {}, group || "experiment"),
    el("table", {class: "config"}, el("tbody", {}, own.map((key) => row(group, key)))))));
}

// The settings that differ from the defaults; the others are folded.
function settingsSection(run, keys) {
  const textOf = (key) => shown(run.config[key]);
  const own = new Set(run.changed ?? keys);
  const others = keys.filter((key) => !own.has(key));
  return section("Configuration", configGroups(keys.filter((key) => own.has(key)), textOf),
    others.length > 0 ? el("details", {}, el("summary", {}, `${plural(others.length, "setting")} with the default value`),
      configGroups(others, textOf)) : null);
}

// The configuration of one run; or of several, with one row per key and highlighted differences.
function configSection(runs) {
  const keys = [...new Set(runs.flatMap((run) => Object.keys(run.config)))];
  if (keys.length === 0) return null;
  if (runs.length === 1) return settingsSection(runs[0], keys);
  const differs = (key) => new Set(runs.map((run) => JSON.stringify(run.config[key]))).size > 1;
  const some = keys.some(differs);
  const body = el("table", {class: `config ${some ? "only" : ""}`},
    runsHead(runs),
    el("tbody", {}, keys.map((key) => el("tr", {class: differs(key) ? "differs" : ""}, el("th", {scope: "row"}, key),
      runs.map((run) => el("td", {}, shown(run.config[key])))))));
  const choice = some ? toggle("only differences", true, (on) => body.classList.toggle("only", on)) :
                        "The runs have the same configuration.";
  return section("Configuration", el("p", {class: "tools"}, choice), scrolling(body));
}

// The experiment that a sweep varies; a varied key shows its search space.
function sweepConfigSection(sweep) {
  const keys = Object.keys(sweep.config).filter((key) => !key.startsWith("sweep.parameters."));
  if (keys.length === 0) return null;
  const varied = (key) => sweep.parameters.includes(key);
  return section("Configuration",
    configGroups(keys, (key) => (varied(key) ? spaceText(sweep.config, key) : shown(sweep.config[key])), varied));
}

// "0.1, 0.01, 0.001" or "8 … 256, log"
function spaceText(config, key) {
  const own = `sweep.parameters.${key}`;
  if (Array.isArray(config[own])) return config[own].map(shown).join(", ");
  const [min, max, step, scale] = ["min", "max", "step", "scale"].map((name) => config[`${own}.${name}`]);
  if (min === undefined || max === undefined) return "varied";
  const parts = [`${shown(min)} … ${shown(max)}`, step && `step ${shown(step)}`, scale && shown(scale)];
  return parts.filter(Boolean).join(", ");
}
