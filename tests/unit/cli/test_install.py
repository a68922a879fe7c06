"""The command line of an installation: what is refused before anything starts, and what the end looks like."""

import json
from pathlib import Path

import click
import pytest

from tests.unit.sandbox.plans import DEBIAN, plan_of
from tsandbox.build import BuiltImage, Progress
from tsandbox.cli.entry import main
from tsandbox.cli.install_options import environment, limits_from, warn_of_plain
from tsandbox.cli.install_summary import summary
from tsandbox.cli.live import Lines
from tsandbox.cli.output import Output
from tsandbox.derive import derive
from tsandbox.errors import BuildFailed, InstallFailed, Interrupted, TimedOut, UsageError
from tsandbox.sandbox.news import Building, Built, Checking, Fetching, Said, StepBegan, StepEnded
from tsandbox.sandbox.news import Output as StepOutput
from tsandbox.sandbox.outcome import Change, CheckOutcome, Finding, Limits, Outcome, StepOutcome

RECIPE = (
    '[version]\npin = "1.0"\n[[steps]]\naction = "apt_install"\npackages = ["jq"]\n[verify]\ncommand = "jq --version"\n'
)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    told = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, told.out, told.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((), "what is to be installed?"),
        (("jq", "--plan", "x.json"), "two inputs"),
        (("jq", "--family", "rhel"), "--family is for --sandbox"),
        (("jq", "--keep"), "--keep is for --sandbox"),
        (("jq", "--capsule", "x"), "--capsule is for --sandbox"),
        (("jq", "--sandbox", "--limits", "memory=lots"), "'lots' is no such amount"),
        *(
            (("jq", "--sandbox", "--limits", f"{name}={value}"), "more than 0 and less than a million")
            for name, value in [("cpus", "nan"), ("cpus", "inf"), ("cpus", "1e400"), ("timeout", "nan"), ("pids", "0")]
        ),
        *((("jq", "--sandbox", "--timeout", value), "less than a million") for value in ("nan", "inf", "1e400", "1e6")),
        (("jq", "--timeout", "nan"), "less than a million"),
        (("jq", "--sandbox", "--limits", "memory=5m"), "between 6m and 1024g"),
        (("jq", "--sandbox", "--limits", "memory=1025g"), "between 6m and 1024g"),
        (("jq", "--sandbox", "--limits", "disk=1k"), "between 1m and 1024g"),
        (("jq", "--sandbox", "--limits", "speed=9"), "unknown limit 'speed'"),
        (("jq", "--sandbox", "--env", "not-a-name"), "no name of a variable"),
        (("jq", "--sandbox", "--env", "PATH=/x"), "--env PATH is set by the sandbox"),
        (("jq", "--sandbox", "--env", "LD_PRELOAD=/x.so"), "--env LD_PRELOAD is set by the sandbox"),
        (("jq", "--sandbox", "--family", "all"), "one family at a time"),
        (("jq", "--sandbox", "--json", "--shell-on-fail"), "--shell-on-fail needs a terminal"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], says: str
) -> None:
    code, _, err = run(capsys, "install", *args)
    assert code == 2
    assert says in err


def test_wrong_usage_answers_in_json_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "install", "--json")
    result = json.loads(out)
    assert (code, result["exit_code"], result["status"]) == (2, 2, "error")


def test_a_directory_is_for_the_matrix(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "install", str(tmp_path), "--sandbox")
    assert code == 2
    assert "matrix run" in err


def test_variables_come_from_the_word_or_from_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_HERE", "value=with=signs")
    assert environment(["A=1=2", "FROM_HERE", "EMPTY="]) == {"A": "1=2", "FROM_HERE": "value=with=signs", "EMPTY": ""}


def test_no_message_shows_the_value_of_a_variable() -> None:
    with pytest.raises(UsageError) as raised:
        environment(["1BAD=hunter2"])
    assert "hunter2" not in f"{raised.value.message}{raised.value.hint}"


