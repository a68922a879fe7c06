"""Verification is judged from evidence: exit code, patterns, and that there is evidence at all."""

from pathlib import Path

import pytest

from tsandbox.errors import VerifyFailed
from tsandbox.plan import Plan
from tsandbox.recipe.model import Check, Verify
from tsandbox.sandbox import verify
from tsandbox.sandbox.outcome import CheckOutcome
from tsandbox.sandbox.verify import Recorded, shortened


def outcome(wanted: Verify, output: str = "", exit_code: int = 0, version: str | None = "1.2.3") -> str | None:
    plan = Plan(tool="jq", version=version, steps=(), verify=wanted, file="jq.toml")
    record = Recorded(index=0, command=wanted.command, exit_code=exit_code, stdout=output)
    return verify.judge(plan, [record], "/opt/jq")[0].reason


@pytest.mark.parametrize(
    ("pattern", "output"),
    [
        ("{version}", "jq-1.2.3"),
        ("jq {version} ({install_dir})", "jq 1.2.3 (/opt/jq)"),
        (".", "anything"),
        ("Python 3.", "Python 3.11"),
        (r"^release \d+", "first\nrelease 12"),
        ("c++ (", "c++ (Debian)"),
    ],
)
def test_patterns_that_hold(pattern: str, output: str) -> None:
    assert outcome(Verify(command="jq", pattern=pattern), output) is None


@pytest.mark.parametrize(
    ("pattern", "output"),
    [
        ("{version}", "jq-1x2x3"),
        (".", ""),
        ("c++ (", "gcc"),
        ("jq {version}", "jq 1.2.4"),
    ],
)
def test_patterns_that_do_not_hold(pattern: str, output: str) -> None:
    assert "does not hold" in (outcome(Verify(command="jq", pattern=pattern), output) or "")


def test_all_patterns_must_hold() -> None:
    wanted = Verify(command="jq", patterns=("one", "two"))
    assert outcome(wanted, "two one") is None
    assert outcome(wanted, "one") == "the output does not hold 'two'"


def test_an_unknown_version_accepts_any_but_wants_one() -> None:
    wanted = Verify(command="docker", pattern="Docker version {version}")
    assert outcome(wanted, "Docker version 20.10.24+dfsg1, build", version=None) is None
    assert outcome(wanted, "Docker version unknown", version=None) is not None


def test_output_mode_accepts_the_version_of_a_distribution() -> None:
    assert (
        outcome(Verify(command="cmake", pattern="cmake version {version}", mode="output"), "cmake version 3.25") is None
    )


@pytest.mark.parametrize(("kind", "version"), [("strip_v", "v1.2.3"), ("semver_core", "v1.2.3-rc1")])
def test_version_formats(kind: str, version: str) -> None:
    assert outcome(Verify(command="x", pattern="x {version}", version_format=kind), "x 1.2.3", version=version) is None


def test_exit_codes_are_compared() -> None:
    assert outcome(Verify(command="x", exit_code=2), exit_code=2) is None
    assert outcome(Verify(command="x"), exit_code=3) == "the command ended with exit code 3, and 0 was expected"
    assert "not found" in (outcome(Verify(command="x"), exit_code=127) or "")
    assert "signal 11" in (outcome(Verify(command="x"), exit_code=-11) or "")


def test_missing_evidence_is_failure() -> None:
    plan = Plan(
        tool="jq", version=None, steps=(), verify=Verify(command="jq --version", additional=(Check(command="b"),))
    )
    checks = verify.judge(plan, [Recorded(index=0, command="jq --version", exit_code=0)], "/opt/jq")
    assert [check.ok for check in checks] == [True, False]
    error = verify.failure(checks, plan)
    assert isinstance(error, VerifyFailed)
    assert "nothing is proved" in error.message


def test_a_failure_shows_the_output_and_what_was_expected() -> None:
    plan = Plan(tool="jq", version="9", steps=(), verify=Verify(command="jq", pattern="jq-{version}"), file="jq.toml")
    checks = verify.judge(plan, [Recorded(index=0, command="jq", exit_code=0, stdout="jq-1\x1b[2J\n")], "/opt")
    error = verify.failure(checks, plan)
    assert error is not None
    assert "'jq-9'" in error.message
    assert error.details == ("$ jq", "jq-1\\e[2J")


RECIPE = """\
[metadata]
name = "jq"

[verify]
command = "jq"
pattern = "jq-1"

[[verify.additional]]
command = ""
pattern = "no command, so no check"

[[verify.additional]]
command = "jq -n 1"
patterns = ["1", "2"]
"""


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ([("jq-2", 0), ("1 2", 0)], 6),
        ([("jq-1", 3), ("1 2", 0)], 5),
        ([("jq-1", 0), ("1", 0)], 14),
        ([("jq-1", 0), ("1 2", 1)], 13),
        ([("jq-1", 0)], 13),
    ],
)
def test_a_failure_points_to_the_line_that_did_not_hold(tmp_path: Path, said: list[tuple[str, int]], line: int) -> None:
    file = tmp_path / "jq.toml"
    file.write_text(RECIPE)
    more = (Check(command="", pattern="no command, so no check"), Check(command="jq -n 1", patterns=("1", "2")))
    wanted = Verify(command="jq", pattern="jq-1", additional=more)
    plan = Plan(tool="jq", version=None, steps=(), verify=wanted, file=str(file))
    records = [Recorded(index=i, command="x", exit_code=code, stdout=text) for i, (text, code) in enumerate(said)]
    error = verify.failure(verify.judge(plan, records, "/opt"), plan)
    assert error
    assert (error.file, error.line) == (str(file), line)


def test_a_pattern_that_never_ends_is_an_error_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_SEARCH_SECONDS", 0.5)
    with pytest.raises(VerifyFailed, match="too hard"):
        outcome(Verify(command="x", pattern="(a+)+$"), "a" * 40 + "b")


def test_a_result_carries_both_ends_of_a_long_output() -> None:
    check = CheckOutcome(command="x", ok=True, exit_code=0, output="begin" + "x" * 100_000 + "end")
    short = shortened(check).output
    assert short.startswith("begin")
    assert short.endswith("end")
    assert "83624 characters" in short
    assert len(short) < 20_000
