"""Naming a registry, and finding out whether it answers."""

import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tsandbox.build.registry import registry
from tsandbox.build.registry_alive import alive
from tsandbox.errors import UsageError

KEY = "sha256:" + "ab" * 32


class WantsToKnowWho(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), WantsToKnowWho) as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{made.server_port}"
        made.shutdown()


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("registry.example.com/team", f"registry.example.com/team/sandbox-cache:{'ab' * 16}"),
        ("127.0.0.1:5000", f"127.0.0.1:5000/sandbox-cache:{'ab' * 16}"),
        ("[::1]:5000/a/b-c/", f"[::1]:5000/a/b-c/sandbox-cache:{'ab' * 16}"),
    ],
)
def test_images_are_named_by_their_key(reference: str, name: str) -> None:
    found = registry(reference)
    assert found
    assert found.name_of(KEY) == name


@pytest.mark.parametrize(
    "reference",
    ["https://registry.example.com", "user:pass@registry.example.com", "a b", "x/UPPER", "x//y", "x;rm", "-x"],
)
def test_what_is_no_registry_is_refused(reference: str) -> None:
    with pytest.raises(UsageError, match="does not name a registry"):
        registry(reference)


def test_the_environment_names_it_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TSANDBOX_REGISTRY", raising=False)
    assert registry() is None
    monkeypatch.setenv("TSANDBOX_REGISTRY", "registry.example.com")
    found = registry()
    assert found
    assert found.host == "registry.example.com"


def test_any_answer_is_an_answer(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A proxy is for the world outside, not for this machine.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert alive(server) is None


def test_a_refusal_is_told() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        assert "refused" in str(alive(f"127.0.0.1:{closed.getsockname()[1]}"))
