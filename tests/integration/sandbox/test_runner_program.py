"""The runner as a program: what the name leads to is what runs, and what was changed is noticed."""

import hashlib
import shutil
from pathlib import Path

import pytest

from tsandbox.build import ensure_base
from tsandbox.engine import ContainerRequest, Engine, Mount
from tsandbox.recipe.target import host_arch
from tsandbox.sandbox.runner_build import MOUNT, PROGRAM, Runner, digest, runner


def said(engine: Engine, request: ContainerRequest) -> tuple[int, str]:
    container = engine.create(request)
    try:
        output = b"".join(chunk for _, chunk in engine.attach(container, timeout=120))
        state = engine.state(container)
        assert state is not None
        assert state.exit_code is not None
        return state.exit_code, output.decode()
    finally:
        engine.remove(container)


@pytest.mark.engine
@pytest.mark.parametrize("base", ["runtime", "builder"])
def test_the_program_named_is_the_program_run(engine: Engine, base: str, tmp_path: Path) -> None:
    image = ensure_base(engine, base, host_arch())
    request = ContainerRequest(
        image=image.id,
        # The link, and then what it leads to, byte for byte.
        argv=[
            "/bin/sh",
            "-c",
            "tsandbox run --help && readlink -f $(command -v tsandbox) && sha256sum < $(command -v tsandbox)",
        ],
        name=f"tsandbox-test-{tmp_path.parent.name}-{base}",
        labels={},
        mounts=[Mount(source=runner().directory, target=MOUNT)],
        network="none",
        read_only_root=True,
    )
    code, output = said(engine, request)
    assert code == 0, output
    assert f"{MOUNT}/{PROGRAM}\n" in output
    assert hashlib.sha256((runner().directory / PROGRAM).read_bytes()).hexdigest() in output
    assert "--allow-run-command" in output


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    """A runner in a cache of its own, which a test may spoil."""
    shared = runner().directory.parent
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path))
    shutil.copytree(shared, tmp_path / "runner" / shared.name)
    return runner()


def test_a_changed_runner_is_noticed_and_built_again_the_same(own_cache: Runner) -> None:
    program = own_cache.directory / PROGRAM
    before = program.read_bytes()
    program.write_bytes(before + b"changed")
    again = runner()
    assert again.digest == own_cache.digest == digest()
    assert (again.directory / PROGRAM).read_bytes() == before


def test_a_runner_that_is_gone_is_noticed(own_cache: Runner) -> None:
    (own_cache.directory / PROGRAM).unlink()
    assert (runner().directory / PROGRAM).is_file()
