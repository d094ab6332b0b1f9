// A table whose columns sort at a click, or with Enter and Space: their heads are buttons.

// columns: [{name, cell(item, i), value(item), text: is it text?}]; runOf(item, i): the run that the row highlights.
function sortable(items, columns, runOf) {
  const rows = items.map((item, i) => ({
    values: columns.map((column) => column.value(item)),
    before: i,
    row: el("tr", {
      "data-run": runOf(item, i),
      pointerenter: () => spotlight.on(runOf(item, i)),
      pointerleave: () => spotlight.on(null)
    },
      columns.map((column) => el("td", {class: column.text ? "text" : "number"}, column.cell(item, i)))),
  }));
  const body = el("tbody", {}, rows.map(({row}) => row));
  const heads =
    columns.map((column, c) => el("th", {scope: "col", class: column.text ? "text" : "number", "aria-sort": "none"},
                  el("button", {type: "button", click: () => sortBy(c)}, breakable(column.name),
                    el("span", {class: "arrow", "aria-hidden": "true"}))));
  function sortBy(c) {
    const down = heads[c].getAttribute("aria-sort") === "ascending";
    heads.forEach((head, i) => head.setAttribute("aria-sort", i === c ? (down ? "descending" : "ascending") : "none"));
    const sign = down ? -1 : 1;
    body.append(
      ...[...rows].sort((a, b) => inOrder(a.values[c], b.values[c], sign) || a.before - b.before).map(({row}) => row));
  }
  const frame = scrolling(el("table", {class: "sortable"}, el("thead", {}, el("tr", {}, heads)), body));
  if (items.length > 30) frame.classList.add("tall");
  return frame;
}

// Missing values come last in both directions; numbers come before texts.
function inOrder(a, b, sign) {
  const missing = (value) => value === null || value === undefined || value === "";
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  if (typeof a === "number" || typeof b === "number") return sign * (typeof a === "number" ? -1 : 1);
  const [x, y] = [shown(a), shown(b)];
  return x === y ? 0 : sign * (x < y ? -1 : 1);
}
