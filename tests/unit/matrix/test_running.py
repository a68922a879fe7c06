"""Running cells: order, retries, deaths, interruption; in real worker processes."""

import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import sample_results as samples
from tests.unit.matrix.fakes import FakeProver, cell
from tsandbox.errors import BuildFailed, EngineLost, UsageError
from tsandbox.matrix import workers
from tsandbox.matrix.attempts import attempt, reproduce
from tsandbox.matrix.model import Cell, MatrixPlan
from tsandbox.matrix.run import Progress, Summary, choose_cells, default_jobs, run_cells
from tsandbox.matrix.schedule import Schedule
from tsandbox.matrix.store import read_result
from tsandbox.matrix.workers import run_local
from tsandbox.report.result import ErrorRecord, from_error


@pytest.fixture
def prover(tmp_path: Path) -> FakeProver:
    diary = tmp_path / "diary"
    diary.touch()
    return FakeProver(diary=str(diary))


def run(
    cells: Sequence[Cell],
    prover: FakeProver,
    directory: Path,
    *,
    jobs: int = 2,
    retries: int = 1,
    resume: bool = False,
    fail_fast: bool = False,
    seen: list[Progress] | None = None,
) -> Summary:
    return run_cells(
        cells,
        lambda schedule: run_local(schedule, prover, jobs=jobs, retries=retries),
        directory,
        resume=resume,
        fail_fast=fail_fast,
        on_progress=seen.append if seen is not None else lambda _: None,
    )


def test_one_bad_cell_stops_no_other_and_decides_the_exit_code(prover: FakeProver, tmp_path: Path) -> None:
    cells = [cell(name) for name in ("a", "bad", "bug", "c")]
    summary = run(cells, prover, tmp_path / "r")
    assert summary.counts == {"passed": 2, "failed": 1, "error": 1}
    assert summary.exit_code == 1
    verify = read_result(tmp_path / "r", cells[1])
    bug = read_result(tmp_path / "r", cells[2])
    assert verify
    assert (verify.exit_code, verify.stage) == (8, "verify")
    assert bug
    assert bug.error == ErrorRecord(type="ZeroDivisionError", message="bug")


def test_a_failed_verification_is_never_a_pass(prover: FakeProver, tmp_path: Path) -> None:
    assert run([cell("a"), cell("bad"), cell("bad2")], prover, tmp_path / "r").exit_code == 8


def test_no_cells_prove_nothing(prover: FakeProver, tmp_path: Path) -> None:
    assert run([], prover, tmp_path / "r").exit_code == 10


def test_what_cannot_be_planned_fails_without_an_engine(prover: FakeProver, tmp_path: Path) -> None:
    broken = replace(
        cell("broken", None), digest=None, error=ErrorRecord(type="InvalidInput", message="x"), exit_code=3
    )
    assert run([broken], prover, tmp_path / "r").exit_code == 3
    assert prover.asked() == []


def test_infrastructure_is_tried_again_and_the_cell_is_flaky(prover: FakeProver, tmp_path: Path) -> None:
    flaky, lost = cell("flaky", "sha256:1"), cell("lost", "sha256:2")
    summary = run([flaky, lost], prover, tmp_path / "r")
    assert summary.counts == {"flaky": 1, "error": 1}
    assert prover.asked().count(lost.id) == 2
    result = read_result(tmp_path / "r", flaky)
    assert result
    assert (result.state, len(result.attempts)) == ("flaky", 1)


def test_a_failure_of_the_recipe_is_never_tried_again(prover: FakeProver, tmp_path: Path) -> None:
    run([cell("bad")], prover, tmp_path / "r", retries=5)
    assert prover.asked() == ["bad-linux-debian-amd64"]


def test_a_worker_that_dies_takes_only_its_cell_with_it(prover: FakeProver, tmp_path: Path) -> None:
    cells = [cell("dies", "sha256:1"), cell("once", "sha256:2"), cell("a", "sha256:3"), cell("b", "sha256:4")]
    summary = run(cells, prover, tmp_path / "r")
    assert summary.counts == {"error": 1, "flaky": 1, "passed": 2}
    dead = read_result(tmp_path / "r", cells[0])
    assert dead
    assert dead.error
    assert dead.error.message == "the process that ran this cell ended with signal SIGKILL"
    assert prover.asked().count("dies-linux-debian-amd64") == 2


