"""One at a time, in threads and processes, with nothing left behind."""

import multiprocessing
import os
import threading
import time
from pathlib import Path

import pytest

from tsandbox import settings
from tsandbox.build.locking import locked, sweep
from tsandbox.errors import TimedOut


def lock_files() -> list[Path]:
    return list((settings.state_dir() / "locks").glob("*"))


def test_threads_take_turns_and_no_file_is_left() -> None:
    inside: list[int] = []
    most = []

    def work(number: int) -> None:
        for _ in range(20):
            with locked("same"):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}
    assert len(most) == 80
    assert lock_files() == []


def _hold(ready: "multiprocessing.synchronize.Event") -> None:
    with locked("held"):
        ready.set()
        time.sleep(60)


def test_a_killed_holder_holds_nothing() -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=_hold, args=(ready,))
    process.start()
    assert ready.wait(30)
    waited: list[bool] = []
    with (
        pytest.raises(TimedOut, match="another process"),
        locked("held", timeout=0.2, on_wait=lambda: waited.append(True)),
    ):
        pass
    assert waited == [True]
    assert process.pid is not None
    os.kill(process.pid, 9)
    process.join()
    with locked("held", timeout=10):
        assert len(lock_files()) == 1
    assert lock_files() == []


def test_different_names_do_not_wait() -> None:
    with locked("one"), locked("two", timeout=0):
        assert len(lock_files()) == 2


def test_an_error_inside_releases() -> None:
    with pytest.raises(KeyError), locked("failing"):
        raise KeyError
    with locked("failing", timeout=0):
        pass


def test_what_a_killed_holder_left_is_swept_away_and_what_is_held_is_not() -> None:
    with locked("held"):
        left = settings.state_dir() / "locks" / "left.lock"
        left.touch()
        sweep()
        assert [path.name for path in lock_files()] == ["held.lock"]
