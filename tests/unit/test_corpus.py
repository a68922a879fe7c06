"""Recipes and plans that others wrote: all of them load, derive for every Linux family, and fit the schemas.

The corpus lies beside the checkout and is not part of it; without it these tests are skipped, and say so.
"""

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tsandbox.derive import derive, spec_object
from tsandbox.derive.schema import spec_schema
from tsandbox.errors import NotSupported
from tsandbox.plan import Catalog, Plan, load, select
from tsandbox.plan.read import read_plan
from tsandbox.plan.schema import plan_schema
from tsandbox.plan.target import target_for
from tsandbox.plan.write import write_plan
from tsandbox.recipe import Recipe, linux
from tsandbox.recipe.lint import check_text
from tsandbox.recipe.schema import recipe_schema
from tsandbox.recipe.target import FAMILIES

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RECIPES = sorted((CORPUS / "recipes").glob("*.toml"))
PLANS = sorted((CORPUS / "plans").glob("*.json"))

pytestmark = pytest.mark.skipif(not RECIPES, reason="the corpus is not beside this checkout: ../shared/corpus")
by_name = {"ids": lambda path: path.stem}
RECIPE_SCHEMA = Draft202012Validator(recipe_schema())
PLAN_SCHEMA = Draft202012Validator(plan_schema())
SPEC_SCHEMA = Draft202012Validator(spec_schema())


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog([CORPUS / "recipes"])


def test_the_corpus_is_whole() -> None:
    assert (len(RECIPES), len(PLANS)) == (117, 40)


@pytest.mark.parametrize("path", RECIPES, **by_name)
def test_a_recipe_loads_and_derives_for_every_linux_family(path: Path, catalog: Catalog) -> None:
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    for family in FAMILIES:
        target = linux(family, "amd64")
        plan = select(recipe, target, catalog=catalog, allow_missing=True)
        spec = json.loads(json.dumps(spec_object(derive(plan, target))))
        SPEC_SCHEMA.validate(spec)
        assert read_plan(write_plan(plan).decode()).tool == recipe.name


@pytest.mark.parametrize("path", RECIPES, **by_name)
def test_a_recipe_fits_the_schema_and_breaks_no_rule_that_is_an_error(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    RECIPE_SCHEMA.validate(tomllib.loads(text))
    assert all(finding.severity == "warning" for finding in check_text(text, path.name).findings)


@pytest.mark.parametrize("path", PLANS, **by_name)
def test_a_plan_fits_the_schema_and_derives_unless_it_is_for_darwin(path: Path) -> None:
    PLAN_SCHEMA.validate(json.loads(path.read_text(encoding="utf-8")))
    plan = load(path)
    assert isinstance(plan, Plan)
    if "darwin" in path.name:
        with pytest.raises(NotSupported, match=r"the plan is for darwin/.*, and the sandbox runs Linux") as caught:
            derive(plan)
        assert caught.value.exit_code == 4
        return
    assert plan.platform is not None
    families = [plan.platform.linux_family] if plan.platform.linux_family else FAMILIES
    for family in families:
        SPEC_SCHEMA.validate(json.loads(json.dumps(spec_object(derive(plan, target_for(plan, family=family))))))


@pytest.mark.parametrize("path", PLANS, **by_name)
def test_a_plan_survives_being_read_and_written(path: Path) -> None:
    plan = load(path)
    assert isinstance(plan, Plan)
    again = read_plan(write_plan(plan).decode(), plan.file)
    for ours, theirs in zip(again.with_dependencies(), plan.with_dependencies(), strict=True):
        assert (ours.tool, ours.version, ours.verify) == (theirs.tool, theirs.version, theirs.verify)
        assert [step.does for step in ours.steps] == [step.does for step in theirs.steps]


@pytest.mark.parametrize("family", ["debian", "alpine"])
def test_what_a_step_needs_is_nested_as_in_the_plans_of_others(family: str) -> None:
    recipe, theirs = load(CORPUS / "recipes/openssl.toml"), load(next(CORPUS.glob(f"plans/openssl-*-{family}-*.json")))
    assert isinstance(recipe, Recipe)
    assert isinstance(theirs, Plan)
    assert list(recipe.dependencies_on(linux(family))) == [part.tool for part in theirs.dependencies]
