"""What happens to a cell before a container does: found again, compared with its plan, and asked about."""

import pickle
from pathlib import Path

import pytest

from tests.unit.matrix.fakes import write_recipe
from tsandbox.errors import InvalidInput, MissingDependency
from tsandbox.matrix.assemble import Wishes, make_plan
from tsandbox.matrix.model import Cell
from tsandbox.matrix.prove import SandboxProver, plan_of
from tsandbox.plan import Catalog
from tsandbox.plan.files import Source, find_sources
from tsandbox.recipe import linux
from tsandbox.settings import shipped

TARGET = linux("debian", "amd64")


def cell_of(*names: Path, recipes: tuple[str, ...] = ()) -> Cell:
    sources = find_sources(map(str, names))
    [cell] = make_plan(sources, [TARGET], Catalog(map(Path, recipes)), Wishes(recipes=recipes)).cells
    return cell


def test_a_cell_finds_its_recipe_and_its_dependencies_again(tmp_path: Path) -> None:
    write_recipe(tmp_path / "registry" / "n", "needed")
    path = write_recipe(tmp_path / "registry" / "u", "user", more='dependencies = ["needed"]')
    plan = plan_of(cell_of(path, recipes=(str(tmp_path / "registry"),)), TARGET)
    assert [part.tool for part in plan.with_dependencies()] == ["needed", "user"]


def test_a_shipped_recipe_is_found_by_its_name() -> None:
    path = shipped("recipes").resolve() / "jq.toml"
    [cell] = make_plan([Source(str(path), path)], [TARGET], Catalog(), Wishes()).cells
    assert cell.recipe == "jq"
    assert plan_of(cell, TARGET).tool == "jq"


def test_a_recipe_that_changed_since_is_refused(tmp_path: Path) -> None:
    cell = cell_of(write_recipe(tmp_path, "one"))
    write_recipe(tmp_path, "one", "curl")
    with pytest.raises(InvalidInput, match="not what the matrix was planned with"):
        plan_of(cell, TARGET)


def test_a_recipe_that_is_gone_is_told(tmp_path: Path) -> None:
    path = write_recipe(tmp_path, "one")
    cell = cell_of(path)
    path.unlink()
    with pytest.raises(MissingDependency, match="no such recipe on this machine"):
        plan_of(cell, TARGET)


def test_a_prover_carries_plans_to_machines_without_recipes(tmp_path: Path) -> None:
    path, gone = write_recipe(tmp_path, "one"), write_recipe(tmp_path, "gone")
    cells = (cell_of(path), cell_of(gone))
    gone.unlink()
    carried = pickle.loads(pickle.dumps(SandboxProver(engine="podman").carrying(cells)))
    assert carried.plans[cells[0].id].tool == "one"
    assert carried(cells[1]).exit_code == 3


@pytest.mark.parametrize(
    ("step", "more"),
    [
        ('[[steps]]\naction = "run_command"\ncommand = "make"\n', ""),
        ('[sandbox]\nnetwork = "egress"\n', "access to the network"),
    ],
)
def test_what_needs_consent_is_refused_without_it(tmp_path: Path, step: str, more: str) -> None:
    cell = cell_of(write_recipe(tmp_path, "one", step=step))
    assert cell.consent
    refused = SandboxProver(engine="podman").carrying((cell,))(cell)
    assert refused.exit_code == 4
    assert refused.error
    assert "--yes" in (refused.error.hint or "")
    assert more in " ".join(refused.error.details)
    assert SandboxProver(engine="podman", yes=True).carrying((cell,)).refused == {}
