"""One file from one address: retried, continued where it broke off, and accepted only with the right digests."""

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tsandbox.errors import Interrupted
from tsandbox.printable import one_line
from tsandbox.sandbox import http

if TYPE_CHECKING:
    from http.client import HTTPResponse

TRIES = 4
FIRST_PAUSE = 0.5
LARGEST = 4 << 30
_CHUNK = 1 << 18

# Bytes so far, and of how many if the server says.
Received = Callable[[int, int | None], None]


class Mismatch(http.FetchError):
    """The address gave a file, but not the one that was expected."""

    def __init__(self, url: str, algorithm: str, expected: str, actual: str, *, continued: bool) -> None:
        # A file that was put together from two sessions may be at fault itself: it is worth another try from zero.
        text = f"{one_line(url)}: {algorithm} is {actual}, and {expected} was expected"
        super().__init__(text, temporary=continued)
        self.url, self.algorithm, self.expected, self.actual = url, algorithm, expected, actual


class Transfer:
    def __init__(
        self,
        url: str,
        *,
        directory: Path,
        digests: dict[str, str],
        size: int | None,
        received: Received,
        stop: threading.Event,
    ) -> None:
        self.url, self.digests, self.size = url, digests, size
        self.received, self.stop = received, stop
        self.part = _partial(directory, url, digests.get("sha256"))
        self.etag: str | None = None
        self.continued = False

    def run(self) -> tuple[Path, str]:
        """The finished file, still under its partial name, and its sha256."""
        if "sha256" not in self.digests:
            # Without a digest nobody can tell whether the end fits a beginning from another day.
            self.part.unlink(missing_ok=True)
        for attempt in range(TRIES):
            try:
                self._receive()
                return self.part, self._check()
            except http.FetchError as error:
                if not error.temporary or attempt == TRIES - 1:
                    raise
            if self.stop.wait(FIRST_PAUSE * 2**attempt):
                break
        raise Interrupted("interrupted while downloading")

    def _receive(self) -> None:
        have = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Range": f"bytes={have}-"} if have else {}
        if have and self.etag:
            headers["If-Range"] = self.etag
        try:
            response = http.open_url(self.url, headers)
        except http.FetchError as error:
            if error.status != 416:
                raise
            # Nothing lies beyond what we have: it is whole, and its digest will tell, or it is not ours.
            self.continued = True
            return
        with response:
            self.continued = response.status == 206
            self.etag = response.headers.get("ETag")
            # As Python understood the header, which can hold anything.
            total = None if response.length is None else response.length + (have if self.continued else 0)
            self._check_size(total or 0)
            with self.part.open("ab" if self.continued else "wb") as file:
                got = self._copy(response, file, total)
        if total is not None and got < total:
            raise http.FetchError(f"{one_line(self.url)}: ended after {got:,} of {total:,} bytes", temporary=True)

    def _copy(self, response: "HTTPResponse", file: BinaryIO, total: int | None) -> int:
        from http.client import HTTPException

        got = file.tell()
        while not self.stop.is_set():
            try:
                # What has come, and not a whole chunk: a slow server would hold back both progress and Ctrl-C.
                chunk = response.read1(_CHUNK)
            except (OSError, HTTPException) as error:
                raise http.FetchError(
                    f"{one_line(self.url)}: {error or type(error).__name__}", temporary=True
                ) from None
            if not chunk:
                return got
            file.write(chunk)
            got += len(chunk)
            self._check_size(got)
            self.received(got, total)
        raise Interrupted("interrupted while downloading")

    def _check_size(self, size: int) -> None:
        allowed = self.size or LARGEST
        if size > allowed:
            self.part.unlink(missing_ok=True)
            raise http.FetchError(f"{one_line(self.url)}: larger than the {allowed:,} bytes that are allowed")

    def _check(self) -> str:
        """The sha256; a file whose digests do not all fit is thrown away at once."""
        found = _digests(self.part, {"sha256", *self.digests})
        for algorithm, wanted in self.digests.items():
            if found[algorithm] != wanted.lower():
                self.part.unlink(missing_ok=True)
                raise Mismatch(self.url, algorithm, wanted, found[algorithm], continued=self.continued)
        return found["sha256"]


def _digests(path: Path, algorithms: set[str]) -> dict[str, str]:
    hashes = {name: hashlib.new(name) for name in algorithms}
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            for each in hashes.values():
                each.update(chunk)
    return {name: each.hexdigest() for name, each in hashes.items()}


def _partial(directory: Path, url: str, sha256: str | None) -> Path:
    name = sha256 or f"{hashlib.sha256(url.encode()).hexdigest()}.{os.getpid()}.{threading.get_ident()}"
    path = directory / "partial" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
