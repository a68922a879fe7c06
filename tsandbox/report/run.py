"""A finished matrix run as the renderers see it: results, what was left out and why, an earlier run."""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from tsandbox.errors import Skipped
from tsandbox.report.result import Result, State, TargetRecord

# The order in which people want to read them: what needs work first.
STATES: tuple[State, ...] = ("failed", "error", "timeout", "skipped", "flaky", "passed")
BAD: frozenset[State] = frozenset({"failed", "error", "timeout", "skipped"})

Reason = Literal["unsupported", "no_base", "no_steps", "exclusion", "unchanged"]


class Excluded(Struct, frozen=True, kw_only=True):
    """A cell that was not run on purpose; `kind` says who decided that, `reason` why."""

    id: str
    tool: str
    target: TargetRecord
    kind: Reason
    reason: str
    owner: str | None = None
    link: str | None = None
    expires: str | None = None


class Missing(Struct, frozen=True, kw_only=True):
    """A planned cell without a result: as bad as a failure, since nothing is known of it."""

    id: str
    tool: str
    target: TargetRecord
    source: str | None = None


class Earlier(Struct, frozen=True, kw_only=True):
    """What an earlier run said of a cell."""

    state: State
    duration_ms: int
    cached: bool | None = None


class Report(Struct, frozen=True, kw_only=True):
    results: tuple[Result, ...]
    excluded: tuple[Excluded, ...] = ()
    missing: tuple[Missing, ...] = ()
    title: str = "Recipe validation"
    version: str | None = None
    started: float | None = None
    earlier: dict[str, Earlier] | None = None

    @property
    def exit_code(self) -> int:
        """0 only if cells ran, none is missing and none is bad; else the commonest code of the bad ones."""
        codes = Counter(result.exit_code or 1 for result in self.results if result.state in BAD)
        if codes:
            return min(codes, key=lambda code: (-codes[code], code))
        return Skipped.exit_code if self.missing or not self.results else 0


def counts(results: Iterable[Result]) -> dict[State, int]:
    counted = Counter(result.state for result in results)
    return {state: counted[state] for state in STATES if counted[state]}


def earlier_of(results: Iterable[Result]) -> dict[str, Earlier]:
    return {
        result.cell: Earlier(state=result.state, duration_ms=result.duration_ms, cached=result.cached)
        for result in results
        if result.cell
    }
