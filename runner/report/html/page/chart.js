// A chart of curves over steps, epochs or time. It redraws itself when its width or the reader's choices change.

const MARGIN = {left: 52, right: 14, top: 12, bottom: 34};
// Outlines of the events' marks at x, above the top of the plot.
const MARKS = {
  restart: (x, top) => `M${x - 4} ${top - 8}h8l-4 7z`,
  resume: (x, top) => `M${x - 3} ${top - 9}v8l7 -4z`,
  other: (x, top) => `M${x} ${top - 9}l4 4l-4 4l-4 -4z`,
};
const MANY = 10;  // with more curves, the tip shows only the one under the pointer

class Chart {
  // curves, marks: functions that return the curves and the events of the runs; fromZero: the axis begins at 0; more: further
  // controls; key: [[line class, text]...]
  constructor({
    title,
    note = "",
    curves,
    marks = () => [],
    fromZero = false,
    canLog = true,
    height = 230,
    more = [],
    key = [],
    below = null
  }) {
    Object.assign(this, {curves, marksOf: marks, fromZero, height, log: false, focus: null});
    this.plot = svg(
      "svg", {class: "plot", tabindex: 0, role: "img", "aria-label": `${title}: a chart; arrow keys show its values`});
    this.tip = el("div", {class: "tip", hidden: true, role: "status"});
    const logButton = canLog ? toggle("log", false, (on) => {
      this.log = on;
      this.draw();
    }, {title: "logarithmic axis"}) : null;
    this.figure = el("figure", {class: "chart"},
      el("figcaption", {}, el("h3", {}, title), note ? el("span", {class: "note"}, note) : null,
        key.map(([kind, text]) => el("span", {class: "key"}, lineSample(kind), text)),
        el("span", {class: "tools"}, more, logButton)),
      el("div", {class: "frame"}, this.plot, this.tip), below);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerdown", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.leave());
    this.plot.addEventListener("blur", () => this.leave());
    this.plot.addEventListener("keydown", (event) => this.key(event));
    view.charts.push(this);
    new ResizeObserver(() => this.fit()).observe(this.figure);
  }

  fit() {
    const width = Math.max(240, Math.round(this.plot.parentElement.clientWidth));
    if (width === this.width) return;
    this.width = width;
    this.draw();
  }

