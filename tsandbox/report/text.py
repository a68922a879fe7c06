"""The report for a terminal: every cell that needs attention with its cause and the line to reproduce it."""

from collections.abc import Iterator

from tsandbox.printable import one_line, printable
from tsandbox.report.compare import compare
from tsandbox.report.result import ErrorRecord, Result
from tsandbox.report.run import STATES, Report, counts
from tsandbox.report.words import duration, plural

_TAIL = 8


def render_text(report: Report) -> str:
    parts = [
        *_attention(report),
        *_missing(report),
        *_exclusions(report),
        *_comparison(report),
        *summary_lines(report),
    ]
    return "\n".join(parts) + "\n"


def failure_lines(result: Result) -> Iterator[str]:
    """One bad cell: what, where, what to do, the end of its output and the command that shows it again."""
    error = result.error or ErrorRecord(type="Unknown", message="ended without an error message")
    yield f"{result.state.upper():8} {result.cell or result.tool} (exit {result.exit_code})"
    yield f"  {one_line(_place(error))}{_indented(error.message)}"
    if error.hint:
        yield f"  hint: {_indented(error.hint)}"
    yield from (f"  | {one_line(line)}" for line in (*error.details, *result.log_tail)[-_TAIL:])
    if result.reproduce:
        yield f"  reproduce: {one_line(result.reproduce)}"


def _place(error: ErrorRecord) -> str:
    """File and line, unless the message begins with them."""
    if not error.file or error.message.startswith(error.file):
        return ""
    return f"{error.file}:{error.line}: " if error.line else f"{error.file}: "


def _attention(report: Report) -> Iterator[str]:
    for state in STATES:
        if state == "passed":
            continue
        for result in report.results:
            if result.state == state:
                yield from _flaky(result) if state == "flaky" else failure_lines(result)
                yield ""


def _flaky(result: Result) -> Iterator[str]:
    attempts = plural(len(result.attempts), "failed attempt")
    yield f"FLAKY    {result.cell or result.tool}: passed after {attempts}"
    for attempt in result.attempts:
        cause = attempt.error.message if attempt.error else f"exit {attempt.exit_code}"
        yield f"  {one_line(cause)}"


def _missing(report: Report) -> Iterator[str]:
    for cell in report.missing:
        yield f"MISSING  {one_line(cell.id)}: planned, but no result says how it went"
    if report.missing:
        yield ""


def _exclusions(report: Report) -> Iterator[str]:
    for cell in report.excluded:
        if cell.kind == "exclusion":
            until = f", until {cell.expires}" if cell.expires else ""
            yield one_line(f"EXCLUDED {cell.id}: {cell.reason} ({cell.owner or cell.link}{until})")


def _comparison(report: Report) -> Iterator[str]:
    comparison = compare(report)
    if comparison is None:
        return
    for name, cells in (
        ("newly failing", comparison.newly_failing),
        ("fixed", comparison.fixed),
        ("slower", comparison.slower),
    ):
        if cells:
            yield f"{name}: {', '.join(cells)}"


def summary_lines(report: Report) -> Iterator[str]:
    counted = ", ".join(f"{count:,} {state}" for state, count in counts(report.results).items()) or "none ran"
    excluded = f", {len(report.excluded):,} excluded" if report.excluded else ""
    missing = f", {len(report.missing):,} missing" if report.missing else ""
    yield f"{plural(len(report.results), 'cell')}: {counted}{excluded}{missing}"
    images = {result.image for result in report.results if result.image}
    if images:
        hits = sum(result.cached is True for result in report.results)
        total = sum(result.duration_ms for result in report.results)
        yield f"{plural(len(images), 'image')}, {plural(hits, 'cache hit')}, {duration(total)} of work"


def _indented(text: str) -> str:
    return printable(text).replace("\n", "\n    ")
