"""The JSON Schema of plans accepts what `plan` writes and what others wrote, and refuses what is no plan."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tsandbox.plan import load, select
from tsandbox.plan.files import files_below
from tsandbox.plan.schema import plan_schema
from tsandbox.plan.write import write_plan
from tsandbox.recipe import Recipe, linux
from tsandbox.recipe.target import FAMILIES
from tsandbox.settings import shipped

VALIDATOR = Draft202012Validator(plan_schema())
WHOLE: dict[str, Any] = {
    "format_version": 5,
    "tool": "x",
    "version": None,
    "platform": {"os": "linux", "arch": "amd64"},
    "steps": [{"action": "apt_install", "params": {"packages": ["jq"]}}],
}


def test_it_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(plan_schema())


@pytest.mark.parametrize("path", list(files_below(shipped("recipes"))), ids=lambda path: path.stem)
def test_the_plans_of_the_shipped_recipes_validate(path: Path) -> None:
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    for family in FAMILIES:
        VALIDATOR.validate(json.loads(write_plan(select(recipe, linux(family, "amd64")))))


@pytest.mark.parametrize(
    "changes",
    [
        {"format_version": 6},
        {"tool": "a b"},
        {"tool": 1},
        {"platform": {"os": "linux"}},
        {"platform": {"os": "plan9", "arch": "amd64"}},
        {"steps": {}},
        {"steps": [{"params": {}}]},
        {"steps": [{"action": "apt_install", "params": {"packges": ["x"]}}]},
        {"steps": [{"action": "apt_install", "params": {"packages": ["a b"]}}]},
        {"steps": [{"action": "require_system", "params": {"primitives": [{"shell": "x"}]}}]},
        {"dependencies": [{"steps": []}]},
        {"sandbox": {"netwrok": "none"}},
    ],
)
def test_what_is_no_plan_is_refused(changes: dict[str, Any]) -> None:
    VALIDATOR.validate(WHOLE)
    assert not VALIDATOR.is_valid({**WHOLE, **changes})
