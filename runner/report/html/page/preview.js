// The page of `plan --preview`: the data of an experiment, before and after preprocessing.

function previewPage({name, dataset, data, preview}) {
  document.title = `${name}: data`;
  return [
    el("h1", {}, name, el("span", {class: "id"}, `data of ${dataset}`)), previewCards(data), rowsSection(preview.rows),
    picturesSection(preview.images ?? []), samplesSection(preview.samples), blocksSection(preview),
    classesSection(data), histogramsSection(preview), frequentSection(preview), storedSection(data), batchSection(data)
  ];
}

const SET_NAMES = {train: "to train on", validation: "to validate", test: "to test"};

function previewCards(data) {
  const samples = (set) => (set.samples === null ? "endless" : count(set.samples));
  const sets = data.sets.map((set) => card(SET_NAMES[set.set], samples(set),
    set.tokens !== undefined ? `samples, of ${count(set.tokens)} tokens` : "samples"));
  const ofTokenizer = data.tokenizer ? card("tokenizer", data.tokenizer, `${count(data.vocab_size)} tokens`) : null;
  return el("div", {class: "cards"}, sets, data.rows !== undefined ? card("rows", count(data.rows), "in the files") : null,
    data.columns ? card("columns", count(data.columns.length), "features and targets") : null,
    data.classes ? card("classes", count(data.classes.count)) : null,
    data.block_size ? card("a sample", count(data.block_size), "tokens") : null, ofTokenizer);
}

const cutNote = (left, word) => (left > 0 ? el("p", {class: "note"}, `and ${plural(left, word)} more`) : null);

// Untrusted cells: the style sheet cuts long ones, and the title has the whole text.
const cell = (value) => value === null ? el("span", {class: "missing"}, "missing") :
                                         el("span", {class: "cell", title: value}, value);

// A number for the model with a few digits; the title has all digits.
const encodedCell = (text) => el("span", {title: text}, number(Number(text), 5));

function rowsSection(rows) {
  if (!rows) return null;
  const numbered = (title, names, cells, left, first) => el("div", {},
    el("h3", {class: "over"}, title),
    scrolling(table([first, ...names], cells, {class: "numbers"})), cutNote(left, "column"));
  const before = rows.before.map((row, i) => [rows.set[i] || "left out", ...row.map(cell)]);
  const after = rows.after.map((row, i) => [i + 1, ...row.map(encodedCell)]);
  return section("First rows", el("div", {class: "pair"},
    numbered("as the file has them", rows.columns, before, rows.columns_left_out, "set"),
    numbered("as the model gets them", rows.encoded, after, rows.encoded_left_out, "row")));
}

// The pixels of a picture are hexadecimal digits, two for each channel.
function drawPicture({width, height, channels, pixels}) {
  const canvas = el("canvas", {class: "picture", width, height});
  const image = new ImageData(width, height);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) {
      const at = 2 * (i * channels + (channels === 3 ? c : 0));
      image.data[4 * i + c] = parseInt(pixels.slice(at, at + 2), 16);
    }
    image.data[4 * i + 3] = 255;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function picturesSection(images) {
  if (images.length === 0) return null;
  return section("First pictures", el("div", {class: "pictures"}, images.map((image) => el("figure", {},
    drawPicture(image), image.label ? el("div", {class: "note"}, image.label) : null))));
}

function samplesSection(samples) {
  if (!samples) return null;
  const rows = samples.rows.map((row, i) => [i + 1, ...row]);
  return section("First training samples", scrolling(table(["sample", ...samples.columns], rows)));
}

function blocksSection({blocks, block_left_out}) {
  if (!blocks) return null;
  // A line break follows its visible sign. Tokens without text show their numbers.
  const shownToken = ({id, text}) => el("span", {class: "token", title: `token ${id}`},
    text === null ? `${id} ` : text.replaceAll("\n", "↵\n").replaceAll("\t", "→\t"));
  return section("First samples of text", el("p", {class: "note over"}, "Each shade is one token."),
    blocks.map((block) => el("pre", {class: "block"}, block.map(shownToken), block_left_out > 0 ? " …" : "")));
}

function classesSection({classes, sets}) {
  if (!classes) return null;
  const most = Math.max(1, ...sets[0].class_counts);
  const bar = (n) => svg("svg", {class: "strip", viewBox: "0 0 200 10", preserveAspectRatio: "none"},
    svg("rect", {class: "bar", width: (200 * n) / most, height: 10}));
  const names = classes.names.slice(0, 200);
  const rows = names.map((name, i) => [cell(name), ...sets.map((set) => count(set.class_counts[i])),
    bar(sets[0].class_counts[i])]);
  return section("Classes", scrolling(table(["class", ...sets.map((set) => set.set), ""], rows)),
    cutNote(classes.count - names.length, "class"));
}

