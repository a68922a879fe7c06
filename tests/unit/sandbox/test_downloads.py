"""Downloads: right bytes or none, each once, continued where they broke off."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tsandbox.errors import DownloadFailed
from tsandbox.sandbox import downloads, http, transfer
from tsandbox.sandbox.downloads import Download

DATA = bytes(range(256)) * 4096
SHA = hashlib.sha256(DATA).hexdigest()


class Site:
    """A server on loopback that can be told to misbehave, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.fail_first: dict[str, int] = {}
        self.cut_first: dict[str, int] = {}
        self.redirects: dict[str, str] = {}
        self.ranges = True
        # Instead of the right one.
        self.length: str | None = None
        self.silent_until = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append((self.path, self.headers.get("Range")))
                site.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path
        if path in self.redirects:
            request.send_response(302)
            request.send_header("Location", self.redirects[path])
            request.end_headers()
        elif self.fail_first.get(path, 0) > 0:
            self.fail_first[path] -= 1
            request.send_error(503)
        elif path == "/silent":
            self.silent_until.wait()
        elif not path.startswith("/good"):
            request.send_error(404)
        else:
            self._send(request)

    def _send(self, request: BaseHTTPRequestHandler) -> None:
        asked = request.headers.get("Range") if self.ranges else None
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        request.send_response(206 if asked else 200)
        request.send_header("Content-Length", self.length or str(len(DATA) - start))
        request.end_headers()
        end = len(DATA)
        if self.cut_first.get(request.path, 0) > 0:
            self.cut_first[request.path] -= 1
            end = start + 300_000
        request.wfile.write(DATA[start:end])


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(transfer, "FIRST_PAUSE", 0.01)
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


def wanted(*urls: str, sha256: str | None = SHA, size: int | None = None, **more: str) -> Download:
    return Download(step="step 1 (download_file)", urls=urls, sha256=sha256, size=size, file="x.toml", line=7)


def test_a_file_is_fetched_once_and_kept_by_its_digest(site: Site) -> None:
    each = wanted(f"{site.url}/good")
    first = downloads.fetch_all([each])[each]
    second = downloads.fetch_all([each], offline=True)[each]
    assert first.path == second.path == downloads.directory() / SHA
    assert first.path.read_bytes() == DATA
    assert (first.cached, second.cached) == (False, True)
    assert len(site.asked) == 1


def test_a_broken_transfer_is_continued(site: Site) -> None:
    site.cut_first["/good"] = 2
    assert downloads.fetch(wanted(f"{site.url}/good")).path.read_bytes() == DATA
    assert [asked for _, asked in site.asked] == [None, "bytes=300000-", "bytes=600000-"]


def test_a_server_without_ranges_starts_anew(site: Site) -> None:
    site.ranges = False
    site.cut_first["/good"] = 1
    assert downloads.fetch(wanted(f"{site.url}/good")).path.read_bytes() == DATA


def test_what_another_process_left_half_done_is_continued(site: Site) -> None:
    part = downloads.directory() / "partial" / SHA
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA[:1000])
    assert downloads.fetch(wanted(f"{site.url}/good")).path.read_bytes() == DATA
    assert site.asked == [("/good", "bytes=1000-")]


def test_a_wrong_beginning_is_noticed_and_fetched_again(site: Site) -> None:
    part = downloads.directory() / "partial" / SHA
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 1000)
    assert downloads.fetch(wanted(f"{site.url}/good")).path.read_bytes() == DATA


def test_a_busy_server_is_asked_again(site: Site) -> None:
    site.fail_first["/good"] = 2
    assert downloads.fetch(wanted(f"{site.url}/good")).sha256 == SHA
    assert len(site.asked) == 3


def test_the_next_address_is_tried(site: Site) -> None:
    got = downloads.fetch(wanted(f"{site.url}/gone", f"{site.url}/good"))
    assert got.url.endswith("/good")


