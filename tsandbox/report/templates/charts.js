// Durations: how they are spread, and which cells take the most time.
const SLOWEST = 25;

function durations() {
  const ran = DATA.cells.filter((cell) => cell.ms);
  if (!ran.length) return [h("p", { class: "nothing" }, "No cell ran.")];
  const sorted = ran.map((cell) => cell.ms).sort((a, b) => a - b);
  const total = sorted.reduce((sum, ms) => sum + ms, 0);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return [
    numbers([[duration(total), "work in all"], [duration(at(0.5)), "median"], [duration(at(0.95)), "95 of 100 are faster"], [duration(sorted.at(-1)), "slowest"]]),
    h("div", { class: "card" }, h("h2", {}, "How long cells take"), h("p", {}, "Number of cells that took up to this long; each column reaches twice as far as the one before it"), histogram(ran), legend(ran)),
    h("div", { class: "card" }, h("h2", {}, `Slowest ${Math.min(SLOWEST, ran.length)}`), h("p", {}, "Building the image, then everything else"), slowest(ran)),
  ];
}

const numbers = (pairs) => h("div", { class: "numbers" }, pairs.map(([value, name]) => h("div", {}, h("b", {}, value), h("span", {}, name))));

function legend(cells) {
  const present = STATES.filter((state) => cells.some((cell) => cell.state === state));
  return h("p", { class: "legend" }, present.map((state) => h("span", { "data-state": state }, h("i", {}), state)));
}

function histogram(cells) {
  const bucket = (ms) => Math.max(0, Math.ceil(Math.log2(ms / 125)));
  const first = Math.min(...cells.map((cell) => bucket(cell.ms)));
  const last = Math.max(first + 5, ...cells.map((cell) => bucket(cell.ms)));
  const counts = Array.from({ length: last - first + 1 }, () => new Map());
  for (const cell of cells) {
    const bin = counts[bucket(cell.ms) - first];
    bin.set(cell.state, (bin.get(cell.state) || 0) + 1);
  }
  const sums = counts.map((bin) => [...bin.values()].reduce((sum, count) => sum + count, 0));
  const most = Math.max(...sums);
  return h("div", { class: "chart", role: "img", "aria-label": "Histogram of durations" }, counts.map((bin, number) =>
    h("div", {}, h("div", { class: "stack" }, sums[number] ? h("span", {}, sums[number].toLocaleString("en")) : null,
      STATES.filter((state) => bin.get(state)).map((state) => h("i", { "data-state": state, height: `${(86 * bin.get(state)) / most}%` }))),
    edge(125 * 2 ** (number + first)))));
}

const edge = (ms) => (ms < 1000 ? `${ms} ms` : ms < 60000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60000)} min`);

function slowest(cells) {
  const top = [...cells].sort((a, b) => b.ms - a.ms).slice(0, SLOWEST);
  return h("div", {}, h("ol", { class: "slow" }, top.map((cell) => {
    const build = Math.min(cell.build_ms || 0, cell.ms);
    const share = (ms) => `${(100 * ms) / top[0].ms}%`;
    return h("li", { "data-state": cell.state }, cellLink(cell.id),
      h("span", { class: "bar" }, build ? h("i", { class: "build", width: share(build) }) : null, h("i", { width: share(cell.ms - build) })),
      h("span", { class: "time" }, duration(cell.ms)));
  })), h("p", { class: "legend" }, h("span", {}, h("i", { class: "build" }), "image build"), h("span", { "data-state": "passed" }, h("i", {}), "run, coloured by state")));
}
