"""Workflow files: valid for the CI systems' own schemas, pinned, and with nothing from a name that CI would obey."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
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


def step(name: str, jobs: Any) -> Any:
    [found] = [each for job in jobs.values() for each in job["steps"] if each.get("name") == name]
    return found


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
    assert step("Merge", jobs)["run"].startswith("tsandbox matrix merge shards --plan matrix-plan.json")
    uploads = [step for step in jobs["run"]["steps"] if "upload-artifact" in step.get("uses", "")]
    assert uploads[0]["if"] == "always()"


def test_on_github_what_is_kept_is_kept_of_bad_runs_too_and_a_job_can_be_run_again() -> None:
    jobs = parsed("github", small)["jobs"]
    steps = [each for job in jobs.values() for each in job["steps"]]
    # The whole action would keep nothing where a later step failed.
    assert not [each for each in steps if "actions/cache@" in each.get("uses", "")]
    assert step("Keep the durations", jobs)["if"] == "${{ !cancelled() }}"
    assert step("Keep bases, runners and downloads", jobs)["if"] == "${{ !cancelled() && matrix.first }}"
    uploads = [each["with"] for each in steps if "upload-artifact" in each.get("uses", "")]
    assert len(uploads) == 3
    assert all(each["overwrite"] for each in uploads)


@pytest.mark.parametrize(
    ("registry", "secret", "permissions"),
    [
        ("ghcr.io/team/cache", "${{ github.token }}", {"contents": "read", "packages": "write"}),
        ("registry.example.com/team", "${{ secrets.TSANDBOX_REGISTRY_PASSWORD }}", None),
        ("ghcr.io.example.com/team", "${{ secrets.TSANDBOX_REGISTRY_PASSWORD }}", None),
    ],
)
def test_githubs_token_goes_to_githubs_registry_only(registry: str, secret: str, permissions: Any) -> None:
    jobs = parsed("github", replace(small, registry=registry))["jobs"]
    assert step("Log in to the image registry", jobs)["env"]["PASSWORD"] == secret
    assert jobs["run"].get("permissions") == permissions


def test_on_github_no_expression_stands_in_a_script() -> None:
    assert "${{" not in scripts(parsed("github", large))


def test_what_was_asked_for_is_in_the_file() -> None:
    made = parsed("github", large)
    assert made["name"] == 'Recipes: "all" # of them'
    assert made["env"] == {"TSANDBOX_REGISTRY": "registry.example.com/team/cache"}
    assert 'docker login --username "$NAME" --password-stdin registry.example.com\n' in scripts(made)
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
    few = parsed("gitlab", replace(large, images={"amd64": 7, "arm64": 0}))
    assert (few["run-amd64"]["parallel"], few["run-arm64"]["parallel"]) == (7, 1)


def test_on_gitlab_merge_requests_have_pipelines_and_bad_runs_keep_their_durations() -> None:
    made = parsed("gitlab", small)
    assert made["workflow"]["rules"][0] == {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"'}
    assert made["merge"]["cache"][0]["when"] == "always"


@pytest.mark.parametrize("ours", ["registry.example.com", "registry.gitlab.example.com"])
def test_gitlabs_password_goes_to_gitlabs_registry_only(ours: str, tmp_path: Path) -> None:
    [login] = [part for part in parsed("gitlab", large)["run-amd64"]["script"] if "docker login" in part]
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "$@"; cat\n')
    docker.chmod(0o755)
    known = {"CI_REGISTRY": ours, "CI_REGISTRY_USER": "ci", "CI_REGISTRY_PASSWORD": "secret"}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **known}
    ran = subprocess.run(["bash", "-euc", login], env=environment, capture_output=True, text=True, check=True)
    logged_in = "login --username ci --password-stdin registry.example.com\nsecret\n"
    assert ran.stdout == (logged_in if ours == "registry.example.com" else "")


@pytest.mark.parametrize("name", ["a\n      - run: evil", "${{ secrets.TOKEN }}", "$[[ inputs.x ]]"])
@pytest.mark.parametrize("system", SCHEMAS)
def test_names_that_ci_would_obey_are_refused(system: System, name: str) -> None:
    with pytest.raises(UsageError, match="cannot stand in a workflow"):
        render_workflow(system, Workflow(command="", arguments=(name,), arches=("amd64",)))


@pytest.mark.parametrize("pin", ["actions/checkout=v4", "actions/checkout", "a b=" + COMMIT, "foo/bar=" + COMMIT])
def test_a_pin_is_a_whole_commit_of_an_action_that_is_used(pin: str) -> None:
    with pytest.raises(UsageError):
        read_pin(pin)
