"""`tsandbox guide`: instructions for a person on a platform."""

import re
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Run
from tsandbox.plan.files import files_below
from tsandbox.settings import shipped

NAMES = [path.stem for path in files_below(shipped("recipes"))]
INSTALL = {
    "debian": "sudo apt-get install --yes --no-install-recommends jq",
    "rhel": "sudo dnf install",
    "arch": "sudo pacman -S",
    "alpine": "sudo apk add",
    "suse": "sudo zypper",
}


@pytest.mark.parametrize("family", INSTALL)
def test_each_family_gets_its_own_command(run: Run, family: str) -> None:
    text = run("guide", "jq", "--family", family).stdout
    assert text.startswith(f"jq on linux/{family}/")
    assert INSTALL[family] in text
    assert "jq --version" in text


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_recipe_has_numbered_instructions_everywhere(run: Run, name: str) -> None:
    for options in (["--family", "all"], ["--os", "darwin"]):
        ran = run("guide", name, "--arch", "amd64", *options, code=None)
        refused = re.findall(r"is not supported on|no step of \S+ applies to", ran.stderr)
        assert ran.code == (4 if refused else 0)
        text = ran.stdout
        assert len(re.findall(r"^1\. ", text, re.MULTILINE)) == (5 if "all" in options else 1) - len(refused)
        for part in re.split(r"\n(?=\S+(?: \S+)? on (?:linux|darwin)/)", text):
            numbers = [int(number) for number in re.findall(r"^(\d+)\. ", part, re.MULTILINE)]
            assert numbers == list(range(1, len(numbers) + 1)), part


def test_a_mac_gets_homebrew(run: Run) -> None:
    text = run("guide", "docker", "--os", "darwin").stdout
    assert "brew install --cask docker" in text
    assert "apt" not in text


def test_json_has_the_same_instructions(run: Run) -> None:
    found = run("guide", "jq", "--json", "--family", "debian", "--arch", "amd64").json
    assert (found["schema"], found["tool"], found["target"]["linux_family"]) == (1, "jq", "debian")
    assert found["instructions"]


def test_several_families_are_one_object(run: Run) -> None:
    """git-ppa is for debian alone: the others have an error in their place."""
    found = run("guide", "git-ppa", "--json", "--family", "debian,rhel", "--arch", "amd64", code=4).json
    assert (found["status"], found["exit_code"], found["stage"], found["tool"]) == ("error", 4, "derive", "git-ppa")
    on_debian, on_rhel = found["guides"]
    assert on_debian["instructions"]
    assert on_debian["error"] is None
    assert on_rhel["target"]["linux_family"] == "rhel"
    assert on_rhel["error"] == found["error"]
    assert run("guide", "jq", "--json", "--family", "all").json["error"] is None


def test_hostile_text_is_shown_escaped_and_hostile_values_quoted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        '[metadata]\nname = "x"\n[[steps]]\naction = "manual"\ntext = "\\u001b[2J read me"\n'
        '[[steps]]\naction = "env_set"\nname = "A"\nvalue = "$(reboot) \'`id`"\n'
        '[[steps]]\naction = "file_write"\npath = "/etc/x"\ncontent = "$(reboot)\'\\nEOF\\n"\n'
    )
    text = run("guide", path).stdout
    assert "\x1b[2J" not in text
    assert "\\e[2J read me" in text


def test_a_plan_has_instructions_for_its_own_platform_only(run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "p.json"
    plan.write_text(run("plan", "jq", "--family", "rhel").stdout)
    assert "sudo dnf install" in run("guide", plan).stdout
    run("guide", plan, "--family", "debian", code=4)
    run("guide", plan, "--os", "darwin", code=4)


def test_usage(run: Run) -> None:
    run("guide", "jq", "--os", "darwin", "--family", "debian", code=2)
    run("guide", "jq", "--os", "plan9", code=2)
    run("guide", "jq", "--family", "gentoo", code=2)


def test_a_dependency_that_is_missing_is_told(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('[metadata]\nname = "x"\ndependencies = ["gone"]\n[[steps]]\naction = "manual"\ntext = "y"\n')
    assert "'gone'" in run("guide", path).stderr
