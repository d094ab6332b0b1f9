// Keeps a page up to date with the server's events, without moving what the reader looks at.

// Makes the changes of an event in `old`, in place, since the charts hold on to its arrays and objects. The first event
// has all data.
function merge(old, change) {
  const isObject = (value) => value !== null && typeof value === "object";
  if (!isObject(old) || !isObject(change)) return change;
  if (Array.isArray(change)) {
    change.forEach((item, i) => { old[i] = item; });
    old.length = change.length;
  } else if ("$length" in change) {
    change.$at.forEach((index, i) => { old[index] = merge(old[index], change.$items[i]); });
    old.length = change.$length;
  } else {
    for (const [key, value] of Object.entries(change)) old[key] = merge(old[key], value);
  }
  return old;
}

// Carries the reader's choices over to the new form of a section.
function keepChoices(old, fresh) {
  const pairs = (selector, carry) => {
    const others = fresh.querySelectorAll(selector);
    old.querySelectorAll(selector).forEach((node, i) => others[i] && carry(node, others[i]));
  };
  pairs("details", (from, to) => { to.open = from.open; });
  pairs("[aria-pressed]", (from, to) => {
    const differs = from.getAttribute("aria-pressed") !== to.getAttribute("aria-pressed");
    if (differs && (to.matches(".toggle") || from.getAttribute("aria-pressed") === "true")) to.click();
  });
  pairs("th[aria-sort]:has(button)", (from, to) => {
    const clicks = {ascending: 1, descending: 2}[from.getAttribute("aria-sort")] ?? 0;
    for (let i = 0; i < clicks; ++i) to.querySelector("button").click();
  });
}

// Returns the element of each section, its form as HTML, and a name of its own.
function formsOf(nodes) {
  const names = [];
  return nodes.map((node) => {
    const name = node.querySelector("h2")?.textContent ?? node.tagName;
    names.push(name);
    return {node, html: node.outerHTML, name: `${name} ${names.filter((other) => other === name).length}`};
  });
}

function replaceSection(old, fresh) {
  keepChoices(old, fresh);
  const frames = [...old.querySelectorAll(".scrolling")].map((frame) => [frame.scrollLeft, frame.scrollTop]);
  old.replaceWith(fresh);
  fresh.querySelectorAll(".scrolling").forEach((frame, i) => frame.scrollTo(...(frames[i] ?? [0, 0])));
}

function follow(data) {
  const [theme, ...sections] = document.getElementById("page").children;
  let shown = formsOf(sections);
  let source = null;
  let pressed = false;  // a section that is replaced between press and release would lose the click
  let behind = false;
  const state = el("span", {role: "status"});
  const home = data.kind === "list" ? [] : [el("a", {href: "/"}, "all runs"), " · "];
  document.body.append(el("p", {class: "live"}, home, state));

  function show() {
    behind = pressed;
    if (pressed) return;
    const before = new Map(shown.map((form) => [form.name, form]));
    shown = formsOf(sectionsOf(data)).map((fresh) => {
      const old = before.get(fresh.name);
      before.delete(fresh.name);
      if (old && old.html === fresh.html) return old;
      if (old) replaceSection(old.node, fresh.node);
      return fresh;
    });
    before.forEach(({node}) => node.remove());
    shown.reduce((above, {node}) => {
      if (above.nextElementSibling !== node) above.after(node);
      return node;
    }, theme);
    view.charts = view.charts.filter((chart) => chart.figure.isConnected);
    view.set({});
  }

  function listen() {
    source = new EventSource(`/events${location.pathname}${location.search}`);
    source.onopen = () => { state.textContent = "live"; };
    source.onerror = () => { state.textContent = "the server does not answer"; };
    source.onmessage = (event) => {
      merge(data, JSON.parse(event.data, withoutPrototype));
      show();
    };
  }

  addEventListener("pointerdown", () => { pressed = true; });
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => setTimeout(() => {
      pressed = false;
      if (behind) show();
    }));
  }
  // A browser opens few connections to one server: pages that nobody sees leave them to others.
  document.addEventListener("visibilitychange", () => {
    source.close();
    if (!document.hidden) listen();
  });
  listen();
}
