"""The report as one JSON object: counts, results, exclusions and the comparison, for other programs."""

import msgspec
from msgspec import Struct

from tsandbox.report.compare import Comparison, compare
from tsandbox.report.result import Result, State
from tsandbox.report.run import Excluded, Missing, Report, counts


class Whole(Struct, frozen=True, kw_only=True):
    schema: int = 1
    title: str
    version: str | None
    started: float | None
    exit_code: int
    counts: dict[State, int]
    missing: tuple[Missing, ...]
    results: tuple[Result, ...]
    excluded: tuple[Excluded, ...]
    comparison: Comparison | None


def render_json(report: Report) -> str:
    whole = Whole(
        title=report.title,
        version=report.version,
        started=report.started,
        exit_code=report.exit_code,
        counts=counts(report.results),
        missing=report.missing,
        results=report.results,
        excluded=report.excluded,
        comparison=compare(report),
    )
    return msgspec.json.encode(whole).decode() + "\n"
