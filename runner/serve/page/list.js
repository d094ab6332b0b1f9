// The list of all runs and sweeps. The server filters and sorts it.

const chosen = new Set();  // names of runs to compare

// The address of this list with other conditions.
function listWith(changes) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) query.set(name, value);
  return `/?${query}`;
}

const reportOf = (runs) => `/report?${new URLSearchParams([...runs].map((run) => ["run", run]))}`;

function listForm(data) {
  const where = el("input", {
    name: "where",
    value: data.where,
    placeholder: "val_loss<0.3 and optimizer.name=sgd",
    "aria-label": "condition",
    autocomplete: "off",
    spellcheck: "false"
  });
  const submit = (event) => {
    event.preventDefault();
    location.assign(listWith({where: where.value}));
  };
  return el("form", {class: "controls", submit}, where, el("button", {class: "toggle"}, "filter"),
    el("a", {class: "toggle compare", hidden: true}, ""));
}

function choose(run, on) {
  on ? chosen.add(run) : chosen.delete(run);
  const link = document.querySelector(".compare");
  link.hidden = chosen.size < 2;
  link.href = reportOf(chosen);
  link.textContent = `compare ${count(chosen.size)} runs`;
}

function headOf(column, sort) {
  const text = [column.name];
  const sorted = {[column.key]: "ascending", [`-${column.key}`]: "descending"}[sort];
  const next = sorted === "descending" ? column.key : `-${column.key}`;
  return el("th", {scope: "col", class: column.right ? "number" : "text", "aria-sort": column.key && sorted},
    column.key ? el("a", {href: listWith({sort: next})}, text, el("span", {class: "arrow"})) : text);
}

function rowOf(row, columns) {
  const box = el("input", {
    type: "checkbox",
    "aria-label": `compare ${row.run}`,
    change: () => choose(row.run, box.checked)
  });
  box.checked = chosen.has(row.run);
  const cell = (text, name) => {
    if (name === "run") return el("a", {href: reportOf([row.run])}, breakable(text));
    return name === "status" ? el("span", {class: `pill ${text.split(" ")[0]}`}, text) : text;
  };
  return el("tr", {}, el("td", {}, box),
    columns.map(({name, right, at}) => el("td", {class: right ? "number" : "text"}, cell(row.cells[at], name))));
}

kinds.list = (data) => {
  document.title = "ddp-exp runs";
  const columns = data.columns.map((column, at) => ({...column, at}))
    .filter(({at}) => data.rows.some((row) => row.cells[at] !== ""));
  const left = data.matching - data.rows.length;
  return [
    el("header", {}, el("h1", {}, "Runs", el("span", {class: "id"}, data.results)),
      el("p", {class: "lead"}, `${count(data.matching)} of ${count(data.all)} runs and sweeps`)),
    listForm(data),
    el("section", {class: "list"},
      scrolling(el("table", {class: "sortable"},
        el("thead", {}, el("tr", {}, el("th", {}), columns.map((column) => headOf(column, data.sort)))),
        el("tbody", {}, data.rows.map((row) => rowOf(row, columns))))),
      left > 0 ? el("p", {class: "note"}, el("a", {href: listWith({limit: 10 * data.limit})}, "show more"),
        ` of ${count(left)} further ones`) : null),
  ];
};