def test_a_worker_is_renewed_before_its_leaks_add_up(
    prover: FakeProver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_RENEW_AFTER", 2)
    run([cell(f"t{number}", "sha256:1") for number in range(5)], prover, tmp_path / "r", jobs=1)
    assert len(prover.processes()) == 3


def test_after_the_first_bad_cell_nothing_more_is_started(prover: FakeProver, tmp_path: Path) -> None:
    cells = [cell("bad", "sha256:1", run_ms=100), *(cell(f"t{number}", f"sha256:t{number}") for number in range(6))]
    summary = run(cells, prover, tmp_path / "r", jobs=1, fail_fast=True)
    assert prover.asked() == ["bad-linux-debian-amd64"]
    assert (summary.exit_code, summary.not_run) == (8, 6)


def test_going_on_runs_only_what_has_no_result_of_this_state(prover: FakeProver, tmp_path: Path) -> None:
    cells = [cell(name) for name in ("a", "b", "c")]
    run(cells[:2], prover, tmp_path / "r")
    changed = [cells[0], replace(cells[1], digest="sha256:new"), cells[2]]
    Path(prover.diary).write_text("")
    summary = run(changed, prover, tmp_path / "r", resume=True)
    assert sorted(prover.asked()) == ["b-linux-debian-amd64", "c-linux-debian-amd64"]
    assert (summary.resumed, summary.exit_code, sum(summary.counts.values())) == (1, 0, 3)


def test_going_on_runs_again_what_network_or_engine_kept_from_being_known(prover: FakeProver, tmp_path: Path) -> None:
    cells = [cell(name) for name in ("a", "bad", "lost")]
    run(cells, prover, tmp_path / "r", retries=0)
    Path(prover.diary).write_text("")
    summary = run(cells, prover, tmp_path / "r", retries=0, resume=True)
    assert (prover.asked(), summary.resumed) == (["lost-linux-debian-amd64"], 2)


def test_ctrl_c_ends_what_runs_and_the_rest_can_go_on(prover: FakeProver, tmp_path: Path) -> None:
    cells = [
        cell("a", "sha256:1", run_ms=900),
        cell("slow", "sha256:2"),
        cell("slow2", "sha256:3"),
        cell("z", "sha256:4"),
    ]

    def interrupt() -> None:
        while "slow2-linux-debian-amd64" not in prover.asked():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    summary = run(cells, prover, tmp_path / "r")
    assert (summary.interrupted, summary.exit_code) == (True, 130)
    assert read_result(tmp_path / "r", cells[0])
    assert read_result(tmp_path / "r", cells[1]) is None
    for process in prover.processes():
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


def test_where_no_result_can_be_written_what_runs_is_ended(prover: FakeProver, tmp_path: Path) -> None:
    (tmp_path / "r").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        run([cell("a", "sha256:1"), cell("slow", "sha256:2")], prover, tmp_path / "r")
    for process in prover.processes():
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)


def test_progress_counts_what_runs_what_is_done_and_what_was_a_hit(prover: FakeProver, tmp_path: Path) -> None:
    seen: list[Progress] = []
    run([cell("a"), cell("b"), cell("bad")], prover, tmp_path / "r", jobs=1, seen=seen)
    assert [progress.done for progress in seen] == [0, 1, 1, 2, 2, 3]
    assert [progress.running for progress in seen] == [1, 0, 1, 0, 1, 0]
    assert seen[-1].hits == 3
    assert seen[1].eta_s is not None
    assert seen[-1].eta_s == 0


def test_cells_of_one_image_wait_for_the_one_that_builds_it() -> None:
    cells = [cell("a1", "sha256:a", run_ms=9), cell("b1", "sha256:b"), cell("a2", "sha256:a"), cell("a3", "sha256:a")]
    schedule = Schedule(cells)
    assert [each.tool for each in iter(schedule.take, None)] == ["a1", "b1"]
    assert schedule.ended(cells[0], samples.passed("a1")) == []
    assert [each.tool for each in iter(schedule.take, None)] == ["a2", "a3"]


