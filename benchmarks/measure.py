"""What a benchmark yields, and how commands are timed against each other."""

import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Measure(NamedTuple):
    what: str
    value: float
    unit: str = "×"
    # Where the project promises a limit, exceeding it fails the run.
    limit: float | None = None
    # The absolute times behind the ratio, or the size of the input: for people.
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.limit is None or self.value <= self.limit

    def __str__(self) -> str:
        limit = (
            "" if self.limit is None else f"  limit {self.limit:g} {self.unit}: {'ok' if self.holds else 'EXCEEDED'}"
        )
        note = f"  ({self.note})" if self.note else ""
        return f"  {self.what:<52} {self.value:8.2f} {self.unit}{limit}{note}"


def interleaved(
    works: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Median seconds of each piece of work, taking turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            times[name].append(seconds(work, clock))
    return {name: statistics.median(taken) for name, taken in times.items()}


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def command(argv: Sequence[str]) -> Callable[[], object]:
    """A command as a piece of work: its output is thrown away, its failure is not."""
    return lambda: subprocess.run(argv, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
