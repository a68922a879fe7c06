"""The matrix on real engines, from recipes to a verdict."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Cli
from tests.integration.matrix.recipes import Workshop
from tsandbox.engine import Engine

SLOW = "slow-in-a-matrix"
SHIPPED = ("jq", "less", "sqlite")


def cell_file(results: Path, tool: str) -> Any:
    [path] = (results / "cells").glob(f"{tool}-linux-debian-*.json")
    return json.loads(path.read_text())


def test_shipped_recipes_pass_with_fewer_builds_than_cells_and_then_from_the_cache(
    cli: Cli, engine_images: Engine, workshop: Workshop, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        workshop.recipe(name)
    results = tmp_path / "results"
    first = json.loads(cli("matrix", "run", *SHIPPED, workshop.directory, "--results", results, "--json").stdout)
    assert first["counts"] == {"passed": 6}
    assert 1 <= first["builds"] < 6
    second = json.loads(cli("matrix", "run", *SHIPPED, workshop.directory, "--results", results, "--json").stdout)
    assert (second["counts"], second["builds"], second["cache_hits"]) == ({"passed": 6}, 0, 6)
    assert json.loads(cli("matrix", "merge", results, "--json").stdout)["cells"] == 6

    one = next((results / "cells").glob("a-*.json"))
    text = one.read_text()
    one.unlink()
    assert "1 planned cell has no result" in cli("matrix", "merge", results, code=10).stderr
    one.write_text(text)
    foreign = one.with_name("z-linux-debian-amd64.json")
    foreign.write_text(text.replace('"cell":"a-', '"cell":"z-'))
    assert "1 result does not belong to the plan" in cli("matrix", "merge", results, code=3).stderr
    for path in (results / "cells").iterdir():
        path.unlink()
    assert "no cell ran" in cli("matrix", "merge", results, code=10).stderr


def test_a_failed_verification_is_exit_8_in_its_cell_and_fails_the_matrix(
    cli: Cli, engine_images: Engine, workshop: Workshop, tmp_path: Path
) -> None:
    workshop.recipe("good")
    workshop.recipe("bad", expected="something else")
    results = tmp_path / "results"
    ran = cli("matrix", "run", workshop.directory, "--results", results, code=8)
    assert f"reproduce: tsandbox matrix run {workshop.directory}/bad.toml --only bad-linux-debian-" in ran.stderr
    bad = cell_file(results, "bad")
    assert (bad["status"], bad["exit_code"], bad["stage"]) == ("failed", 8, "verify")
    assert bad["verify"]["output"].startswith("bad ")
    assert "speak bad" in (results / bad["log"]).read_text()
    assert cell_file(results, "good")["exit_code"] == 0
    assert cli("matrix", "merge", results, code=8).stdout.count("FAILED") == 1
    assert cli(*bad["reproduce"].split()[1:], "--results", tmp_path / "again", code=8).stdout.startswith(
        "1 cell: 1 failed"
    )


def test_ctrl_c_leaves_no_container_and_the_run_can_go_on(
    engine_name: str, engine_images: Engine, workshop: Workshop, tmp_path: Path, cli: Cli
) -> None:
    workshop.recipe("quick", "one")
    workshop.recipe(SLOW, "two", seconds=6)
    results = tmp_path / "results"
    argv = [sys.executable, "-m", "tsandbox", "matrix", "run", str(workshop.directory), "--results", str(results)]
    with subprocess.Popen(
        [*argv, "--jobs", "2"], env={**os.environ, "TSANDBOX_ENGINE": engine_name}, stderr=subprocess.PIPE, text=True
    ) as running:
        _wait_for_container(engine_images, SLOW)
        _wait_for_file(results, "quick")
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=120)
    assert running.returncode == 130, said
    assert _containers(engine_images, SLOW) == []
    assert [path.name.split("-")[0] for path in (results / "cells").iterdir()] == ["quick"]
    went_on = json.loads(cli("matrix", "run", "--resume", "--results", results, "--json").stdout)
    assert (went_on["counts"], went_on["resumed"]) == ({"passed": 2}, 1)


def _wait_for_container(engine: Engine, tool: str) -> None:
    deadline = time.monotonic() + 300
    while not _containers(engine, tool):
        assert time.monotonic() < deadline, "the container never ran"
        time.sleep(0.05)


def _wait_for_file(results: Path, tool: str) -> None:
    deadline = time.monotonic() + 300
    while not list((results / "cells").glob(f"{tool}-*.json")):
        assert time.monotonic() < deadline, "the result never came"
        time.sleep(0.05)


def _containers(engine: Engine, tool: str) -> list[str]:
    return [each.id for each in engine.containers(f"io.tsandbox.tool={tool}")]


def test_a_recipe_that_changed_after_planning_is_refused(cli: Cli, workshop: Workshop, tmp_path: Path) -> None:
    workshop.recipe("a")
    cli("matrix", "plan", workshop.directory, "--output", tmp_path / "plan.json")
    workshop.recipe("a", expected="other")
    ran = cli("matrix", "run", tmp_path / "plan.json", "--results", tmp_path / "results", code=3)
    assert "not what the matrix was planned with" in ran.stderr


@pytest.mark.parametrize("engine", ["nonsense"])
def test_no_engine_is_told_once_and_not_once_per_cell(
    engine: str, workshop: Workshop, cli: Cli, tmp_path: Path
) -> None:
    workshop.recipe("a")
    workshop.recipe("b")
    ran = cli("matrix", "run", workshop.directory, "--engine", engine, "--results", tmp_path / "r", code=2)
    assert ran.stderr.count("unknown engine") == 1
