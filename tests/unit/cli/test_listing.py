"""`tsandbox list`, `--version` and shell completion."""

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tsandbox import __version__


def test_the_shipped_recipes_are_listed_by_name(run: Run) -> None:
    lines = run("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(line.split()[0] for line in lines)
    assert any(line.startswith("jq ") and "JSON processor" in line for line in lines)
    assert {"name", "source", "description"} == set(run("list", "--json").json["recipes"][0])


def test_recipes_of_another_registry_are_listed_too_and_bad_ones_told(run: Run, tmp_path: Path) -> None:
    step = '[[steps]]\naction = "manual"\ntext = "x"\n'
    (tmp_path / "a.toml").write_text(f'[metadata]\nname = "aaa"\ndescription = "\\u001b[31mred"\n{step}')
    (tmp_path / "b.toml").write_text('[metadata]\nname = "bbb"\n')
    ran = run("list", "--recipes", tmp_path)
    assert "\x1b[31m" not in ran.stdout
    assert "\\e[31mred" in ran.stdout
    [bad] = [row for row in run("list", "--recipes", tmp_path, "--json").json["recipes"] if row["name"] == "bbb"]
    assert "has no [[steps]]" in bad["error"]


def test_the_version(run: Run) -> None:
    assert run("--version").stdout == f"tsandbox, version {__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_tsandbox(run: Run, shell: str) -> None:
    script = run("completion", shell).stdout
    assert "_TSANDBOX_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_another_shell_is_a_usage_error(run: Run) -> None:
    run("completion", "tcsh", code=2)
