"""Starting a program without being disturbed: between its fork and our note of it, nobody else could end it."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ASKING_TO_END = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Signals that ask us to end wait for the end of the block, and are then raised as if they came just now.

    Not by blocking them, because the program would inherit that. Only the main thread is ever disturbed by one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ASKING_TO_END if _is_handled(number)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for late in came:
        signal.raise_signal(late)


def _is_handled(number: int) -> bool:
    """A signal that ends us at once cannot come half-way; one that is ignored, or not Python's, stays what it is."""
    return callable(signal.getsignal(number))
