// The quality of a run's model on its validation and test sets, from evaluation.json.

// The figures of a model: the test first, then the validation of the best checkpoint.
function modelCards(run) {
  const of = (measured) => Object.entries(measured?.values ?? {})
    .map(([name, value]) => card(metricName(name), number(value)));
  return [run.test, run.best].map(of).filter((cards) => cards.length > 0)
    .map((cards) => el("div", {class: "cards"}, cards));
}

function modelSection(run) {
  const {best, last} = run;
  if (!best && !run.test) return null;
  const differs = best && last && best.step !== last.step;
  const lead = best ? [`The checkpoint after step ${count(best.step)}, epoch ${count(best.epoch)}: the best by ${best.metric}.`,
    differs ? `The last validation, after step ${count(last.step)}, had ${number(last.value)}.` : null] : [];
  return section("The model", el("p", {class: "note over"}, lead.filter(Boolean).join(" ")), modelCards(run));
}

const SETS = {test: "Test", validation: "Validation"};

function evaluationSections(runs) {
  return Object.entries(SETS).map(([set, title]) => {
    const of = runs.map((run, i) => ({run, i, data: run.evaluation?.[set]})).filter(({data}) => data);
    if (of.length === 0) return null;
    const ofClass = [rocPlot, precisionPlot, calibrationPlot].flatMap((plot) => byClass(of, plot));
    const curves = [...ofClass, decisionPlot(of), predictedPlot(of), residualsPlot(of)].filter(Boolean);
    return section(`${title} set`, curves.length > 0 ? el("div", {class: "planes"}, curves) : null,
      of.map((one) => decisionNote(one, runs)),
      of.map((one) => el("div", {class: "pair"}, confusionTable(one, runs), confusions(one, runs), worstTable(one, runs))));
  });
}

const titled = (text, {run}, runs) => el("h3", {class: "over"}, runs.length > 1 ? `${text} of ${run.label}` : text);

// The curve of one run in a plane, from two lists of numbers.
const planeCurve = ({run, i}, xs, ys, more = {}) => ({
  run: i, label: run.label, colour: runColour(i), dash: i >= 8, points: xs.map((x, k) => [x, ys[k]]), ...more
});

// Curves of two classes are about the positive one. Curves about different classes do not share a plane.
function byClass(of, plot) {
  const groups = new Map();
  for (const one of of) {
    const name = one.data.positive ?? one.data.classes?.[1] ?? "1";
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups].map(([name, some]) => plot(some, `“${name}”`));
}

function rocPlot(of, name) {
  const curves = of.filter(({data}) => data.roc).map((one) => planeCurve(one, one.data.roc.fpr, one.data.roc.tpr));
  return plane({title: `ROC of ${name}`, x: "false positive rate", y: "true positive rate", curves, ends: [0, 1], diagonal: true});
}

function precisionPlot(of, name) {
  const curves = of.filter(({data}) => data.pr).map((one) => planeCurve(one, one.data.pr.recall, one.data.pr.precision));
  return plane({title: `Precision and recall of ${name}`, x: "recall", y: "precision", curves, ends: [0, 1]});
}

// The bins of a calibration curve that have samples.
function binsCurve(one, {mean_predicted, fraction, count: counts}, more = {}) {
  const kept = counts.map((n, k) => k).filter((k) => counts[k] > 0);
  const at = (list) => kept.map((k) => list[k]);
  return planeCurve(one, at(mean_predicted), at(fraction),
    {dots: true, counts: at(counts), texts: at(counts).map((n) => plural(n, "sample")), ...more});
}

// What [decide] changed.
function decisionPlot(of) {
  const label = (one, when) => of.length > 1 ? `${one.run.label}, ${when}` : when;
  const curves = of.filter(({data}) => data.decide).flatMap((one) => [
    binsCurve(one, one.data.decide.before, {label: label(one, "before"), colour: of.length > 1 ? runColour(one.i) : "grey", dash: true}),
    binsCurve(one, one.data.decide.after, {label: label(one, "after")}),
  ]);
  return plane({title: "Calibration before and after [decide]", x: "predicted probability", y: "share that is right", curves,
    ends: [0, 1], diagonal: true});
}

