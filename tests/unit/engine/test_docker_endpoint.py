"""Questions to a daemon without a client: what comes back over its socket, and what does not."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tsandbox.engine import docker_endpoint
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.docker import Docker
from tsandbox.engine.protocol import EngineFacts
from tsandbox.errors import EngineLookupFailed, EngineNotRunning, EngineUnavailable

Daemon = Callable[[bytes], str]


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    """A socket on which every question gets one answer."""
    listening = socket.socket(socket.AF_UNIX)
    path = str(tmp_path / "s")
    listening.bind(path)
    listening.listen()

    def start(answer: bytes) -> str:
        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        return path

    yield start
    listening.close()


def docker_at(path: str) -> Docker:
    facts = EngineFacts(
        name="docker", version="20.10.24", api="1.41", rootless=False, storage_driver="overlay2",
        storage_root="/", cgroups="v1", runtime="runc",
    )  # fmt: skip
    return Docker(EngineCommand("docker", "/nonexistent/docker"), facts, socket=path)


def test_status_head_and_body_are_told_apart(daemon: Daemon) -> None:
    path = daemon(b"HTTP/1.0 200 OK\r\nServer: Docker/20.10\r\n\r\nfirst\r\n\r\nsecond")
    answer = docker_endpoint.ask(path, "/_ping", doing="first contact")
    assert answer == (200, ["Server: Docker/20.10"], b"first\r\n\r\nsecond")


@pytest.mark.parametrize("answer", [b"", b"\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n"])
def test_who_is_no_docker_daemon_does_not_answer(daemon: Daemon, answer: bytes) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        docker_endpoint.ask(daemon(answer), "/_ping", doing="first contact")
    assert any("curl --unix-socket" in line for line in caught.value.details)


def test_no_socket_is_a_daemon_that_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(EngineNotRunning):
        docker_endpoint.ask(str(tmp_path / "none"), "/_ping", doing="first contact")


def test_an_image_is_not_there_only_if_the_daemon_says_so(daemon: Daemon) -> None:
    found = b'{"Id": "sha256:0f", "Created": "2026-01-31T10:00:00.123456789Z", "RepoTags": ["a:1"]}'
    image = docker_at(daemon(b"HTTP/1.0 200 OK\r\n\r\n" + found)).image("a:1")
    assert image is not None
    assert (image.id, image.tags) == ("0f", ("a:1",))
    assert docker_at(daemon(b"HTTP/1.0 404 Not Found\r\n\r\n{}")).image("a:1") is None


@pytest.mark.parametrize("answer", [b"HTTP/1.0 500 Oh\r\n\r\nlayer is lost", b"HTTP/1.0 200 OK\r\n\r\n<html>"])
def test_a_look_up_that_fails_is_not_not_found(daemon: Daemon, answer: bytes) -> None:
    with pytest.raises(EngineLookupFailed) as caught:
        docker_at(daemon(answer)).image("a:1")
    assert answer.rpartition(b"\n")[2].decode() in "\n".join(caught.value.details)
