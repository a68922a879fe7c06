"""Every directory in `cases` is a recipe and what must come of it, on each engine.

`expect.toml`: `exit_code`; `args` for the command line; `env` for its environment; `status`, `stage`, `line`,
`network`, `verify_output` and `steps` (passed, failed, not_run) of the result; `message` and `hint`: texts that the
error must hold; `notes`, `log`: texts in the notes, in the log; `absent`: texts that nothing may show, neither the
result nor the log; `made`: files to make and serve. `served/` is offered on loopback.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Cli
from tests.integration.sandbox.conftest import MADE, Served
from tsandbox.engine import Engine

CASES = sorted(path.parent for path in Path(__file__).parent.glob("cases/*/recipe.toml"))


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Path, cli: Cli, engine: Engine, served: Served, tmp_path: Path) -> None:
    expect = tomllib.loads((case / "expect.toml").read_text())
    recipe = prepared(case, expect, served, tmp_path)
    ran = cli(
        "install",
        recipe,
        "--sandbox",
        "--json",
        *expect.get("args", ()),
        code=None,
        cwd=tmp_path,
        env=expect.get("env"),
    )
    result = json.loads(ran.stdout)
    told = f"{json.dumps(result, indent=1)}\n{ran.stderr}"
    assert (ran.returncode, result["exit_code"]) == (expect["exit_code"], expect["exit_code"]), told
    compare(result, expect, told)
    log = Path(result["log"]).read_text() if result["log"] else ""
    for text in expect.get("log", ()):
        assert text in log, told
    # Whatever got as far as a log had an image to build, and it is named even if that failed.
    assert not result["log"] or (result["image"] and result["key"]), told
    for text in expect.get("absent", ()):
        assert text not in ran.stdout + ran.stderr + log
    name = tomllib.loads(recipe.read_text())["metadata"]["name"]
    assert engine.containers(f"io.tsandbox.tool={name}") == []


def prepared(case: Path, expect: dict[str, Any], served: Served, tmp_path: Path) -> Path:
    """The case's recipe, with the addresses and digests of what is served for it."""
    if (case / "served").is_dir():
        served.offer(case / "served")
    for name in expect.get("made", ()):
        served.add(name, MADE[name]())
    recipe = tmp_path / f"{case.name}.toml"
    recipe.write_text(served.fill_in((case / "recipe.toml").read_text()))
    return recipe


def compare(result: dict[str, Any], expect: dict[str, Any], told: str) -> None:
    for key in ("status", "stage"):
        if key in expect:
            assert result[key] == expect[key], told
    if "steps" in expect:
        assert [step["status"] for step in result["install"]["steps"]] == expect["steps"], told
    for text in expect.get("message", ()):
        assert text in result["error"]["message"], told
    for text in expect.get("hint", ()):
        assert text in result["error"]["hint"], told
    for text in expect.get("notes", ()):
        assert any(text in note for note in result["install"]["notes"]), told
    if "network" in expect:
        assert result["install"]["network"] == expect["network"], told
    if "verify_output" in expect:
        assert expect["verify_output"] in result["verify"]["output"], told
    if "line" in expect:
        assert result["error"]["line"] == expect["line"], told
