"""The log of a run: all that it printed, as people read it, masked; and the oldest logs make room for the newest."""

import os
import re
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from tsandbox import settings
from tsandbox.printable import printable

KEPT = 200
KEPT_BYTES = 256 << 20
# A program that prints without end must not fill the disk of the host.
LARGEST = 64 << 20
_SHOWN = 40
# Of the lines that are shown; the log has all of them.
_WIDEST = 2000
# What is printed without an end of a line is taken for a line at this length.
_LONGEST = 1 << 20


class Log:
    """Writes lines; remembers the first and the last ones for those who show a part."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self.path = path
        self._file = file
        self._written = 0
        self._head: list[str] = []
        self._tail: deque[str] = deque(maxlen=_SHOWN)
        # By who printed it: the beginning of a line whose end is still to come.
        self._begun: dict[Hashable, str] = {}

    @property
    def head(self) -> tuple[str, ...]:
        return tuple(self._head)

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines that are not among the first."""
        return tuple(self._tail)

    def line(self, text: str) -> None:
        """A line of our own."""
        self._write(f"{printable(text)}\n")

    def piece(self, source: Hashable, text: str) -> None:
        """A part of what `source` prints: whole lines are written, the rest when its end comes."""
        text = self._begun.pop(source, "") + text
        cut = text.rfind("\n") + 1 if len(text) <= _LONGEST else len(text)
        if text[cut:]:
            self._begun[source] = text[cut:]
        self.output(text[:cut])

    def flush(self) -> None:
        """Nothing more comes: what was begun is all of its line."""
        begun, self._begun = self._begun, {}
        for text in begun.values():
            self.output(text)

    def output(self, text: str) -> None:
        """What a program printed, indented under the line that names it."""
        for line in printable(text).splitlines():
            self._write(f"    {line}\n")
            part = line if len(line) <= _WIDEST else f"{line[:_WIDEST]}…"
            if len(self._head) < _SHOWN:
                self._head.append(part)
            else:
                self._tail.append(part)

    def _write(self, text: str) -> None:
        if self._written > LARGEST:
            return
        self._written += len(text)
        if self._written > LARGEST:
            text = f"[the log ends here: more than {LARGEST >> 20} MiB were printed]\n"
        # A full disk must not hide how the run ended.
        with suppress(OSError):
            self._file.write(text)


@contextmanager
def log_of(tool: str) -> Iterator[Log]:
    directory = settings.state_dir() / "logs"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    name = re.sub(r"[^A-Za-z0-9._-]", "_", tool)[:60]
    path = directory / f"{stamp}-{name}-{os.getpid()}-{time.monotonic_ns() % 10**6:06}.log"
    with path.open("w", encoding="utf-8", errors="replace") as file:
        yield Log(path, file)
    rotate(directory)


def rotate(directory: Path, *, kept: int = KEPT, kept_bytes: int = KEPT_BYTES) -> None:
    """Remove the oldest logs until there are neither too many nor too much; names begin with the time."""
    total = 0
    for number, path in enumerate(sorted(directory.glob("*.log"), reverse=True)):
        with suppress(OSError):
            total += path.stat().st_size
            # The newest stays, whatever its size.
            if number and (number >= kept or total > kept_bytes):
                path.unlink()
                capsule_beside(path).unlink(missing_ok=True)


def capsule_beside(log: Path) -> Path:
    """Where the capsule of a failed run goes that nobody gave a place."""
    return log.with_suffix(".capsule.tar.gz")
