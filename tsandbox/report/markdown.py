"""The report as a CI job summary: a table of targets, then what failed and why, within the size limit."""

import html
import re
from collections.abc import Iterator

from tsandbox.printable import one_line, printable
from tsandbox.report.compare import compare
from tsandbox.report.result import ErrorRecord, Result
from tsandbox.report.run import BAD, STATES, Report, counts
from tsandbox.report.words import duration, plural

# A job summary is cut at 1 MiB, in the middle of a word; 200 failures of at most 4 kB each stay below it.
MAX_SHOWN = 200
MAX_OUTPUT = 3000
MAX_NAMED = 50

_MARKS = {"passed": "✅", "flaky": "🔁", "failed": "❌", "error": "💥", "timeout": "⏱️", "skipped": "⏭️"}
_SYNTAX = re.compile(r"([\\`*_{}\[\]<>#|~!@&])")


def render_markdown(report: Report) -> str:
    return "\n".join((*_head(report), *_targets(report), *_comparison(report), *_failures(report), *_notes(report)))


def _head(report: Report) -> Iterator[str]:
    verdict = "✅ passed" if report.exit_code == 0 else "❌ failed"
    counted = " · ".join(f"{_MARKS[state]} {count:,} {state}" for state, count in counts(report.results).items())
    yield f"## {_escape(report.title)}: {verdict}"
    yield ""
    yield f"{plural(len(report.results), 'cell')}: {counted or 'none ran'}"
    yield ""


def _targets(report: Report) -> Iterator[str]:
    rows: dict[str, list[Result]] = {}
    for result in report.results:
        rows.setdefault(str(result.target or "unknown"), []).append(result)
    if not rows:
        return
    yield "| target | " + " | ".join(STATES) + " | cache hits | time |"
    yield "|---" * (len(STATES) + 3) + "|"
    for target, results in sorted(rows.items()):
        counted = counts(results)
        hits = sum(result.cached is True for result in results)
        numbers = [str(counted.get(state) or "") for state in STATES]
        time = duration(sum(result.duration_ms for result in results))
        yield f"| {_escape(target)} | {' | '.join(numbers)} | {hits} | {time} |"
    yield ""


def _comparison(report: Report) -> Iterator[str]:
    comparison = compare(report)
    if comparison is None:
        return
    for name, cells in (
        ("Newly failing", comparison.newly_failing),
        ("Fixed", comparison.fixed),
        ("Slower", comparison.slower),
    ):
        if cells:
            shown = ", ".join(f"`{cell}`" for cell in cells[:MAX_NAMED])
            yield f"**{name}** ({len(cells):,}): {shown}{'…' if len(cells) > MAX_NAMED else ''}"
            yield ""


def _failures(report: Report) -> Iterator[str]:
    bad = [result for result in report.results if result.state in BAD]
    for result in bad[:MAX_SHOWN]:
        yield from _failure(result)
    if len(bad) > MAX_SHOWN:
        yield f"**{len(bad) - MAX_SHOWN:,} more bad cells are not shown here**; the HTML report has all."
        yield ""


def _failure(result: Result) -> Iterator[str]:
    error = result.error or ErrorRecord(type="Unknown", message="ended without an error message")
    name = html.escape(one_line(result.cell or result.tool or "?"))
    yield f"<details><summary>{_MARKS[result.state]} <code>{name}</code> exit {result.exit_code}: "
    yield f"{html.escape(one_line(error.message)[:300])}</summary>"
    yield ""
    place = f"{error.file}:{error.line}" if error.file and error.line else error.file
    lines = [place, error.message, error.hint and f"hint: {error.hint}", *error.details, *result.log_tail]
    yield from _block("\n".join(line for line in lines if line))
    if result.reproduce:
        yield "Reproduce:"
        yield from _block(result.reproduce)
    yield "</details>"
    yield ""


def _notes(report: Report) -> Iterator[str]:
    for title, cells in (
        ("Missing: planned, but no result says how they went", [cell.id for cell in report.missing]),
        (
            "Passed only after a retry",
            [r.cell or r.tool or "?" for r in report.results if r.state == "flaky"],
        ),
        ("Excluded", [f"{cell.id}: {cell.reason}" for cell in report.excluded]),
    ):
        if cells:
            more = f", first {MAX_SHOWN}" if len(cells) > MAX_SHOWN else ""
            yield f"<details><summary>{title} ({len(cells):,}{more})</summary>"
            yield ""
            yield from (f"- {_escape(cell)}" for cell in cells[:MAX_SHOWN])
            yield ""
            yield "</details>"
            yield ""


def _block(text: str) -> Iterator[str]:
    """A code block whose fence is longer than any run of backticks inside."""
    shown = printable(text)
    if len(shown) > MAX_OUTPUT:
        shown = f"{shown[: MAX_OUTPUT // 3]}\n…\n{shown[-2 * MAX_OUTPUT // 3 :]}"
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", shown)), default=0))
    yield f"{fence}text\n{shown}\n{fence}"


def _escape(text: str) -> str:
    return _SYNTAX.sub(r"\\\1", one_line(text))
