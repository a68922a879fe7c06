"""A failed run travels in one file, without its secrets, and fails again in the same way."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.integration.conftest import Cli

RECIPE = """\
[metadata]
name = "fails"
description = "Fails with a secret on its lips"

[[steps]]
action = "run_command"
command = "echo one > one"

[[steps]]
action = "run_command"
command = "echo $TOKEN; exit 3"

[verify]
command = "true"
"""
SECRET = {"TOKEN": "hunter2-in-a-capsule"}


@pytest.mark.engine
def test_a_capsule_holds_the_run_and_no_secret_and_replays(cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "fails.toml"
    recipe.write_text(RECIPE)
    capsule = tmp_path / "failed.tar.gz"
    options = ("--sandbox", "--yes", "--env", "TOKEN", "--limits", "pids=40", "--capsule", capsule)
    cli("install", recipe, *options, code=7, env=SECRET)
    with tarfile.open(capsule) as tar:
        held = {member.name: tar.extractfile(member).read().decode() for member in tar.getmembers()}  # type: ignore[union-attr]
    assert set(held) == {
        "capsule.json",
        "plan.json",
        "spec.json",
        "Dockerfile",
        "engine.json",
        "events.jsonl",
        "log.txt",
    }
    assert "hunter2" not in "".join(held.values())
    assert "***" in held["log.txt"]
    about = json.loads(held["capsule.json"])
    assert (about["exit_code"], about["env"], about["limits"]["pids"]) == (7, ["TOKEN"], 40)
    assert about["key"] == json.loads(held["spec.json"])["key"]
    assert '"kind":"command_failed"' in held["events.jsonl"]

    recipe.unlink()
    result = json.loads(cli("replay", capsule, "--yes", "--env", "TOKEN", "--json", code=7, env=SECRET).stdout)
    assert "step 2 (run_command) failed" in result["error"]["message"]
    assert result["install"]["limits"]["pids"] == 40
    ran = cli("replay", capsule, "--yes", code=2)
    assert "--env TOKEN" in ran.stderr
    assert cli("shell", capsule, "--yes", "--step", "2", "-c", "cat work/fails/one").stdout == "one\n"


@pytest.mark.engine
def test_in_ci_every_failed_run_leaves_a_capsule_beside_its_log(podman_cli: Cli, tmp_path: Path) -> None:
    recipe = tmp_path / "fails.toml"
    recipe.write_text(RECIPE)
    ran = podman_cli("install", recipe, "--sandbox", "--yes", "--json", code=7, env={"CI": "true"})
    log = Path(json.loads(ran.stdout)["log"])
    assert log.with_suffix(".capsule.tar.gz").is_file()


@pytest.mark.parametrize("content", [b"", b"\x1f\x8bbroken", b"[metadata]"], ids=["empty", "broken", "recipe"])
def test_what_is_no_capsule_is_refused(podman_cli: Cli, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "not.tar.gz"
    path.write_bytes(content)
    assert "is no capsule" in podman_cli("replay", path, code=3).stderr
