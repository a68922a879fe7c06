// One cell: what happened, how to see it again, its steps, its verification, its image and its log.
function openCell(id, { focus = true } = {}) {
  const cell = BY_ID.get(id);
  if (!cell) return;
  grid.open = id;
  activate(id);
  paint(true);
  const panel = byId("detail");
  panel.replaceChildren(...detail(cell));
  panel.hidden = false;
  panel.scrollTop = 0;
  document.body.classList.add("opened");
  history.replaceState(null, "", `#cell=${encodeURIComponent(id)}`);
  if (focus) panel.focus({ preventScroll: true });
}

function closeCell() {
  byId("detail").hidden = true;
  document.body.classList.remove("opened");
  grid.open = null;
  history.replaceState(null, "", "#");
  paint(true);
  grid.element.focus({ preventScroll: true });
}

function detail(cell) {
  return [detailHead(cell), problem(cell), reproduce(cell), attempts(cell), steps(cell), ...checks(cell), facts(cell), ...log(cell)]
    .filter(Boolean);
}

function detailHead(cell) {
  const column = DATA.columns[cell.column];
  const before = cell.was ? ` (before: ${cell.was[0]} in ${duration(cell.was[1])})` : "";
  const parts = [column.family, column.arch, cell.ms ? duration(cell.ms) + before : null, cell.exit_code ? `exit ${cell.exit_code}` : null, cell.stage ? `ended in ${cell.stage}` : null];
  const button = (glyph, label, action) => h("button", { class: "quiet", type: "button", title: label, "aria-label": label, onclick: action }, glyph);
  return h("header", {},
    h("div", {}, h("h2", {}, cell.id),
      button("↑", "Previous row", () => move(-1, 0)), button("↓", "Next row", () => move(1, 0)), button("✕", "Close", closeCell)),
    h("p", { class: "meta" }, h("span", { class: "badge", "data-state": cell.state }, `${GLYPHS[cell.state]} ${cell.state}`), " ",
      parts.filter(Boolean).join(" · ")));
}

function problem(cell) {
  if (cell.reason) {
    const who = [cell.owner && `owner ${cell.owner}`, cell.link, cell.expires && `until ${cell.expires}`].filter(Boolean).join(" · ");
    return h("div", { class: "box", "data-state": cell.state }, h("p", {}, cell.reason), h("p", { class: "place" }, `${cell.kind.replace("_", " ")}${who ? ` · ${who}` : ""}`));
  }
  const error = cell.error;
  if (!error) return null;
  return h("div", { class: "box", "data-state": cell.state },
    h("p", { class: "place mono" }, [error.place, error.type].filter(Boolean).join(" · ")),
    h("p", {}, h("b", {}, error.message)),
    error.hint ? h("p", { class: "hint" }, `→ ${error.hint}`) : null,
    error.details ? h("p", { class: "mono" }, error.details.join("\n")) : null);
}

function reproduce(cell) {
  if (!cell.reproduce) return null;
  const button = h("button", { type: "button", onclick: () => copy(cell.reproduce, button) }, "Copy");
  return h("div", {}, h("h3", {}, "Reproduce"), h("div", { class: "copy" }, h("pre", {}, cell.reproduce), button));
}

function attempts(cell) {
  if (!cell.attempts) return null;
  return h("div", {}, h("h3", {}, "Earlier attempts"),
    cell.attempts.map((error) => h("div", { class: "box", "data-state": "flaky" }, h("p", {}, `${error.type}: ${error.message}`))));
}

function steps(cell) {
  if (!cell.steps) return null;
  const longest = Math.max(1, ...cell.steps.map((step) => step.ms || 0));
  const glyphs = { passed: "✓", failed: "✕", not_run: "·" };
  return h("div", {}, h("h3", {}, "Steps"), h("ol", { class: "steps" }, cell.steps.map((step) => {
    const status = step.status || "passed";
    const under = [step.tool && step.tool !== cell.recipe ? step.tool : null, step.place, step.note].filter(Boolean).join(" · ");
    return h("li", { "data-state": status === "not_run" ? "skipped" : status }, h("b", { title: status }, glyphs[status]),
      h("span", { class: "what" }, step.action, under ? h("small", {}, under) : null),
      h("span", { class: "bar" }, h("i", { width: `${(100 * (step.ms || 0)) / longest}%` })),
      h("span", { class: "time" }, step.ms === undefined ? (status === "not_run" ? "not run" : "") : duration(step.ms)));
  })));
}

function checks(cell) {
  return (cell.checks || []).map((check, number) => h("div", {}, number ? null : h("h3", {}, "Verification"),
    h("pre", {}, `$ ${check.command}\n${(check.output || "").trimEnd()}`),
    h("p", { class: "meta" }, h("span", { class: "badge", "data-state": check.ok ? "passed" : "failed" }, check.ok ? "✓ as expected" : "✕ not as expected"), " ",
      [exitOf(check), check.expected ? `expected text: ${check.expected.join(" , ")}` : null]
        .filter(Boolean).join(" · "))));
}

// The usual exit status is not worth a word.
function exitOf(check) {
  const wanted = check.expected_exit_code || 0;
  if (check.exit_code === wanted) return wanted ? `exit ${wanted}, as expected` : null;
  return `exit ${check.exit_code ?? "unknown"}, expected ${wanted}`;
}

function facts(cell) {
  const limits = cell.limits && [
    cell.limits.memory && bytes(cell.limits.memory), cell.limits.cpus && `${cell.limits.cpus} cpus`,
    cell.limits.pids && `${cell.limits.pids} processes`, cell.limits.timeout && `${cell.limits.timeout} s`].filter(Boolean).join(", ");
  const cache = { true: "cache hit", false: "built" }[cell.cached];
  const pairs = [
    ["Image", cell.image && h("code", {}, cell.image)],
    ["", cell.image && [cache && (cell.build_ms ? `${cache} in ${duration(cell.build_ms)}` : cache), cell.size && bytes(cell.size), cell.profile].filter(Boolean).join(" · ")],
    ["Engine", cell.engine], ["Network", cell.network], ["Limits", limits],
    ["Not enforced", cell.unenforced && `${cell.unenforced.join(", ")}: this host ignores it`],
    ["Recipe", cell.source && h("code", {}, cell.source)], ["Notes", cell.notes && cell.notes.join("\n")],
  ].filter(([, value]) => value);
  if (!pairs.length) return null;
  return h("div", {}, h("h3", {}, "Facts"), h("dl", {}, pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
}

function log(cell) {
  const { head, tail } = cell;
  if (!head && !tail) return cell.log ? [h("h3", {}, "Log"), h("pre", {}, cell.log)] : [];
  const parts = [h("h3", {}, "Log")];
  if (head) parts.push(h("pre", { class: tail ? "before" : "" }, head.join("\n")));
  if (head && tail) parts.push(h("div", { class: "gap" }, cell.log ? `⋯ the whole log: ${cell.log}` : "⋯"));
  if (tail) parts.push(h("pre", { class: head ? "cut" : "" }, tail.join("\n")));
  if (cell.log && !(head && tail)) parts.push(h("p", { class: "meta" }, `the whole log: ${cell.log}`));
  return parts;
}
