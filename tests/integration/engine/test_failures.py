"""Every way in which an engine can be unusable is an error of its own, with its exit code and what to do about it."""

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tsandbox.engine import BuildRequest, ContainerRequest, Engine, connect
from tsandbox.engine.probe import native_platform
from tsandbox.engine.protocol import Image
from tsandbox.errors import (
    BuildFailed,
    EngineLookupFailed,
    EngineLost,
    EngineNotInstalled,
    EngineNotRunning,
    EngineTooOld,
    EngineUnavailable,
    NoSpace,
)

from .users import User

CONNECT = """
import sys
from tsandbox.engine import connect
from tsandbox.errors import TsandboxError
try:
    connect(sys.argv[1])
except TsandboxError as error:
    print(type(error).__name__, error.exit_code, error.hint)
"""


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier probe found out must not answer here."""
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "state"))


def programs(directory: Path, *names: str) -> str:
    """A PATH with these programs only."""
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).symlink_to(shutil.which(name) or name)
    return str(directory)


def script(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


@pytest.mark.parametrize(("name", "package"), [("podman", "podman"), ("docker", "docker.io")])
def test_not_installed(name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin"))
    with pytest.raises(EngineNotInstalled) as error:
        connect(name)
    assert error.value.exit_code == 5
    assert f"apt-get install {package}" in (error.value.hint or "")


def test_neither_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin"))
    with pytest.raises(EngineNotInstalled) as error:
        connect("auto")
    assert "neither podman nor docker" in error.value.message


def test_installed_but_not_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(EngineNotRunning) as error:
        connect("docker")
    assert error.value.exit_code == 5
    assert "systemctl start docker" in (error.value.hint or "")


def test_a_socket_that_nobody_listens_on_any_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/dead.sock")
    with pytest.raises(EngineNotRunning):
        connect("docker")


def test_a_port_that_nobody_listens_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(EngineNotRunning):
            connect("docker")


def test_a_podman_service_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTAINER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(EngineNotRunning) as error:
        connect("podman")
    assert "CONTAINER_HOST" in (error.value.hint or "")


def test_auto_tells_of_the_engine_that_is_there_and_does_not_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "docker"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nothing.sock")
    with pytest.raises(EngineNotRunning) as error:
        connect("auto")
    assert any("podman is not installed" in line for line in error.value.details)


@pytest.mark.xdist_group("users")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can have a socket that another user may not use")
def test_no_permission_on_the_socket(user: User) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        path = user.home.parent / "docker.sock"
        server.bind(str(path))
        path.chmod(0o600)
        server.listen()
        done = user.python(CONNECT, "docker", DOCKER_HOST=f"unix://{path}")
    assert done.stdout.startswith("EnginePermission 5 "), done.stdout + done.stderr
    assert "docker group" in done.stdout
    assert "as good as root" in done.stdout


def test_too_old(engine_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real engine's answers with an older version in them."""
    real, old = shutil.which(engine_name), {"podman": "3.4.4", "docker": "19.03.8"}[engine_name]
    script(tmp_path / "bin" / engine_name, f"""{real} "$@" | sed -E 's/"Version": *"[^"]*"/"Version":"{old}"/g'\n""")
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "sh", "sed"))
    with pytest.raises(EngineTooOld) as error:
        connect(engine_name)
    assert error.value.exit_code == 5
    assert old in error.value.message
    assert {"podman": "4.3", "docker": "20.10"}[engine_name] in (error.value.hint or "")


@contextmanager
def through_client(engine: Engine, program: Path) -> Iterator[None]:
    """Another program in the engine's place, which docker asks where its daemon has no socket on this machine."""
    command = engine.command  # type: ignore[attr-defined]
    before = command.program, getattr(engine, "_socket", None)
    command.program, engine._socket = str(program), None  # type: ignore[attr-defined]
    try:
        yield
    finally:
        command.program, engine._socket = before  # type: ignore[attr-defined]


def test_a_look_up_that_fails_is_not_an_answer(engine: Engine, image: object, tmp_path: Path) -> None:
    """The same question with a client that fails for a reason that nobody knows."""
    script(tmp_path / "broken", "echo 'something odd happened' >&2\nexit 125\n")
    with through_client(engine, tmp_path / "broken"):
        with pytest.raises(EngineLookupFailed) as error:
            engine.image("localhost/tsandbox-test:nothing")
        assert any("something odd happened" in line for line in error.value.details)
        with pytest.raises(EngineUnavailable):
            engine.images("io.tsandbox.test")
        with pytest.raises(EngineUnavailable):
            engine.remove_image("localhost/tsandbox-test:nothing")
    assert engine.image("localhost/tsandbox-test:nothing") is None


def test_a_look_up_whose_answer_is_cut_off_is_not_an_answer(engine: Engine, tmp_path: Path) -> None:
    script(tmp_path / "cut", 'printf \'[{"Id": "abc\'\n')
    with through_client(engine, tmp_path / "cut"), pytest.raises(EngineLookupFailed):
        engine.image("localhost/tsandbox-test:nothing")


def test_the_daemon_itself_and_its_client_know_the_same_image(engine: Engine, image: Image) -> None:
    direct = engine.image(image.id)
    with through_client(engine, Path(engine.command.program)):  # type: ignore[attr-defined]
        assert engine.image(image.id) == direct
    assert direct is not None


