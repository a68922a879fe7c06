// Images, changes since the earlier run, and what was left out and why.
const PAGE = 200;

// A long table grows on demand: the first rows at once, the others by a button.
function table(heads, items, cells) {
  const body = h("tbody");
  const more = h("button", { class: "more", type: "button", onclick: grow });
  let shown = 0;
  function grow() {
    const next = items.slice(shown, shown + PAGE);
    shown += next.length;
    body.append(...next.map((item) => h("tr", {}, named(cells(item), heads))));
    more.hidden = shown >= items.length;
    more.textContent = `Show more (${(items.length - shown).toLocaleString("en")} left)`;
  }
  grow();
  return h("div", {}, h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map(([name, kind]) => h("th", { class: kind }, name)))), body)), more);
}

// On a phone each row is a list: every value says itself what it is, and what there is none of is left out.
function named(cells, heads) {
  cells.forEach((cell, number) => {
    if (cell.textContent === "–" || cell.textContent === "") cell.classList.add("none");
    cell.dataset.head = heads[number][0];
  });
  return cells;
}

function images() {
  const groups = new Map();
  for (const cell of DATA.cells) {
    if (!cell.image) continue;
    const group = groups.get(cell.image) || { image: cell.image, size: 0, cells: [], hits: 0, build: 0 };
    group.cells.push(cell);
    group.size = Math.max(group.size, cell.size || 0);
    group.hits += cell.cached ? 1 : 0;
    group.build = Math.max(group.build, cell.build_ms || 0);
    groups.set(cell.image, group);
  }
  const all = [...groups.values()].sort((a, b) => b.size - a.size || b.cells.length - a.cells.length);
  if (!all.length) return null;
  const cells = all.reduce((sum, group) => sum + group.cells.length, 0);
  const hits = all.reduce((sum, group) => sum + group.hits, 0);
  return [
    numbers([[all.length.toLocaleString("en"), "images"], [`${Math.round((100 * hits) / cells)} %`, "cells with a cache hit"],
      [plural(cells - hits, "cell"), "waited for a build"], [bytes(all.reduce((sum, group) => sum + group.size, 0)), "all images, shared layers counted in each"]]),
    h("div", { class: "card" }, table([["Image"], ["Size", "n"], ["Cells", "n"], ["Cache hits", "n"], ["Build", "n"], ["Recipes"]], all, (group) => [
      h("td", {}, h("button", { class: "link", type: "button", title: "Show its cells", onclick: () => searchFor(group.image) }, group.image)),
      h("td", { class: "n" }, group.size ? bytes(group.size) : "–"), h("td", { class: "n" }, String(group.cells.length)),
      h("td", { class: "n" }, String(group.hits)), h("td", { class: "n" }, group.build ? duration(group.build) : "–"),
      h("td", {}, names(group.cells)),
    ])),
  ];
}

function names(cells) {
  const unique = [...new Set(cells.map((cell) => cell.recipe))];
  return unique.length > 6 ? `${unique.slice(0, 5).join(", ")} and ${unique.length - 5} more` : unique.join(", ");
}

function changes() {
  if (!DATA.comparison) return null;
  const parts = Object.entries(CHANGES).map(([kind, name]) => {
    const ids = DATA.comparison[kind];
    if (!ids.length) return null;
    return h("div", { class: "card changes" }, h("h2", {}, `${name} `, h("span", { class: "count" }, ids.length.toLocaleString("en"))),
      table([["Cell"], ["Before"], ["Now"], ["", "n"]], ids, (id) => change(id, BY_ID.get(id))));
  });
  const found = parts.filter(Boolean);
  return found.length ? found : [h("p", { class: "nothing" }, "Nothing changed since the earlier run.")];
}

function change(id, cell) {
  const badge = (state, ms) => h("span", { class: "badge", "data-state": state }, `${GLYPHS[state]} ${state} ${duration(ms)}`);
  // How long a failure took says nothing about speed.
  const ended = (state) => ["passed", "flaky"].includes(state);
  const factor = cell && cell.was && cell.was[1] && ended(cell.was[0]) && ended(cell.state) ? `× ${(cell.ms / cell.was[1]).toFixed(1)}` : "";
  return [h("td", {}, cell ? cellLink(id) : h("code", {}, id)), h("td", {}, cell && cell.was ? badge(...cell.was) : "–"),
    h("td", {}, cell ? badge(cell.state, cell.ms || 0) : "–"), h("td", { class: "n" }, factor)];
}

function excluded() {
  if (!DATA.holes.length) return null;
  const kinds = { unsupported: "the recipe says so", no_base: "no base image for it", no_steps: "no step for it", exclusion: "exclusions file", unchanged: "not changed", missing: "missing" };
  const sorted = [...DATA.holes].sort((a, b) => a.rank - b.rank || a.kind.localeCompare(b.kind) || a.id.localeCompare(b.id));
  return [h("div", { class: "card" }, table([["Cell"], ["Why"], ["Decided by"], ["Owner or link"], ["Until", "n"]], sorted, (hole) => [
    h("td", {}, cellLink(hole.id)), h("td", {}, hole.reason), h("td", {}, kinds[hole.kind] || hole.kind),
    h("td", {}, [hole.owner, hole.link].filter(Boolean).join(" · ") || "–"), h("td", { class: "n" }, hole.expires || "–")]))];
}
