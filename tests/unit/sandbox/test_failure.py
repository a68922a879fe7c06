"""Which of several things that went wrong is told, and how."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.sandbox.plans import plan_of
from tsandbox.errors import InstallFailed, Interrupted, NotSupported, TimedOut, TsandboxError, VerifyFailed
from tsandbox.runner.seal import sealed
from tsandbox.sandbox import failure
from tsandbox.sandbox.container import Ended, Reason
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.logs import Log
from tsandbox.sandbox.news import nobody
from tsandbox.sandbox.outcome import Advice, Change, Finding, Limits
from tsandbox.sandbox.runner_build import Runner
from tsandbox.sandbox.secrets import Masker

KEY = b"k" * 32
STEPS = '[[steps]]\naction = "require_command"\ncommand = "sh"\n' * 2
VERIFY = '[verify]\ncommand = "sh --version"\n'
LIMITS = Limits(memory=64 << 20, timeout=3, disk=1 << 20)
STARTED = {"event": "limits", "memory": 1, "cpus": 1, "pids": 1}
BEGAN = {"event": "start", "step": 1}
FAILED = {"event": "error", "step": 1, "kind": "missing_command", "message": "no sh", "data": {"command": "sh"}}
ENDED = {"event": "end", "step": 1, "ok": False, "duration_ms": 1, "note": None}
DONE = {"event": "done", "ok": False, "notes": []}


def error_of(
    tmp_path: Path,
    *events: dict[str, Any],
    reason: Reason | None = None,
    code: int | None = 7,
    oom: bool = False,
    stderr: bytes = b"",
) -> TsandboxError | None:
    plan = plan_of(tmp_path, STEPS + VERIFY)
    log = Log(tmp_path / "log", io.StringIO())
    journal = Journal(plan, Masker([]), log, nobody, key=KEY)
    for event in events:
        journal.feed("stdout", sealed(json.dumps(event).encode(), KEY) + b"\n")
    if stderr:
        journal.feed("stderr", stderr)
    runner = Runner(directory=tmp_path, argv=("x",), digest="d", size=1, glibc="2.36")
    ended = Ended(reason=reason, exit_code=code, oom_killed=oom)
    return failure.of_run(plan, journal, ended, limits=LIMITS, runner=runner, tail=["last words"])


def test_a_failed_step_is_told_with_its_place(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, BEGAN, FAILED, ENDED, DONE)
    assert isinstance(error, InstallFailed)
    assert error.message.endswith("tool.toml:4: step 1 (require_command) failed: no sh")
    assert error.line == 4


def test_a_limit_that_passes_while_the_container_winds_down_hides_nothing(tmp_path: Path) -> None:
    for reason in ("disk", "timeout"):
        error = error_of(tmp_path, STARTED, BEGAN, FAILED, ENDED, DONE, reason=reason)  # type: ignore[arg-type]
        assert isinstance(error, InstallFailed)
        assert "no sh" in error.message
    assert error_of(tmp_path, STARTED, DONE | {"ok": True}, reason="timeout") is None


@pytest.mark.parametrize(
    ("events", "where"),
    [
        ((STARTED,), "before the first step"),
        ((STARTED, BEGAN), "in step 1 (require_command, "),
        ((STARTED, BEGAN, ENDED), "after step 1"),
        (
            (STARTED, {"event": "output", "step": None, "verify": 0, "stream": "stdout", "text": "x"}),
            "in the verification",
        ),
    ],
)
def test_a_timeout_says_where_it_was(tmp_path: Path, events: tuple[dict[str, Any], ...], where: str) -> None:
    error = error_of(tmp_path, *events, reason="timeout")
    assert isinstance(error, TimedOut)
    assert "not done after 3 s" in error.message
    assert where in error.message
    assert error.stage == ("verify" if "verification" in where else "install")


def test_interrupted_is_interrupted(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, BEGAN, reason="interrupted")
    assert isinstance(error, Interrupted)
    assert error.exit_code == 130


def test_a_runner_that_was_killed_for_memory(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, BEGAN, code=137, oom=True)
    assert isinstance(error, InstallFailed)
    assert "more memory than the limit of 64m" in error.message
    assert "--limits memory" in (error.hint or "")


def test_a_step_that_kills_the_runner_is_told_as_that(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, BEGAN, code=137)
    assert isinstance(error, InstallFailed)
    assert "ended without a result (exit code 137) in step 1" in error.message
    assert "memory" not in error.message
    assert "leave alone the processes" in (error.hint or "")
    assert error.line == 4


def test_a_run_that_was_not_well_and_does_not_say_why_has_failed(tmp_path: Path) -> None:
    assert isinstance(error_of(tmp_path, STARTED, DONE), InstallFailed)


def test_a_runner_that_cannot_start_in_the_image(tmp_path: Path) -> None:
    old = error_of(tmp_path, code=1, stderr=b"/lib/libc.so.6: version `GLIBC_2.36' not found (required by x)\n")
    assert isinstance(old, NotSupported)
    assert "older than 2.36" in old.message
    none = error_of(tmp_path, code=127, stderr=b"exec /usr/local/lib/tsandbox/tsandbox: no such file or directory\n")
    assert isinstance(none, NotSupported)
    assert "no glibc" in none.message


def test_a_runner_that_dies_of_something_else_is_told_with_its_last_words(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, code=1, stderr=b"Fatal Python error\n")
    assert isinstance(error, InstallFailed)
    assert "ended without a result (exit code 1)" in error.message
    assert error.details == ("Fatal Python error",)


def test_a_verification_that_kills_the_runner_is_at_fault_itself(tmp_path: Path) -> None:
    error = error_of(tmp_path, STARTED, BEGAN, ENDED | {"ok": True}, {"event": "verifying"}, code=137)
    assert isinstance(error, VerifyFailed)
    assert error.exit_code == 8
    assert error.message.endswith("the verification ended the sandbox (exit code 137): sh --version")


def test_a_limit_that_a_verification_met_is_told_with_it() -> None:
    met = Finding(kind="out_of_memory", message="it needed more memory than the limit of 64 MiB")
    error = failure.explained(VerifyFailed("verification failed: ended by signal 9"), [met])
    assert error.message == "verification failed: ended by signal 9; it needed more memory than the limit of 64 MiB"
    assert "--limits memory" in (error.hint or "")
    of_a_step = failure.explained(VerifyFailed("verification failed"), [replace(met, step=1)])
    assert of_a_step.message == "verification failed"


def test_a_program_that_no_step_installed_is_told_with_the_step_to_add() -> None:
    left = Finding(kind="not_installed", message="x lies in the work directory", data={"command": "x", "path": "b/x"})
    error = failure.explained(VerifyFailed("verification failed"), [left])
    assert (error.hint or "").endswith('\n    [[steps]]\n    action = "install_binaries"\n    binaries = ["b/x"]')


def test_advice_becomes_the_hint() -> None:
    advice = [Advice(kind="command", name="git", packages=("git", "git-gui"))]
    change = Change(toml='packages = ["jq", "git"]', file="t.toml", line=7, replaces=True)
    error = failure.with_advice(InstallFailed("x", hint="old"), advice, change)
    assert error.hint == (
        'the command git is in the package git (also in git-gui)\nt.toml:7: write:\n    packages = ["jq", "git"]'
    )
    assert failure.with_advice(InstallFailed("x", hint="old"), [], None).hint == "old"