def test_a_base_that_is_not_there_is_a_failed_build_and_not_a_lost_engine(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM localhost/tsandbox-test:nothing\n")
    request = BuildRequest(
        context=tmp_path,
        dockerfile=tmp_path / "Dockerfile",
        tag="localhost/tsandbox-test:on-nothing",
        labels={},
        platform=native_platform(),
    )
    with pytest.raises(BuildFailed) as error:
        engine.build(request, on_line=lambda _: None)
    assert type(error.value) is BuildFailed
    assert "is not there" in error.value.message
    assert "run the same command again" in (error.value.hint or "")


class Relay:
    """A socket before the docker daemon that can be cut while clients talk through it."""

    def __init__(self, path: Path, target: str) -> None:
        self.path, self.target = path, target
        self.connections: list[socket.socket] = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.server.accept()
                daemon = socket.socket(socket.AF_UNIX)
                daemon.connect(self.target)
                self.connections += [client, daemon]
                for source, sink in ((client, daemon), (daemon, client)):
                    threading.Thread(target=self._copy, args=(source, sink), daemon=True).start()

    def _copy(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while chunk := source.recv(65536):
                sink.sendall(chunk)
            sink.shutdown(socket.SHUT_WR)

    def cut(self) -> None:
        self.path.unlink(missing_ok=True)
        for connection in [self.server, *self.connections]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


@pytest.fixture
def relay(docker_daemon: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    assert docker_daemon is None
    path = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    made = Relay(tmp_path / "relay.sock", path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{made.path}")
    yield made
    made.cut()


def test_lost_between_two_questions(relay: Relay) -> None:
    engine = connect("docker")
    assert engine.image("localhost/tsandbox-test:nothing") is None
    assert engine.state("nothing") is None
    relay.cut()
    for question in (
        lambda: engine.image("localhost/tsandbox-test:nothing"),
        lambda: engine.state("nothing"),
        lambda: engine.containers("io.tsandbox.test"),
    ):
        with pytest.raises(EngineLost) as error:
            question()
        assert error.value.exit_code == 5
        assert error.value.temporary
        assert "worked a moment ago" in (error.value.hint or "")


def test_lost_in_the_middle_of_a_build(relay: Relay, rootfs: Path, tmp_path: Path) -> None:
    direct = os.environ["DOCKER_HOST"]
    engine = connect("docker")
    reference = "localhost/tsandbox-test:lost"
    engine.import_rootfs(rootfs, reference, labels={}, platform=native_platform())
    (tmp_path / "context").mkdir()
    (tmp_path / "Dockerfile").write_text(f'FROM {reference}\nRUN ["/bin/sh", "-c", "echo begun; /bin/sleep 120"]\n')
    request = BuildRequest(
        context=tmp_path / "context",
        dockerfile=tmp_path / "Dockerfile",
        tag="localhost/tsandbox-test:lost-build",
        labels={},
        platform=native_platform(),
        no_cache=True,
    )

    def cut_when_begun(line: str) -> None:
        if line.endswith("begun") and "RUN" not in line:
            relay.cut()

    try:
        with pytest.raises(EngineLost) as error:
            engine.build(request, on_line=cut_when_begun)
        assert error.value.exit_code == 5
        assert error.value.temporary
    finally:
        os.environ["DOCKER_HOST"] = f"unix://{relay.target}"
        connect("docker").remove_image(reference)
        os.environ["DOCKER_HOST"] = direct


def test_lost_while_a_container_runs(relay: Relay, rootfs: Path) -> None:
    engine = connect("docker")
    reference = "localhost/tsandbox-test:lost-run"
    engine.import_rootfs(rootfs, reference, labels={}, platform=native_platform())
    argv = ["/bin/sh", "-c", "echo begun; while :; do /bin/sleep 1; done"]
    container = engine.create(ContainerRequest(image=reference, argv=argv, name="tsandbox-test-lost", labels={}))
    try:
        output = engine.attach(container, timeout=60)
        assert next(output) == ("stdout", b"begun\n")
        relay.cut()
        # The output ends; how the container ended is the next question, and it has no answer.
        with pytest.raises(EngineLost):
            [*output, engine.wait(container, timeout=60)]
    finally:
        os.environ["DOCKER_HOST"] = f"unix://{relay.target}"
        again = connect("docker")
        again.remove(container)
        again.remove_image(reference)
        os.environ["DOCKER_HOST"] = f"unix://{relay.path}"


def test_a_daemon_that_hangs_up_at_once_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "rude.sock"))
        server.listen()

        def hang_up() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/rude.sock")
        with pytest.raises(EngineNotRunning):
            connect("docker")
        server.shutdown(socket.SHUT_RDWR)


@contextmanager
def small_disk(path: Path, size: str) -> Iterator[None]:
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tsandbox-test", path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", path / "graph" / "overlay"], check=False, capture_output=True)
        subprocess.run(["umount", "-l", path], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_no_space(podman: Engine, rootfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "24m"):
        roots = f'graphroot = "{disk}/graph"\nrunroot = "{tmp_path}/run"\n'
        (tmp_path / "storage.conf").write_text(f'[storage]\ndriver = "overlay"\n{roots}')
        monkeypatch.setenv("CONTAINERS_STORAGE_CONF", str(tmp_path / "storage.conf"))
        engine = connect("podman")
        reference = "localhost/tsandbox-test:small"
        engine.import_rootfs(rootfs, reference, labels={}, platform=native_platform())
        (tmp_path / "context").mkdir()
        (tmp_path / "context" / "big").write_bytes(os.urandom(32 << 20))
        (tmp_path / "Dockerfile").write_text(f"FROM {reference}\nCOPY big /data/big\n")
        request = BuildRequest(
            context=tmp_path / "context",
            dockerfile=tmp_path / "Dockerfile",
            tag="localhost/tsandbox-test:too-big",
            labels={},
            platform=native_platform(),
        )
        with pytest.raises(NoSpace) as error:
            engine.build(request, on_line=str)
        assert error.value.exit_code == 6
        assert "cache gc" in (error.value.hint or "")
