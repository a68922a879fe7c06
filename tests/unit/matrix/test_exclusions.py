import datetime as dt
from pathlib import Path

import pytest

from tests.unit.matrix.fakes import write_recipe
from tsandbox.errors import InvalidInput
from tsandbox.matrix.assemble import Wishes, make_plan
from tsandbox.matrix.exclusions import read_exclusions
from tsandbox.plan import Catalog
from tsandbox.plan.files import find_sources
from tsandbox.recipe import linux

TODAY = dt.date(2026, 11, 18)
ENTRY = """
[[exclude]]
cells = ["one-*", "gone-*"]
reason = "upstream is away"
owner = "@somebody"
expires = 2026-11-18
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "exclusions.toml"
    path.write_text(text)
    return path


def test_an_exclusion_says_why_who_and_until_when(tmp_path: Path) -> None:
    recipes = tmp_path / "recipes"
    write_recipe(recipes, "one")
    write_recipe(recipes, "two")
    wishes = Wishes(exclusions=read_exclusions(write(tmp_path, ENTRY), TODAY))
    made = make_plan(find_sources([str(recipes)]), [linux("debian", "amd64")], Catalog(), wishes)
    assert [cell.tool for cell in made.cells] == ["two"]
    [left_out] = made.excluded
    assert (left_out.kind, left_out.reason) == ("exclusion", "upstream is away")
    assert (left_out.owner, left_out.expires) == ("@somebody", "2026-11-18")
    assert made.warnings == ("the exclusion 'gone-*' matches no cell",)


def test_an_entry_whose_day_has_passed_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="expired on 2026-11-18"):
        read_exclusions(write(tmp_path, ENTRY), TODAY + dt.timedelta(days=1))


def test_every_fault_is_told_with_its_line(tmp_path: Path) -> None:
    text = '[[exclude]]\ncells = []\n\n[[exclude]]\ncells = ["a"]\nreason = ""\nwho = "me"\nexpires = "soon"\n'
    with pytest.raises(InvalidInput) as caught:
        read_exclusions(write(tmp_path, text), TODAY)
    said = [(problem.line, problem.message.split(":")[0]) for problem in caught.value.problems]
    assert said == [
        (1, "cells"),
        (1, "reason"),
        (1, "owner or link"),
        (1, "expires"),
        (4, "unknown key 'who'"),
        (4, "reason"),
        (4, "owner or link"),
        (4, "expires"),
    ]


@pytest.mark.parametrize("text", ["exclude = 3", "[exlude]\na = 1", "nothing"])
def test_what_is_no_exclusions_file_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput):
        read_exclusions(write(tmp_path, text), TODAY)
