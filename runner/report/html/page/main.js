// Starts the page.

// Dark or light: the system's choice until the reader chooses.
function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const button = el("button", {
    type: "button",
    class: "theme",
    click: () => {
      document.documentElement.dataset.theme = isDark() ? "light" : "dark";
      name();
    }
  });
  const name = () => {
    button.textContent = isDark() ? "light" : "dark";
    button.title = `switch to ${button.textContent} colours`;
  };
  system.addEventListener("change", name);
  name();
  return button;
}

function problemsBox(problems) {
  if (problems.length === 0) return null;
  return el("div", {class: "problems"}, problems.slice(0, 20).map((text) => el("p", {}, text)),
    problems.length > 20 ? el("p", {}, `and ${problems.length - 20} more`) : null);
}

// A metric or a key may be called "constructor": objects without a prototype have only their own members.
function withoutPrototype(_, value) {
  return value === null || typeof value !== "object" || Array.isArray(value) ?
    value :
    Object.assign(Object.create(null), value);
}

const kinds = {sweep: sweepPage, runs: runsPage, preview: previewPage};

function sectionsOf(data) {
  data.runs?.forEach(prepare);
  return [kinds[data.kind](data), problemsBox(data.problems),
    el("footer", {}, `written ${moment(data.written)} by ${data.program}`)].flat(3).filter(Boolean);
}

// follow(data): keeps a page from a server up to date; `data` is what the page shows.
function start(follow) {
  const data = JSON.parse(document.getElementById("data").textContent, withoutPrototype);
  document.getElementById("page").append(themeButton(), ...sectionsOf(data));
  follow?.(data);
}
