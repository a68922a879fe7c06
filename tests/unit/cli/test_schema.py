"""`tsandbox schema`: valid schemas, which what the other commands print fulfils."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests import sample_results as samples
from tests.unit.cli.conftest import Run
from tsandbox.report.result import encode


def schema(run: Run, form: str) -> Draft202012Validator:
    made = run("schema", form).json
    Draft202012Validator.check_schema(made)
    return Draft202012Validator(made)


@pytest.mark.parametrize("form", ["recipe", "plan", "spec", "result"])
def test_it_prints_one_valid_schema(run: Run, form: str) -> None:
    made: dict[str, Any] = run("schema", form).json
    assert made["title"] == f"tsandbox {form}"
    assert made["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(made)
    assert run("schema", form, "--json").json == made


def test_another_format_is_a_usage_error(run: Run) -> None:
    assert "'recipe'" in run("schema", "recipes", code=2).stderr


@pytest.mark.parametrize("name", ["jq", "docker-ce", "less", "hello"])
def test_what_spec_prints_fulfils_the_schema_of_specs(run: Run, name: str) -> None:
    validator = schema(run, "spec")
    for family in ("debian", "rhel", "arch", "alpine", "suse"):
        spec = run("spec", name, "--format", "json", "--family", family, "--arch", "amd64").json
        validator.validate(spec)
        assert set(spec) == set(validator.schema["properties"])  # type: ignore[index, call-overload]


def test_what_plan_prints_fulfils_the_schema_of_plans(run: Run) -> None:
    schema(run, "plan").validate(run("plan", "dev-kit").json)


def test_results_and_errors_fulfil_the_schema_of_results(run: Run, tmp_path: Path) -> None:
    validator = schema(run, "result")
    for result in samples.report().results:
        validator.validate(json.loads(encode(result)))
    (tmp_path / "x.toml").write_text("[metadata]\nname = 1\n")
    validator.validate(run("spec", tmp_path / "x.toml", "--json", code=3).json)
    validator.validate(run("plan", "--json", code=2).json)


def test_refs_lead_somewhere(run: Run) -> None:
    for form in ("recipe", "plan", "spec", "result"):
        made = run("schema", form).json
        for name in _refs(made):
            assert name in made["$defs"], (form, name)


def _refs(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"].removeprefix("#/$defs/")} if isinstance(value.get("$ref"), str) else set()
        return own.union(*map(_refs, value.values()))
    return set().union(*map(_refs, value)) if isinstance(value, list) else set()
