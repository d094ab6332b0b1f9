// Elements. Text from a run reaches the page only as text nodes and attribute values made here: never as markup.

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function")
      node.addEventListener(name, value);
    else
      node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(2)) {
    if (child !== undefined && child !== null) node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

// el("button", {class: "x", click: handler}, "text", otherElement)
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// A name that may break after its dots: "optimizer.lr"
const breakable = (name) => String(name).split(/(?<=[._/])/).flatMap((part, i) => (i > 0 ? [el("wbr"), part] : [part]));

// A sample of a curve's line, for a legend.
const lineSample = (kind) =>
  svg("svg", {class: `sample curve ${kind}`, viewBox: "0 0 22 8"}, svg("path", {class: "line", d: "M0 4H22"}));

function section(title, ...children) { return el("section", {}, el("h2", {}, title), ...children); }

// A wide table scrolls in its own frame: the page never scrolls sideways.
const scrolling = (...children) => el("div", {class: "scrolling", tabindex: 0}, ...children);

function table(head, rows, attributes = {}) {
  return el("table", attributes, el("thead", {}, el("tr", {}, head.map((cell) => el("th", {scope: "col"}, cell)))),
    el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell))))));
}

// Buttons, one of them pressed. `choices`: [[value, text], ...]
function segmented(label, choices, chosen, choose) {
  const buttons = choices.map(([value, text]) => el("button", {
    type: "button",
    "aria-pressed": String(value === chosen),
    click: () => {
      buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(choices[i][0] === value)));
      choose(value);
    },
  },
                                text));
  return el("div", {class: "segmented", role: "group", "aria-label": label}, buttons);
}

// A button with two states, pressed or not.
function toggle(text, pressed, change, attributes = {}) {
  const button = el("button", {
    type: "button",
    class: "toggle",
    "aria-pressed": String(pressed),
    ...attributes,
    click: () => {
      const now = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(now));
      change(now);
    },
  },
    text);
  return button;
}
