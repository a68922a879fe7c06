"""A signal that comes while a program is being started is not lost, and does not come half-way."""

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from tsandbox.runner.undisturbed import ASKING_TO_END, undisturbed


class Disturbed(Exception):
    pass


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    def disturb(number: int, _: FrameType | None) -> None:
        raise Disturbed(number)

    before = {number: signal.signal(number, disturb) for number in ASKING_TO_END}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ASKING_TO_END)
def test_it_waits_for_the_end_of_the_block(number: int) -> None:
    reached: list[int] = []

    def disturbed() -> None:
        signal.raise_signal(number)
        reached.append(number)

    with pytest.raises(Disturbed) as raised, undisturbed():
        disturbed()
    assert reached == [number]
    assert raised.value.args == (number,)
    with pytest.raises(Disturbed):
        signal.raise_signal(number)


def test_what_goes_wrong_in_the_block_comes_first() -> None:
    with pytest.raises(ZeroDivisionError), undisturbed():
        raise ZeroDivisionError


def test_an_ignored_signal_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with undisturbed():
        signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_other_threads_change_no_handlers() -> None:
    seen: list[object] = []
    before = signal.getsignal(signal.SIGTERM)

    def work() -> None:
        with undisturbed():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
