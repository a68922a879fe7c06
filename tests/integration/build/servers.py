"""Small servers on this machine: an archive behind TLS with a CA of its own, and a proxy that counts."""

import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_KEPT = ("Content-Type", "Content-Length", "Last-Modified")


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.credentials: set[str] = set()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that distrusts us hangs up."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.credentials.add(self.headers.get("Proxy-Authorization") or "")
        if self.path in self.server.files:
            self._answer(200, {}, self.server.files[self.path])
            return
        if self.server.upstream is None and not self.path.startswith("http"):
            self._answer(404, {}, b"")
            return
        url = self.path if self.path.startswith("http") else f"{self.server.upstream}{self.path}"
        request = urllib.request.Request(url, headers={"User-Agent": "test"})
        if since := self.headers.get("If-Modified-Since"):
            request.add_header("If-Modified-Since", since)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                self._answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, {}, b"")

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name in _KEPT:
            if name in headers and name != "Content-Length":
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """pytest shows enough."""


class TlsServer:
    """Passes `/debian…` on to an archive, serves `files` itself, and has a certificate that nobody else trusts."""

    def __init__(self, server: _Server, ca: Path) -> None:
        self.url = f"https://localhost:{server.server_port}"
        self.files = server.files
        self.asked = server.asked
        self.ca = ca


@contextmanager
def tls_server(directory: Path, upstream: str) -> Iterator[TlsServer]:
    key, certificate = directory / "key.pem", directory / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    server = _Server(upstream)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with _serving(server):
        yield TlsServer(server, certificate)


class PlainServer:
    def __init__(self, server: _Server) -> None:
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.files = server.files


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    """Serves `files`, and nothing else is there."""
    server = _Server(None)
    with _serving(server):
        yield PlainServer(server)


class Proxy:
    def __init__(self, server: _Server) -> None:
        self.url = f"http://carol:wonder-land@127.0.0.1:{server.server_port}"
        self.asked = server.asked
        self.credentials = server.credentials

    def packages(self) -> list[str]:
        """The names of the packages that were fetched so far."""
        return [path.rpartition("/")[2] for path in self.asked if path.endswith(".deb")]


@contextmanager
def proxy() -> Iterator[Proxy]:
    server = _Server(None)
    with _serving(server):
        yield Proxy(server)


@contextmanager
def _serving(server: _Server) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
