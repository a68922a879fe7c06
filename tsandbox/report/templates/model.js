// The data of this file, indexed once. Everything below reads it; nothing changes it.
const DATA = JSON.parse(document.getElementById("data").textContent);

const STATES = ["missing", "failed", "error", "timeout", "skipped", "flaky", "passed", "excluded"];
const GLYPHS = { passed: "✓", flaky: "↻", failed: "✕", error: "!", timeout: "◷", skipped: "»", missing: "?", excluded: "–" };
const BAD = new Set(["missing", "failed", "error", "timeout", "skipped"]);
const MARK_WORDS = { newly_failing: "new", fixed: "fixed", slower: "slower" };
const CHANGES = { newly_failing: "Newly failing", fixed: "Fixed", slower: "Slower", added: "New cells", removed: "Gone cells" };

// Columns sorted by family, then architecture; cells refer to them by their number in the file.
const COLUMNS = DATA.columns.map((column, number) => ({ ...column, number }))
  .sort((a, b) => a.family.localeCompare(b.family) || a.arch.localeCompare(b.arch));
const PLACE = new Map(COLUMNS.map((column, place) => [column.number, place]));
const ONE_ARCH = new Set(COLUMNS.map((column) => column.arch)).size < 2;

const CELLS = [...DATA.cells, ...DATA.holes];
const BY_ID = new Map(CELLS.map((cell) => [cell.id, cell]));
const MARKED = new Map();
for (const kind of ["newly_failing", "fixed", "slower"])
  for (const id of (DATA.comparison || {})[kind] || []) MARKED.set(id, kind);

for (const cell of CELLS) {
  const column = DATA.columns[cell.column];
  const error = cell.error ? `${cell.error.type} ${cell.error.message}` : cell.reason || "";
  cell.rank = STATES.indexOf(cell.state);
  cell.text = `${cell.id} ${cell.recipe} ${column.family} ${column.arch} ${cell.image || ""} ${error}`.toLowerCase();
}

const ROWS = [...Map.groupBy ? Map.groupBy(CELLS, (cell) => cell.recipe) : grouped(CELLS)].map(([recipe, cells]) => {
  const slots = new Array(COLUMNS.length).fill(null);
  for (const cell of cells) slots[PLACE.get(cell.column)] = cell;
  return {
    recipe, slots, cells,
    rank: Math.min(...cells.map((cell) => cell.rank)),
    ms: Math.max(...cells.map((cell) => cell.ms || 0)),
    size: Math.max(...cells.map((cell) => cell.size || 0)),
  };
});

function grouped(cells) {
  const groups = new Map();
  for (const cell of cells) {
    if (!groups.has(cell.recipe)) groups.set(cell.recipe, []);
    groups.get(cell.recipe).push(cell);
  }
  return groups;
}

const byName = (a, b) => a.recipe.localeCompare(b.recipe);
const ORDERS = {
  state: (a, b) => a.rank - b.rank || byName(a, b),
  name: byName,
  slow: (a, b) => b.ms - a.ms || byName(a, b),
  fast: (a, b) => a.ms - b.ms || byName(a, b),
  size: (a, b) => b.size - a.size || byName(a, b),
};

// Rows that hold at least one matching cell; `match` tells which cells of a shown row match.
function selection(query, states, order) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const match = (cell) =>
    (!states.size || states.has(cell.state) || states.has(MARKED.get(cell.id))) && words.every((word) => cell.text.includes(word));
  const rows = ROWS.filter((row) => row.cells.some(match)).sort(ORDERS[order]);
  let cells = 0;
  for (const row of rows) for (const cell of row.cells) if (match(cell)) cells += 1;
  return { rows, cells, match, all: !words.length && !states.size };
}

function duration(ms) {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

function bytes(count) {
  const units = ["B", "kB", "MB", "GB"];
  let unit = 0;
  while (count >= 1000 && unit < 3) { count /= 1000; unit += 1; }
  return `${unit ? count.toFixed(1) : count} ${units[unit]}`;
}

const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
