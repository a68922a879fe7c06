from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.unit.matrix.fakes import write_recipe
from tsandbox.errors import InvalidInput
from tsandbox.matrix.assemble import Wishes, make_plan
from tsandbox.matrix.attempts import unplannable
from tsandbox.matrix.model import MatrixPlan, read_matrix_plan, write_matrix_plan
from tsandbox.matrix.planning import plan_cells
from tsandbox.matrix.store import write_result
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source, find_sources
from tsandbox.recipe import linux
from tsandbox.report.result import ErrorRecord
from tsandbox.settings import shipped


def plan(directory: Path, *families: str) -> MatrixPlan:
    targets = [linux(family, "amd64") for family in families or ("debian",)]
    return make_plan(find_sources([str(directory)]), targets, Catalog([directory]), Wishes())


def test_every_recipe_on_every_target_is_a_cell_or_has_a_reason(tmp_path: Path) -> None:
    write_recipe(tmp_path, "one")
    write_recipe(tmp_path, "two", more='supported_arch = ["arm64"]')
    made = plan(tmp_path, "debian", "suse")
    assert [cell.id for cell in made.cells] == ["one-linux-debian-amd64"]
    assert {cell.id: cell.kind for cell in made.excluded} == {
        "one-linux-suse-amd64": "no_steps",
        "two-linux-debian-amd64": "unsupported",
        "two-linux-suse-amd64": "unsupported",
    }
    assert "no packages for zypper, only for apt" in made.excluded[0].reason


def test_recipes_that_declare_the_same_share_one_image(tmp_path: Path) -> None:
    write_recipe(tmp_path, "one", "jq")
    write_recipe(tmp_path, "two", "jq")
    write_recipe(tmp_path, "three", "curl")
    cells = {cell.tool: cell for cell in plan(tmp_path).cells}
    assert cells["one"].key == cells["two"].key != cells["three"].key
    assert cells["one"].digest != cells["two"].digest
    assert cells["one"].image == f"sandbox-cache:{(cells['one'].key or '')[7:39]}"
    assert plan(tmp_path).images() == 2


def test_a_recipe_that_cannot_be_read_is_a_cell_that_fails(tmp_path: Path) -> None:
    (tmp_path / "broken tool.toml").write_text("[metadata\n")
    [cell] = plan(tmp_path).cells
    assert cell.id == "broken_tool-linux-debian-amd64"
    assert (cell.exit_code, cell.key) == (3, None)
    assert cell.error
    assert cell.error.file == str(tmp_path / "broken tool.toml")


def test_a_missing_dependency_makes_the_cell_fail_instead_of_leaving_it_out(tmp_path: Path) -> None:
    write_recipe(tmp_path, "one", more='dependencies = ["nobody-has-this"]')
    [cell] = plan(tmp_path).cells
    assert cell.exit_code == 3
    assert cell.error
    assert "nobody-has-this" in cell.error.message


def test_two_recipes_of_one_name_cannot_both_be_cells(tmp_path: Path) -> None:
    write_recipe(tmp_path / "a", "one")
    write_recipe(tmp_path / "b", "one")
    with pytest.raises(InvalidInput, match=r"'one' is the name of .*a/one.toml too"):
        plan(tmp_path)


def test_every_name_that_is_there_twice_is_told_at_once(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write_recipe(tmp_path / folder, "one")
        write_recipe(tmp_path / folder, "two")
    with pytest.raises(InvalidInput) as caught:
        plan(tmp_path)
    assert [problem.file for problem in caught.value.problems] == [
        str(tmp_path / "b" / name) for name in ("one.toml", "two.toml")
    ]


def test_an_identifier_is_a_name_that_a_file_can_have(tmp_path: Path) -> None:
    for number, name in enumerate(("@scope/tool", "x" * 250, "x" * 251)):
        path = write_recipe(tmp_path / str(number), "one")
        path.write_text(path.read_text().replace('name = "one"', f'name = "{name}"'))
    made = plan(tmp_path)
    scoped, *long = made.cells
    assert (scoped.id, scoped.tool) == ("@scope_tool-linux-debian-amd64", "@scope/tool")
    assert len({cell.id for cell in long}) == 2
    for cell in made.cells:
        assert write_result(tmp_path / "results", unplannable(replace(cell, error=ErrorRecord(type="", message=""))))
    file = tmp_path / "plan.json"
    file.write_bytes(write_matrix_plan(made))
    assert read_matrix_plan(file) == made


def test_a_recipe_that_an_edit_broke_keeps_its_identifier(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, "one", step='atcion = "oops"').rename(tmp_path / "other-name.toml")
    [cell] = plan(tmp_path).cells
    assert (cell.id, cell.exit_code, cell.recipe) == ("one-linux-debian-amd64", 3, str(path))


@pytest.mark.parametrize("name", ["../../evil", "/etc/x", "a/b", "", ".hidden", "a\nb", "x" * 300])
def test_a_plan_whose_cells_would_be_written_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    write_recipe(tmp_path, "one")
    [cell] = plan(tmp_path).cells
    file = tmp_path / "plan.json"
    file.write_bytes(write_matrix_plan(MatrixPlan(cells=(replace(cell, id=name),))))
    with pytest.raises(InvalidInput, match="does not name a cell"):
        read_matrix_plan(file)


def test_a_file_named_twice_is_planned_once(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, "one")
    sources = find_sources([str(tmp_path), str(path)])
    assert len(list(plan_cells(sources, [linux("debian", "amd64")], Catalog()))) == 1


def test_a_shipped_recipe_is_named_so_that_another_machine_finds_it(tmp_path: Path) -> None:
    path = shipped("recipes").resolve() / "jq.toml"
    [planned] = plan_cells([Source(str(path), path, "1.7")], [linux("debian", "amd64")], Catalog())
    assert planned.cell
    assert planned.cell.recipe == "jq@1.7"


def test_a_change_of_the_recipe_changes_the_digest_and_only_what_the_image_holds_changes_the_key(
    tmp_path: Path,
) -> None:
    path = write_recipe(tmp_path, "one")
    before = plan(tmp_path).cells[0]
    path.write_text(path.read_text().replace('pattern = "one"', 'pattern = "1"'))
    after = plan(tmp_path).cells[0]
    assert (after.key, after.image) == (before.key, before.image)
    assert after.digest != before.digest


def test_a_plan_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    recipes = tmp_path / "recipes"
    write_recipe(recipes, "one", more='dependencies = ["nobody-has-this"]')
    made = plan(recipes, "debian", "arch")
    file = tmp_path / "plan.json"
    file.write_bytes(write_matrix_plan(made))
    assert read_matrix_plan(file) == made
    assert write_matrix_plan(plan(recipes, "debian", "arch")) == write_matrix_plan(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "not a matrix plan"),
        ('{"cells": [], "schema": 99}', "schema 99 is newer than 1"),
        ("", "not a matrix plan"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_file(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(InvalidInput, match=said) as caught:
        read_matrix_plan(file)
    assert caught.value.file == str(file)


def test_a_plan_that_holds_a_cell_twice_is_refused(tmp_path: Path) -> None:
    write_recipe(tmp_path, "one")
    made = plan(tmp_path)
    file = tmp_path / "plan.json"
    file.write_bytes(write_matrix_plan(MatrixPlan(cells=(*made.cells, *made.cells))))
    with pytest.raises(InvalidInput, match="planned twice"):
        read_matrix_plan(file)
