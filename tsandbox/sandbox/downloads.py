"""Downloads: fetched on the host before the run, named by their sha256, kept for the next time."""

import hashlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from tsandbox import settings
from tsandbox.errors import DownloadFailed
from tsandbox.printable import one_line
from tsandbox.recipe import grammar
from tsandbox.sandbox import http
from tsandbox.sandbox.transfer import Mismatch, Transfer

PARALLEL = 4
_ADDRESS = "check the address, or add fallback_urls to the step"
_TRUST = "if the server is your own, name the certificates that it is signed with: TSANDBOX_CA_BUNDLE=FILE"


class Download(Struct, frozen=True, kw_only=True):
    """One file that a step needs. `sha256` is unknown only while a plan is being resolved."""

    step: str
    urls: tuple[str, ...]
    sha256: str | None = None
    size: int | None = None
    # Further digests that the recipe gives: algorithm and hexadecimal text.
    digests: tuple[tuple[str, str], ...] = ()
    file: str | None = None
    line: int | None = None

    def __post_init__(self) -> None:
        # It becomes a file's name; some come from answers of the network.
        if self.sha256 is not None and (fault := grammar.sha256(self.sha256)):
            raise DownloadFailed(f"{self.step}: {fault}", file=self.file, line=self.line)

    @property
    def name(self) -> str:
        return self.urls[0].split("?")[0].rstrip("/").rpartition("/")[2]


class Fetched(Struct, frozen=True, kw_only=True):
    path: Path
    sha256: str
    size: int
    url: str
    cached: bool


Progress = Callable[[Download, int, int | None], None]


def directory() -> Path:
    return settings.cache_dir() / "downloads"


def cached(sha256: str) -> Path | None:
    path = directory() / sha256
    return path if path.is_file() else None


def fetch_all(
    wanted: Sequence[Download], *, offline: bool = False, progress: Progress | None = None
) -> dict[Download, Fetched]:
    """Every file, in parallel; offline, what is not in the cache is listed and nothing is opened."""
    missing = [each for each in wanted if not (each.sha256 and cached(each.sha256))]
    if offline and missing:
        raise _offline(missing)
    if not wanted:
        return {}
    from concurrent.futures import Future

    stop = threading.Event()
    futures: dict[Download, Future[Fetched]] = {each: Future() for each in wanted}
    waiting = deque(futures.items())

    def work() -> None:
        while not stop.is_set():
            try:
                each, future = waiting.popleft()
            except IndexError:
                return
            try:
                future.set_result(fetch(each, progress=progress, stop=stop))
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for it
                future.set_exception(error)

    for number in range(min(PARALLEL, len(futures))):
        # A daemon: a thread that waits for a silent server must not keep us from ending.
        threading.Thread(target=work, name=f"download-{number}", daemon=True).start()
    try:
        return {each: future.result() for each, future in futures.items()}
    finally:
        stop.set()


def fetch(wanted: Download, *, progress: Progress | None = None, stop: threading.Event | None = None) -> Fetched:
    """One file, from the cache or from the first of its addresses that gives the right bytes."""
    failures: list[http.FetchError] = []
    with _locked(wanted):
        if wanted.sha256 and (path := cached(wanted.sha256)):
            size = path.stat().st_size
            return Fetched(path=path, sha256=wanted.sha256, size=size, url=wanted.urls[0], cached=True)
        for url in wanted.urls:
            try:
                return _from_address(wanted, url, progress, stop or threading.Event())
            except http.FetchError as error:
                failures.append(error)
    raise _failed(wanted, failures)


def _from_address(wanted: Download, url: str, progress: Progress | None, stop: threading.Event) -> Fetched:
    known = dict(wanted.digests) | ({"sha256": wanted.sha256} if wanted.sha256 else {})
    part, sha256 = Transfer(
        url,
        directory=directory(),
        digests=known,
        size=wanted.size,
        received=lambda got, total: progress(wanted, got, total) if progress else None,
        stop=stop,
    ).run()
    # Only a whole, checked file gets its name, in one step.
    part.chmod(0o444)
    path = part.replace(directory() / sha256)
    return Fetched(path=path, sha256=sha256, size=path.stat().st_size, url=url, cached=False)


@contextmanager
def _locked(wanted: Download) -> Iterator[None]:
    """Two processes that want the same file fetch it once. The lock ends with its process, however that ends."""
    import fcntl

    name = wanted.sha256 or hashlib.sha256("\n".join(wanted.urls).encode()).hexdigest()
    path = directory() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.1)
        yield


def _failed(wanted: Download, failures: Sequence[http.FetchError]) -> DownloadFailed:
    place: dict[str, Any] = {
        "file": wanted.file,
        "line": wanted.line,
        "details": [str(error) for error in failures[:-1]],
    }
    wrong = next((error for error in failures if isinstance(error, Mismatch)), None)
    if wrong:
        return DownloadFailed(
            f"{wanted.step}: {one_line(wrong.url)} is not the file that was declared: "
            f"{wrong.algorithm} is {wrong.actual}, and {wrong.expected} was expected",
            hint=f'if this file is the right one, write into the step:\n    checksum = "{_written(wrong)}"\n'
            "if not, do not use it: it was changed",
            **place,
        )
    return DownloadFailed(
        f"{wanted.step}: {one_line(wanted.name)} could not be fetched: {failures[-1] if failures else 'no address'}",
        hint=_TRUST if any(isinstance(error, http.Untrusted) for error in failures) else _ADDRESS,
        temporary=any(error.temporary for error in failures),
        **place,
    )


def _written(wrong: Mismatch) -> str:
    return wrong.actual if wrong.algorithm == "sha256" else f"{wrong.algorithm}:{wrong.actual}"


def _offline(missing: Sequence[Download]) -> DownloadFailed:
    files = "1 file is" if len(missing) == 1 else f"{len(missing)} files are"
    return DownloadFailed(
        f"--offline: {files} not in the download cache",
        hint="run once without --offline; what is fetched is kept",
        file=missing[0].file,
        line=missing[0].line,
        details=[f"{each.step}: {one_line(each.urls[0])}" for each in missing],
    )
