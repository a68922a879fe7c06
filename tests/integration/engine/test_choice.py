"""Which engine is used: what the user names, what the environment names, else the first that works; asked once."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from tsandbox.engine import BuildRequest, ContainerRequest, Engine, Image, connect, docker_host, podman_host
from tsandbox.engine.probe import native_platform
from tsandbox.errors import EngineNotRunning, EngineUnavailable, UsageError

from ..conftest import run_with
from .conftest import LABEL
from .test_failures import programs


@pytest.fixture
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def daemon_socket(docker_daemon: str | None) -> str:
    assert docker_daemon is None
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")


def test_auto_prefers_podman(podman: Engine) -> None:
    assert connect("auto").name == "podman"
    assert connect().name == "podman"


def test_auto_takes_docker_where_podman_is_not_there(
    docker_daemon: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "docker"))
    found = connect("auto")
    assert found.name == "docker"
    assert any("root" in note for note in found.facts().notes)


def test_auto_takes_docker_where_podman_does_not_work(
    docker_daemon: str | None, own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTAINER_HOST", f"unix://{tmp_path}/nothing.sock")
    assert connect("auto").name == "docker"


def test_the_environment_names_the_engine_and_the_option_overrides_it(
    podman: Engine, docker_daemon: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSANDBOX_ENGINE", "docker")
    assert connect().name == "docker"
    assert connect("podman").name == "podman"


def test_an_engine_that_nobody_knows_is_a_wrong_use() -> None:
    with pytest.raises(UsageError) as error:
        connect("rocket")
    assert "podman" in (error.value.hint or "")


def test_the_probe_is_remembered_and_asked_again_when_the_engine_changes(
    engine_name: str, own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    module = {"podman": podman_host, "docker": docker_host}[engine_name]
    real = module._probe

    def counted(*args: object) -> object:
        asked.append(1)
        return real(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_probe", counted)
    first = connect(engine_name).facts()
    assert connect(engine_name).facts() == first
    assert len(asked) == 1
    # Another version is another program file.
    (tmp_path / "bin").mkdir()
    program = shutil.copy2(first.adjustments.get("client") or shutil.which(engine_name) or "", tmp_path / "bin")
    Path(program).rename(tmp_path / "bin" / engine_name)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert connect(engine_name).facts().version == first.version
    assert len(asked) == 2


def test_a_remembered_configuration_that_was_deleted_is_made_again(podman: Engine, own_state: Path) -> None:
    made = connect("podman").facts().adjustments
    if "CONTAINERS_CONF" not in made:
        assert made == {}, "an ordinary host needs no configuration of ours"
        return
    Path(made["CONTAINERS_CONF"]).unlink()
    again = connect("podman")
    assert Path(again.facts().adjustments["CONTAINERS_CONF"]).is_file()


def test_a_remembered_answer_that_cannot_be_read_is_asked_again(engine_name: str, own_state: Path) -> None:
    facts = connect(engine_name).facts()
    (remembered,) = (own_state / "engine").glob(f"{engine_name}-*.json")
    remembered.write_text("{ half")
    assert connect(engine_name).facts() == facts


def test_two_processes_probe_once_and_leave_no_probe(engine_name: str, own_state: Path) -> None:
    code = f"from tsandbox.engine import connect; print(connect({engine_name!r}).facts().version)"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    answers = [process.communicate(timeout=120)[0] for process in running]
    assert len(set(answers)) == 1
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(list((own_state / "engine").glob(f"{engine_name}-*.json"))) == 1
    engine = connect(engine_name)
    # Other tests probe at the same time; a probe's label begins with the process that made it.
    ours = {str(process.pid) for process in running}
    probes = [state.labels["io.tsandbox.probe"].partition("-")[0] for state in engine.containers("io.tsandbox.probe")]
    assert ours.isdisjoint(probes)


def test_docker_host_names_the_daemon(daemon_socket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{daemon_socket}")
    assert connect("docker").images("io.tsandbox.nobody=here") == []


@pytest.fixture
def context(daemon_socket: str, own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A docker configuration with a context `work`, and no DOCKER_HOST."""
    config = tmp_path / "docker"
    meta = config / "contexts" / "meta" / sha256(b"work").hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoint = {"Host": f"unix://{daemon_socket}", "SkipTLSVerify": False}
    meta.write_text(json.dumps({"Name": "work", "Metadata": {}, "Endpoints": {"docker": endpoint}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(config))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    return config


def test_a_context_names_the_daemon(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "work")
    engine = connect("docker")
    assert engine.images("io.tsandbox.nobody=here") == []
    assert engine.containers("io.tsandbox.nobody=here") == []


def test_the_current_context_names_the_daemon(context: Path) -> None:
    (context / "config.json").write_text('{"currentContext": "work"}')
    engine = connect("docker")
    assert engine.images("io.tsandbox.nobody=here") == []
    assert engine.containers("io.tsandbox.nobody=here") == []


def test_a_context_that_is_not_there_is_told(context: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "elsewhere")
    with pytest.raises(EngineUnavailable) as error:
        connect("docker")
    assert "elsewhere" in error.value.message
    assert "docker context ls" in (error.value.hint or "")


def test_the_socket_of_a_rootless_daemon_comes_first(
    context: Path, daemon_socket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link to the daemon's socket stands where a rootless daemon has its own."""
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    (runtime / "docker.sock").symlink_to(daemon_socket)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    engine = connect("docker")
    assert engine.command.env["DOCKER_HOST"] == f"unix://{runtime}/docker.sock"  # type: ignore[attr-defined]
    assert engine.images("io.tsandbox.nobody=here") == []
    assert engine.containers("io.tsandbox.nobody=here") == []


def test_without_buildkit_the_classic_builder_is_used(
    daemon_socket: str, own_state: Path, rootfs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that says it is of a version that needs the buildx plugin, and has none."""
    real = connect("docker").facts().adjustments["client"]
    client = tmp_path / "bin" / "docker"
    client.parent.mkdir()
    client.write_text(
        "#!/bin/sh\n"
        'case "$1" in --version) echo "Docker version 28.2.2"; exit ;; buildx) exit 1 ;; esac\n'
        'for word; do test "$word" != --progress=plain || { echo "unknown flag: --progress" >&2; exit 125; }; done\n'
        f'exec {real} "$@"\n'
    )
    client.chmod(0o755)
    monkeypatch.setenv("PATH", programs(tmp_path / "bin", "sh"))
    engine = connect("docker")
    assert not engine.facts().buildkit
    assert any("classic builder" in note for note in engine.facts().notes)
    random = secrets.token_hex(8)
    base, tag = f"localhost/tsandbox-test:{random}", f"localhost/tsandbox-test:{random}-built"
    engine.import_rootfs(rootfs, base, labels={LABEL: random}, platform=native_platform())
    (tmp_path / "context").mkdir()
    (tmp_path / "Dockerfile").write_text(f'FROM {base}\nRUN ["/bin/touch", "/data/x"]\n')
    request = BuildRequest(
        context=tmp_path / "context",
        dockerfile=tmp_path / "Dockerfile",
        tag=tag,
        labels={LABEL: random, "text": 'a "b" $c'},
        platform=native_platform(),
    )
    try:
        assert engine.build(request, on_line=str).labels == {LABEL: random, "text": 'a "b" $c'}
    finally:
        engine.remove_image(tag)
        engine.remove_image(base)


@pytest.fixture
def service(podman: Engine, tmp_path: Path, own_state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Podman's service on a socket of its own, with the settings that this host needs."""
    command = podman.command  # type: ignore[attr-defined]
    socket = f"unix://{tmp_path}/podman.sock"
    argv = command.argv("system", "service", "--time=0", socket)
    running = subprocess.Popen(argv, env={**os.environ, **command.env}, stderr=subprocess.DEVNULL)
    monkeypatch.setenv("CONTAINER_HOST", socket)
    try:
        for _ in range(600):
            if (tmp_path / "podman.sock").exists():
                break
            time.sleep(0.05)
        yield socket
    finally:
        running.terminate()
        running.wait(30)


def test_a_podman_service_builds_and_runs(service: str, podman: Engine, rootfs: Path, tmp_path: Path) -> None:
    engine = connect("podman")
    assert engine.facts().remote
    random = secrets.token_hex(8)
    base, tag = f"localhost/tsandbox-test:{random}", f"localhost/tsandbox-test:{random}-built"
    labels = {LABEL: random, "text": '{"a": "b c"}'}
    assert engine.import_rootfs(rootfs, base, labels=labels, platform=native_platform()).labels == labels
    (tmp_path / "context").mkdir()
    (tmp_path / "context" / "hello").write_text("hello")
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nCOPY hello /data/hello\nRUN /bin/cat /data/hello\n")
    request = BuildRequest(
        context=tmp_path / "context",
        dockerfile=tmp_path / "Dockerfile",
        tag=tag,
        labels=labels,
        platform=native_platform(),
    )
    container = None
    try:
        built: Image = engine.build(request, on_line=str)
        assert built.labels.items() >= labels.items()
        secret = secrets.token_hex(8)
        container = engine.create(
            ContainerRequest(
                image=built.id,
                argv=["/bin/sh", "-c", "/bin/cat /data/hello; echo $TOKEN; exit 3"],
                name=f"tsandbox-test-{random}",
                labels=labels,
                env={"TOKEN": secret},
                memory=64 << 20,
                cpus=1,
                pids=20,
                read_only_root=True,
            )
        )
        assert b"".join(chunk for _, chunk in engine.attach(container, timeout=60)).decode() == f"hello{secret}\n"
        assert engine.wait(container, timeout=60) == 3
        assert [state.id for state in engine.containers(f"{LABEL}={random}")] == [container]
    finally:
        if container:
            engine.remove(container)
        engine.remove_image(tag)
        engine.remove_image(base)


def test_a_service_that_went_away_is_told(service: str, tmp_path: Path) -> None:
    connect("podman")
    (tmp_path / "podman.sock").unlink()
    with pytest.raises(EngineNotRunning):
        connect("podman").image("localhost/tsandbox-test:nothing")


def test_where_auto_comes_to_docker_it_says_once_what_that_means(
    daemon_socket: str, own_state: Path, tmp_path: Path
) -> None:
    env = {"PATH": programs(tmp_path / "bin", "docker"), "TSANDBOX_STATE_DIR": str(own_state)}
    auto = run_with("auto")
    assert "can become root" in auto("base", "ls", env=env).stderr
    assert "can become root" not in auto("base", "ls", env=env).stderr
    (own_state / "engine" / "noted-docker").unlink()
    asked = auto("base", "ls", "--engine", "docker", env=env)
    assert "can become root" not in asked.stderr


def test_a_killed_probe_is_cleaned_up_by_the_next(engine_name: str, own_state: Path) -> None:
    """The process is killed when its container runs."""
    code = (
        "import sys, os, signal\n"
        "from tsandbox.engine import connect, probe\n"
        "engine = connect(sys.argv[1])\n"
        "with probe._container(engine) as container:\n"
        "    engine.start(container)\n"
        "    print(container, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, engine_name], capture_output=True, text=True, check=False)
    container = killed.stdout.strip()
    engine = connect(engine_name)
    left = engine.state(container)
    assert left is not None
    assert left.running
    connect(engine_name, fresh=True)
    assert engine.state(container) is None
    assert list((own_state / "engine" / "probes" / engine_name).iterdir()) == []
    assert engine.images(f"io.tsandbox.probe={left.labels['io.tsandbox.probe']}") == []