def test_a_value_that_cannot_be_masked_is_said_to_be_so(capsys: pytest.CaptureFixture[str]) -> None:
    given = {"SHORT": "ab", "COMMON": "true", "EMPTY": "", "TOKEN": "hunter2secret"}
    warn_of_plain(given, Output())
    err = capsys.readouterr().err
    assert [name for name in given if f"--env {name}:" in err] == ["SHORT", "COMMON"]


def test_limits_from_several_words() -> None:
    given = limits_from(["memory=512m,cpus=1.5", "pids=9", "disk=1g"], 2.5)
    assert given == Limits(memory=512 << 20, cpus=1.5, pids=9, disk=1 << 30, timeout=2.5)


@pytest.fixture
def passed(tmp_path: Path) -> Outcome:
    plan = plan_of(tmp_path, RECIPE)
    return Outcome(
        plan=plan,
        target=DEBIAN,
        started=0.0,
        duration_ms=1234,
        spec=derive(plan, DEBIAN),
        engine="podman",
        image="sandbox-cache:0123",
        image_size=11_100_000,
        cached=True,
        steps=(
            StepOutcome(
                number=1, action="apt_install", tool="tool", status="passed", file="t.toml", line=4, duration_ms=3
            ),
        ),
        checks=(CheckOutcome(command="jq --version", ok=True, exit_code=0, output="\x1b[1mjq-1.6\n"),),
        limits=Limits(memory=2 << 30, cpus=2, pids=100, timeout=120),
        unenforced=("memory",),
        notes=("nginx: not started: no unit",),
        findings=(Finding(kind="missing_library", message="bin/x needs the library liby.so"),),
        log=tmp_path / "log",
    )


def shown(outcome: Outcome, **more: object) -> str:
    return click.unstyle(summary(outcome, "t.toml", kept=False))


def test_a_pass_on_one_screen(passed: Outcome) -> None:
    text = shown(passed)
    assert text.startswith("✓ tool 1.0 passed on linux/debian/amd64 in 1.2 s")
    for part in (
        "sandbox-cache:0123  cached, 11.1 MB (podman, minimal)",
        "✓ 1 apt_install",
        "t.toml:4  3 ms",
        "✓ jq --version",
        "2g memory, 2 cpus, 100 processes, 120 s, no network",
        "not enforced by this host: memory",
        "nginx: not started",
        "bin/x needs the library liby.so",
        "tsandbox install t.toml  on this host",
    ):
        assert part in text
    assert "\x1b" not in text
    assert len(text.splitlines()) <= 24


def test_a_failure_says_what_to_write_and_what_to_run_next(passed: Outcome) -> None:
    from msgspec.structs import replace

    error = InstallFailed(
        "t.toml:4: step 1 failed", hint="the command x is in y\nt.toml:5: write:\n    z", details=["said"]
    )
    text = shown(replace(passed, error=error, change=Change(toml="z", file="t.toml", line=5)))
    assert text.startswith("✗ tool 1.0 failed on linux/debian/amd64 after 1.2 s (exit code 7)")
    assert "  │ said" in text
    assert "  → the command x is in y" in text
    assert "        z" in text
    assert "tsandbox install t.toml --sandbox  after the change above" in text
    late = shown(replace(passed, error=TimedOut("not done")))
    assert late.startswith("✗ tool 1.0 timed out")
    assert "--shell-on-fail" in late
    assert "--shell-on-fail" not in shown(replace(passed, error=Interrupted("interrupted")))


def test_an_image_that_was_not_built_is_named_as_such(passed: Outcome) -> None:
    from msgspec.structs import replace

    failed = replace(passed, error=BuildFailed("no"), image_size=None, cached=None, steps=(), checks=())
    text = shown(failed)
    assert "sandbox-cache:0123  not built (podman, minimal)" in text
    assert f"log       {passed.log}" in text


