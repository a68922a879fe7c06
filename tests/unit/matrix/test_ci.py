"""Workflow files: valid for the CI systems' own schemas, pinned, and with nothing from a name that CI would obey."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tsandbox.errors import UsageError
from tsandbox.matrix.ci.workflow import System, Workflow, read_pin, render_workflow

SCHEMAS: dict[System, str] = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}
COMMIT = "0123456789" * 4

small = Workflow(command="tsandbox matrix …", arguments=("recipes/", "--family=debian"), arches=("amd64",))
large = Workflow(
    command="tsandbox matrix …",
    arguments=("my 'own' recipes/", "--family=debian", "--family=alpine", "--arch=amd64", "--arch=arm64"),
    arches=("amd64", "arm64"),
    name='Recipes: "all" # of them',
    branch="release/1.x",
    install="pipx install tsandbox && sudo apt-get install podman",
    engine="docker",
    registry="registry.example.com/team/cache",
    retries=3,
    yes=True,
    max_jobs=10_000,
    pins={"actions/checkout": read_pin(f"actions/checkout={COMMIT}#v9")[1]},
    runners={"arm64": "my-arm: 'own' runner"},
)


def parsed(system: System, workflow: Workflow) -> Any:
    return YAML(typ="safe").load(render_workflow(system, workflow))


@pytest.mark.parametrize("system", SCHEMAS)
@pytest.mark.parametrize("workflow", [small, large], ids=["small", "large"])
def test_the_file_is_valid_for_the_schema_of_its_ci_system(system: System, workflow: Workflow, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yml"
    file.write_text(render_workflow(system, workflow))
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", SCHEMAS[system], str(file)]
    checked = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def scripts(made: Any) -> str:
    steps = [step for job in made["jobs"].values() for step in job["steps"]]
    return "\n".join(step["run"] for step in steps if "run" in step)


def test_on_github_every_job_may_only_read_and_every_action_is_a_commit() -> None:
    made = parsed("github", small)
    assert made["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in made["jobs"].values())
    uses = [step["uses"] for job in made["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(uses) > 8
    assert all(re.fullmatch(r"actions/[a-z/-]+@[0-9a-f]{40}", name) for name in uses)


def test_on_github_the_merge_decides_even_when_a_shard_failed_or_never_came() -> None:
    jobs = parsed("github", small)["jobs"]
    assert jobs["run"]["strategy"]["fail-fast"] is False
    assert jobs["merge"]["needs"] == ["plan", "run"]
    assert jobs["merge"]["if"].startswith("always()")
    assert jobs["merge"]["steps"][-1]["run"].startswith("tsandbox matrix merge shards --plan matrix-plan.json")
    uploads = [step for step in jobs["run"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert uploads[0]["if"] == "always()"


def test_on_github_no_expression_stands_in_a_script() -> None:
    assert "${{" not in scripts(parsed("github", large))


def test_what_was_asked_for_is_in_the_file() -> None:
    made = parsed("github", large)
    assert made["name"] == 'Recipes: "all" # of them'
    assert made["env"] == {"TSANDBOX_REGISTRY": "registry.example.com/team/cache"}
    assert made["jobs"]["run"]["permissions"] == {"contents": "read", "packages": "write"}
    assert 'docker login --username "$GITHUB_ACTOR" --password-stdin registry.example.com\n' in scripts(made)
    assert "tsandbox matrix plan 'my '\"'\"'own'\"'\"' recipes/' --family=debian" in scripts(made)
    assert "--max-jobs 256 " in scripts(made)
    assert "--engine docker --retries 3 --yes --results results" in scripts(made)
    assert "--yes" not in scripts(parsed("github", small))
    assert f"actions/checkout@{COMMIT} # v9" in render_workflow("github", large)
    assert made["jobs"]["run"]["runs-on"] == (
        """${{ fromJSON('{"amd64":"ubuntu-24.04","arm64":"my-arm: ''own'' runner"}')[matrix.arch] }}"""
    )


def test_on_gitlab_each_architecture_has_its_own_machines() -> None:
    made = parsed("gitlab", large)
    assert made["run-arm64"]["tags"] == ["my-arm: 'own' runner"]
    assert made["run-amd64"]["parallel"] + made["run-arm64"]["parallel"] == 200
    assert made["merge"]["needs"] == ["plan", "run-amd64", "run-arm64"]
    assert made["merge"]["when"] == "always"
    assert '--arch arm64 --shard "${CI_NODE_INDEX:-1}/${CI_NODE_TOTAL:-1}"' in made["run-arm64"]["script"][1]


@pytest.mark.parametrize("name", ["a\n      - run: evil", "${{ secrets.TOKEN }}", "$[[ inputs.x ]]"])
@pytest.mark.parametrize("system", SCHEMAS)
def test_names_that_ci_would_obey_are_refused(system: System, name: str) -> None:
    with pytest.raises(UsageError, match="cannot stand in a workflow"):
        render_workflow(system, Workflow(command="", arguments=(name,), arches=("amd64",)))


@pytest.mark.parametrize("pin", ["actions/checkout=v4", "actions/checkout", "a b=" + COMMIT, "foo/bar=" + COMMIT])
def test_a_pin_is_a_whole_commit_of_an_action_that_is_used(pin: str) -> None:
    with pytest.raises(UsageError):
        read_pin(pin)
