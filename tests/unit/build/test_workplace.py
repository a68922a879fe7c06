"""The directory of a build: gone at the end, and cleaned up by the next command if its process was killed."""

import os
from pathlib import Path

import pytest

from tsandbox import settings
from tsandbox.build.logs import directory as logs
from tsandbox.build.logs import log_file
from tsandbox.build.platform import refuse_foreign, runs_here
from tsandbox.build.workplace import container_name, reap, workplace, write_context
from tsandbox.derive import ImageDefinition
from tsandbox.derive.context import ContextFile
from tsandbox.engine.owner import started
from tsandbox.errors import NotSupported
from tsandbox.recipe.target import host_arch

from .conftest import FakeEngine


def test_directory_container_and_tag_are_gone_afterwards(fake_engine: FakeEngine) -> None:
    with workplace(fake_engine) as place:  # type: ignore[arg-type]
        name = container_name(place)
        assert place.directory.stat().st_mode & 0o777 == 0o700
    assert not place.directory.exists()
    assert fake_engine.removed == [name, place.tag]


def test_also_when_the_build_fails(fake_engine: FakeEngine) -> None:
    with pytest.raises(KeyboardInterrupt), workplace(fake_engine) as place:  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert not place.directory.exists()
    assert fake_engine.removed == [place.tag]


def test_only_the_dead_are_reaped(fake_engine: FakeEngine) -> None:
    top = settings.state_dir() / "builds"
    mine = f"podman-{os.getpid()}-{started(os.getpid())}-{'a' * 16}"
    dead = f"podman-{os.getpid()}-1-{'b' * 16}"
    others = f"docker-{os.getpid()}-1-{'c' * 16}"
    for name in (mine, dead, others, "something-else"):
        (top / name).mkdir(parents=True)
    (top / dead / "container").write_text("its-container")
    reap(fake_engine)  # type: ignore[arg-type]
    assert {path.name for path in top.iterdir()} == {mine, others, "something-else"}
    assert fake_engine.removed == ["its-container", f"sandbox-build:{'b' * 16}"]


def test_the_context_has_the_modes_of_the_definition_whatever_the_umask(tmp_path: Path) -> None:
    files = {"files/0600/1": ContextFile(content=b"x", mode=0o600), "closure/a": ContextFile(content=b"y")}
    before = os.umask(0o077)
    try:
        context = write_context(ImageDefinition(dockerfile="", files=files, preimage="", key=""), tmp_path / "context")
    finally:
        os.umask(before)
    assert (context / "files/0600/1").stat().st_mode & 0o777 == 0o600
    assert (context / "closure/a").stat().st_mode & 0o777 == 0o644
    assert (context / "files/0600").stat().st_mode & 0o777 == 0o755


def test_logs_are_private_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsandbox.build.logs._KEPT", 3)
    for i in range(5):
        with log_file(f"tool{i}") as log:
            log.write("x")
    names = sorted(path.name for path in logs().iterdir())
    assert len(names) == 3
    assert "tool4" in "".join(names)
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in logs().iterdir())


def test_another_architecture_needs_an_emulator(tmp_path: Path) -> None:
    other = "arm64" if host_arch() == "amd64" else "amd64"
    assert runs_here(host_arch(), tmp_path)
    assert not runs_here(other, tmp_path)
    (tmp_path / {"arm64": "qemu-aarch64", "amd64": "qemu-x86_64"}[other]).write_text("enabled\ninterpreter /qemu\n")
    assert runs_here(other, tmp_path)
    if not runs_here(other):
        with pytest.raises(NotSupported, match="no emulator"):
            refuse_foreign(other)