def test_on_a_terminal_lines_are_wrapped_between_words(passed: Outcome, monkeypatch: pytest.MonkeyPatch) -> None:
    from msgspec.structs import replace

    words = " ".join(f"word{number:02}" for number in range(40))
    toml = f"    packages = [{words}]"
    error = InstallFailed(words, hint=f"{words}\n{toml}", details=[words, " " * 60])
    outcome = replace(passed, error=error, notes=(words,), log=Path("/logs", "x" * 80))
    whole = shown(outcome)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    lines = shown(outcome).splitlines()
    # Neither what is to be written nor a path is cut, and a path stands beside its label.
    assert [line for line in lines if len(line) > 80] == [f"    {toml}", f"  log       /logs/{'x' * 80}"]
    note = lines.index(next(line for line in lines if line.startswith("  note")))
    assert lines[note + 1].startswith(" " * 14 + "word")
    assert " ".join(lines).replace("│", "").split() == whole.replace("│", "").split()


def test_many_steps_still_fit_on_a_screen(passed: Outcome) -> None:
    from msgspec.structs import replace

    steps = tuple(
        replace(passed.steps[0], number=number, status="failed" if number == 30 else "passed")
        for number in range(1, 61)
    )
    text = shown(replace(passed, steps=steps))
    assert "… 26 more" in text
    assert "✗ 30 apt_install" in text
    assert "✓ 60 apt_install" in text
    assert len(text.splitlines()) < 30


def test_without_a_terminal_every_finished_thing_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines(Output(), "tool")
    image = BuiltImage(
        reference="sandbox-cache:0123456789abcdef", id="x", key="k", cached=False, size=5_000_000, seconds=2
    )
    for news in (
        Said("asking"),
        Fetching(name="a.tar.gz", got=1, total=10),
        Fetching(name="a.tar.gz", got=5, total=10),
        Building(progress=Progress(what="base builder: into podman")),
        Building(progress=Progress(what="FROM base", step=1, steps=2)),
        Building(progress=Progress(what="RUN install", step=2, steps=2)),
        Building(progress=Progress(what="reading the package index of bookworm", step=2, steps=2)),
        Building(progress=Progress(what="fetching packages", step=2, steps=2, bytes=0, total=9_000_000)),
        Building(progress=Progress(what="fetched jq", step=2, steps=2, package="jq", bytes=5, total=9_000_000)),
        Building(progress=Progress(what="unpacking jq", step=2, steps=2, package="jq")),
        Built(image=image),
        StepBegan(number=1, of=2, action="extract", tool="tool", place="t.toml:4"),
        StepOutput(step=1, stream="stdout", text="hidden \x1b[2J\n"),
        StepEnded(number=1, ok=False, duration_ms=12, note=None),
        Checking(commands=("a", "b")),
    ):
        lines(news)
    told = click.unstyle(capsys.readouterr().err).splitlines()
    assert told == [
        "tool: asking",
        "tool: fetching a.tar.gz",
        "tool: base builder: into podman",
        "tool: building the image, step 1/2",
        "tool: building the image, step 2/2",
        "tool: fetching packages, 9.0 MB",
        "tool: image 0123456789ab built in 2.0 s, 5.0 MB",
        "tool: [1/2] extract  t.toml:4  failed (12 ms)",
        "tool: verifying: 2 commands",
    ]


def test_verbose_shows_what_programs_print_without_what_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.verbose = True
    Lines(output, "tool")(StepOutput(step=1, stream="stdout", text="now \x1b[2J\n"))
    assert "now \\e[2J" in click.unstyle(capsys.readouterr().err)


def test_without_an_engine_the_object_still_says_what_was_to_be_proved_and_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, _ = run(capsys, "install", "jq", "--sandbox", "--engine", "podman", "--json")
    found = json.loads(out)
    assert (code, found["exit_code"], found["tool"], found["target"]["linux_family"]) == (5, 5, "jq", "debian")


def test_what_people_read_goes_to_stderr_beside_the_object(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TSANDBOX_HOME", str(tmp_path / "home"))
    recipe = tmp_path / "needy.toml"
    recipe.write_text("[metadata]\nname = 'needy'\n[[steps]]\naction = 'require_command'\ncommand = 'is-not-there'\n")
    code, out, err = run(capsys, "install", str(recipe), "--json")
    error = json.loads(out)["error"]
    assert (code, error["type"]) == (7, "InstallFailed")
    assert error["message"] in err
