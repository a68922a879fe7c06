"""`tsandbox doctor` on real engines: what it shows is what is there, and its exit code says whether one can work."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tsandbox.engine import Engine

from .conftest import Cli
from .engine.users import User, unprivileged

STATES = {"ok", "warning", "failed", "info"}
ABOUT_AN_ENGINE = {"engine", "version", "rootless", "storage driver", "cgroups", "builder", "network", "base", "cache"}
ABOUT_THE_MACHINE = {"ulimits", "subuid", "directories", "disk", "proxy", "CA", "mirror"}


@pytest.fixture
def user() -> Iterator[User]:
    with unprivileged() as made:
        yield made


def checks(stdout: str) -> dict[str, dict[str, Any]]:
    found = json.loads(stdout)
    assert found["schema"] == 1
    return {check["name"]: check for check in found["checks"]}


def test_every_check_has_its_state_and_the_engine_is_as_it_says(cli: Cli, engine: Engine) -> None:
    done = cli("doctor", "--json", "--engine", engine.name)
    found = json.loads(done.stdout)
    assert found["status"] == "passed"
    assert found["exit_code"] == 0
    assert found["engine"] == engine.name
    assert found["error"] is None
    named = checks(done.stdout)
    assert named.keys() >= ABOUT_AN_ENGINE | ABOUT_THE_MACHINE
    assert {check["state"] for check in named.values()} <= STATES
    assert all(check["fix"] for check in named.values() if check["state"] in {"warning", "failed"})
    assert {name for name, check in named.items() if check["engine"] == engine.name} >= ABOUT_AN_ENGINE
    facts = engine.facts()
    assert facts.version in named["version"]["found"]
    assert facts.storage_driver in named["storage driver"]["found"]
    assert facts.storage_root in named["storage driver"]["found"]
    enforced = named["cgroups"]["found"].partition("enforced: ")[2].split(", ")
    assert set(enforced) == {"memory", "cpus", "pids"} - set(facts.unenforced)


def test_people_get_a_line_for_every_check_and_auto_shows_both_engines(podman_cli: Cli, docker_daemon: object) -> None:
    text = podman_cli("doctor", "--engine", "auto").stdout
    lines = text.splitlines()
    assert lines.count("podman") == 1
    assert lines.count("docker") == 1
    assert lines.count("this machine") == 1
    assert "podman runs containers, and is the one that is used" in text
    assert "--engine docker" in text
    for name in ABOUT_AN_ENGINE | ABOUT_THE_MACHINE:
        assert any(line.startswith("  ") and line[10:].startswith(name) for line in lines), name


def test_no_engine_at_all_is_exit_5_with_the_fix(podman_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    env = {"PATH": str(tmp_path / "bin"), "TSANDBOX_STATE_DIR": str(tmp_path / "state")}
    done = podman_cli("doctor", "--json", "--engine", "auto", code=5, env=env)
    found = json.loads(done.stdout)
    assert found["status"] == "error"
    assert found["engine"] is None
    assert found["error"]["type"] == "EngineNotInstalled"
    failed = [check for check in found["checks"] if check["state"] == "failed"]
    assert {check["engine"] for check in failed} == {"podman", "docker"}
    assert all("apt-get install" in check["fix"] for check in failed)
    text = podman_cli("doctor", "--engine", "auto", code=5, env=env).stdout
    assert "fix: sudo apt-get install podman" in text
    assert "No engine can be used" in text


def test_an_engine_that_is_not_needed_is_no_failure(podman_cli: Cli, tmp_path: Path) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"}
    found = json.loads(podman_cli("doctor", "--json", "--engine", "auto", env=env).stdout)
    docker = [check for check in found["checks"] if check["engine"] == "docker"]
    assert [check["state"] for check in docker] == ["info"]
    assert "systemctl start docker" in docker[0]["fix"]


def test_the_engine_that_was_asked_for_is_needed(podman_cli: Cli, tmp_path: Path) -> None:
    env = {"DOCKER_HOST": f"unix://{tmp_path}/nothing.sock"}
    found = json.loads(podman_cli("doctor", "--json", "--engine", "docker", env=env, code=5).stdout)
    assert found["error"]["type"] == "EngineNotRunning"


def test_an_engine_that_nobody_knows_is_a_wrong_use(podman_cli: Cli) -> None:
    done = podman_cli("doctor", "--json", "--engine", "rocket", code=2)
    assert json.loads(done.stdout)["exit_code"] == 2


def test_settings_of_the_outside_are_checked_and_no_password_is_shown(podman_cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("this is not a certificate")
    env = {
        "http_proxy": "http://me:pa55word@127.0.0.1:9",
        "TSANDBOX_CA_BUNDLE": str(tmp_path / "ca.pem"),
        "TSANDBOX_APT_MIRROR": "http://127.0.0.1:9/debian",
        "TSANDBOX_REGISTRY": "127.0.0.1:9/cache",
    }
    done = podman_cli("doctor", "--json", env=env, code=5)
    assert "pa55word" not in done.stdout + done.stderr
    named = checks(done.stdout)
    assert named["proxy"]["found"] == "http_proxy=http://…@127.0.0.1:9"
    assert named["CA"]["state"] == "failed"
    assert "PEM" in named["CA"]["fix"]
    assert named["registry"]["state"] == "warning"
    # Without a bundle that can be read, nothing can be asked over https; http is not concerned.
    assert named["mirror"]["state"] == "warning"
    assert "TSANDBOX_APT_MIRROR" in named["mirror"]["fix"]


def test_fix_makes_the_bases_that_are_missing(podman_cli: Cli, podman: Engine) -> None:
    """They are in the storage already, so nothing is left to fix; and it says so."""
    podman_cli("base", "build")
    text = podman_cli("doctor", "--fix").stdout
    assert "There is nothing that could be fixed without root." in text
    assert checks(podman_cli("doctor", "--json", "--fix").stdout)["base"]["state"] in {"ok", "warning"}


@pytest.mark.xdist_group("users")
def test_a_user_sees_which_limits_do_not_hold_and_fix_makes_the_bases(
    user: User, podman_cli: Cli, podman: Engine
) -> None:
    """A rootless podman with nothing in it: the bases come from the archives that an earlier run kept."""
    podman_cli("base", "build")
    user.take_cached("bases")
    argv = ["doctor", "--json", "--engine", "podman"]
    before = user.tsandbox(*argv)
    assert before.returncode == 0, before.stdout + before.stderr
    named = checks(before.stdout)
    assert named["rootless"]["state"] == "ok"
    assert named["subuid"]["state"] == "ok"
    assert named["network"]["state"] == "ok"
    assert named["base"]["remedy"] == "base"
    unenforced = named["cgroups"]["state"] == "warning"
    assert unenforced == ("enforced: memory, cpus, pids" not in named["cgroups"]["found"])
    if unenforced:
        assert "not enforced" in named["cgroups"]["meaning"]
        assert named["cgroups"]["fix"]
    after = user.tsandbox(*argv, "--fix")
    assert after.returncode == 0, after.stdout + after.stderr
    assert json.loads(after.stdout)["fixed"] == ["made the bases runtime and builder in podman"]
    assert checks(after.stdout)["base"]["state"] == "ok"
