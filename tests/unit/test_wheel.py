"""The wheel, installed into an empty environment and used from another directory: recipes and images are inside."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]


class Installed(NamedTuple):
    wheel: Path
    program: Path
    elsewhere: Path

    def run(self, *arguments: str, code: int = 0) -> str:
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.elsewhere)}
        done = subprocess.run(
            [self.program, *arguments], cwd=self.elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """tsandbox from its wheel; the libraries that it needs are those of the environment that runs the tests."""
    place = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    # No isolation: the build backend comes from this environment, not from the network.
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", place, ROOT],
        check=True,
        capture_output=True,
    )
    [wheel] = place.glob("tsandbox-*.whl")
    venv.create(place / "venv", with_pip=False)
    python = place / "venv/bin/python"
    site = Path(sysconfig.get_path("purelib", vars={"base": str(place / "venv")}))
    subprocess.run([*pip, f"--python={python}", "install", "--no-deps", "--no-index", wheel], check=True)
    # After everything that the wheel brought, and without this checkout's own tsandbox in front of it.
    (site / "libraries.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    return Installed(wheel, place / "venv/bin/tsandbox", elsewhere)


def test_recipes_and_images_are_inside(installed: Installed) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    for path in [*ROOT.glob("recipes/*.toml"), *(path for path in ROOT.glob("images/**/*") if path.is_file())]:
        assert f"tsandbox/_shipped/{path.relative_to(ROOT)}" in names
    assert "tsandbox/derive/templates/minimal.j2" in names
    assert "tsandbox/derive/facts.toml" in names
    assert not [name for name in names if name.startswith("tests/")]


def test_it_is_the_installed_one_that_runs(installed: Installed) -> None:
    [jq] = [row for row in json.loads(installed.run("list", "--json"))["recipes"] if row["name"] == "jq"]
    assert "/_shipped/recipes/" in jq["source"]
    assert str(ROOT) not in jq["source"]


def test_spec_is_the_same_as_in_the_checkout(installed: Installed) -> None:
    here = subprocess.run(
        [sys.executable, "-m", "tsandbox", "spec", "docker-ce", "--json"],
        cwd=ROOT, env={"PATH": os.environ["PATH"], "HOME": str(installed.elsewhere)}, capture_output=True, check=True,
    )  # fmt: skip
    there = json.loads(installed.run("spec", "docker-ce", "--json"))
    assert there["key"] == json.loads(here.stdout)["key"]


def test_commands_work_from_another_directory(installed: Installed) -> None:
    plan = installed.elsewhere / "plan.json"
    plan.write_text(installed.run("plan", "dev-kit"))
    assert "build-essential" in installed.run("spec", "plan.json")
    installed.run("validate", "plan.json")
    assert "$schema" in json.loads(installed.run("schema", "recipe"))
    assert "apt-get install" in installed.run("guide", "jq")
    assert installed.run("--version").startswith("tsandbox, version ")