const PLOT = {width: 320, height: 96};

function numbersPlot({least, greatest, bins}) {
  const most = Math.max(1, ...bins);
  const wide = PLOT.width / bins.length;
  const edge = (i) => least * (1 - i / bins.length) + greatest * (i / bins.length);
  return svg("svg", {class: "plot bars", viewBox: `0 0 ${PLOT.width} ${PLOT.height + 16}`},
    bins.map((n, i) => {
      const high = (PLOT.height * n) / most;
      return svg("rect", {class: "bar", x: i * wide + 0.5, y: PLOT.height - high, width: wide - 1, height: high},
        svg("title", {}, `${number(edge(i))} … ${number(edge(i + 1))}: ${count(n)}`));
    }),
    svg("line", {class: "axis", x1: 0, x2: PLOT.width, y1: PLOT.height, y2: PLOT.height}),
    svg("text", {class: "tick", x: 0, y: PLOT.height + 13}, number(least)),
    svg("text", {class: "tick", x: PLOT.width, y: PLOT.height + 13, "text-anchor": "end"}, number(greatest)));
}

function valuesPlot(values) {
  const most = Math.max(1, ...values.map((one) => one.count));
  const height = 18 * values.length;
  const clip = (text) => (text.length > 22 ? `${text.slice(0, 21)}…` : text);
  return svg("svg", {class: "plot bars", viewBox: `0 0 ${PLOT.width} ${height}`}, values.map(({value, count: n}, i) => [
    svg("text", {class: "tick", x: 122, y: 18 * i + 12, "text-anchor": "end"}, clip(value), svg("title", {}, value)),
    svg("rect", {class: "bar", x: 130, y: 18 * i + 3, width: (130 * n) / most, height: 12}),
    svg("text", {class: "tick", x: 134 + (130 * n) / most, y: 18 * i + 13}, count(n))
  ]));
}

function histogramFigure(one) {
  const notes = [
    one.missing > 0 ? `${count(one.missing)} missing` : null,
    one.not_finite > 0 ? `${count(one.not_finite)} not finite` : null,
    one.value_count !== undefined ? plural(one.value_count, "value") : null,
    one.values && one.value_count > one.values.length ? `the ${one.values.length} most frequent ones` : null,
  ];
  const plot = one.values ? valuesPlot(one.values) : one.bins.length > 0 ? numbersPlot(one) :
                                                                           el("p", {class: "note"}, "no number");
  return el("figure", {class: "chart"},
    el("figcaption", {}, el("h3", {}, cell(one.name)), el("span", {class: "tools"}, notes.filter(Boolean).join(", "))),
    plot);
}

function histogramsSection(preview) {
  const all = preview.histograms ?? preview.tensors;
  if (!all || all.length === 0) return null;
  const some = preview.counted !== undefined && preview.counted !== preview.samples_in_all;
  const of = some ? `The first ${count(preview.counted)} training samples` : "The training samples";
  return section("Values", el("p", {class: "note over"}, preview.histograms ?
      "The training rows; missing cells are counted in all rows." : `${of}.`),
    el("div", {class: "charts small"}, all.map(histogramFigure)),
    cutNote(preview.histograms_left_out ?? 0, "column"));
}

function frequentSection({frequent, counted}) {
  if (!frequent) return null;
  const text = ({id, text: own}) => (own === null ? String(id) : JSON.stringify(own));
  const values = frequent.map((one) => ({value: text(one), count: one.count}));
  return section("Most frequent tokens", el("p", {class: "note over"}, `Of ${count(counted)} training tokens.`),
    el("figure", {class: "chart"}, valuesPlot(values)));
}

const shapeText = (shape) => `[${shape.join(", ")}]`;

function storedSection({arrays}) {
  if (!arrays) return null;
  return section("Arrays in the files", scrolling(table(["array", "role", "stored as", "shape"],
    arrays.map((one) => [one.name, one.role, one.dtype, shapeText(one.shape)]))));
}

function batchSection({first_batch}) {
  const rows = ["input", "target"].flatMap((role) => first_batch[`${role}s`].map((one) => [
    one.name, role, one.dtype, shapeText(one.shape), number(one.least), number(one.greatest), count(one.not_finite)]));
  return section("First batch of rank 0",
    scrolling(table(["tensor", "role", "type", "shape", "least", "greatest", "inf or NaN"], rows)));
}