def test_a_failed_build_is_the_result_of_all_cells_of_its_image() -> None:
    cells = [cell("a1"), cell("a2"), cell("a3")]
    schedule = Schedule(cells)
    assert schedule.take() == cells[0]
    failed = from_error(BuildFailed("no package jqq"), cached=False)
    known = schedule.ended(cells[0], failed)
    assert [(each.tool, result.exit_code, result.cell) for each, result in known] == [
        ("a2", 6, "a2-linux-debian-amd64"),
        ("a3", 6, "a3-linux-debian-amd64"),
    ]
    assert schedule.take() is None


def test_an_engine_that_is_lost_while_building_is_no_failed_build() -> None:
    cells = [cell("a1"), cell("a2")]
    schedule = Schedule(cells)
    assert schedule.take() == cells[0]
    assert schedule.ended(cells[0], from_error(EngineLost("gone"), stage="build")) == []
    assert schedule.take() == cells[1]


def test_tries_wait_longer_each_time_and_end() -> None:
    waits: list[float] = []
    result = attempt(lambda _: from_error(EngineLost("gone")), cell(), retries=3, wait=waits.append)
    assert waits == [1, 2, 4]
    assert (result.state, len(result.attempts), result.flaky) == ("error", 3, False)


def test_a_result_names_its_cell_and_keeps_only_the_ends_of_its_output() -> None:
    lines = tuple(f"line {number}" for number in range(100))
    long = replace(samples.passed("other"), log_head=lines, log_tail=(*lines, "x" * 9000))
    result = attempt(lambda _: long, cell("jq"), retries=0)
    assert (result.cell, result.tool, result.source) == ("jq-linux-debian-amd64", "jq", "recipes/jq.toml")
    assert (result.log_head[-1], result.log_tail[0], len(result.log_tail[-1])) == ("line 39", "line 61", 502)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "tsandbox matrix run recipes/jq.toml --only jq-linux-debian-amd64"),
        ({"consent": True}, "tsandbox matrix run recipes/jq.toml --only jq-linux-debian-amd64 --yes"),
        ({"recipe": "jq"}, "tsandbox matrix run jq --only jq-linux-debian-amd64"),
        ({"recipes": ("recipes",)}, "tsandbox matrix run recipes/jq.toml --only jq-linux-debian-amd64"),
        (
            {"recipe": "my recipes/j/jq.toml", "recipes": ("my recipes",)},
            "tsandbox matrix run 'my recipes/j/jq.toml' --recipes 'my recipes' --only jq-linux-debian-amd64",
        ),
    ],
)
def test_the_line_that_runs_a_cell_again(changes: dict[str, object], line: str) -> None:
    assert reproduce(replace(cell("jq"), **changes)) == line


def test_cells_are_chosen_by_name_and_by_shard() -> None:
    cells = (cell("a"), replace(cell("b"), shard=2))
    plan = MatrixPlan(cells=cells, excluded=samples.report().excluded)
    assert choose_cells(plan, only=["b-linux-debian-amd64"]) == [cells[1]]
    assert choose_cells(plan, shard=1) == [cells[0]]
    with pytest.raises(UsageError, match="did you mean 'a-linux-debian-amd64'"):
        choose_cells(plan, only=["a-linux-debian-amd65"])
    with pytest.raises(UsageError, match="is excluded: the mirror lacks libzstd1"):
        choose_cells(plan, only=["zstd-linux-suse-amd64"])


@pytest.mark.parametrize(
    ("meminfo", "jobs"),
    [
        ("MemFree: 100000 kB\nMemAvailable: 8400000 kB\n", 4),
        ("MemAvailable: 4200000 kB\n", 2),
        ("MemAvailable: 1000 kB\n", 1),
        ("MemAvailable: 900000000 kB\n", 6),
    ],
)
def test_as_many_jobs_run_as_there_are_processors_and_fit_into_memory(
    meminfo: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    (tmp_path / "meminfo").write_text(meminfo)
    assert default_jobs(tmp_path / "meminfo") == jobs


def test_at_least_one_job_runs(tmp_path: Path) -> None:
    assert 1 <= default_jobs() <= (os.cpu_count() or 1)
    assert 1 <= default_jobs(tmp_path / "nothing") <= (os.cpu_count() or 1)
