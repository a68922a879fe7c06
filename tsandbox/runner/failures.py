"""How a step fails: a kind that programs act on, a message for people, and the facts behind both."""

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that the run found missing or wrong; it need not be what makes the run fail."""

    kind: str
    message: str
    data: dict[str, object]


class StepFailed(Exception):
    def __init__(self, kind: str, message: str, **data: object) -> None:
        super().__init__(message)
        self.finding = Finding(kind, message, data)


class Stopped(Exception):
    """A signal asked the runner to end."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"ended by signal {signal}")
        self.signal = signal
