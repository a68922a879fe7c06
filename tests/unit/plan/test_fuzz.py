"""Thousands of mutated plans: each is read and usable to the end, or refused with its problems."""

import json
import random

import pytest
from jsonschema import Draft202012Validator

from tests.unit.recipe.samples import mutated
from tsandbox.derive import derive, spec_object
from tsandbox.errors import InvalidInput, NotSupported
from tsandbox.plan import Plan, load, select
from tsandbox.plan.files import files_below
from tsandbox.plan.read import read_plan
from tsandbox.plan.schema import plan_schema
from tsandbox.plan.write import write_plan
from tsandbox.recipe import Recipe, linux
from tsandbox.settings import shipped

VALIDATOR = Draft202012Validator(plan_schema())


def read_or_refuse(text: str) -> Plan | None:
    try:
        return read_plan(text, "p.json")
    except InvalidInput as error:
        told = [str(problem) for problem in error.problems]
    assert told
    assert all(message.isprintable() and len(message) < 2000 for message in told), told
    return None


def use(plan: Plan) -> None:
    again = read_plan(write_plan(plan).decode(), "p.json")
    assert (again.tool, again.platform) == (plan.tool, plan.platform)
    try:
        json.dumps(spec_object(derive(plan)))
    except NotSupported:
        return


@pytest.fixture(scope="module")
def plans() -> list[object]:
    recipes = [load(path) for path in files_below(shipped("recipes"))]
    return [
        json.loads(write_plan(select(each, linux("debian", "amd64")))) for each in recipes if isinstance(each, Recipe)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_mutated_plans_are_refused_or_usable_and_the_schema_never_refuses_what_is_read(
    seed: int, plans: list[object]
) -> None:
    chosen = random.Random(seed)
    used = 0
    for _ in range(600):
        raw = chosen.choice(plans)
        for _ in range(chosen.randint(1, 2)):
            raw = mutated(raw, chosen)
        text = json.dumps(raw)
        plan = read_or_refuse(text)
        if plan is not None:
            used += 1
            use(plan)
            errors = list(VALIDATOR.iter_errors(json.loads(text)))
            assert not errors, (text, errors[0].message)
    assert 0 < used < 600


@pytest.mark.parametrize("seed", range(4))
def test_broken_json_is_refused_or_usable(seed: int, plans: list[object]) -> None:
    chosen = random.Random(seed)
    for _ in range(400):
        text = json.dumps(chosen.choice(plans), indent=chosen.choice([None, 2]))
        start = chosen.randrange(len(text))
        end = start + chosen.randrange(30)
        middle = chosen.choice(
            ["", text[start:end] * 2, '"', "{", "]", ",", "\\", "\\ud800", "\0", "1e999", "NaN", "null"]
        )
        plan = read_or_refuse(text[:start] + middle + text[end:])
        if plan is not None:
            use(plan)
