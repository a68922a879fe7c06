"""Every error becomes text or exactly one JSON object, with its exit code; nothing ends in a traceback."""

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import click
import pytest

from tests.unit.cli.conftest import Run
from tsandbox import errors
from tsandbox.errors import InvalidInput, Problem, TsandboxError

CONTRACT = {
    "schema", "status", "stage", "exit_code", "tool", "target", "image", "cached", "install", "verify", "duration_ms",
    "log", "error",
}  # fmt: skip
# DESIGN: 0 passed, and what each other number means.
CODES = {
    "TsandboxError": 1,
    "UsageError": 2,
    "InvalidInput": 3,
    "MissingDependency": 3,
    "NotSupported": 4,
    "EngineUnavailable": 5,
    "EngineNotInstalled": 5,
    "EngineNotRunning": 5,
    "EnginePermission": 5,
    "EngineTooOld": 5,
    "EngineLost": 5,
    "EngineLookupFailed": 5,
    "BuildFailed": 6,
    "NoSpace": 6,
    "InstallFailed": 7,
    "DownloadFailed": 7,
    "VerifyFailed": 8,
    "TimedOut": 9,
    "Skipped": 10,
    "Interrupted": 130,
}
STATUSES = {6: "failed", 7: "failed", 8: "failed", 9: "timeout", 10: "skipped"}


def all_errors() -> Iterator[type[TsandboxError]]:
    waiting = [TsandboxError]
    while waiting:
        kind = waiting.pop()
        # Those of one room only carry the exit code of the error that they refine.
        if kind.__module__ == errors.__name__:
            yield kind
        waiting += kind.__subclasses__()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, run: Run) -> object:
    """`failing(error)` makes `tsandbox list` end with that error."""

    def fail(error: BaseException, *arguments: str, code: int) -> object:
        def raising(*_: object) -> object:
            raise error

        monkeypatch.setattr("tsandbox.cli.listing._recipes", raising)
        return run("list", *arguments, code=code)

    return fail


def test_the_exit_codes_are_those_of_the_contract() -> None:
    assert {kind.__name__: kind.exit_code for kind in all_errors()} == CODES


@pytest.mark.parametrize("kind", list(all_errors()), ids=lambda kind: kind.__name__)
def test_every_error_is_one_json_object_and_text_on_stderr(kind: type[TsandboxError], failing) -> None:  # type: ignore[no-untyped-def]
    error = kind("it broke", hint="mend it", file="made.toml")
    ran = failing(error, "--json", code=CODES[kind.__name__])
    found = ran.json
    assert set(found) >= CONTRACT
    assert found["exit_code"] == ran.code
    assert found["status"] == STATUSES.get(ran.code, "error")
    assert found["error"]["type"] == kind.__name__
    assert (found["error"]["message"], found["error"]["hint"]) == ("it broke", "mend it")
    assert found["error"]["file"] == "made.toml"
    assert "error: it broke" in ran.stderr
    assert "hint: mend it" in ran.stderr


def test_without_json_stdout_is_empty(failing) -> None:  # type: ignore[no-untyped-def]
    assert failing(TsandboxError("it broke"), code=1).stdout == ""


def test_all_problems_of_a_file_are_told(failing) -> None:  # type: ignore[no-untyped-def]
    problems = [Problem("made.toml", line, "steps[0]", f"fault {line}") for line in (3, 7)]
    ran = failing(InvalidInput(str(problems[0]), problems=problems), "--json", code=3)
    assert "made.toml:3: steps[0]: fault 3" in ran.stderr
    assert "made.toml:7: steps[0]: fault 7" in ran.stderr
    assert [problem["line"] for problem in ran.json["error"]["problems"]] == [3, 7]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (ValueError("odd"), 1, "internal error: ValueError: odd"),
        (AssertionError(), 1, "internal error: AssertionError"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (click.BadParameter("no"), 2, "Invalid value: no"),
        (click.ClickException("no"), 2, "no"),
        (RecursionError(), 3, "nested too deeply"),
        (MemoryError(), 1, "out of memory"),
        (OSError(28, "No space left on device"), 6, "the disk is full"),
        (PermissionError(13, "Permission denied", "/place"), 2, "/place: Permission denied"),
        (FileNotFoundError(2, "No such file or directory", "/place"), 1, "internal error: FileNotFoundError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_other_exceptions(error: BaseException, code: int, message: str, failing) -> None:  # type: ignore[no-untyped-def]
    assert message in failing(error, "--json", code=code).json["error"]["message"]


def test_a_traceback_is_shown_with_debug_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tsandbox", "spec", str(tmp_path / "gone.toml")]
    for extra in ([], ["--debug"]):
        done = subprocess.run([*command, *extra], capture_output=True, text=True, check=False)
        assert done.returncode == 3
        assert ("Traceback" in done.stderr) == bool(extra)


def test_escape_sequences_in_a_message_are_not_obeyed(failing) -> None:  # type: ignore[no-untyped-def]
    ran = failing(TsandboxError("\x1b[2Jgone", hint="\x07", details=["\x9b1m"]), "--json", code=1)
    for char in "\x1b\x07\x9b":
        assert char not in ran.stderr
        assert char not in ran.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json", "nonsense"],
        ["nonsense", "--json"],
        ["spec", "--json"],
        ["spec", "x", "--colour", "--json"],
        ["--json", "-x"],
        ["spec", "x", "--format", "json", "--colour"],
        ["validate", "--format=json"],
    ],
)
def test_usage_errors_answer_in_json_too(run: Run, arguments: list[str]) -> None:
    found = run(*arguments, code=2).json
    assert (found["error"]["type"], found["stage"]) == ("UsageError", "load")


