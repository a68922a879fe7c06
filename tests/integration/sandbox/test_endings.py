"""Signals, kills and questions: however a run ends, no container is left behind."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.conftest import Cli
from tsandbox import settings
from tsandbox.engine import Engine

SLEEPER = """\
[metadata]
name = "sleeper"
description = "Sleeps until it is stopped"

[[steps]]
action = "run_command"
command = "touch {mark}; sleep 300"

[verify]
command = "true"
"""


@pytest.fixture
def sleeper(tmp_path: Path) -> tuple[Path, str]:
    name = f"sleeper-{os.getpid()}-{time.monotonic_ns()}"
    recipe = tmp_path / "sleeper.toml"
    recipe.write_text(SLEEPER.replace('"sleeper"', f'"{name}"').replace("touch {mark}; ", "echo asleep; "))
    return recipe, f"io.tsandbox.tool={name}"


def started(
    recipe: Path, engine: Engine, label: str, *more: str, env: dict[str, str] | None = None, under: tuple[str, ...] = ()
) -> subprocess.Popen[str]:
    """`install` of the sleeper, when its step runs."""
    install = (sys.executable, "-m", "tsandbox", "install", recipe, "--sandbox", "--json", "--yes", "--verbose", *more)
    argv = [*under, *install]
    child = subprocess.Popen(
        argv,
        env={**os.environ, "TSANDBOX_ENGINE": engine.name, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stderr is not None
    for line in child.stderr:
        if "asleep" in line:
            break
    assert [state.running for state in engine.containers(label)] == [True]
    return child


@pytest.mark.engine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])
def test_a_signal_removes_the_container_and_ends_with_130(
    engine: Engine, sleeper: tuple[Path, str], number: signal.Signals
) -> None:
    recipe, label = sleeper
    with started(recipe, engine, label) as child:
        child.send_signal(number)
        told, _ = child.communicate(timeout=120)
    assert child.returncode == 130
    result = json.loads(told)
    assert (result["exit_code"], result["error"]["type"], result["stage"]) == (130, "Interrupted", "install")
    assert engine.containers(label) == []


@pytest.mark.engine
def test_a_run_under_nohup_outlives_its_terminal(podman: Engine, sleeper: tuple[Path, str]) -> None:
    recipe, label = sleeper
    with started(recipe, podman, label, "--timeout", "3", under=("nohup",)) as child:
        child.send_signal(signal.SIGHUP)
        told, _ = child.communicate(timeout=120)
    assert (child.returncode, json.loads(told)["status"]) == (9, "timeout")


def arguments_of_all_processes() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        # One that has just ended shows nothing any more.
        with suppress(OSError):
            found.append(path.read_bytes())
    return found


@pytest.mark.engine
def test_neither_processes_nor_the_engine_show_a_secret(engine: Engine, sleeper: tuple[Path, str]) -> None:
    recipe, label = sleeper
    secrets = {"ONE": "hunter2-on-one-line", "TWO": "hunter2-on\ntwo-lines"}
    with started(recipe, engine, label, "--env", "ONE", "--env", "TWO", env=secrets) as child:
        commands = arguments_of_all_processes()
        [state] = engine.containers(label)
        inspected = subprocess.run(engine.command.argv("inspect", state.id), capture_output=True, check=True).stdout
        child.send_signal(signal.SIGINT)
        told, _ = child.communicate(timeout=120)
    assert not any(b"hunter2" in command for command in commands)
    assert b"C.UTF-8" in inspected
    assert b"hunter2" not in inspected
    assert "hunter2" not in repr(state.labels) + told


@pytest.mark.engine
def test_what_a_killed_run_left_is_removed_by_the_next(
    engine: Engine, cli: Cli, sleeper: tuple[Path, str], tmp_path: Path
) -> None:
    recipe, label = sleeper
    with started(recipe, engine, label) as child:
        child.kill()
        child.communicate()
    assert len(engine.containers(label)) == 1
    left = [path for path in (settings.state_dir() / "runs").iterdir() if f"-{child.pid}-" in path.name]
    assert len(left) == 1
    other = tmp_path / "other.toml"
    other.write_text('[metadata]\nname = "other"\n[[steps]]\naction = "require_command"\ncommand = "sh"\n')
    cli("install", other, "--sandbox")
    assert engine.containers(label) == []
    assert not left[0].exists()


@pytest.mark.engine
@pytest.mark.parametrize(("answer", "code"), [("n\n", 2), ("y\n", 0)], ids=["no", "yes"])
def test_a_local_recipe_asks_before_it_runs_a_command(podman: Engine, tmp_path: Path, answer: str, code: int) -> None:
    recipe = tmp_path / "asks.toml"
    text = SLEEPER.replace("touch {mark}; sleep 300", "echo hello")
    recipe.write_text(text)
    ours, theirs = pty.openpty()
    argv = [sys.executable, "-m", "tsandbox", "install", recipe, "--sandbox"]
    with subprocess.Popen(
        argv, env={**os.environ, "TSANDBOX_ENGINE": "podman"}, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs
    ) as child:
        os.close(theirs)
        os.write(ours, answer.encode())
        shown = b""
        while True:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            shown += chunk
        out, _ = child.communicate(timeout=120)
    os.close(ours)
    assert b"to run: echo hello" in shown
    assert child.returncode == code, (shown, out)
    assert (b"passed" in out) is (code == 0)


@pytest.mark.engine
def test_a_strict_umask_does_not_lock_out_the_user_of_the_container(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "as-nobody.toml"
    recipe.write_text(
        '[metadata]\nname = "as-nobody"\n[sandbox]\nuser = "65534:65534"\n'
        '[[steps]]\naction = "run_command"\ncommand = "id -un"\n[verify]\ncommand = "echo $SAID"\npattern = "word"\n'
    )
    before = os.umask(0o077)
    try:
        cli("install", recipe, "--sandbox", "--yes", "--env", "SAID=a-word")
    finally:
        os.umask(before)


@pytest.mark.engine
def test_kept_files_stay_and_others_do_not(podman_cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "writes.toml"
    recipe.write_text(SLEEPER.replace("touch {mark}; sleep 300", "echo $SECRET; echo kept > {install_dir}/file"))
    env = {"HOME": "/", "SECRET": "hunter2-kept"}
    ran = podman_cli("install", recipe, "--sandbox", "--yes", "--keep", "--env", "SECRET", env=env)
    [line] = [line for line in ran.stdout.splitlines() if line.strip().startswith("files")]
    directory = Path(line.split(maxsplit=1)[1].replace("~", ""))
    assert (directory / "out/home/tools/sleeper-unversioned/file").read_text() == "kept\n"
    assert not any("hunter2" in path.read_text() for path in directory.rglob("*") if path.is_file())
    assert not list((settings.state_dir() / "runs").glob(f"*-{directory.name}"))
    subprocess.run(["rm", "-rf", directory], check=True)


@pytest.mark.engine
def test_a_shell_sees_what_the_steps_before_it_made(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "two.toml"
    first = SLEEPER.replace("touch {mark}; sleep 300", "echo one > one")
    recipe.write_text(
        first.replace("[verify]", '[[steps]]\naction = "run_command"\ncommand = "echo two > two"\n[verify]')
    )
    ran = cli("shell", recipe, "--yes", "--step", "2", "-c", "ls /tsandbox/out/work/sleeper")
    assert ran.stdout.split() == ["one"]
    ran = cli("shell", recipe, "--yes", "-c", "ls /tsandbox/out/work/sleeper; exit 3", code=3)
    assert ran.stdout.split() == ["one", "two"]
