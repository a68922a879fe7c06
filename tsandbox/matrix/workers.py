"""Cells in worker processes: a crash takes one cell with it, and memory is given back when a worker is renewed."""

import multiprocessing
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

import msgspec

from tsandbox.errors import TsandboxError
from tsandbox.matrix.attempts import Prover, attempt, finished
from tsandbox.matrix.model import Cell
from tsandbox.matrix.schedule import Schedule
from tsandbox.report.result import Attempt, Result, decode, encode, from_error

# After so many cells a worker is replaced: whatever leaks in SDKs, sockets and caches stays bounded.
_RENEW_AFTER = 200
_END = b""
# Longer than an engine needs to kill and remove a container.
_GRACE = 15.0


class Started(NamedTuple):
    cell: Cell


class Ended(NamedTuple):
    """`log` is the whole output where it was written on another machine."""

    cell: Cell
    result: Result
    log: bytes | None = None


Events = Generator[Started | Ended, None, None]


class WorkerDied(TsandboxError):
    """The process that ran a cell ended without an answer."""

    temporary = True


class _Worker:
    def __init__(self, prove: Prover, retries: int) -> None:
        # spawn: a forked copy would share locks and sockets with threads that do not exist in it.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, prove, retries), daemon=False)
        self.process.start()
        theirs.close()
        self.cell: Cell | None = None
        self.served = 0

    def give(self, cell: Cell, attempts: tuple[Attempt, ...]) -> None:
        self.cell = cell
        self.served += 1
        self.pipe.send_bytes(msgspec.json.encode((cell, attempts)))

    def answer(self) -> Result:
        """Blocks until the worker has answered or died."""
        assert self.cell
        try:
            result = decode(self.pipe.recv_bytes(), source=self.cell.id)
        except (EOFError, OSError):
            self.process.join()
            how = _how(self.process.exitcode)
            return from_error(WorkerDied(f"the process that ran this cell ended with {how}"))
        finally:
            self.cell = None
        return result

    def end(self) -> None:
        with suppress(OSError):
            self.pipe.send_bytes(_END)
        self.pipe.close()

    def interrupt(self) -> None:
        if self.process.pid and self.process.is_alive():
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGINT)


def run_local(schedule: Schedule, prove: Prover, *, jobs: int, retries: int) -> Events:
    """Every cell of the schedule, `jobs` at a time. Leaving the iteration early interrupts what runs and waits."""
    workers: list[_Worker] = []
    deaths: dict[str, tuple[Attempt, ...]] = {}
    try:
        while True:
            yield from _fill(schedule, workers, deaths, prove, jobs, retries)
            busy = {worker.pipe: worker for worker in workers if worker.cell}
            if not busy:
                return
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                yield from _collect(schedule, busy[pipe], workers, deaths, retries)
    finally:
        _close(workers)


def _fill(
    schedule: Schedule,
    workers: list[_Worker],
    deaths: dict[str, tuple[Attempt, ...]],
    prove: Prover,
    jobs: int,
    retries: int,
) -> Iterator[Started]:
    while sum(worker.cell is not None for worker in workers) < jobs and (cell := schedule.take()):
        idle = next((worker for worker in workers if worker.cell is None), None)
        if idle is None:
            idle = _Worker(prove, retries)
            workers.append(idle)
        idle.give(cell, deaths.get(cell.id, ()))
        yield Started(cell)


def _collect(
    schedule: Schedule,
    worker: _Worker,
    workers: list[_Worker],
    deaths: dict[str, tuple[Attempt, ...]],
    retries: int,
) -> Iterator[Ended]:
    cell = worker.cell
    assert cell
    result = worker.answer()
    died = result.error is not None and result.error.type == WorkerDied.__name__ and not worker.process.is_alive()
    if died or worker.served >= _RENEW_AFTER:
        workers.remove(worker)
        worker.end()
    if died:
        before = deaths.get(cell.id, ())
        if len(before) < retries and not schedule.stopped:
            deaths[cell.id] = (*before, Attempt(exit_code=1, error=result.error, duration_ms=0))
            schedule.again(cell)
            return
        result = finished(cell, result, before)
    yield Ended(cell, result)
    yield from (Ended(*each) for each in schedule.ended(cell, result))


def _close(workers: list[_Worker]) -> None:
    for worker in workers:
        if worker.cell:
            worker.interrupt()
        worker.end()
    for worker in workers:
        worker.process.join(_GRACE)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()


def _work(pipe: Connection, prove: Prover, retries: int) -> None:
    # A terminal sends Ctrl-C to the whole foreground group. In a session of its own a worker hears it once, from its
    # parent, and its clean-up is not interrupted by a second one.
    os.setsid()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while (message := pipe.recv_bytes()) != _END:
            cell, attempts = _TASK.decode(message)
            pipe.send_bytes(encode(attempt(prove, cell, retries=retries, earlier=attempts)))


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"signal {signal.Signals(-exitcode).name}"
    return f"status {exitcode}"


_TASK = msgspec.json.Decoder(tuple[Cell, tuple[Attempt, ...]])