  draw() {
    if (!this.width) return;
    const focus = this.focus;
    this.leave();
    this.marks = this.marksOf();
    this.drawn = this.curves().filter((curve) => curve && !view.hidden.has(curve.run));
    this.measure();
    const {width, height} = this;
    this.plot.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.line = svg("line", {class: "crosshair", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden"});
    this.dots = svg("g", {});
    this.plot.replaceChildren(svg("rect", {class: "hit", width, height}), ...this.axes(), ...this.drawMarks(),
      ...this.drawn.map((curve) => this.drawCurve(curve)), this.line, this.dots);
    if (this.empty)
      this.plot.append(
        svg("text", {class: "nothing", x: width / 2, y: height / 2, "text-anchor": "middle"}, "nothing measured yet"));
    if (focus !== null) this.tellAt(focus);
  }

  // Scales both axes to everything that is drawn.
  measure() {
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const curve of this.drawn) {
      curve.xs = curve.places[view.along];
      const weight = Math.max(curve.calm, curve.smooth ? view.smoothing : 0);
      curve.soft = weight > 0 ? smoothed(curve.mean, weight) : null;
      if (curve.xs.length > 0) [x0, x1] = [Math.min(x0, curve.xs[0]), Math.max(x1, curve.xs[curve.xs.length - 1])];
      for (const values of [curve.min ?? curve.mean, curve.max ?? curve.mean]) {
        for (const value of values) {
          if (value === null || (this.log && value <= 0)) continue;
          if (value < y0) y0 = value;
          if (value > y1) y1 = value;
        }
      }
    }
    this.empty = y0 > y1;
    if (this.empty) [y0, y1] = this.log ? [1, 10] : [0, 1];
    // Training begins at 0 on every axis.
    [x0, x1] = x0 <= x1 ? [Math.min(0, x0), x1] : [0, 1];
    if (!this.log && y0 > 0 && (this.fromZero || y0 < 0.4 * y1)) y0 = 0;
    const bottom = this.height - MARGIN.bottom;
    this.x =
      linearScale(x0, x1, MARGIN.left, this.width - MARGIN.right, Math.max(3, Math.min(9, this.width / 90)), false);
    this.y = (this.log ? logScale : linearScale)(y0, y1, bottom, MARGIN.top, 5, true);
  }

  place(value) { return value === null || (this.log && value <= 0) ? null : this.y.at(value); }

  axes() {
    const {width, height} = this;
    const bottom = height - MARGIN.bottom;
    const rows = this.y.ticks.map(
      (tick) =>
        [svg("line",
           {class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: this.y.at(tick), y2: this.y.at(tick)}),
          svg("text", {class: "tick", x: MARGIN.left - 8, y: this.y.at(tick) + 4, "text-anchor": "end"},
            this.y.text(tick))]);
    const columns = this.x.ticks.map(
      (tick) => [svg("line", {class: "axis", x1: this.x.at(tick), x2: this.x.at(tick), y1: bottom, y2: bottom + 4}),
        svg("text", {class: "tick", x: this.x.at(tick), y: bottom + 16, "text-anchor": "middle"}, this.x.text(tick))]);
    return [
      ...rows.flat(), svg("line", {class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom}),
      ...columns.flat(),
      svg("text", {class: "tick name", x: width - MARGIN.right, y: height - 3, "text-anchor": "end"},
        AXES[view.along].name)
    ];
  }

  drawMarks() {
    return this.marks.filter((mark) => !view.hidden.has(mark.run)).map((mark) => {
      const x = this.x.at(mark[view.along]);
      if (!(x >= MARGIN.left && x <= this.width - MARGIN.right)) return svg("g", {});
      return svg("g", {class: `mark ${mark.event} ${mark.colour}`},
        svg("line", {x1: x, x2: x, y1: MARGIN.top, y2: this.height - MARGIN.bottom}), svg("path", {
          d: MARKS[mark.event](x, MARGIN.top)
        }),
        svg("title", {}, mark.text));
    });
  }

  drawCurve(curve) {
    const xs = curve.xs.map((x) => this.x.at(x));
    const ys = curve.mean.map((value) => this.place(value));
    const group =
      svg("g", {class: `curve ${curve.colour} ${curve.dash ? "dashed" : ""}`, "data-run": curve.run});
    if (curve.min && this.drawn.length <= MANY) {
      group.append(svg("path",
        {class: "band", d: bandBetween(xs, curve.min.map((v) => this.place(v)), curve.max.map((v) => this.place(v)))}));
    }
    group.append(svg("path", {class: curve.soft ? "line raw" : "line", d: pathThrough(xs, ys)}));
    if (curve.soft)
      group.append(svg("path", {class: "line", d: pathThrough(xs, curve.soft.map((value) => this.place(value)))}));
    if (xs.length <= (curve.smooth ? 2 : 40)) {
      group.append(
        ...xs.map((x, i) => (ys[i] === null ? null : svg("circle", {class: "dot", cx: x, cy: ys[i], r: 2.4})))
          .filter(Boolean));
    }
    const best = curve.step.indexOf(curve.bestStep);
    if (best >= 0 && ys[best] !== null)
      group.append(svg("circle", {class: "best-mark", cx: xs[best], cy: ys[best], r: 6}, svg("title", {}, "best")));
    const last = curve.step.indexOf(curve.lastStep);
    if (last >= 0 && ys[last] !== null) {
      group.append(svg("rect", {class: "best-mark", x: xs[last] - 5, y: ys[last] - 5, width: 10, height: 10},
        svg("title", {}, "last validation")));
    }
    const bottom = this.height - MARGIN.bottom;
    for (const i of curve.notFinite.keys()) {
      group.append(svg("path", {class: "not-finite", d: `M${xs[i] - 3.5} ${bottom - 10}l7 7m0 -7l-7 7`},
        svg("title", {}, `not finite at step ${count(curve.step[i])}`)));
    }
    return group;
  }

  // The pointer is at x, y of the screen.
  point(event) {
    const box = this.plot.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.width;
    const y = ((event.clientY - box.top) / box.height) * this.height;
    const candidates = this.drawn.filter((curve) => curve.xs.length > 0).map((curve) => this.candidate(curve, x, y));
    if (candidates.length === 0) return;
    const told = candidates.length > MANY ? [best(candidates, (c) => c.distance)] : candidates;
    this.tell(best(told, (c) => Math.abs(c.x - x)).value, told);
  }

  // Returns a curve's point nearest to x.
  candidate(curve, x, y) {
    const low = this.x.at(this.x.low);
    const high = this.x.at(this.x.high);
    const value = this.x.low + ((x - low) / (high - low)) * (this.x.high - this.x.low);
    const i = nearest(curve.xs, value);
    const at = this.x.at(curve.xs[i]);
    return {
      curve,
      i,
      x: at,
      value: curve.xs[i],
      distance: Math.hypot(at - x, (this.place((curve.soft ?? curve.mean)[i]) ?? this.height) - y)
    };
  }

  // Shows the crosshair at a value of x, with the curves' values there.
  tell(value, told) {
    this.focus = value;
    const at = told.filter((c) => Math.abs(c.x - this.x.at(value)) <= Math.max(8, this.width / 60));
    const heading = AXES[view.along].text(value);
    const steps = at[0] && view.along !== "step" ? ` · step ${count(at[0].curve.step[at[0].i])}` : "";
    const marks = this.marks.filter(
      (mark) => !view.hidden.has(mark.run) && Math.abs(this.x.at(mark[view.along]) - this.x.at(value)) < 7);
    this.tip.replaceChildren(el("div", {class: "where"}, heading + steps), ...at.map(tipRow),
      ...marks.slice(0, 3).map((mark) => el("div", {class: "happened"}, mark.text)));
    this.tip.hidden = false;
    const left = (this.x.at(value) / this.width) * this.plot.parentElement.clientWidth;
    const room = this.plot.parentElement.clientWidth - this.tip.offsetWidth;
    const side = left > this.plot.parentElement.clientWidth / 2 ? left - this.tip.offsetWidth - 14 : left + 14;
    this.tip.style.left = `${Math.max(0, Math.min(room, side))}px`;
    crosshair.move(value);
    this.dots.replaceChildren(
      ...at.map((c) => [c, this.place((c.curve.soft ?? c.curve.mean)[c.i])])
        .filter(([, y]) => y !== null)
        .map(([c, y]) => svg("g", {class: `curve ${c.curve.colour}`, "data-run": c.curve.run},
               svg("circle", {class: "here", cx: c.x, cy: y, r: 4}))));
    if (told.length === 1 || this.drawn.length > MANY) spotlight.on(told[0].curve.run);
  }

  cross(x) {
    if (!this.line) return;
    const at = x === null ? NaN : this.x.at(x);
    const inside = at >= MARGIN.left - 1 && at <= this.width - MARGIN.right + 1;
    this.line.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) return;
    this.line.setAttribute("x1", at);
    this.line.setAttribute("x2", at);
  }

