"""The JSON Schema: it accepts all that loads, and flags what an author mistypes."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.unit.recipe.samples import loads
from tsandbox.plan.files import files_below
from tsandbox.recipe.actions import ACTIONS, PRIMITIVES
from tsandbox.recipe.schema import recipe_schema

ROOT = Path(__file__).parents[3]
VALIDATOR = Draft202012Validator(recipe_schema())
HEAD = '[metadata]\nname = "x"\n'


def faults(text: str) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(tomllib.loads(text))]


def test_it_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(recipe_schema())


@pytest.mark.parametrize("path", list(files_below(ROOT / "recipes")), ids=lambda path: path.name)
def test_the_shipped_recipes_validate(path: Path) -> None:
    assert faults(path.read_text()) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEAD,
        f"{HEAD}steps = []",
        f"{HEAD}[[step]]\naction = 'x'",
        f"{HEAD}[[steps]]\nacton = 'x'",
        f"{HEAD}[[steps]]\naction = 'a b'",
        f"{HEAD}[[steps]]\naction = 'apt_install'",
        f"{HEAD}[[steps]]\naction = 'apt_install'\npackages = []",
        f"{HEAD}[[steps]]\naction = 'apt_install'\npackages = ['a b']",
        f"{HEAD}[[steps]]\naction = 'apt_install'\npackges = ['a']",
        f"{HEAD}[[steps]]\naction = 'apt_install'\nparams = {{ packges = ['a'] }}",
        f"{HEAD}[[steps]]\naction = 'x'\nwhen = {{ os = 'linus' }}",
        f"{HEAD}[[steps]]\naction = 'x'\nwhen = {{ oss = 'linux' }}",
        f"{HEAD}[[steps]]\naction = 'require_system'\npackages = {{ atp = ['x'] }}",
        f"{HEAD}[[steps]]\naction = 'require_system'\npackages = {{ apt = ['x'] }}\nprimitives = []",
        f"{HEAD}[[steps]]\naction = 'require_system'\nprimitives = [{{ shell = 'x' }}]",
        f"{HEAD}[[steps]]\naction = 'require_system'\nprimitives = [{{ apt = ['x'], dnf = ['x'] }}]",
        f"{HEAD}[[steps]]\naction = 'require_system'\ncommand = 'x'\nmin_version = '1'",
        f"{HEAD}[[steps]]\naction = 'require_system'\ncommand = 'x'\ninstall_guide = 'x'",
        f"{HEAD}[[steps]]\naction = 'apt_repo'\nurl = 'http://x'\nkey_url = 'https://x'\nkey_sha256 = '{'0' * 64}'",
        f"{HEAD}[[steps]]\naction = 'x'\n[sandbox]\nnetwork = 'host'",
        f"{HEAD}[[steps]]\naction = 'x'\n[sandbox]\nlimits = {{ cpus = 0 }}",
        f"{HEAD}[[steps]]\naction = 'x'\n[verify]\nexit_code = 256",
        "[metadata]\nname = 'a b'\n[[steps]]\naction = 'x'",
        f"{HEAD}[[steps]]\naction = 'x'\n[lint]\nignore = {{ TS001 = '' }}",
    ],
)
def test_what_an_author_mistypes_is_flagged(text: str) -> None:
    assert faults(text)
    assert not loads(text)


def test_every_word_of_the_vocabulary_is_in_it() -> None:
    definitions: dict[str, Any] = recipe_schema()["$defs"]
    assert {name.removeprefix("step.") for name in definitions if name.startswith("step.")} == set(ACTIONS)
    assert set(definitions["Primitive"]["properties"]) == set(PRIMITIVES)
