"""Ctrl-C, TERM and KILL in the middle of a real build: nothing is left, at the latest after the next command."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tsandbox.derive import bases
from tsandbox.engine import Engine, orphans

from ..conftest import Cli
from .conftest import WriteRecipe, spec_of


class Building:
    """Builds in a process of its own, with a state directory of its own, each of which has begun to run a step."""

    def __init__(self, engine: str, state: Path, cache: Path, *recipes: Path) -> None:
        command = [sys.executable, "-m", "tsandbox", "build", *map(str, recipes), "--no-cache", "--engine", engine]
        env = {**os.environ, "TSANDBOX_STATE_DIR": str(state), "TSANDBOX_CACHE_DIR": str(cache)}
        self.said = state / "said"
        self.state = state
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(
                command,
                env=env,
                stderr=said,
                stdout=said,
                start_new_session=True,
            )
        deadline = time.monotonic() + 180
        while (
            self.said.read_text().count(f"package index of {bases.default_suite()}\n") < len(recipes)
            and self.process.poll() is None
        ):
            assert time.monotonic() < deadline, self.said.read_text()
            time.sleep(0.05)
        assert self.process.poll() is None, self.said.read_text()

    def left(self) -> list[str]:
        """Directories and processes of the build, and working containers that remember its directory."""
        found = [str(path) for name in ("builds", "engine/builds/podman", "engine/builds/docker")
                 for path in (self.state / name).glob("*")]  # fmt: skip
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                environment = (entry / "environ").read_bytes()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if f"{orphans.VARIABLE}={self.state}".encode() in environment and entry.name != str(self.process.pid):
                found.append(command.decode(errors="replace"))
        mounts = Path("/proc/self/mountinfo").read_text()
        return found + [line for line in mounts.splitlines() if str(self.state) in line]


@pytest.fixture
def state(tmp_path: Path, engine: Engine) -> Path:
    """Its own, so that no other test cleans up after us."""
    path = tmp_path / "state"
    path.mkdir()
    return path


@pytest.fixture
def building(engine_name: str, engine: Engine, recipe: WriteRecipe, state: Path) -> Building:
    from tsandbox import settings
    from tsandbox.build import ensure_base

    path = recipe("cowsay", name="doomed", extra=f'[[steps]]\naction = "group_add"\ngroup = "g{time.time_ns()}"\n')
    for name in ("runtime", "builder"):
        ensure_base(engine, name, spec_of(path).target.arch)
    return Building(engine_name, state, settings.cache_dir(), path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_build_and_all_that_it_started(
    number: signal.Signals, building: Building, engine: Engine, recipe: WriteRecipe
) -> None:
    before = _unfinished(engine)
    building.process.send_signal(number)
    assert building.process.wait(60) == 130
    assert "interrupted" in building.said.read_text()
    assert building.left() == []
    assert _unfinished(engine) <= before


def test_a_signal_ends_parallel_builds(podman: Engine, recipe: WriteRecipe, tmp_path: Path) -> None:
    from tsandbox import settings
    from tsandbox.build import ensure_base

    steps = [f'[[steps]]\naction = "group_add"\ngroup = "g{time.time_ns()}{name}"\n' for name in "ab"]
    paths = [recipe("cowsay", name=f"doomed-{i}", extra=step) for i, step in enumerate(steps)]
    for name in ("runtime", "builder"):
        ensure_base(podman, name, spec_of(paths[0]).target.arch)
    (tmp_path / "state").mkdir()
    building = Building("podman", tmp_path / "state", settings.cache_dir(), *paths)
    building.process.send_signal(signal.SIGTERM)
    assert building.process.wait(60) == 130
    assert building.left() == []


def test_a_killed_build_is_cleaned_up_by_the_next_command(building: Building, cli: Cli, engine: Engine) -> None:
    building.process.kill()
    building.process.wait(60)
    assert building.left() != []
    # Whatever it is.
    listed = cli("cache", "ls", "--json", env={"TSANDBOX_STATE_DIR": str(building.state)})
    assert json.loads(listed.stdout)["schema"] == 1
    assert building.left() == []
    tags = [tag for image in engine.images("io.tsandbox.key") for tag in image.tags]
    assert [tag for tag in tags if "sandbox-build" in tag and _mine(tag, building)] == []


def _mine(tag: str, building: Building) -> bool:
    return tag.rpartition(":")[2] in building.said.read_text()


def _unfinished(engine: Engine) -> set[str]:
    """Images under the name that they have while they are built; other tests may be building, too."""
    return {tag for image in engine.images("io.tsandbox.key") for tag in image.tags if "sandbox-build" in tag}
