import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sandbox.plans import DEBIAN, plan_of
from tsandbox.engine import EngineFacts
from tsandbox.errors import InstallFailed, InvalidInput, UsageError
from tsandbox.sandbox import RunOptions, capsule
from tsandbox.sandbox.outcome import Limits, Outcome

STEP = '[[steps]]\naction = "require_command"\ncommand = "sh"\n'


class Facts:
    """All that a capsule asks of an engine."""

    def facts(self) -> EngineFacts:
        values: dict[str, Any] = dict.fromkeys(
            ("version", "api", "storage_driver", "storage_root", "cgroups", "runtime"), "x"
        )
        return EngineFacts(name="podman", rootless=False, **values)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    outcome = Outcome(plan=plan_of(tmp_path, STEP), target=DEBIAN, started=0.0, error=InstallFailed("why"))
    options = RunOptions(env={"TOKEN": "hunter2"}, limits=Limits(pids=7), profile="full")
    return capsule.write(tmp_path / "c.tar.gz", outcome, options, Facts())  # type: ignore[arg-type]


def test_what_was_asked_for_comes_back_without_the_secrets(written: Path, tmp_path: Path) -> None:
    held = capsule.read(written)
    assert held.plan.tool == "tool"
    assert [step.action for step in held.plan.steps] == ["require_command"]
    assert (held.about.target, held.about.exit_code, held.about.message) == (DEBIAN, 7, "why")
    options = held.options({"TOKEN": "other"}, offline=True)
    assert (options.limits, options.profile, options.env, options.offline) == (
        Limits(pids=7),
        "full",
        {"TOKEN": "other"},
        True,
    )
    with tarfile.open(written) as tar:
        for member in tar.getmembers():
            content = tar.extractfile(member)
            assert content is not None
            assert b"hunter2" not in content.read()


def test_secrets_have_to_be_given_again(written: Path) -> None:
    with pytest.raises(UsageError, match="TOKEN") as raised:
        capsule.read(written).options({})
    assert raised.value.hint == "--env TOKEN"


def test_the_same_run_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    before = written.read_bytes()
    outcome = Outcome(plan=plan_of(tmp_path, STEP), target=DEBIAN, started=9.0, error=InstallFailed("why"))
    options = RunOptions(env={"TOKEN": "hunter3"}, limits=Limits(pids=7), profile="full")
    assert capsule.write(written, outcome, options, Facts()).read_bytes() == before  # type: ignore[arg-type]


def packed(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name.replace("_", "."))
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def with_header(size: int) -> bytes:
    """An archive that begins with a header of so many bytes, which packed are few."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, size
    return gzip.compress(header.tobuf() + bytes(size))


def with_link() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        member = tarfile.TarInfo("capsule.json")
        member.type, member.linkname = tarfile.SYMTYPE, "capsule.json"
        tar.addfile(member)
        tar.addfile(tarfile.TarInfo("plan.json"))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no archive", "is no capsule"),
        (packed(), "is no capsule"),
        (packed(capsule_json=b"{}", plan_json=b"{}"), "is no capsule"),
        (packed(capsule_json=b"not json", plan_json=b"{}"), "is no capsule"),
        (with_header(17 << 20), "of an unreasonable size"),
        (with_link(), "is not a file"),
        (packed(**{f"f{number}": b"" for number in range(20)}, capsule_json=b"{}"), "is no capsule: 'capsule.json'"),
    ],
    ids=["no archive", "nothing in it", "no fields", "no JSON", "a huge header", "a link", "too many files"],
)
def test_what_is_no_capsule(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=why):
        capsule.read(path)


def test_a_plan_in_a_capsule_is_checked_like_any_other(written: Path, tmp_path: Path) -> None:
    with tarfile.open(written) as tar:
        about = tar.extractfile("capsule.json")
        assert about is not None
        content = packed(capsule_json=about.read(), plan_json=json.dumps({"format_version": 99}).encode())
    path = tmp_path / "x.tar.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="format_version 99"):
        capsule.read(path)


def test_the_log_of_a_build_stays_with_its_owner(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("all that it printed")
    for stage, content in (("install", b"all that it printed"), ("build", b"")):
        outcome = Outcome(plan=plan_of(tmp_path, STEP), target=DEBIAN, started=0.0, log=log, stage=stage)  # type: ignore[arg-type]
        path = capsule.write(tmp_path / "c.tar.gz", outcome, RunOptions(), Facts())  # type: ignore[arg-type]
        with tarfile.open(path) as tar:
            held = tar.extractfile("log.txt")
            assert held is not None
            assert held.read() == content
