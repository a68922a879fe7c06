"""The help says the truth about every command."""

import re

import click
import pytest

from tests.unit.cli.conftest import Run
from tsandbox.cli.commands import COMMANDS, SECTIONS, LazyGroup
from tsandbox.cli.entry import cli


def command(name: str) -> click.Command:
    assert isinstance(cli, LazyGroup)
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def leaves() -> list[tuple[str, ...]]:
    """Every command, with those below groups."""
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        below = command(name)
        found += [(name, inner) for inner in below.commands] if isinstance(below, click.Group) else [(name,)]
    return found


def test_help_lists_every_command_under_a_heading(run: Run) -> None:
    text = run("--help").stdout
    for title, section in SECTIONS.items():
        assert f"{title}:" in text
        for name, entry in section.items():
            assert re.search(rf"^  {name} +{re.escape(entry.summary[:30])}", text, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_commands_own(name: str) -> None:
    assert command(name).name == name
    assert (command(name).help or "").strip()


@pytest.mark.parametrize("path", leaves(), ids=" ".join)
def test_every_command_has_help_with_examples_and_answers_in_json(path: tuple[str, ...], run: Run) -> None:
    text = run(*path, "--help").stdout
    assert f"Usage: tsandbox {' '.join(path)}" in text
    assert "--json" in text
    assert run(*path, "-h").stdout == text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_examples_that_are_real_commands(name: str, run: Run) -> None:
    text = run(name, "--help").stdout
    assert "Examples:" in text
    examples = [line for line in text.partition("Examples:")[2].splitlines() if "tsandbox" in line]
    assert examples
    for example in examples:
        for used in re.findall(r"tsandbox ([a-z]+)", example):
            assert used in COMMANDS, example


@pytest.mark.parametrize("path", leaves(), ids=" ".join)
def test_every_option_is_explained(path: tuple[str, ...]) -> None:
    found = command(path[0])
    if isinstance(found, click.Group):
        found = found.commands[path[1]]
    unexplained = [option.opts for option in found.params if isinstance(option, click.Option) and not option.help]
    assert unexplained == []


@pytest.mark.parametrize("group", ["matrix", "cache", "base"])
def test_no_summary_of_a_group_is_cut(group: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = run(group, "--help").stdout.partition("Commands:")[2].partition("Examples:")[0].split("\n")
    assert [line for line in listed if line.endswith("...")] == []
