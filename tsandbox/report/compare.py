"""This run beside an earlier one: what broke, what was repaired, what got slower."""

from msgspec import Struct

from tsandbox.report.result import Result
from tsandbox.report.run import BAD, Earlier, Report

# Slower means both: noise moves short cells by factors and long cells by seconds.
SLOWER_FACTOR = 1.5
SLOWER_MS = 2000


class Comparison(Struct, frozen=True, kw_only=True):
    """Identifiers of cells, sorted."""

    newly_failing: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def compare(report: Report) -> Comparison | None:
    if report.earlier is None:
        return None
    earlier = report.earlier
    now = {result.cell: result for result in report.results if result.cell}
    both = [(cell, now[cell], earlier[cell]) for cell in sorted(now) if cell in earlier]
    return Comparison(
        newly_failing=tuple(cell for cell, new, old in both if new.state in BAD and old.state not in BAD),
        fixed=tuple(cell for cell, new, old in both if new.state not in BAD and old.state in BAD),
        slower=tuple(cell for cell, new, old in both if _slower(new, old)),
        added=tuple(sorted(now.keys() - earlier.keys())),
        removed=tuple(sorted(earlier.keys() - now.keys())),
    )


def _slower(new: Result, old: Earlier) -> bool:
    if new.state in BAD or old.state in BAD or new.cached != old.cached:
        return False
    return new.duration_ms >= max(old.duration_ms * SLOWER_FACTOR, old.duration_ms + SLOWER_MS)