  leave() {
    if (this.focus === null) return;
    this.focus = null;
    this.tip.hidden = true;
    this.dots.replaceChildren();
    crosshair.move(null);
    spotlight.on(null);
  }

  // The left and right keys move between the points of the first curve.
  key(event) {
    const curve = (this.drawn ?? []).find((c) => c.xs.length > 0);
    const by = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[event.key];
    if (event.key === "Escape") this.leave();
    if (!curve || by === undefined) return;
    event.preventDefault();
    const i = this.focus === null ? 0 : Math.max(0, Math.min(curve.xs.length - 1, nearest(curve.xs, this.focus) + by));
    this.tellAt(curve.xs[i]);
  }

  tellAt(value) {
    const x = this.x.at(value);
    this.tell(value, this.drawn.filter((c) => c.xs.length > 0).map((c) => this.candidate(c, x, 0)));
  }
}

const best = (items, distance) => items.reduce((a, b) => (distance(b) < distance(a) ? b : a));

function tipRow({curve, i}) {
  const value = curve.mean[i];
  const lost = curve.notFinite.get(i);
  const extent = curve.min && curve.min[i] !== null && curve.min[i] !== curve.max[i] ?
    ` ${number(curve.min[i])} … ${number(curve.max[i])}` :
    "";
  return el("div", {class: "row"}, lineSample(`${curve.colour} ${curve.dash ? "dashed" : ""}`),
    el("span", {class: "label"}, curve.label),
    el("b", {}, value === null ? (lost ? "not finite" : MISSING) : number(value)),
    curve.soft && value !== null ? el("span", {class: "soft"}, `≈ ${number(curve.soft[i])}`) : null,
    extent ? el("span", {class: "soft"}, extent) : null);
}