def test_a_wrong_file_is_refused_and_not_kept(site: Site) -> None:
    with pytest.raises(DownloadFailed) as caught:
        downloads.fetch(wanted(f"{site.url}/good", sha256="0" * 64))
    error = caught.value
    assert error.message.startswith("step 1 (download_file): ")
    assert SHA in error.message
    assert "0" * 64 in error.message
    assert (error.file, error.line, error.exit_code) == ("x.toml", 7, 7)
    assert [path for path in downloads.directory().rglob("*") if path.is_file() and path.stat().st_size] == []


def test_other_digests_are_checked_as_well(site: Site) -> None:
    url = f"{site.url}/good"
    right = Download(step="s", urls=(url,), digests=(("sha512", hashlib.sha512(DATA).hexdigest()),))
    assert downloads.fetch(right).sha256 == SHA
    wrong = Download(step="s", urls=(url,), digests=(("sha512", "0" * 128),))
    with pytest.raises(DownloadFailed, match="sha512 is"):
        downloads.fetch(wrong)


def test_a_file_that_is_too_large_is_cut_off(site: Site) -> None:
    with pytest.raises(DownloadFailed, match="larger than the 1,000 bytes"):
        downloads.fetch(wanted(f"{site.url}/good", size=1000))


@pytest.mark.parametrize("length", ["\xb2", "9" * 5000, "-1", "many"])
def test_a_length_that_is_none_is_not_believed(site: Site, length: str) -> None:
    site.length = length
    assert downloads.fetch(wanted(f"{site.url}/good")).size == len(DATA)


def test_offline_opens_nothing_and_lists_what_is_missing(site: Site) -> None:
    with pytest.raises(DownloadFailed) as caught:
        downloads.fetch_all([wanted(f"{site.url}/good"), wanted(f"{site.url}/b", sha256="1" * 64)], offline=True)
    assert "2 files are not in the download cache" in caught.value.message
    assert len(caught.value.details) == 2
    assert site.asked == []


def test_many_threads_fetch_the_same_file_once(site: Site) -> None:
    each = wanted(f"{site.url}/good")
    threads = [threading.Thread(target=downloads.fetch, args=(each,)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(site.asked) == 1


def test_a_silent_server_does_not_keep_a_failure_from_being_told(site: Site) -> None:
    silent = Download(step="silent", urls=(f"{site.url}/silent",), sha256="0" * 64)
    try:
        with pytest.raises(DownloadFailed, match="404"):
            downloads.fetch_all([Download(step="x", urls=(f"{site.url}/none",), sha256="1" * 64), silent])
        assert [thread for thread in threading.enumerate() if thread.name.startswith("download-")]
    finally:
        site.silent_until.set()


def test_progress_is_told(site: Site) -> None:
    seen: list[tuple[int, int | None]] = []
    downloads.fetch(wanted(f"{site.url}/good"), progress=lambda _, got, total: seen.append((got, total)))
    assert seen[-1] == (len(DATA), len(DATA))


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://example.com/x", "only https"),
        ("file:///etc/passwd", "only https"),
        ("ftp://example.com/x", "only https"),
        ("https://user:pw@example.com/x", "user name or password"),
        ("http://127.0.0.1.example.com/x", "only https"),
    ],
)
def test_addresses_that_are_never_opened(url: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path))
    with pytest.raises(DownloadFailed, match=why):
        downloads.fetch(wanted(url))


def test_a_redirect_to_an_unsafe_address_is_refused(site: Site) -> None:
    site.redirects["/moved"] = "http://example.com/x"
    with pytest.raises(DownloadFailed, match="only https"):
        downloads.fetch(wanted(f"{site.url}/moved"))


def test_a_redirect_on_this_machine_is_followed(site: Site) -> None:
    site.redirects["/moved"] = f"{site.url}/good"
    assert downloads.fetch(wanted(f"{site.url}/moved")).sha256 == SHA
    assert http.is_loopback(site.url)
