"""The shipped recipes: valid, verified, and together an example of everything that a recipe can say."""

from pathlib import Path

import pytest

from tsandbox.plan import load
from tsandbox.plan.files import files_below
from tsandbox.recipe import Recipe
from tsandbox.recipe.actions import ACTIONS, RequireSystem
from tsandbox.recipe.lint import check_text
from tsandbox.recipe.target import MANAGER_OF
from tsandbox.settings import shipped

PATHS = list(files_below(shipped("recipes")))


def read(path: Path) -> Recipe:
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    return recipe


RECIPES = [read(path) for path in PATHS]
STEPS = [step for recipe in RECIPES for step in recipe.steps]
SYSTEM = [step.does for step in STEPS if isinstance(step.does, RequireSystem)]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_recipe_has_no_finding_that_it_does_not_explain(path: Path) -> None:
    names = {recipe.name for recipe in RECIPES}
    checked = check_text(path.read_text(encoding="utf-8"), path.name, lambda name: name in names)
    assert [str(finding) for finding in checked.findings if finding.silenced is None] == []


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_a_recipe_lies_under_its_own_name_describes_itself_and_verifies(recipe: Recipe) -> None:
    assert Path(recipe.file).stem == recipe.name
    assert recipe.metadata.description
    # A bundle of other recipes has no homepage of its own.
    assert recipe.metadata.homepage.startswith("https://") or recipe.dependencies
    assert recipe.verify.command
    assert recipe.verify.pattern or recipe.verify.patterns or recipe.verify.exit_code


def test_there_are_enough_and_those_that_everyone_looks_for() -> None:
    names = {recipe.name for recipe in RECIPES}
    assert len(names) == len(RECIPES) >= 18
    assert names >= {
        "docker", "cuda", "jq", "git", "curl", "nginx", "build-tools", "python", "nodejs", "sqlite", "ripgrep",
    }  # fmt: skip


def test_every_typed_action_is_used() -> None:
    assert set(ACTIONS) - {step.action for step in STEPS} == set()


def test_packages_are_named_for_all_five_families() -> None:
    assert any(set(MANAGER_OF.values()) <= set(does.by_manager()) for does in SYSTEM)


def test_primitives_with_a_repository_a_group_and_a_service() -> None:
    words = [{primitive.word for primitive in does.in_order()} for does in SYSTEM]
    assert any({"apt_repo", "apt", "group_add", "service_enable"} <= each for each in words)


@pytest.mark.parametrize(
    "actions",
    [
        {"pipx_install"},
        {"npm_install"},
        {"configure_make"},
        {"manual"},
        {"download_file", "extract", "install_binaries"},
    ],
    ids=sorted,
)
def test_some_recipe_shows(actions: set[str]) -> None:
    assert any(actions <= {step.action for step in recipe.steps} for recipe in RECIPES)


def test_some_recipe_has_dependencies_and_all_of_them_are_shipped() -> None:
    needed = {name for recipe in RECIPES for name in recipe.dependencies}
    assert needed
    assert needed <= {recipe.name for recipe in RECIPES}


def test_some_steps_are_for_macos_only() -> None:
    assert any(step.action == "brew_cask" for step in STEPS)
    assert any(step.when.os == ("darwin",) for step in STEPS)
