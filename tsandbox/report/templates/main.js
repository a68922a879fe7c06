// Tabs, filters, keys and the theme: what the reader does.
const chosen = new Set();
const TABS = [
  { id: "cells", name: "Cells", count: DATA.cells.length },
  { id: "durations", name: "Durations", fill: durations },
  { id: "images", name: "Images", fill: images },
  { id: "changes", name: "Changes", fill: changes, count: MARKED.size },
  { id: "excluded", name: "Not run", fill: excluded, count: DATA.holes.length },
];

function tabs() {
  const used = TABS.filter((tab) => !(tab.id === "changes" && !DATA.comparison) && !(tab.id === "excluded" && !DATA.holes.length));
  const bar = document.querySelector(".tabs");
  bar.replaceChildren(...used.map((tab) => h("button", {
    role: "tab", id: `tab-${tab.id}`, type: "button", "aria-controls": `panel-${tab.id}`, onclick: () => showTab(tab.id),
  }, tab.name, tab.count ? h("span", { class: "count" }, tab.count.toLocaleString("en")) : null)));
  bar.addEventListener("keydown", (event) => {
    const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!way) return;
    const at = used.findIndex((tab) => `tab-${tab.id}` === document.activeElement.id);
    const next = used[(at + way + used.length) % used.length];
    showTab(next.id);
    byId(`tab-${next.id}`).focus();
  });
}

function showTab(id) {
  for (const tab of TABS) {
    const panel = byId(`panel-${tab.id}`);
    const button = byId(`tab-${tab.id}`);
    if (!button) continue;
    panel.hidden = tab.id !== id;
    button.setAttribute("aria-selected", String(tab.id === id));
    button.tabIndex = tab.id === id ? 0 : -1;
    if (tab.id === id && tab.fill && !panel.firstChild)
      panel.append(...(tab.fill() || [h("p", { class: "nothing" }, "Nothing to show.")]));
  }
  if (id === "cells") { measure(); paint(true); }
}

function summary() {
  const counts = new Map(STATES.map((state) => [state, 0]));
  for (const cell of CELLS) counts.set(cell.state, counts.get(cell.state) + 1);
  const when = DATA.started ? new Date(DATA.started * 1000).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }) : null;
  const hits = DATA.cells.filter((cell) => cell.cached).length;
  byId("facts").textContent = [when, plural(ROWS.length, "recipe"), plural(COLUMNS.length, "target"), plural(hits, "cache hit"), DATA.version && `tsandbox ${DATA.version}`]
    .filter(Boolean).join(" · ");
  byId("share").replaceChildren(...STATES.filter((state) => counts.get(state) && state !== "excluded").reverse().map((state) =>
    h("i", { "data-state": state, title: `${counts.get(state)} ${state}`, width: `${(100 * counts.get(state)) / CELLS.length}%` })));
  const marks = ["newly_failing", "fixed", "slower"].map((kind) => [kind, [...MARKED.values()].filter((mark) => mark === kind).length]);
  const tones = { newly_failing: ["failed", "▼"], fixed: ["passed", "▲"], slower: ["timeout", "◔"] };
  byId("states").replaceChildren(
    ...STATES.filter((state) => counts.get(state)).map((state) => chip(state, state, GLYPHS[state], state, counts.get(state))),
    ...(MARKED.size ? [h("span", { class: "apart" })] : []),
    ...marks.filter(([, count]) => count).map(([kind, count]) => chip(kind, ...tones[kind], CHANGES[kind].toLowerCase(), count)));
}

function chip(value, tone, glyph, name, count) {
  const button = h("button", { class: "chip", type: "button", "aria-pressed": "false", "data-state": tone, "data-value": value, "data-glyph": glyph, onclick: () => {
    chosen.has(value) ? chosen.delete(value) : chosen.add(value);
    button.setAttribute("aria-pressed", String(chosen.has(value)));
    refresh();
  } }, name, h("b", {}, count.toLocaleString("en")));
  return button;
}

function refresh() {
  const view = selection(byId("search").value, chosen, byId("sort").value);
  byId("shown").textContent = view.all ? "" : `${plural(view.cells, "cell")} of ${plural(view.rows.length, "recipe")} match`;
  byId("nothing").hidden = view.rows.length > 0;
  grid.element.hidden = !view.rows.length;
  showGrid(view);
}

function searchFor(text) {
  byId("search").value = text;
  showTab("cells");
  refresh();
}

function clearFilter() {
  chosen.clear();
  for (const button of document.querySelectorAll(".chip")) button.setAttribute("aria-pressed", "false");
  searchFor("");
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-12, 0], PageDown: [12, 0] };

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "Escape") {
    if (grid.open) closeCell();
    else if (typing) event.target.blur();
  } else if (typing) {
    if (event.key === "ArrowDown" && event.target.id === "search") { event.preventDefault(); grid.element.focus(); }
  } else if (event.key === "/") {
    event.preventDefault();
    showTab("cells");
    byId("search").focus();
  } else if (event.key === "n" && !byId("panel-cells").hidden) nextBad();
  else if (event.target === grid.element) gridKeys(event);
}

function gridKeys(event) {
  if (MOVES[event.key]) { event.preventDefault(); move(...MOVES[event.key]); }
  else if (event.key === "Home") { event.preventDefault(); move(-Infinity, 0); }
  else if (event.key === "End") { event.preventDefault(); move(Infinity, 0); }
  else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    const cell = activeCell();
    if (cell) openCell(cell.id);
  }
}

// Not remembered: storage is shared between all pages opened from files.
function theme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function start() {
  tabs();
  summary();
  heads();
  refresh();
  showTab("cells");
  byId("search").addEventListener("input", refresh);
  byId("sort").addEventListener("change", refresh);
  byId("clear").addEventListener("click", clearFilter);
  byId("theme").addEventListener("click", theme);
  grid.element.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-id]");
    if (cell) openCell(cell.dataset.id);
  });
  addEventListener("scroll", () => paint(false), { passive: true });
  addEventListener("resize", () => { measure(); paint(true); });
  addEventListener("keydown", keys);
  addEventListener("hashchange", followLink);
  followLink();
}

function followLink() {
  // Only what this page itself writes: anything else is no link to a cell, and no error.
  const match = location.hash.match(/^#cell=((?:[^%]|%[2-7][0-9A-F])+)$/);
  if (match) openCell(decodeURIComponent(match[1]));
}

start();