@pytest.mark.parametrize("arguments", [["nonsense", "--", "--json"], ["spec", "x", "--format", "toml", "--colour"]])
def test_what_only_looks_like_a_wish_for_json_is_none(run: Run, arguments: list[str]) -> None:
    assert run(*arguments, code=2).stdout == ""


def test_a_misspelt_command_gets_a_hint(run: Run) -> None:
    assert "Did you mean 'spec'?" in run("spce", code=2).stderr


def test_json_may_stand_before_or_after_the_command(run: Run) -> None:
    assert run("--json", "list").stdout == run("list", "--json").stdout


@pytest.mark.parametrize("arguments", ["spec jq --family all --json", "--help", "spec nonesuch --json"])
def test_a_reader_that_goes_away_is_no_error(arguments: str) -> None:
    process = subprocess.Popen([sys.executable, "-m", "tsandbox", *arguments.split()], stdout=PIPE, stderr=PIPE)
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    complaint = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 141
    assert complaint == b""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [("spec jq", 6), ("spec jq --json", 6), ("--help", 6), ("spec nonesuch --json", 6), ("spec nonesuch", 3)],
)
def test_output_that_nothing_takes_is_told_once(arguments: str, code: int) -> None:
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "tsandbox", *arguments.split()]
        done = subprocess.run(command, stdout=full, stderr=PIPE, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"), [("spec jq", 0), ("spec jq --json", 0), ("spec -", 3), ("spec nonesuch --json", 3)]
)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_no_exit_code(arguments: str, code: int, closed: str) -> None:
    script = f"{sys.executable} -m tsandbox {arguments} {closed}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, input="", check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_characters_that_the_terminal_lacks_are_escaped(tmp_path: Path) -> None:
    recipe = tmp_path / "made.toml"
    recipe.write_text(
        '[metadata]\nname = "made"\n[[steps]]\naction = "manual"\ntext = "Gr\u00f6\u00dfe \u2192 \u2713"\n'
    )
    command = [sys.executable, "-m", "tsandbox", "guide", recipe]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    assert "Größe \\u2192 \\u2713".encode("latin-1") in done.stdout


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
@pytest.mark.parametrize("arguments", ["spec jq", "spec nonesuch", "nonesuch"])
def test_a_terminal_gets_colours_unless_it_or_its_user_wants_none(
    arguments: str, environment: dict[str, str], coloured: bool
) -> None:
    ours, terminal = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with os.fdopen(ours, "rb", buffering=0) as screen:
        subprocess.run(
            [sys.executable, "-m", "tsandbox", *arguments.split()],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**inherited, "TERM": "xterm", **environment},
            check=False,
        )
        shown = screen.read(1 << 16)
        os.close(terminal)
    assert (b"\x1b[" in shown) == coloured


def test_ctrl_c_is_exit_130(tmp_path: Path) -> None:
    pipe = tmp_path / "slow.toml"
    os.mkfifo(pipe)
    command = [sys.executable, "-m", "tsandbox", "spec", "--json", pipe]
    # Opening a pipe waits for the other side: once it is open, the command is reading.
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True) as process, pipe.open("w"):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130
    assert '"exit_code":130' in out
    assert "Traceback" not in err


def test_version(run: Run) -> None:
    from tsandbox import __version__

    assert run("--version").stdout == f"tsandbox, version {__version__}\n"


def test_version_as_an_object(run: Run) -> None:
    from tsandbox import __version__

    found = run("--version", "--json").json
    assert found == run("--json", "--version").json
    assert found["version"] == __version__


@pytest.mark.parametrize(
    "arguments",
    [
        "--version",
        "list",
        "list --installed",
        "completion bash",
        "guide jq",
        "validate jq",
        "validate nonesuch",
        "migrate recipes/jq.toml",
        "migrate nonesuch",
        "guide nonesuch",
        "guide iterm2",
        "plan nonesuch",
        "spec nonesuch",
        "which nonesuch",
        "schema nonesuch",
    ],
)
def test_the_object_of_every_command_and_outcome_has_the_keys_of_the_contract(run: Run, arguments: str) -> None:
    ran = run(*arguments.split(), "--json", code=None)
    assert set(ran.json) >= CONTRACT
    assert (ran.json["schema"], ran.json["exit_code"]) == (1, ran.code)
    assert ran.json["status"] == ("error" if ran.code else "passed")
    assert (ran.json["error"] is None) == (ran.code == 0)


@pytest.mark.parametrize("group", ["matrix", "cache", "base"])
def test_json_may_stand_between_a_group_and_its_command(run: Run, group: str) -> None:
    assert run(group, "--json", "nosuch", code=2).json["exit_code"] == 2
    run(group, "--quiet", "--help")


def test_python_m_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tsandbox", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tsandbox, version ")