function decisionNote(one, runs) {
  const decide = one.data.decide;
  if (!decide) return null;
  const parts = [
    decide.after.log_loss === decide.before.log_loss ? null :
      `log loss before calibration ${number(decide.before.log_loss)}, after it ${number(decide.after.log_loss)}`,
    isNumber(decide.temperature) ? `temperature ${number(decide.temperature)}` : null,
    isNumber(decide.threshold) ? `threshold ${number(decide.threshold)}` : null,
  ].filter(Boolean).join("; ");
  const fitted = one.data === one.run.evaluation.validation ? " It was fitted to these samples, which makes it look better than on new ones." : "";
  return el("p", {class: "note over"}, `${runs.length > 1 ? `${one.run.label}: ` : ""}[decide]: ${parts}.${fitted}`);
}

// How much worse the metric is with a column of the table shuffled.
function importanceSection(runs) {
  const of = runs.filter((run) => run.evaluation?.importance);
  if (of.length === 0) return null;
  return section("Importance of the columns", of.map((run) => {
    const {metric, value, columns} = run.evaluation.importance;
    const most = Math.max(...columns.map(({mean}) => mean), 0);
    const bar = (mean) => svg("svg", {class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none"},
      svg("rect", {width: most > 0 ? Math.max(0, 100 * mean / most).toFixed(1) : 0, height: 10}));
    return el("div", {}, runs.length > 1 ? el("h3", {class: "over"}, run.label) : null,
      el("p", {class: "note over"}, `How much worse ${metric}, ${number(value)}, is with a column's cells in another order.`),
      scrolling(table(["column", "worse by", "±", ""],
        columns.map(({column, mean, std}) => [column, number(mean), number(std), bar(mean)]), {class: "numbers importances"})));
  }));
}

function calibrationPlot(of, name) {
  const curves = of.filter(({data}) => data.calibration).map((one) => binsCurve(one, one.data.calibration));
  return plane({title: `Calibration of ${name}`, x: `predicted probability of ${name}`, y: `share of ${name}`, curves,
    ends: [0, 1], diagonal: true});
}

function predictedPlot(of) {
  const curves = of.filter(({data}) => data.sample).map((one) => {
    const {row, target, prediction} = one.data.sample;
    return planeCurve(one, target.map(first), prediction.map(first), {
      cloud: true, texts: row.map((n) => `row ${count(n)}`)
    });
  });
  return plane({title: "Predicted and true", x: "true", y: "predicted", curves, diagonal: true, height: 300});
}

// Several targets: the first one is drawn.
const first = (value) => (Array.isArray(value) ? value[0] : value);

function residualsPlot(of) {
  const some = of.filter(({data}) => data.residuals);
  if (some.length === 0) return null;
  const curves = some.map((one) => {
    const {bins, counts} = one.data.residuals;
    const all = counts.reduce((sum, n) => sum + n, 0) || 1;
    const stairs = counts.flatMap((n, k) => [[bins[k], n / all], [bins[k + 1], n / all]]);
    return {...planeCurve(one, [], []), points: stairs, texts: stairs.map((_, k) => plural(counts[k >> 1], "sample"))};
  });
  return plane({title: "Residuals", x: "predicted minus true", y: "share of the samples", curves, fromZero: true, height: 300});
}

// A picture of curves or clouds of points in one plane. `diagonal`: also draws y = x. `ends`: of both axes.
function plane({title, x, y, curves, ends = null, diagonal = false, fromZero = false, height = 260}) {
  if (!curves.some(({points}) => points.length > 0)) return null;
  const plot = svg("svg", {class: "plot", role: "img", "aria-label": `${title}: ${y} against ${x}`});
  const tip = withTip(plot);
  const key = curves.length > 1 ? curves.map(
    (curve) => el("span", {class: "key"}, lineSample(`${curve.colour} ${curve.dash ? "dashed" : ""}`), curve.label)) : [];
  const figure = el("figure", {class: "plane"}, el("figcaption", {}, el("h3", {}, title), key), tip.frame);
  asWide(tip.frame, 220, (width) => {
    const all = curves.flatMap(({points}) => points);
    const [xs, ys] = [0, 1].map((k) => all.map((point) => point[k]).filter(isNumber));
    const both = diagonal && !ends ? [...xs, ...ys] : null;
    const end = (values, pick) => ends ? ends[pick === "min" ? 0 : 1] : (both ?? values).reduce(
      (a, b) => Math[pick](a, b), pick === "min" && fromZero && values === ys ? 0 : values[0]);
    const [left, right, top, bottom] = [MARGIN.left, width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    const h = linearScale(end(xs, "min"), end(xs, "max"), left, right, Math.max(3, width / 90), false);
    const v = linearScale(end(ys, "min"), end(ys, "max"), bottom, top, 5, !diagonal);
    if (xs.every(Number.isInteger)) h.ticks = h.ticks.filter(Number.isInteger);
    const ideal = diagonal ? [[h.low, h.low], [h.high, h.high]].map(([a, b]) => [h.at(a), v.at(b)]) : [];
    plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    plot.replaceChildren(...planeAxes(h, v, {left, right, top, bottom, height, x, y}),
      ideal.length > 0 ? svg("path", {class: "ideal", d: pathThrough(ideal.map(([a]) => a), ideal.map(([, b]) => b))}) : "",
      ...curves.map((curve) => drawPlaneCurve(curve, h, v, tip, {x, y, many: curves.length > 1})));
  });
  return figure;
}

function planeAxes(h, v, {left, right, bottom, height, x, y}) {
  return [
    ...v.ticks.flatMap(
      (tick) => [svg("line", {class: "grid", x1: left, x2: right, y1: v.at(tick), y2: v.at(tick)}),
        svg("text", {class: "tick", x: left - 8, y: v.at(tick) + 4, "text-anchor": "end"}, v.text(tick))]),
    svg("line", {class: "axis", x1: left, x2: right, y1: bottom, y2: bottom}),
    ...spread(h.ticks, h).flatMap(
      (tick) => [svg("line", {class: "axis", x1: h.at(tick), x2: h.at(tick), y1: bottom, y2: bottom + 4}),
        svg("text", {class: "tick", x: h.at(tick), y: bottom + 16, "text-anchor": "middle"}, h.text(tick))]),
    svg("text", {class: "tick name", x: right, y: height - 3, "text-anchor": "end"}, `${y} against ${x}`),
  ];
}

function drawPlaneCurve(curve, h, v, tip, {x, y, many}) {
  const shownPoints = curve.points.map(([a, b]) => [h.at(a), v.at(b)]);
  const group = svg("g", {class: `curve ${curve.colour} ${curve.dash ? "dashed" : ""}`, "data-run": curve.run});
  if (!curve.cloud)
    group.append(svg("path", {class: "line", d: pathThrough(shownPoints.map(([a]) => a), shownPoints.map(([, b]) => b))}));
  const tell = (k) => [el("div", {class: "where"}, many ? curve.label : (curve.texts?.[k] ?? "")),
    el("div", {class: "row"}, el("span", {class: "label"}, x), el("b", {}, number(curve.points[k][0]))),
    el("div", {class: "row"}, el("span", {class: "label"}, y), el("b", {}, number(curve.points[k][1]))),
    many && curve.texts ? el("div", {class: "soft"}, curve.texts[k]) : null].filter(Boolean);
  shownPoints.forEach(([cx, cy], k) => {
    if (curve.counts && !many) {
      const above = cy > 24 ? cy - 7 : cy + 15;
      group.append(svg("text", {class: "tick", x: cx.toFixed(1), y: above.toFixed(1), "text-anchor": "middle"}, count(curve.counts[k])));
    }
    const kind = curve.cloud ? "cloud" : curve.dots ? "dot" : "touch-point";
    group.append(svg("circle", {
      class: kind, cx: cx.toFixed(1), cy: cy.toFixed(1), r: curve.cloud ? 2.2 : curve.dots ? 3.2 : 6,
      pointerenter: (event) => tip.show(event, tell(k)), pointerleave: () => tip.hide()
    }));
  });
  return group;
}

const MOST_CLASSES = 40;
const FEW_CLASSES = 10; // of which each cell has its share, too

// The pairs of classes that are taken for each other most often.
function confusions(one, runs) {
  const {confusion, classes} = one.data;
  if (!confusion || confusion.length <= FEW_CLASSES) return null;
  const name = (k) => classes?.[k] ?? String(k);
  const pairs = confusion.flatMap((counts, k) => {
    const all = counts.reduce((sum, n) => sum + n, 0);
    return counts.map((n, c) => ({n, all, truth: name(k), taken: name(c), wrong: c !== k}));
  }).filter(({n, wrong}) => wrong && n > 0).sort((a, b) => b.n - a.n).slice(0, 10);
  if (pairs.length === 0) return null;
  return el("div", {}, titled("Largest confusions", one, runs), scrolling(table(["class", "predicted as", "samples", "of the class"],
    pairs.map(({n, all, truth, taken}) => [truth, taken, count(n), percent(n / all)]), {class: "numbers"})));
}

// Each cell has the count and its share of the row: of the samples that are truly of this class.
function confusionTable(one, runs) {
  const {confusion, classes} = one.data;
  if (!confusion || confusion.length > MOST_CLASSES) return null;
  const name = (k) => classes?.[k] ?? String(k);
  const many = confusion.length > FEW_CLASSES;
  const rows = confusion.map((counts, k) => {
    const all = counts.reduce((sum, n) => sum + n, 0);
    return el("tr", {}, el("th", {scope: "row"}, name(k)), counts.map((n, c) => {
      const share = all > 0 ? n / all : 0;
      return el("td", {class: c === k ? "right" : "wrong", title: `${name(k)}, predicted as ${name(c)}`},
        svg("svg", {class: "shade", viewBox: "0 0 1 1", preserveAspectRatio: "none"},
          svg("rect", {width: 1, height: 1, opacity: (0.75 * share).toFixed(3)})),
        el("span", {}, many && n === 0 ? "" : count(n)), many ? null : el("small", {}, all > 0 ? percent(share) : ""));
    }), el("td", {class: "sum"}, count(all)));
  });
  return el("div", {class: many ? "wide" : ""}, titled("Confusion matrix", one, runs),
    el("p", {class: "note over"}, `Rows: the true class; columns: the predicted one${many ? "" : "; shares of the row"}.`),
    scrolling(el("table", {class: many ? "confusion many" : "confusion"},
      el("thead", {}, el("tr", {}, el("th", {}), confusion.map((_, k) => el("th", {scope: "col", title: name(k)}, el("span", {}, name(k)))), el("th", {}, "all"))),
      el("tbody", {}, rows))));
}

const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

// The samples that the model is most wrong about.
function worstTable(one, runs) {
  const {worst} = one.data;
  if (!worst || worst.row.length === 0) return null;
  const columns = ["row", "file", "id", "target", "prediction", "probability", "error"].filter((key) => worst[key]);
  const text = (key, value) => isNumber(value) ? (key === "row" ? count : number)(value) : shown(value);
  const heads = columns.map((key) => ({row: "row, from 0", probability: "probability of the target"})[key] ?? key);
  return el("div", {}, titled("Largest errors", one, runs), scrolling(table(heads,
    worst.row.map((_, k) => columns.map((key) => text(key, worst[key][k]))), {class: "numbers"})));
}

// The layers of the model with the shapes of their tensors.
function layersSection(runs) {
  const some = runs.filter((run) => run.layers?.length > 0);
  if (some.length === 0) return null;
  return section("Layers", some.map((run) => {
    const layers = new Map();
    for (const {name, shape} of run.layers) {
      const dot = name.lastIndexOf(".");
      const layer = dot < 0 ? "" : name.slice(0, dot);
      if (!layers.has(layer)) layers.set(layer, []);
      layers.get(layer).push({name: name.slice(dot + 1), shape});
    }
    const size = (tensors) => tensors.reduce((sum, {shape}) => sum + shape.reduce((a, b) => a * b, 1), 0);
    const rows = [...layers].map(([layer, tensors]) => [breakable(layer || "(model)"),
      tensors.map(({name, shape}) => `${name} [${shape.join(", ")}]`).join("  "), count(size(tensors))]);
    return el("div", {}, runs.length > 1 ? el("h3", {class: "over"}, run.label) : null,
      scrolling(table(["layer", "tensors", "numbers"], rows, {class: "layers"})));
  }));
}
