"""Thousands of mutated recipes: each loads or is refused with its problems, and what loads can be used to the end."""

import tomllib

import pytest
from jsonschema import Draft202012Validator

from tests.unit.recipe.samples import broken_texts, mutated_tables
from tsandbox.derive import derive, spec_object
from tsandbox.errors import InvalidInput, NotSupported
from tsandbox.plan import Catalog, select
from tsandbox.plan.read import read_plan
from tsandbox.plan.write import write_plan
from tsandbox.recipe import Recipe, linux, load_recipe
from tsandbox.recipe.lint import lint
from tsandbox.recipe.migrate import migrate
from tsandbox.recipe.schema import recipe_schema
from tsandbox.recipe.target import FAMILIES

CATALOG = Catalog()
VALIDATOR = Draft202012Validator(recipe_schema())


def load_or_refuse(text: str) -> Recipe | None:
    try:
        return load_recipe(text, "f.toml")
    except InvalidInput as error:
        told = [str(problem) for problem in error.problems]
    assert told
    assert all(message.isprintable() and len(message) < 2000 for message in told), told
    return None


def use(recipe: Recipe, text: str) -> None:
    """All that is done with a recipe without an engine: nothing but our own errors may come out of it."""
    lint(recipe, text)
    for family in FAMILIES:
        target = linux(family, "amd64")
        try:
            plan = select(recipe, target, catalog=CATALOG, allow_missing=True)
            written = write_plan(plan)
            spec_object(derive(plan, target))
        except (InvalidInput, NotSupported):
            continue
        assert read_plan(written.decode(), "p.json").tool == recipe.name


@pytest.mark.parametrize("seed", range(8))
def test_broken_texts_are_refused_or_usable(seed: int) -> None:
    used = 0
    for text in broken_texts(seed, 400):
        recipe = load_or_refuse(text)
        if recipe is not None:
            used += 1
            if used % 5 == 0:
                use(recipe, text)
        try:
            migrate(text, "f.toml")
        except InvalidInput:
            continue
    assert 0 < used < 400


@pytest.mark.parametrize("seed", range(8))
def test_mutated_tables_are_refused_or_usable_and_the_schema_never_refuses_what_loads(seed: int) -> None:
    used = 0
    for number, text in enumerate(mutated_tables(seed, 400)):
        recipe = load_or_refuse(text)
        if recipe is not None:
            used += 1
            if number % 4 == 0:
                use(recipe, text)
            errors = list(VALIDATOR.iter_errors(tomllib.loads(text)))
            assert not errors, (text, errors[0].message)
    assert 0 < used < 400
