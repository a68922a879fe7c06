"""A clean end when a signal comes."""

import signal
from collections.abc import Iterator

import pytest

from tsandbox.cli.engines import interruptible


@pytest.fixture(autouse=True)
def _own_handlers() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_a_ctrl_c(number: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(number)


def test_a_command_under_nohup_goes_on() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
