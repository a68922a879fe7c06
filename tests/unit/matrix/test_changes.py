"""What a branch touches, in real git repositories."""

import subprocess
from pathlib import Path

import pytest

from tests.unit.matrix.fakes import write_recipe
from tsandbox.errors import UsageError
from tsandbox.matrix.assemble import Wishes, make_plan
from tsandbox.matrix.changes import changes_since
from tsandbox.matrix.model import MatrixPlan
from tsandbox.plan import Catalog
from tsandbox.plan.files import find_sources
from tsandbox.recipe import linux


def git(directory: Path, *args: str) -> None:
    who = ("-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, "-C", directory, *args], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    recipes = tmp_path / "recipes"
    write_recipe(recipes, "base")
    write_recipe(recipes, "needs-base", more='dependencies = ["base"]')
    write_recipe(recipes, "needs-it-too", more='runtime_dependencies = ["needs-base"]')
    write_recipe(recipes, "alone")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    git(tmp_path, "switch", "-q", "-c", "work")
    return tmp_path


def plan(repository: Path) -> MatrixPlan:
    recipes = repository / "recipes"
    wishes = Wishes(changes=changes_since("main", repository))
    return make_plan(find_sources([str(recipes)]), [linux("debian", "amd64")], Catalog([recipes]), wishes)


def tools(made: MatrixPlan) -> list[str]:
    return [cell.tool for cell in made.cells]


def test_nothing_changed_leaves_everything_out_with_that_reason(repository: Path) -> None:
    made = plan(repository)
    assert tools(made) == []
    assert {cell.kind for cell in made.excluded} == {"unchanged"}
    assert made.excluded[0].reason == "neither it nor what it needs changed since main"


def test_a_changed_dependency_changes_all_that_need_it(repository: Path) -> None:
    write_recipe(repository / "recipes", "base", "curl")
    git(repository, "commit", "-q", "-am", "change")
    assert tools(plan(repository)) == ["base", "needs-base", "needs-it-too"]


def test_edits_and_new_files_count_before_they_are_committed(repository: Path) -> None:
    write_recipe(repository / "recipes", "brand-new")
    write_recipe(repository / "recipes", "alone", "curl")
    assert tools(plan(repository)) == ["alone", "brand-new"]


def test_what_main_did_meanwhile_is_not_a_change_of_the_branch(repository: Path) -> None:
    git(repository, "switch", "-q", "main")
    write_recipe(repository / "recipes", "base", "curl")
    git(repository, "commit", "-q", "-am", "on main")
    git(repository, "switch", "-q", "work")
    assert tools(plan(repository)) == []


def test_a_file_beside_a_recipe_counts_for_the_recipe_that_names_it(repository: Path) -> None:
    (repository / "recipes" / "fix.patch").write_text("--- a\n")
    assert tools(plan(repository)) == []
    path = repository / "recipes" / "alone.toml"
    path.write_text(path.read_text() + "\n# fix.patch\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "patch")
    git(repository, "branch", "-f", "main")
    (repository / "recipes" / "fix.patch").write_text("--- b\n")
    assert tools(plan(repository)) == ["alone"]


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", "recipes/.exclusions.toml", "requirements-dev.txt"])
def test_a_change_of_what_runs_the_matrix_changes_everything(repository: Path, name: str) -> None:
    path = repository / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# changed\n")
    made = plan(repository)
    assert len(made.cells) == 4
    assert made.warnings == (f"{name} changed since main: every cell counts as changed",)


def test_a_recipe_that_cannot_be_planned_is_never_unchanged(repository: Path) -> None:
    git(repository, "rm", "-q", "recipes/base.toml")
    git(repository, "commit", "-q", "-m", "gone")
    broken = [cell for cell in plan(repository).cells if cell.error]
    assert [cell.tool for cell in broken] == ["needs-base", "needs-it-too"]


def test_a_deleted_recipe_touches_those_that_now_get_another_of_its_name(repository: Path) -> None:
    write_recipe(repository / "others", "base", "curl")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "another one")
    git(repository, "branch", "-f", "main")
    git(repository, "rm", "-q", "recipes/base.toml")
    recipes = repository / "recipes"
    wishes = Wishes(changes=changes_since("main", repository))
    catalog = Catalog([recipes, repository / "others"])
    made = make_plan(find_sources([str(recipes)]), [linux("debian", "amd64")], catalog, wishes)
    assert tools(made) == ["needs-base", "needs-it-too"]
    assert not any(cell.error for cell in made.cells)


def test_a_change_of_the_named_exclusions_changes_everything(repository: Path) -> None:
    file = repository / "left-out.toml"
    file.touch()
    assert changes_since("main", repository).everything is None
    assert changes_since("main", repository, [file]).everything == "left-out.toml"


def test_a_checkout_that_was_cut_short_is_told(repository: Path, tmp_path: Path) -> None:
    for branch in ("main", "work"):
        git(repository, "switch", "-q", branch)
        git(repository, "commit", "-q", "--allow-empty", "-m", branch)
    git(repository, "clone", "-q", "--depth=1", "--no-single-branch", repository.as_uri(), str(tmp_path / "short"))
    with pytest.raises(
        UsageError, match="no commit is known from which both origin/main and this branch come"
    ) as caught:
        changes_since("origin/main", tmp_path / "short")
    assert "fetch the whole history" in (caught.value.hint or "")


@pytest.mark.parametrize("ref", ["no-such-branch", "--help"])
def test_a_ref_that_is_not_there_is_told(repository: Path, ref: str) -> None:
    with pytest.raises(UsageError, match=f"--changed-since: this checkout holds no commit '{ref}'") as caught:
        changes_since(ref, repository)
    assert "fetch the whole history" in (caught.value.hint or "")


def test_outside_of_a_repository_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository") as caught:
        changes_since("main", tmp_path)
    assert "in a git checkout" in (caught.value.hint or "")
