"""Cells on a Dask cluster: one task per image group, each worker with its own engine.

A result exists only when a group's task came back to us, and then once: what a lost worker had done of a group is
done again elsewhere, and what it had found out is forgotten with it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from tsandbox.matrix.attempts import Prover, attempt, finished
from tsandbox.matrix.cluster_watch import Watch, close, connected
from tsandbox.matrix.model import Cell
from tsandbox.matrix.schedule import Group, Schedule, build_failed, inherited
from tsandbox.matrix.workers import Ended, Events, Started, WorkerDied
from tsandbox.report.result import Result, decode, encode, from_error

# Tasks in the scheduler's hands per thread of the cluster: enough that none waits for us, few enough to stop soon.
_AHEAD = 2
# Results come back through the scheduler, which keeps them in memory.
_LARGEST_LOG = 4 << 20


class CarriedProver(Protocol):
    """A prover that can take along what its cells need, since workers may not have the recipes."""

    def __call__(self, cell: Cell) -> Result: ...
    def carrying(self, cells: Group) -> Prover: ...


def on_dask(prove: CarriedProver, *, scheduler: str, retries: int) -> Callable[[Schedule], Events]:
    """What runs a schedule on the cluster, connected by now: a wrong address is told before anything is touched."""
    client = connected(scheduler)
    return lambda schedule: _run(schedule, client, scheduler, prove, retries)


def _run(schedule: Schedule, client: Any, scheduler: str, prove: CarriedProver, retries: int) -> Events:
    """Every group of the schedule on the cluster. Leaving the iteration early takes back what has not begun."""
    waiting = _Waiting(client, Watch(client, scheduler), prove, retries)
    groups = iter(schedule.groups)
    try:
        while True:
            yield from _submit(schedule, groups, waiting)
            if not waiting.groups:
                return
            yield from waiting.next_group()
    finally:
        waiting.cancel()
        close(client)


class Sent(NamedTuple):
    """What comes back for a cell: its result, and the log that otherwise stays on the worker."""

    result: bytes
    log: bytes | None


def run_group(group: Group, prove: Prover, retries: int) -> list[Sent]:
    """On a worker: the first cell builds the image, the others find it; a failed build is theirs too."""
    first = attempt(prove, group[0], retries=retries)
    known = build_failed(first)
    others = (inherited(cell, first) if known else attempt(prove, cell, retries=retries) for cell in group[1:])
    return [Sent(encode(result), _log(result)) for result in (first, *others)]


def _log(result: Result) -> bytes | None:
    if result.state == "passed" or not result.log:
        return None
    try:
        data = Path(result.log).read_bytes()
    except OSError:
        return None
    if len(data) <= _LARGEST_LOG:
        return data
    half = _LARGEST_LOG // 2
    return data[:half] + b"\n\n... cut: the whole log is on the worker ...\n\n" + data[-half:]


def _submit(schedule: Schedule, groups: Iterator[Group], waiting: "_Waiting") -> Iterator[Started]:
    while not schedule.stopped and waiting.has_room and (group := next(groups, None)):
        waiting.submit(group)
        yield from map(Started, group)


class _Waiting:
    """Groups that the cluster has, and how to get their results."""

    def __init__(self, client: Any, watch: Watch, prove: CarriedProver, retries: int) -> None:
        from distributed import as_completed

        self.client = client
        self.watch = watch
        self.prove = prove
        self.retries = retries
        self.groups: dict[str, tuple[Group, int]] = {}
        self.futures: dict[str, Any] = {}
        self.completed = as_completed(loop=client.loop)
        self.room: int = _AHEAD * max(1, sum(client.nthreads().values()))

    @property
    def has_room(self) -> bool:
        return len(self.groups) < self.room

    def submit(self, group: Group, died: int = 0) -> None:
        self.watch.require_scheduler()
        future = self.client.submit(
            run_group,
            group,
            self.prove.carrying(group),
            self.retries,
            # By name, so that two machines of a matrix cannot be handed each other's results.
            key=f"tsandbox-{group[0].id}-{id(self)}-{died}",
            pure=False,
        )
        self.groups[future.key] = (group, died)
        self.futures[future.key] = future
        self.completed.add(future)

    def next_group(self) -> Iterator[Ended]:
        while not self.completed.has_ready():
            self.watch.look()
        future = next(self.completed)
        group, died = self.groups.pop(future.key)
        del self.futures[future.key]
        try:
            sent = [Sent(*each) for each in future.result()]
            ended = [Ended(cell, decode(one.result), one.log) for cell, one in zip(group, sent, strict=True)]
        except Exception as error:  # noqa: BLE001 - whatever a cluster does to a task is the result of its cells
            yield from self._lost(group, died, error)
            return
        finally:
            future.release()
        yield from ended

    def _lost(self, group: Group, died: int, error: Exception) -> Iterator[Ended]:
        """Dask gives a task to another worker when one dies, and gives up after some: then it is our retry."""
        self.watch.require_scheduler()
        if died < self.retries and _may_go_better(error):
            self.submit(group, died + 1)
            return
        failure = WorkerDied(f"the cluster lost these cells: {type(error).__name__}: {error}")
        yield from (Ended(cell, finished(cell, from_error(failure))) for cell in group)

    def cancel(self) -> None:
        if self.futures and self.client.status == "running":
            self.client.cancel(list(self.futures.values()), force=True)
            self.futures.clear()


def _may_go_better(error: Exception) -> bool:
    return type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError")
