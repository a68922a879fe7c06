"""Every shipped recipe that needs nothing beyond Debian's archive and the registries of pip and npm passes."""

import json
from pathlib import Path

import pytest

from tests.integration.conftest import ROOT, Cli
from tsandbox.derive import derive
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux
from tsandbox.runner.executable import DOWNLOADS

RECIPES = [path for path in sorted((ROOT / "recipes").glob("*.toml")) if not path.name.startswith(".")]
# What a person has to do before these can pass: no machine proves them.
BY_HAND = {"cuda", "sublime-text"}


def served_here(path: Path) -> bool:
    """Whether a recipe takes all it needs from Debian, pip and npm: judged by what it declares, not by its name."""
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    plan = select(recipe, linux("debian"), catalog=Catalog())
    actions = {step.action for part in plan.with_dependencies() for step in part.steps}
    if plan.unsupported or recipe.name in BY_HAND or actions & DOWNLOADS or "apt_ppa" in actions:
        return False
    return not derive(plan).repositories


SERVED = [path for path in RECIPES if served_here(path)]


def test_most_recipes_are_proved_here() -> None:
    assert len(SERVED) > len(RECIPES) // 2


@pytest.mark.engine
@pytest.mark.parametrize("recipe", SERVED, ids=lambda path: path.stem)
def test_recipe_passes(recipe: Path, cli: Cli) -> None:
    result = json.loads(cli("install", recipe, "--sandbox", "--json").stdout)
    assert (result["status"], result["profile"]) == ("passed", "minimal")
    assert result["install"]["network"] == "none"
    assert {step["status"] for step in result["install"]["steps"]} == {"passed"}
    assert result["verify"]["ok"]
    assert all(check["ok"] for check in result["verify"]["additional"])
