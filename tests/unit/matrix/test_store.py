"""Results on disk, and what a set of them says about a plan."""

import errno
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests import sample_results as samples
from tests.unit.matrix.fakes import cell
from tsandbox.errors import InvalidInput, Skipped, UsageError
from tsandbox.matrix import store
from tsandbox.matrix.attempts import finished
from tsandbox.matrix.durations import read_durations
from tsandbox.matrix.merge import gather, read_earlier, report_of, update_durations, write_merged
from tsandbox.matrix.model import Cell, MatrixPlan
from tsandbox.matrix.store import begin, collect, incomplete, read_result, with_log, write_plan_copy, write_result
from tsandbox.report import render
from tsandbox.report.result import Result

CELLS = tuple(cell(name) for name in ("a", "b", "c"))
PLAN = MatrixPlan(cells=CELLS, version="1")


def result_of(wanted: Cell, result: Result | None = None) -> Result:
    return finished(wanted, result or samples.passed(wanted.tool))


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A directory where every cell passed."""
    directory = tmp_path / "results"
    begin(directory, PLAN, CELLS, resume=False)
    for each in CELLS:
        write_result(directory, result_of(each))
    return directory


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("cells/*"))


def test_a_complete_set_proves_the_plan(results: Path) -> None:
    gathered = gather([results])
    assert gathered.plan == PLAN
    assert incomplete(gathered.collected) is None
    assert report_of(gathered).exit_code == 0


def test_a_removed_result_is_missed(results: Path) -> None:
    (results / "cells" / "b-linux-debian-amd64.json").unlink()
    gathered = gather([results])
    error = incomplete(gathered.collected)
    assert isinstance(error, Skipped)
    assert error.message == "1 planned cell has no result"
    assert error.details == ("b-linux-debian-amd64",)
    assert error.hint == "run them: merge with --output DIR, then tsandbox matrix run --resume --results DIR"
    again = incomplete(gathered.collected, Path("all"))
    assert again
    assert again.hint == "run them: tsandbox matrix run --resume --results all"
    assert report_of(gathered).exit_code == 10


def test_a_foreign_result_is_refused(results: Path) -> None:
    write_result(results, result_of(cell("stranger")))
    error = incomplete(gather([results]).collected)
    assert isinstance(error, InvalidInput)
    assert "stranger-linux-debian-amd64 is not in the plan" in error.problems[0].message
    assert error.file == str(results / "cells" / "stranger-linux-debian-amd64.json")


def test_a_result_of_another_state_of_the_recipe_is_foreign(results: Path) -> None:
    write_result(results, result_of(replace(cell("a"), digest="sha256:other")))
    error = incomplete(gather([results]).collected)
    assert isinstance(error, InvalidInput)
    assert "another state of the recipe" in error.problems[0].message


def test_no_result_at_all_proves_nothing(tmp_path: Path) -> None:
    write_plan_copy(tmp_path, PLAN)
    error = incomplete(gather([tmp_path]).collected)
    assert isinstance(error, Skipped)
    assert error.message.startswith("no cell ran")


def test_shards_of_several_machines_become_one_directory(tmp_path: Path) -> None:
    for number, each in enumerate(CELLS):
        begin(tmp_path / f"shard-{number}", PLAN, [each], resume=False)
        write_result(tmp_path / f"shard-{number}", result_of(each))
    gathered = gather(sorted(tmp_path.iterdir()))
    assert incomplete(gathered.collected) is None
    write_merged(tmp_path / "all", gathered)
    merged = gather([tmp_path / "all"])
    assert (merged.plan, merged.collected.results) == (gathered.plan, gathered.collected.results)


def test_of_very_many_cells_only_what_did_not_pass_keeps_its_output_in_memory(
    results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_MANY", 2)
    lines = tuple(f"line {number}" for number in range(9))
    bad = replace(samples.verify_failed("b"), log_head=lines, log_tail=lines)
    write_result(results, result_of(CELLS[0], replace(samples.passed("a"), log_head=lines, log_tail=lines)))
    write_result(results, result_of(CELLS[1], bad))
    gathered = gather([results])
    a, b, _ = gathered.collected.results
    assert (a.log_head, a.log_tail) == ((), lines[-3:])
    assert (b.log_head, b.log_tail) == (lines, lines)
    write_merged(tmp_path / "all", gathered)
    name = "cells/a-linux-debian-amd64.json"
    assert (tmp_path / "all" / name).read_bytes() == (results / name).read_bytes()


def test_a_cell_with_two_different_results_is_refused_and_with_the_same_twice_is_not(tmp_path: Path) -> None:
    for name, ms in (("x", 5), ("y", 5), ("z", 7)):
        begin(tmp_path / name, PLAN, CELLS, resume=False)
        write_result(tmp_path / name, result_of(CELLS[0], samples.passed("a", ms=ms)))
    assert collect(PLAN, [tmp_path / "x", tmp_path / "y"]).twice == ()
    error = incomplete(collect(PLAN, [tmp_path / "x", tmp_path / "z"]))
    assert isinstance(error, InvalidInput)
    assert error.message == "1 cell has two results, and they differ"
    first, second = (tmp_path / name / "cells" / f"{CELLS[0].id}.json" for name in "xz")
    assert error.details == (f"{second}: {CELLS[0].id} has another result in {first}",)


def test_results_of_different_plans_are_not_mixed(tmp_path: Path) -> None:
    write_plan_copy(tmp_path / "x", PLAN)
    write_plan_copy(tmp_path / "y", MatrixPlan(cells=CELLS[:2]))
    with pytest.raises(InvalidInput, match="2 different plans"):
        gather([tmp_path])


@pytest.mark.parametrize("text", ["", "{}", '{"status": "fine"}', '{"status": "passed", "exit_code": 0, "schema": 9}'])
def test_a_file_that_is_no_result_is_told_with_its_name(results: Path, text: str) -> None:
    file = results / "cells" / "b-linux-debian-amd64.json"
    file.write_text(text)
    gathered = gather([results])
    error = incomplete(gathered.collected)
    assert isinstance(error, InvalidInput)
    assert (error.message, error.file) == ("1 result file cannot be read", str(file))
    assert error.details[0].startswith(f"{file}: ")
    # The others are still reported, and this one as missing.
    made = report_of(gathered)
    assert ([cell.id for cell in made.missing], len(made.results), made.exit_code) == (["b-linux-debian-amd64"], 2, 10)


def test_going_on_runs_again_what_cannot_be_read(results: Path) -> None:
    (results / "cells" / "b-linux-debian-amd64.json").write_text('{"status": "pas')
    assert [bool(read_result(results, each)) for each in CELLS] == [True, False, True]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written: Not a directory"):
        begin(tmp_path / "file" / "results", PLAN, CELLS, resume=False)


def test_a_full_disk_leaves_no_half_result(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = names(results)

    def full(path: Path, data: bytes) -> int:
        path.touch()
        raise OSError(errno.ENOSPC, f"{len(data)} bytes do not fit")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="do not fit"):
        write_result(results, result_of(CELLS[0]))
    assert names(results) == before


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no such directory"):
        collect(PLAN, [tmp_path / "nothing"])


def test_a_half_written_result_is_not_seen(results: Path) -> None:
    (results / "cells" / ".b-linux-debian-amd64.77.partial").write_text('{"status": "pas')
    assert incomplete(gather([results]).collected) is None


def test_a_new_run_begins_without_the_results_of_the_last(results: Path) -> None:
    begin(results, PLAN, CELLS, resume=False)
    assert names(results) == []


def test_files_that_no_matrix_wrote_are_left_alone(tmp_path: Path) -> None:
    mine = tmp_path / "cells" / "biology.json"
    mine.parent.mkdir()
    mine.touch()
    with pytest.raises(UsageError, match="no matrix ran here"):
        begin(tmp_path, PLAN, CELLS, resume=False)
    assert mine.exists()


def test_a_shard_leaves_the_results_of_the_other_shards(results: Path) -> None:
    begin(results, PLAN, CELLS[:1], resume=False)
    assert names(results) == ["b-linux-debian-amd64.json", "c-linux-debian-amd64.json"]


def test_a_run_of_another_plan_takes_the_place_of_the_last(results: Path) -> None:
    begin(results, MatrixPlan(cells=(cell("new"),)), [cell("new")], resume=False)
    assert names(results) == []


def test_going_on_keeps_what_still_belongs(results: Path) -> None:
    begin(results, MatrixPlan(cells=CELLS[:2]), CELLS[:2], resume=True)
    assert names(results) == ["a-linux-debian-amd64.json", "b-linux-debian-amd64.json"]
    assert read_result(results, CELLS[0]) == result_of(CELLS[0])
    assert read_result(results, replace(CELLS[0], digest="sha256:other")) is None


def test_durations_grow_from_run_to_run(results: Path, tmp_path: Path) -> None:
    file = tmp_path / "sub" / "durations.json"
    update_durations(file, [result_of(CELLS[0], samples.passed("a", ms=9000))])
    update_durations(file, [result_of(CELLS[1])])
    known = read_durations(file).cells
    assert (known["a-linux-debian-amd64"].run_ms, known["b-linux-debian-amd64"].run_ms) == (2500, 1840)


def test_an_earlier_run_is_read_from_its_directory_or_its_json(results: Path, tmp_path: Path) -> None:
    from_directory = read_earlier(results)
    report = tmp_path / "report.json"
    report.write_text(render(report_of(gather([results])), "json"))
    assert read_earlier(report) == from_directory
    assert from_directory["a-linux-debian-amd64"].state == "passed"
    report.write_text("[]")
    with pytest.raises(InvalidInput, match="not a report in JSON"):
        read_earlier(report)


def test_the_log_of_what_failed_travels_with_its_result(results: Path, tmp_path: Path) -> None:
    log = tmp_path / "state" / "b.log"
    log.parent.mkdir()
    log.write_text("everything it said\n")
    bad = result_of(CELLS[1], replace(samples.verify_failed("b"), log=str(log)))
    kept = with_log(results, bad)
    write_result(results, kept)
    assert kept.log == "logs/b-linux-debian-amd64.log"
    write_merged(tmp_path / "all", gather([results]))
    assert (tmp_path / "all" / kept.log).read_text() == "everything it said\n"
    begin(results, PLAN, CELLS, resume=False)
    assert not (results / kept.log).exists()


def test_a_log_comes_from_another_machine_or_stays_there(results: Path) -> None:
    elsewhere = replace(samples.verify_failed("b"), cell="b-linux-debian-amd64", log="/elsewhere/b.log")
    assert with_log(results, elsewhere) == elsewhere
    kept = with_log(results, elsewhere, b"sent along")
    assert (results / str(kept.log)).read_bytes() == b"sent along"
    passed = replace(samples.passed("a"), log="/elsewhere/a.log")
    assert with_log(results, passed, b"not needed") == passed
