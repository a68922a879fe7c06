"""Real engines for the integration tests: a podman storage and a docker daemon of their own, shared by all tests.

All that tests make lies below one test home (`TSANDBOX_TEST_HOME`), outside the storage of this machine's user, and
stays there between runs so that bases are made once; `make clean` removes it. CI starts without it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tsandbox.engine import Engine, connect
from tsandbox.errors import EngineUnavailable

ROOT = Path(__file__).parent.parent.parent
ENGINES = ("podman", "docker")
_STATE = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
HOME = Path(os.environ.get("TSANDBOX_TEST_HOME") or _STATE / "tsandbox-tests")


class Ran(NamedTuple):
    """A finished `tsandbox` command."""

    returncode: int
    stdout: str
    stderr: str


Cli = Callable[..., Ran]


def pytest_configure() -> None:
    """Before any test: what tsandbox and the engines keep goes to the test home."""
    for name in ("state", "cache", "config", "data", "podman"):
        (HOME / name).mkdir(parents=True, exist_ok=True)
    storage = HOME / "storage.conf"
    text = f'[storage]\ndriver = "overlay"\ngraphroot = "{HOME}/podman/graph"\nrunroot = "{HOME}/podman/run"\n'
    if not storage.exists() or storage.read_text() != text:
        storage.write_text(text)
    os.environ |= {
        "CONTAINERS_STORAGE_CONF": str(storage),
        "TSANDBOX_STATE_DIR": str(HOME / "state"),
        "TSANDBOX_CACHE_DIR": str(HOME / "cache"),
        "TSANDBOX_CONFIG_DIR": str(HOME / "config"),
        "TSANDBOX_HOME": str(HOME / "data"),
    }
    for name in ("TSANDBOX_ENGINE", "TSANDBOX_REGISTRY", "TSANDBOX_EPOCH", "TSANDBOX_SUITE", "CONTAINER_HOST"):
        os.environ.pop(name, None)


@pytest.fixture(scope="session")
def docker_daemon() -> Iterator[str | None]:
    """A docker daemon: the one that answers already, or our own for the time of the tests. None: there is none."""
    lease = str(os.getpid())
    started = subprocess.run(
        [ROOT / "scripts/dockerd", "start", "--lease", lease], capture_output=True, text=True, check=False
    )
    if started.returncode:
        yield started.stderr.strip() or "scripts/dockerd failed"
        return
    before = os.environ.get("DOCKER_HOST")
    if "=" in started.stdout:
        os.environ["DOCKER_HOST"] = started.stdout.strip().partition("=")[2]
    yield None
    if before is None:
        os.environ.pop("DOCKER_HOST", None)
    else:
        os.environ["DOCKER_HOST"] = before
    subprocess.run([ROOT / "scripts/dockerd", "stop", "--lease", lease], check=True)


@pytest.fixture(params=ENGINES, scope="session")
def engine_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    usable(name, request)
    return name


@pytest.fixture(scope="session")
def engine(engine_name: str) -> Engine:
    return connect(engine_name)


@pytest.fixture(scope="session")
def podman(request: pytest.FixtureRequest) -> Engine:
    """For what one engine proves for both."""
    usable("podman", request)
    return connect("podman")


def usable(name: str, request: pytest.FixtureRequest) -> None:
    """Skip, loudly, where the engine cannot be used; where engines are required (CI), fail."""
    problem = request.getfixturevalue("docker_daemon") if name == "docker" else None
    if problem is None:
        try:
            connect(name)
        except EngineUnavailable as error:
            problem = f"{error.message} {' '.join(error.details)}"
    if problem is None:
        return
    if os.environ.get("TSANDBOX_REQUIRE_ENGINES"):
        pytest.fail(f"{name} is required and cannot be used: {problem}")
    pytest.skip(f"{name} cannot be used here: {problem}")


@pytest.fixture
def cli(engine_name: str) -> Cli:
    """Run `tsandbox` with the engine under test, in a process of its own."""
    return run_with(engine_name)


@pytest.fixture
def podman_cli(podman: Engine) -> Cli:
    return run_with("podman")


def run_with(engine: str) -> Cli:
    def run(
        *args: str | Path,
        code: int | None = 0,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
        timeout: float = 600,
    ) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "tsandbox", *map(str, args)],
            env={**os.environ, "TSANDBOX_ENGINE": engine, **(env or {})},
            cwd=cwd,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        if code is not None:
            assert ran.returncode == code, f"exit {ran.returncode}, not {code}\n{ran.stdout}\n{ran.stderr}"
        return ran

    return run


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """CI counts a skipped test of an engine as a failure, whoever skipped it."""
    if not os.environ.get("TSANDBOX_REQUIRE_ENGINES") or hasattr(session.config, "workerinput"):
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if skipped:
        reporter.write_line(f"{len(skipped)} tests were skipped, and CI accepts no skips", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


if shutil.which("podman") is None and os.environ.get("TSANDBOX_REQUIRE_ENGINES"):
    raise pytest.UsageError("podman is not installed: scripts/setup tests")
