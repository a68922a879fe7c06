// The grid: only the rows near the window are in the document, so that it makes no difference how many there are.
const grid = {
  element: byId("grid"), body: byId("rows"), view: null, active: { row: 0, place: 0 }, open: null,
  height: 40, first: -1, last: -1,
};

const phone = matchMedia("(max-width: 720px)");

function measure() {
  const used = phone.matches ? Math.max(1, ...grid.view.rows.map((row) => row.cells.length)) : COLUMNS.length;
  // A tile names its family, and its architecture where there are several.
  const tile = DATA.columns.some((column) => column.arch !== DATA.columns[0].arch) ? 82 : 68;
  const fit = Math.min(used, Math.max(2, Math.floor((grid.element.clientWidth - 18) / tile)));
  grid.height = phone.matches ? 16 + 22 + Math.ceil(used / fit) * 48 : 40;
  grid.element.style.setProperty("--columns", COLUMNS.length);
  grid.element.style.setProperty("--fit", fit);
  grid.body.style.height = `${grid.view.rows.length * grid.height}px`;
}

function showGrid(view) {
  grid.view = view;
  grid.active = { row: 0, place: firstPlace(view.rows[0]) };
  measure();
  paint(true);
}

function firstPlace(row) {
  if (!row) return 0;
  const matching = row.slots.findIndex((cell) => cell && grid.view.match(cell));
  return matching < 0 ? 0 : matching;
}

function paint(force) {
  const top = -grid.body.getBoundingClientRect().top;
  const first = Math.max(0, Math.floor(top / grid.height) - 8);
  const last = Math.min(grid.view.rows.length, Math.ceil((top + innerHeight) / grid.height) + 8);
  if (!force && first === grid.first && last === grid.last) return;
  grid.first = first;
  grid.last = last;
  const shown = [];
  for (let number = first; number < last; number += 1) shown.push(rowElement(number));
  grid.body.replaceChildren(...shown);
}

function rowElement(number) {
  const row = grid.view.rows[number];
  const version = row.cells.find((cell) => cell.version);
  const name = h("span", { class: "name", role: "rowheader", title: row.recipe }, row.recipe, version ? [" ", h("small", {}, version.version)] : null);
  const element = h("div", { class: "row", role: "row", "aria-rowindex": number + 2 }, name,
    row.slots.map((cell, place) => cellElement(cell, number, place)));
  element.style.top = `${number * grid.height}px`;
  element.style.height = `${grid.height}px`;
  return element;
}

function cellElement(cell, row, place) {
  const active = grid.active.row === row && grid.active.place === place;
  if (!cell) return h("span", { class: `cell none${active ? " active" : ""}`, role: "gridcell", id: active ? "active" : null });
  const classes = ["cell", active && "active", cell.id === grid.open && "open", !grid.view.match(cell) && "dim"];
  const column = COLUMNS[place];
  const time = cell.ms ? duration(cell.ms) : "";
  const mark = MARKED.get(cell.id);
  return h("span", {
    class: classes.filter(Boolean).join(" "), role: "gridcell", id: active ? "active" : null, "data-id": cell.id, "data-state": cell.state,
    title: [cell.id, cell.state, time, mark && CHANGES[mark].toLowerCase(), cell.error ? cell.error.message : cell.reason].filter(Boolean).join("\n"),
    "aria-label": `${cell.id}: ${cell.state} ${time}`,
  }, h("b", { "aria-hidden": "true" }, GLYPHS[cell.state]), h("span", {}, time), mark ? h("i", {}, MARK_WORDS[mark]) : null,
  h("em", {}, ONE_ARCH ? column.family : `${column.family} ${column.arch === "amd64" ? "x86" : "arm"}`));
}

function heads() {
  byId("heads").replaceChildren(h("span", { role: "columnheader" }, "Recipe"),
    ...COLUMNS.map((column) => h("span", { role: "columnheader" }, h("b", {}, column.family), column.arch)));
  grid.element.setAttribute("aria-colcount", COLUMNS.length + 1);
}

function move(rows, places) {
  const { row, place } = grid.active;
  grid.active = {
    row: Math.max(0, Math.min(grid.view.rows.length - 1, row + rows)),
    place: Math.max(0, Math.min(COLUMNS.length - 1, place + places)),
  };
  reveal();
}

function reveal() {
  const box = grid.body.getBoundingClientRect();
  const top = box.top + grid.active.row * grid.height;
  if (top < 60) scrollBy(0, top - 60);
  else if (top + grid.height > innerHeight - 12) scrollBy(0, top + grid.height - innerHeight + 12);
  paint(true);
  grid.element.setAttribute("aria-activedescendant", "active");
  if (grid.open) {
    const cell = activeCell();
    if (cell) openCell(cell.id, { focus: false });
  }
}

const activeCell = () => grid.view.rows[grid.active.row]?.slots[grid.active.place] || null;

function activate(id) {
  const row = grid.view.rows.findIndex((candidate) => candidate.slots.some((cell) => cell && cell.id === id));
  if (row >= 0) grid.active = { row, place: grid.view.rows[row].slots.findIndex((cell) => cell && cell.id === id) };
}

// The next cell, in reading order, that did not pass.
function nextBad() {
  const width = COLUMNS.length;
  const total = grid.view.rows.length * width;
  const from = grid.active.row * width + grid.active.place;
  for (let step = 1; step <= total; step += 1) {
    const at = (from + step) % total;
    const cell = grid.view.rows[Math.floor(at / width)].slots[at % width];
    if (cell && BAD.has(cell.state) && grid.view.match(cell)) {
      grid.active = { row: Math.floor(at / width), place: at % width };
      return reveal();
    }
  }
}
