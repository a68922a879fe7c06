"""Builds that are killed: nothing of them is left after the next command, and nothing of anybody else is touched."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tsandbox.engine import Image, building, connect, process
from tsandbox.engine.probe import native_platform

from .conftest import LABEL, command_lines, pids_of

BUILD = """
import sys
from pathlib import Path
from tsandbox.engine import BuildRequest, connect
engine, dockerfile, tag, platform = sys.argv[1:]
request = BuildRequest(context=Path(dockerfile).parent / "context", dockerfile=Path(dockerfile), tag=tag,
                       labels={"io.tsandbox.test": tag}, platform=platform, no_cache=True)
connect(engine).build(request, on_line=lambda line: print(line, flush=True))
"""


class RunningBuild(NamedTuple):
    tsandbox: subprocess.Popen[bytes]
    # The argument of the step's sleep, which no other process on this machine has.
    step: str
    tag: str


class Home(NamedTuple):
    place: Path
    image: Image


@pytest.fixture(scope="module")
def home(engine_name: str, image: Image, rootfs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A state directory and, for podman, a storage of these tests alone: all that is in it is known."""
    place = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSANDBOX_STATE_DIR", str(place / "state"))
        if engine_name == "docker":
            yield Home(place, image)
            return
        roots = f'graphroot = "{place}/graph"\nrunroot = "{place}/run"\n'
        (place / "storage.conf").write_text(f'[storage]\ndriver = "overlay"\n{roots}')
        patch.setenv("CONTAINERS_STORAGE_CONF", str(place / "storage.conf"))
        own = connect("podman")
        reference = "localhost/tsandbox-test:own"
        yield Home(place, own.import_rootfs(rootfs, reference, labels={}, platform=native_platform()))
        own.remove_image(reference)
        # Podman keeps its storage mounted on itself.
        subprocess.run(["umount", "-l", place / "graph" / "overlay"], check=False, capture_output=True)


@pytest.fixture
def start_build(engine_name: str, home: Home, tmp_path: Path) -> Iterator[Callable[[], RunningBuild]]:
    running: list[RunningBuild] = []

    def start() -> RunningBuild:
        random = secrets.token_hex(4)
        step = f"300.{int(random, 16)}"
        place = tmp_path / random
        (place / "context").mkdir(parents=True)
        (place / "Dockerfile").write_text(f'FROM {home.image.tags[0]}\nRUN ["/bin/sleep", "{step}"]\n')
        tag = f"localhost/tsandbox-test:{random}"
        argv = [sys.executable, "-c", BUILD, engine_name, str(place / "Dockerfile"), tag, native_platform()]
        # A session of its own, so that the test can send what a terminal would.
        popen = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        running.append(RunningBuild(popen, step, tag))
        wait_for(lambda: steps(step), popen)
        return running[-1]

    yield start
    for build in running:
        if build.tsandbox.poll() is None:
            build.tsandbox.send_signal(signal.SIGINT)
        build.tsandbox.communicate(timeout=60)
    connect(engine_name)


def steps(step: str) -> list[int]:
    return pids_of(["/bin/sleep", step])


def clients(tag: str) -> list[int]:
    """The engine's own processes that build for that tag."""
    return [pid for pid in pids_of(containing=tag) if "-c" not in command_line(pid)]


