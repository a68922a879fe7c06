"""Files for recipes, served on loopback: the host fetches them, the container never could."""

import hashlib
import io
import re
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class Served:
    """A directory behind an address on this machine."""

    def __init__(self, directory: Path, url: str) -> None:
        self.directory, self.url = directory, url

    def offer(self, source: Path) -> None:
        """Everything in `source`: files as they are, and directories that are named like archives as archives."""
        for path in sorted(source.iterdir()):
            target = self.directory / path.name
            target.write_bytes(_tar(path) if path.is_dir() else path.read_bytes())

    def add(self, name: str, content: bytes) -> None:
        (self.directory / name).write_bytes(content)

    def fill_in(self, text: str) -> str:
        """A recipe with `@SERVER@` and `@SHA256 name@` replaced by what is served here."""

        def digest(match: re.Match[str]) -> str:
            return hashlib.sha256((self.directory / match[1]).read_bytes()).hexdigest()

        return re.sub(r"@SHA256 ([^@]+)@", digest, text.replace("@SERVER@", self.url))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    directory = tmp_path / "served"
    directory.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield Served(directory, f"http://127.0.0.1:{server.server_port}")
        finally:
            server.shutdown()
            thread.join()


def _tar(directory: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path in sorted(directory.rglob("*")):
            tar.add(path, arcname=str(path.relative_to(directory)), recursive=False)
    return buffer.getvalue()


def _zip_slip() -> bytes:
    """A zip whose second member climbs out of the directory that it is unpacked in."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("fine.txt", "fine")
        archive.writestr("../../escaped.txt", "escaped")
    return buffer.getvalue()


def _tar_link() -> bytes:
    """A tar with a link that leads to the host's password file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        link = tarfile.TarInfo("passwords")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    return buffer.getvalue()


def _needs_library() -> bytes:
    """A dynamic program, just enough of one for the loader to look for its library before anything else."""
    base, interpreter = 0x400000, b"/lib64/ld-linux-x86-64.so.2\0"
    strings = b"\0libxml2.so.2\0"
    at_interpreter = 64 + 4 * 56
    at_strings = at_interpreter + len(interpreter)
    at_dynamic = -(-(at_strings + len(strings)) // 16) * 16
    at_symbols = at_dynamic + 6 * 16
    total = at_symbols + 24 + 24
    # DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SYMTAB, DT_SYMENT, end
    tags = [(1, 1), (5, base + at_strings), (10, len(strings)), (6, base + at_symbols), (11, 24), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", *tag) for tag in tags)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, base + total - 24, 64, 0, 0, 64, 56, 4, 0, 0, 0)
    segments = [
        (6, 64, 4 * 56, 8),
        (3, at_interpreter, len(interpreter), 1),
        (1, 0, total, 4096),
        (2, at_dynamic, 96, 8),
    ]
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, 7, at, base + at, base + at, size, size, align)
        for kind, at, size, align in segments
    )
    body = header + table + interpreter + strings
    return body.ljust(at_dynamic, b"\0") + dynamic + bytes(48)


# Files that are made here: archives that no honest program makes, and a program without its library.
MADE: dict[str, Callable[[], bytes]] = {"slip.zip": _zip_slip, "link.tar.gz": _tar_link, "needs-xml": _needs_library}
