"""What happens, told as it happens: JSON lines on stdout and in a file that outlives the container."""

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from tsandbox.runner.failures import Finding
from tsandbox.runner.seal import sealed

# The host keeps all that it reads from stdout; the file is a second record and must not fill the disk.
_MAX_OUTPUT_IN_FILE = 16 << 20


class Events:
    """Writes every event at once and whole, so that a killed run leaves only complete lines."""

    def __init__(self, stream: int, file: Path, *, key: bytes | None = None) -> None:
        self._stream = stream
        self._key = key
        self._path = file
        self._file: BinaryIO | None = None
        self._output_bytes = 0
        self.findings: list[dict[str, object]] = []

    def __enter__(self) -> Self:
        self._file = self._path.open("ab", buffering=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def emit(self, event: str, **fields: object) -> None:
        line = json.dumps({"event": event, **fields}, ensure_ascii=True).encode()
        _write_all(self._stream, (sealed(line, self._key) if self._key else line) + b"\n")
        if self._file and self._fits(event, line):
            # A full disk is told on stdout; it must not end the telling.
            with suppress(OSError):
                _write_all(self._file.fileno(), line + b"\n")

    def output(self, step: int | None, stream: str, text: str, **more: object) -> None:
        self.emit("output", step=step, stream=stream, text=text, **more)

    def warn(self, step: int | None, finding: Finding) -> None:
        self._found("warn", step, finding)

    def error(self, step: int | None, finding: Finding) -> None:
        self._found("error", step, finding)

    def _found(self, event: str, step: int | None, finding: Finding) -> None:
        fields = {"step": step, **finding._asdict()}
        self.findings.append({**fields, "fatal": event == "error"})
        self.emit(event, **fields)

    def _fits(self, event: str, line: bytes) -> bool:
        if event != "output":
            return True
        self._output_bytes += len(line)
        return self._output_bytes <= _MAX_OUTPUT_IN_FILE


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
