"""What a terminal shows while a matrix runs."""

import io
import re

import pytest
from rich.console import Console

from tests import sample_results as samples
from tsandbox.cli.matrix_progress import _Moving, shown
from tsandbox.cli.output import Output
from tsandbox.matrix.run import Progress


@pytest.fixture
def moving() -> _Moving:
    made = _Moving(8)
    made.clock = lambda: made.began + 75
    return made


def text_of(moving: _Moving) -> list[str]:
    console = Console(file=io.StringIO(), width=120, force_terminal=False)
    console.print(moving.render())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def test_the_bar_counts_states_hits_and_what_is_left(moving: _Moving) -> None:
    moving.now(Progress(total=8, done=3, running=2, counts={"passed": 2, "failed": 1}, hits=1, eta_s=64.2))
    [line] = text_of(moving)
    assert line.endswith("3/8 1 failed · 2 passed · 2 running · 1 cache hit · 1 min 15 s · about 1 min 04 s left")


def test_the_cells_that_run_longest_are_named(moving: _Moving) -> None:
    for number in range(5):
        moving.now(Progress(total=8, done=0, running=number + 1, counts={}, hits=0, started=f"t{number}"))
    assert [line.split()[0] for line in text_of(moving)[1:]] == ["t0", "t1", "t2", "and"]
    ended = samples.passed("t")
    moving.now(Progress(total=8, done=1, running=4, counts={"passed": 1}, hits=0, result=ended, started=ended.cell))
    assert ended.cell not in moving.running


def test_hostile_names_do_not_reach_the_terminal(moving: _Moving) -> None:
    moving.now(Progress(total=8, done=0, running=1, counts={}, hits=0, started="\x1b[2Jevil"))
    assert "\\e[2Jevil" in text_of(moving)[1]


def test_without_a_terminal_each_cell_is_a_line_and_a_failure_tells_how_to_see_it_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with shown(Output(), 2) as show:
        show(Progress(total=2, done=0, running=1, counts={}, hits=0, started="jq"))
        show(Progress(total=2, done=1, running=0, counts={"passed": 1}, hits=1, result=samples.passed("jq")))
        show(Progress(total=2, done=2, running=0, counts={}, hits=1, result=samples.verify_failed("curl")))
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == "[1/2] passed  jq-linux-debian-amd64  1.8 s  cache hit"
    assert lines[1] == "[2/2] failed  curl-linux-rhel-amd64  3.1 s  cache hit"
    assert "  reproduce: tsandbox matrix run recipes/curl.toml --only curl-linux-rhel-amd64" in lines


def test_quiet_shows_failures_only(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.quiet = True
    with shown(output, 1) as show:
        show(Progress(total=1, done=1, running=0, counts={"passed": 1}, hits=1, result=samples.passed("jq")))
        assert capsys.readouterr().err == ""
        show(Progress(total=1, done=1, running=0, counts={}, hits=1, result=samples.verify_failed("curl")))
    assert capsys.readouterr().err.startswith("FAILED   curl-linux-rhel-amd64 (exit 8)\n")