def command_line(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def wait_for(condition: Callable[[], object], popen: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(1200):
        if condition():
            return
        assert popen is None or popen.poll() is None, popen.stdout.read() if popen and popen.stdout else ""
        time.sleep(0.05)
    pytest.fail("it did not happen within a minute")


def left(engine_name: str, home: Path) -> dict[str, list[str]]:
    """All that a build could leave: mounts, containers and directories."""
    mounts = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines() if str(home) in line]
    # Podman's mount of its storage on itself comes and goes with its commands.
    mounts = [mount for mount in mounts if mount != f"{home}/graph/overlay"]
    works = sorted(str(path) for path in building.builds_dir(engine_name).glob("*"))
    found = {"mounts": sorted(mounts), "works": works}
    if engine_name == "podman":
        found["containers"] = ask("podman", "ps", "--all", "--external", "--quiet").split()
        found["bundles"] = sorted(str(path) for path in (home / "graph").glob("overlay-containers/*"))
    return found


def engine_command(name: str, *args: str) -> tuple[list[str], dict[str, str]]:
    command = connect(name).command  # type: ignore[attr-defined]
    return command.argv(*args), {**os.environ, "DOCKER_BUILDKIT": "1", **command.env}


def ask(name: str, *args: str) -> str:
    argv, env = engine_command(name, *args)
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_a_killed_engine_process_leaves_nothing_when_the_build_has_failed(
    engine_name: str, start_build: Callable[[], RunningBuild], home: Home
) -> None:
    before = left(engine_name, home.place)
    build = start_build()
    assert left(engine_name, home.place) != before
    for pid in clients(build.tag):
        os.killpg(pid, signal.SIGKILL)
    assert build.tsandbox.wait(60) != 0
    assert left(engine_name, home.place) == before
    wait_for(lambda: not steps(build.step))
    assert connect(engine_name).image(build.tag) is None


@pytest.mark.parametrize("too", ["tsandbox alone", "with its engine process"])
def test_a_killed_tsandbox_leaves_nothing_after_the_next_command(
    engine_name: str, start_build: Callable[[], RunningBuild], home: Home, too: str
) -> None:
    before = left(engine_name, home.place)
    build = start_build()
    build.tsandbox.kill()
    build.tsandbox.wait()
    if too == "with its engine process":
        for pid in clients(build.tag):
            os.killpg(pid, signal.SIGKILL)
    assert left(engine_name, home.place) != before
    engine = connect(engine_name)
    assert left(engine_name, home.place) == before
    assert clients(build.tag) == []
    # The docker daemon ends the step of a client that is gone in its own time.
    wait_for(lambda: not steps(build.step))
    assert engine.image(build.tag) is None
    assert engine.containers(f"{LABEL}={build.tag}") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "TERM"])
def test_an_interrupted_build_cleans_up_itself(
    engine_name: str, start_build: Callable[[], RunningBuild], home: Home, number: signal.Signals
) -> None:
    before = left(engine_name, home.place)
    build = start_build()
    if number == signal.SIGTERM:
        # A bare script has no handler for it, as the command line does: the engine's process gets it here.
        for pid in clients(build.tag):
            os.killpg(pid, number)
    else:
        os.kill(build.tsandbox.pid, number)
    assert build.tsandbox.wait(60) != 0
    assert left(engine_name, home.place) == before
    wait_for(lambda: not steps(build.step))


def test_a_build_that_goes_on_is_not_taken_for_a_leftover(
    engine_name: str, start_build: Callable[[], RunningBuild]
) -> None:
    alive, dead = start_build(), start_build()
    dead.tsandbox.kill()
    dead.tsandbox.wait()
    connect(engine_name)
    wait_for(lambda: not steps(dead.step))
    assert steps(alive.step)
    assert alive.tsandbox.poll() is None
    assert clients(alive.tag)


def test_what_other_programs_build_and_run_is_left_alone(
    engine_name: str, home: Home, start_build: Callable[[], RunningBuild], tmp_path: Path
) -> None:
    tag = f"localhost/tsandbox-foreign:{secrets.token_hex(4)}"
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "Dockerfile").write_text(f'FROM {home.image.tags[0]}\nRUN ["/bin/sleep", "6"]\n')
    argv, env = engine_command(engine_name, "build", "--no-cache", "--tag", tag, str(tmp_path / "foreign"))
    with subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as foreign:
        running = ask(engine_name, "run", "--detach", "--network=none", home.image.id, "/bin/sleep", "300")
        try:
            build = start_build()
            build.tsandbox.kill()
            build.tsandbox.wait()
            connect(engine_name)
            wait_for(lambda: not steps(build.step))
            assert ask(engine_name, "inspect", "--format", "{{.State.Running}}", running) == "true"
            assert foreign.wait(120) == 0
        finally:
            ask(engine_name, "kill", running)
            ask(engine_name, "rm", "--force", running)
            ask(engine_name, "rmi", "--force", tag)


def test_no_process_carries_the_name_of_a_build_that_is_over(
    engine_name: str, start_build: Callable[[], RunningBuild]
) -> None:
    build = start_build()
    os.kill(build.tsandbox.pid, signal.SIGINT)
    build.tsandbox.wait(60)
    wait_for(lambda: not command_lines(containing=build.tag))


def test_what_could_not_be_removed_is_left_to_the_next_command(
    home: Home, engine_name: str, start_build: Callable[[], RunningBuild], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: podman's `rm` fails once."""
    before = left(engine_name, home.place)
    build = start_build()
    build.tsandbox.kill()
    build.tsandbox.wait()
    if engine_name == "podman":
        real = process.run

        def fail_to_remove(argv: list[str], **options: object) -> process.Completed:
            failing = "rm" in argv[:6] and "--force" in argv
            return real(["false"] if failing else argv, **options)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(process, "run", fail_to_remove)
            connect(engine_name)
        assert left(engine_name, home.place) != before
    connect(engine_name)
    assert left(engine_name, home.place) == before
