"""The commands as people type them, with a prover that needs no container."""

import json
import shlex
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import pytest

from tests.unit.matrix.fakes import FakeProver, write_recipe
from tsandbox.cli import entry, matrix_run
from tsandbox.matrix import cluster_watch
from tsandbox.report.result import outcome_object


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Desk:
    """A working directory with recipes, and the command."""

    def __init__(self, directory: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.capfd = capfd
        self.prover = FakeProver(diary=str(directory / "diary"))
        Path(self.prover.diary).touch()

    def recipe(self, name: str, package: str = "jq", **more: str) -> Path:
        return write_recipe(self.directory / "recipes", name, package, **more)

    def matrix(self, *args: str) -> Ran:
        self.capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            entry.main(["matrix", *args])
        out, err = self.capfd.readouterr()
        return Ran(int(str(ended.value.code)), out, err)


@pytest.fixture
def desk(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path, capfd)
    monkeypatch.setattr(matrix_run, "prover_for", lambda engine, *, yes, check: made.prover)
    return made


def test_a_plan_shows_cells_images_and_why_the_rest_is_left_out(desk: Desk) -> None:
    desk.recipe("one")
    desk.recipe("two")
    ran = desk.matrix("plan", "recipes", "--family", "debian,suse", "--arch", "amd64")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("one-linux-debian-amd64  sandbox-cache:")
    assert "one-linux-suse-amd64    left out: recipes/one.toml:5: no packages for zypper, only for apt" in lines
    assert lines[-1] == "2 cells, 1 image, 2 left out (2 no steps)"


def test_identifiers_are_printed_for_scripts(desk: Desk) -> None:
    desk.recipe("one")
    ran = desk.matrix("plan", "recipes", "--arch", "all", "--format", "ids")
    assert ran.out.split() == ["one-linux-debian-amd64", "one-linux-debian-arm64"]


def test_the_job_matrix_of_a_plan_has_an_entry_per_shard(desk: Desk) -> None:
    for number in range(4):
        desk.recipe(f"t{number}", f"pkg{number}")
    ran = desk.matrix("plan", "recipes", "--arch=all", "--max-jobs", "4", "--output", "plan.json", "--format", "shards")
    assert [each["arch"] for each in ran.json["include"]] == ["amd64", "amd64", "arm64", "arm64"]
    assert [each["of"] for each in ran.json["include"]] == [4] * 4
    assert [each["first"] for each in ran.json["include"]] == [True, False, True, False]
    assert len(json.loads((desk.directory / "plan.json").read_text())["cells"]) == 8


def test_exclusions_beside_the_recipes_are_found(desk: Desk) -> None:
    desk.recipe("one")
    (desk.directory / "recipes" / ".exclusions.toml").write_text(
        '[[exclude]]\ncells = ["one-*"]\nreason = "broken"\nlink = "https://example.com/1"\nexpires = 2999-01-01\n'
    )
    ran = desk.matrix("plan", "recipes", "--json")
    assert ran.json["cells"] == []
    assert ran.json["excluded"][0]["reason"] == "broken"


def test_run_then_merge_then_report(desk: Desk) -> None:
    desk.recipe("one")
    desk.recipe("two")
    ran = desk.matrix("run", "recipes", "--json")
    assert ran.code == 0
    assert ran.json["counts"] == {"passed": 2}
    assert ran.json["results"] == "tsandbox-results"
    merged = desk.matrix("merge", "tsandbox-results", "--durations", "durations.json", "--output", "all", "--json")
    assert (merged.code, merged.json["cells"], merged.json["missing"]) == (0, 2, [])
    assert len(json.loads((desk.directory / "durations.json").read_text())["cells"]) == 2
    for form, file in (("html", "r.html"), ("junit", "r.xml"), ("sarif", "r.sarif"), ("markdown", "r.md")):
        assert desk.matrix("report", "all", "--output", file).code == 0
        printed = desk.matrix("report", "all", "--format", form).out
        assert printed == (desk.directory / file).read_text()
    suites = ET.parse(desk.directory / "r.xml").getroot()
    assert suites.get("tests") == "2"


def test_a_failed_verification_fails_run_and_merge_and_tells_how_to_see_it_again(desk: Desk) -> None:
    desk.recipe("one")
    desk.recipe("bad")
    ran = desk.matrix("run", "recipes", "--results", "r")
    assert ran.code == 8
    assert "reproduce: tsandbox matrix run recipes/bad.toml --only bad-linux-debian-amd64" in ran.err
    assert "2 cells: 1 failed, 1 passed" in ran.out
    merged = desk.matrix("merge", "r", "--json")
    assert merged.code == 8
    assert merged.json["failed"] == [
        {
            "cell": "bad-linux-debian-amd64",
            "exit_code": 8,
            "reproduce": "tsandbox matrix run recipes/bad.toml --only bad-linux-debian-amd64",
        }
    ]
    assert desk.matrix("report", "r").code == 0


def test_the_printed_line_runs_exactly_that_cell(desk: Desk) -> None:
    write_recipe(desk.directory / "recipes" / "b", "bad", more='dependencies = ["one"]')
    desk.recipe("one")
    desk.matrix("run", "recipes", "--results", "r")
    line = desk.matrix("merge", "r", "--json").json["failed"][0]["reproduce"]
    Path(desk.prover.diary).write_text("")
    words = line.split()
    assert desk.matrix(*words[2:]).code == 8
    assert desk.prover.asked() == ["bad-linux-debian-amd64"]
    # The results of the whole run are still there.
    assert desk.matrix("merge", "r", "--json").json["cells"] == 2


@pytest.mark.parametrize("what", ["removed", "foreign", "none"])
def test_results_that_do_not_answer_the_plan_are_refused(desk: Desk, what: str) -> None:
    desk.recipe("one")
    desk.recipe("two")
    desk.matrix("run", "recipes", "--results", "r")
    cells = desk.directory / "r" / "cells"
    if what == "foreign":
        other = (cells / "one-linux-debian-amd64.json").read_text().replace("one-linux", "six-linux")
        (cells / "six-linux-debian-amd64.json").write_text(other)
    else:
        for path in sorted(cells.iterdir())[: 1 if what == "removed" else None]:
            path.unlink()
    ran = desk.matrix("merge", "r", "--json")
    assert ran.code == {"removed": 10, "foreign": 3, "none": 10}[what]
    assert ran.json["error"]["message"] == {
        "removed": "1 planned cell has no result",
        "foreign": "1 result does not belong to the plan",
        "none": "no cell ran: nothing was proved",
    }[what]  # fmt: skip


def test_shards_together_run_every_cell_once(desk: Desk) -> None:
    for number in range(7):
        desk.recipe(f"t{number}", f"pkg{number}")
    desk.matrix("plan", "recipes", "--output", "plan.json")
    for number in (1, 2, 3):
        assert desk.matrix("run", "plan.json", "--shard", f"{number}/3", "--results", f"shards/{number}").code == 0
    assert sorted(desk.prover.asked()) == [f"t{number}-linux-debian-amd64" for number in range(7)]
    assert desk.matrix("merge", "shards").code == 0


@pytest.mark.parametrize(
    ("options", "ran"),
    [
        (["--family=alpine"], ["one-linux-alpine-amd64", "one-linux-alpine-arm64"]),
        (["--arch=x86_64"], ["one-linux-alpine-amd64", "one-linux-debian-amd64"]),
        (["--family=debian", "--arch=arm64"], ["one-linux-debian-arm64"]),
    ],
)
def test_of_a_plan_the_families_and_architectures_that_are_named_run(
    desk: Desk, options: list[str], ran: list[str]
) -> None:
    path = desk.recipe("one")
    path.write_text(path.read_text().replace('apt = ["jq"]', 'apt = ["jq"], apk = ["jq"]'))
    desk.matrix("plan", "recipes", "--family=debian,alpine", "--arch=all", "--output", "plan.json")
    desk.matrix("run", "plan.json", *options, "--results", "r")
    assert sorted(path.stem for path in (desk.directory / "r" / "cells").iterdir()) == ran


def test_an_empty_shard_fails_unless_that_is_allowed(desk: Desk) -> None:
    desk.recipe("one")
    refused = desk.matrix("run", "recipes", "--shard", "2/2", "--results", "r", "--json")
    assert (refused.code, refused.json["exit_code"], refused.json["status"]) == (10, 10, "skipped")
    assert refused.json["error"]["message"] == "0 cells: none ran"
    allowed = desk.matrix("run", "recipes", "--shard", "2/2", "--results", "r", "--allow-skip", "--json")
    assert (allowed.code, allowed.json["exit_code"], allowed.json["status"]) == (0, 0, "skipped")
    assert allowed.json["error"] is None
    assert desk.matrix("merge", "r", "--allow-skip").code == 10


def test_a_scheduler_that_is_not_there_costs_no_results(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_watch, "_CONNECT", 1)
    desk.recipe("one")
    desk.matrix("run", "recipes")
    ran = desk.matrix("run", "recipes", "--executor", "dask", "--scheduler", "tcp://127.0.0.1:1", "--json")
    assert (ran.code, ran.json["error"]["type"]) == (5, "ClusterUnavailable")
    assert desk.matrix("merge", "tsandbox-results").code == 0


@pytest.mark.parametrize("broken", [False, True])
def test_the_objects_of_all_commands_have_the_keys_of_a_result(desk: Desk, broken: bool) -> None:
    desk.recipe("bad" if broken else "one")
    for args in (
        ["run", "recipes", "--results", "r"],
        ["merge", "r"],
        ["report", "r", "--output", "r.html"],
        ["github", "recipes"],
    ):
        ran = desk.matrix(*args, "--json")
        assert set(ran.json) >= set(outcome_object())
        assert (ran.json["exit_code"], ran.json["status"]) == (ran.code, "failed" if ran.code else "passed")
        assert (ran.json["error"] is None) == (ran.code == 0)
        assert ran.code == (8 if broken and args[0] in ("run", "merge") else 0)


def test_a_plan_without_cells_fails_unless_that_is_allowed(desk: Desk) -> None:
    desk.recipe("one")
    assert desk.matrix("run", "recipes", "--family", "suse", "--results", "r").code == 10
    assert desk.matrix("merge", "r").code == 10
    allowed = desk.matrix("merge", "r", "--allow-skip", "--json")
    assert (allowed.code, allowed.json["exit_code"], allowed.json["status"]) == (0, 0, "skipped")


def test_going_on_needs_no_name_of_the_plan(desk: Desk) -> None:
    desk.recipe("one")
    desk.recipe("two")
    desk.matrix("run", "recipes")
    (desk.directory / "tsandbox-results" / "cells" / "two-linux-debian-amd64.json").unlink()
    Path(desk.prover.diary).write_text("")
    ran = desk.matrix("run", "--resume")
    assert ran.code == 0
    assert desk.prover.asked() == ["two-linux-debian-amd64"]
    assert "2 cells: 2 passed (1 kept from before)" in ran.out


def test_a_recipe_that_cannot_be_read_is_told_and_stops_no_other(desk: Desk) -> None:
    desk.recipe("one")
    (desk.directory / "recipes" / "broken.toml").write_text("nothing")
    ran = desk.matrix("run", "recipes", "--json")
    assert (ran.code, ran.json["counts"]) == (3, {"passed": 1, "error": 1})
    assert "\n  recipes/broken.toml:1: not valid TOML" in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["run"], "nothing to run"),
        (["run", "recipes", "--shard", "3/2"], "expected I/N"),
        (["run", "recipes", "--shard", "one"], "expected I/N"),
        (["run", "recipes", "--executor", "dask"], "go together"),
        (["run", "recipes", "--only", "one-linux-debian-amd6"], "the plan holds no cell"),
        (["run", "nothing.json"], "cannot be read"),
        (["plan", "recipes", "--shards", "2", "--max-jobs", "2"], "exclude each other"),
        (["plan", "recipes", "--family", "debain"], "unknown Linux family"),
        (["plan", "-"], "not from standard input"),
        (["plan", "nosuch/x.toml"], "nosuch/x.toml: no such file or directory"),
        (["plan", "recipes", "nosuch/dir"], "nosuch/dir: no such file or directory"),
        (["plan", "nosuch"], "no recipe is called that"),
        (["run", "nosuch.toml"], "nosuch.toml: no such file or directory"),
        (["plan", "recipes", "--exclusions", "nowhere.toml"], "cannot be read"),
        (["run", "made.json", "--exclusions", "x.toml"], "is planned already"),
        (["report", "recipes"], "no matrix-plan.json"),
        (["github", "nosuch/dir"], "nosuch/dir: no such file or directory"),
        (["gitlab", "recipes", "--registry", "https://x"], "does not name a registry"),
        (["github", "recipes", "--install", "one\ntwo"], "on one line"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_object(desk: Desk, args: list[str], said: str) -> None:
    desk.recipe("one")
    ran = desk.matrix(*args, "--json")
    assert ran.code in (2, 3)
    assert said in ran.json["error"]["message"]
    assert "Traceback" not in ran.err


def test_the_comparison_with_an_earlier_run_is_in_the_report(desk: Desk) -> None:
    path = desk.recipe("one")
    desk.matrix("run", "recipes", "--results", "before")
    path.unlink()
    desk.recipe("bad")
    desk.matrix("run", "recipes", "--results", "after")
    ran = desk.matrix("report", "after", "--earlier", "before", "--title", "Night", "--format", "json")
    assert ran.json["title"] == "Night"
    assert (ran.json["comparison"]["added"], ran.json["comparison"]["removed"]) == (
        ["bad-linux-debian-amd64"],
        ["one-linux-debian-amd64"],
    )


def test_workflow_files_go_to_their_places(desk: Desk) -> None:
    desk.recipe("one")
    ran = desk.matrix("github", "recipes", "--family", "all", "--write")
    assert ran.code == 0
    text = (desk.directory / ".github/workflows/tsandbox-matrix.yml").read_text()
    assert "tsandbox matrix plan recipes --family=debian --family=rhel" in text
    assert desk.matrix("github", "recipes", "--family", "all").out == text
    assert desk.matrix("gitlab", "recipes", "--write", "--json").json["file"] == ".gitlab-ci.yml"
    assert "parallel: 1\n" in (desk.directory / ".gitlab-ci.yml").read_text()


def test_a_workflow_file_tells_how_it_is_made_again(desk: Desk) -> None:
    desk.recipe("one")
    options = [
        "--registry=registry.example.com/x",
        "--runner=amd64=my runner",
        "--retries=3",
        "--yes",
        "--branch=trunk",
    ]
    text = desk.matrix("github", "recipes", "--arch=amd64", *options).out
    line = text.splitlines()[0].partition(": tsandbox matrix ")[2]
    assert desk.matrix(*shlex.split(line)).code == 0
    assert (desk.directory / ".github/workflows/tsandbox-matrix.yml").read_text() == text


def test_help_of_every_command_ends_with_examples(desk: Desk) -> None:
    for name in ("plan", "run", "merge", "report", "github", "gitlab"):
        assert f"tsandbox matrix {name}" in desk.matrix(name, "--help").out.partition("Examples:")[2]


def test_every_cell_of_a_plan_says_its_shard(desk: Desk) -> None:
    desk.recipe("one")
    assert [cell["shard"] for cell in desk.matrix("plan", "recipes", "--json").json["cells"]] == [1]


@pytest.mark.parametrize(("shard", "warned"), [("1/2", False), ("1/3", True)])
def test_another_number_of_shards_than_the_plans_is_warned_of(desk: Desk, shard: str, warned: bool) -> None:
    for number in range(4):
        desk.recipe(f"t{number}", f"pkg{number}")
    desk.matrix("plan", "recipes", "--shards", "2", "--output", "plan.json")
    ran = desk.matrix("run", "plan.json", "--shard", shard)
    assert ran.code == 0
    assert ("the plan has 2 shards, so its cells are dealt anew" in ran.err) is warned


def test_two_results_of_a_cell_are_told_with_both_files(desk: Desk) -> None:
    desk.recipe("one")
    desk.matrix("run", "recipes", "--results", "a")
    desk.matrix("run", "recipes", "--results", "b")
    file = desk.directory / "b" / "cells" / "one-linux-debian-amd64.json"
    file.write_text(file.read_text().replace('"status":"passed"', '"status":"failed"'))
    ran = desk.matrix("merge", "a", "b")
    assert ran.code == 3
    assert "error: 1 cell has two results, and they differ" in ran.err
    assert f"b/cells/{file.name}: {file.stem} has another result in a/cells/{file.name}" in ran.err
