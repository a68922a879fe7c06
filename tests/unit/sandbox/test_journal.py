"""What the runner tells, and what must not get through."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.sandbox.plans import plan_of
from tsandbox.runner.seal import sealed
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.logs import Log
from tsandbox.sandbox.news import Checking, News, Output, StepBegan, StepEnded
from tsandbox.sandbox.secrets import Masker

STEPS = """\
[[steps]]
action = "require_command"
command = "sh"

[[steps]]
action = "require_command"
command = "ls"

[verify]
command = "sh --version"
"""


KEY = b"k" * 32


class Heard:
    def __init__(self, tmp_path: Path, *secrets: str) -> None:
        self.news: list[News] = []
        self.written = io.StringIO()
        log = Log(tmp_path / "log", self.written)
        self.journal = Journal(plan_of(tmp_path, STEPS), Masker(secrets), log, self.news.append, key=KEY)

    def tell(self, event: str, **fields: Any) -> None:
        self.journal.feed("stdout", told(event, **fields))


def told(event: str, *, key: bytes = KEY, **fields: Any) -> bytes:
    return sealed(json.dumps({"event": event, **fields}).encode(), key) + b"\n"


@pytest.fixture
def heard(tmp_path: Path) -> Heard:
    return Heard(tmp_path, "hunter2secret")


def test_steps_are_followed_and_those_that_did_not_run_are_listed(heard: Heard) -> None:
    heard.tell("start", step=1)
    assert heard.journal.running == 1
    heard.tell("end", step=1, ok=True, duration_ms=5, note="sh is /bin/sh")
    assert [(step.number, step.status, step.line) for step in heard.journal.steps] == [
        (1, "passed", 4),
        (2, "not_run", 8),
    ]
    [began, ended] = heard.news
    assert isinstance(began, StepBegan)
    assert (began.number, began.of, began.action) == (1, 2, "require_command")
    assert began.place.endswith("tool.toml:4")
    assert isinstance(ended, StepEnded)
    assert (ended.ok, ended.note) == (True, "sh is /bin/sh")


def test_an_event_may_arrive_in_pieces(heard: Heard) -> None:
    line = told("limits", memory=1024, cpus=2.0, pids=None)
    heard.journal.feed("stdout", line[:7])
    heard.journal.feed("stdout", line[7:])
    assert heard.journal.enforced is not None
    assert heard.journal.enforced.memory == 1024
    assert heard.journal.enforced.pids is None


def test_a_secret_that_is_split_over_outputs_never_shows(heard: Heard) -> None:
    heard.tell("start", step=1)
    for piece in ("token: hun", "ter2", "sec", "ret\n"):
        heard.tell("output", step=1, stream="stdout", text=piece)
    heard.tell(
        "error", step=1, kind="command_failed", message="bad hunter2secret", data={"argv": ["x", "hunter2secret"]}
    )
    heard.tell("end", step=1, ok=False, duration_ms=5, note="bad hunter2secret")
    heard.journal.end()
    shown = heard.written.getvalue() + repr(heard.news) + repr(heard.journal.findings) + repr(heard.journal.steps)
    assert "hunter2" not in shown
    assert "token: ***" in "".join(news.text for news in heard.news if isinstance(news, Output))


def test_the_verification_keeps_what_was_printed_for_the_judge_and_masks_what_is_shown(heard: Heard) -> None:
    heard.tell("output", step=None, stream="stdout", text="hunter2secret\n", verify=0)
    heard.tell("verify", index=0, kind="main", command="sh --version", exit_code=0, stdout="hunter2secret\n", stderr="")
    assert heard.journal.records[0].stdout == "hunter2secret\n"
    assert heard.journal.verifying
    assert Checking(commands=("sh --version",)) in heard.news
    assert "hunter2" not in heard.written.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        b"Segmentation fault",
        b"{",
        b'{"event": "start", "step": 99}',
        b'{"event": 5}',
        b'{"event": "end"}',
        b"[1]",
        b"\xff",
    ],
)
def test_what_is_no_event_is_kept_as_stray_words(heard: Heard, line: bytes) -> None:
    heard.journal.feed("stdout", sealed(line, KEY) + b"\n")
    assert len(heard.journal.stray) == 1
    assert heard.journal.done is None
    assert all(step.status == "not_run" for step in heard.journal.steps)


@pytest.mark.parametrize(
    "line",
    [
        b'{"event": "done", "ok": true, "notes": []}\n',
        told("done", key=b"another key", ok=True, notes=[]),
        told("done", ok=False, notes=[]).replace(b"false", b"true"),
    ],
)
def test_what_another_than_the_runner_tells_is_not_believed(heard: Heard, line: bytes) -> None:
    heard.journal.feed("stdout", line)
    assert len(heard.journal.stray) == 1
    assert heard.journal.done is None
    assert heard.journal.events == []


def test_a_step_that_was_cut_off_has_not_passed_and_did_run(heard: Heard) -> None:
    heard.tell("start", step=1)
    assert [step.status for step in heard.journal.steps] == ["failed", "not_run"]


def test_stderr_is_the_word_of_the_loader_or_kernel(heard: Heard) -> None:
    heard.journal.feed("stderr", b"exec: no such file\n")
    assert list(heard.journal.stray) == ["exec: no such file"]


def test_notes_of_the_end_are_kept(heard: Heard) -> None:
    heard.tell("done", ok=True, notes=["nginx: not started: hunter2secret"])
    assert heard.journal.done is True
    assert heard.journal.notes == ["nginx: not started: ***"]
