"""`tsandbox build`: hits and misses, one build for many who ask, failures that explain themselves."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tsandbox.build import BuildOptions, ensure_image
from tsandbox.build.image import KEY, PREIMAGE
from tsandbox.derive import define_image
from tsandbox.engine import Engine

from ..conftest import Cli
from .conftest import WriteRecipe, spec_of
from .servers import TlsServer


def test_a_build_then_a_hit_then_what_asks_for_more(cli: Cli, engine: Engine, recipe: WriteRecipe) -> None:
    # With a step that runs: what only sets variables has no age of its own on docker.
    path = recipe(name=f"hit-{os.getpid()}", extra=f'[[steps]]\naction = "group_add"\ngroup = "g{time.time_ns()}"\n')
    first = json.loads(cli("build", path, "--json").stdout)
    assert (first["status"], first["stage"], first["cached"]) == ("passed", "build", False)
    assert "STEP" in (log := Path(first["log"]).read_text()) or "#1 " in log
    again = json.loads(cli("build", path, "--json").stdout)
    assert (again["cached"], again["image"], again["key"]) == (True, first["image"], first["key"])
    image = engine.image(first["image"])
    assert image is not None
    assert json.loads(image.labels[PREIMAGE])["profile"] == "minimal"
    assert image.labels[KEY] == first["key"]
    # Younger than an hour: a hit. Younger than nothing: built anew, under the same name.
    assert json.loads(cli("build", path, "--json", "--max-age", "1h").stdout)["cached"] is True
    time.sleep(0.1)
    assert json.loads(cli("build", path, "--json", "--max-age", "0s").stdout)["cached"] is False
    newer = engine.image(first["image"])
    assert newer is not None
    assert newer.created > image.created
    # The replaced image is not left behind without a name.
    assert newer.id == image.id or engine.image(image.id) is None
    engine.remove_image(first["image"])


def test_a_tag_with_another_key_is_no_hit(engine: Engine, recipe: WriteRecipe) -> None:
    spec = spec_of(recipe(name="mislabelled", extra=_unique()))
    definition = define_image(spec)
    other = ensure_image(engine, spec_of(recipe(name="other", extra=_unique())))
    engine.tag(other.id, definition.tag)
    built = ensure_image(engine, spec)
    assert not built.cached
    assert built.id != other.id
    engine.remove_image(built.reference)
    engine.remove_image(other.reference)


def test_three_processes_build_once(engine_name: str, engine: Engine, recipe: WriteRecipe) -> None:
    path = recipe(name=f"thrice-{os.getpid()}-{engine_name}", extra=_unique())
    command = [sys.executable, "-m", "tsandbox", "build", str(path), "--json", "--engine", engine_name]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    results = [json.loads(each.communicate(timeout=300)[0]) for each in running]
    assert [each.returncode for each in running] == [0, 0, 0]
    assert sorted(result["cached"] for result in results) == [False, True, True]
    assert len({result["image"] for result in results}) == 1
    engine.remove_image(results[0]["image"])


def test_eight_images_in_parallel_each_once(cli: Cli, engine: Engine, recipe: WriteRecipe) -> None:
    paths = [recipe(name=f"part-{i}", extra=_unique(str(i))) for i in range(8)]
    twin = recipe(name="twin", extra=paths[0].read_text().partition('for a test"\n')[2])
    done = cli("build", *paths, twin, "--json", "--jobs", "4")
    whole = json.loads(done.stdout)
    assert (whole["status"], whole["exit_code"], len(whole["results"])) == ("passed", 0, 9)
    images = {result["image"] for result in whole["results"]}
    assert len(images) == 8
    assert "9 inputs, 8 images: 9 built, 0 reused, 0 failed" in done.stderr
    for image in images:
        engine.remove_image(image)


def test_one_bad_input_stops_no_other(cli: Cli, engine: Engine, recipe: WriteRecipe, tmp_path: Path) -> None:
    good = recipe(name="good", extra=_unique())
    (tmp_path / "bad.toml").write_text("[metadata]\n")
    done = cli("build", "nowhere/", good, tmp_path / "bad.toml", "--json", code=3)
    results = json.loads(done.stdout)["results"]
    assert [result["status"] for result in results] == ["error", "passed", "error"]
    assert [result["exit_code"] for result in results] == [3, 0, 3]
    assert "bad.toml" in done.stderr
    engine.remove_image(results[1]["image"])


def test_a_package_that_does_not_exist(cli: Cli, recipe: WriteRecipe) -> None:
    path = recipe("jqq", name="misspelt")
    result = json.loads(cli("build", path, "--json", code=6).stdout)
    error = result["error"]
    assert error["type"] == "BuildFailed"
    assert (error["file"], error["line"]) == (str(path), 6)
    assert "no package is called 'jqq'" in error["message"]
    assert "did you mean jq" in error["hint"]
    assert any("Unable to locate package jqq" in line for line in error["details"])
    assert not error["temporary"]


def test_no_network_is_told_from_a_wrong_recipe(cli: Cli, recipe: WriteRecipe) -> None:
    env = {"TSANDBOX_APT_MIRROR": "http://127.0.0.1:9/debian"}
    result = json.loads(cli("build", recipe("bc", name="offline"), "--no-cache", "--json", env=env, code=6).stdout)
    assert "cannot be reached" in result["error"]["message"]
    assert "TSANDBOX_APT_MIRROR" in result["error"]["hint"]
    assert result["error"]["temporary"]


def test_a_key_that_is_not_the_declared_one(podman_cli: Cli, recipe: WriteRecipe, tls_server: TlsServer) -> None:
    tls_server.files["/key.asc"] = b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n"
    repository = f"""[[steps]]
action = "apt_repo"
url = "{tls_server.url}/debian"
suite = "stable"
components = ["main"]
key_url = "{tls_server.url}/key.asc"
key_sha256 = "{"0" * 64}"
[[steps]]
action = "apt_install"
packages = ["something"]
"""
    env = {
        "TSANDBOX_CA_BUNDLE": str(tls_server.ca),
        "http_proxy": "",
        "TSANDBOX_APT_MIRROR": f"{tls_server.url}/debian",
    }
    result = json.loads(
        podman_cli("build", recipe(name="wrong-key", extra=repository), "--json", env=env, code=6).stdout
    )
    assert "sha256 differs" in result["error"]["message"]
    assert "key_sha256" in result["error"]["hint"]


def test_what_cannot_be_sandboxed_says_so(podman_cli: Cli, recipe: WriteRecipe) -> None:
    undeclared = recipe(name="vague", extra='[[steps]]\naction = "require_system"\ncommand = "jq"\n')
    assert "cannot be sandboxed" in podman_cli("build", undeclared, code=4).stderr
    lacking = recipe(name="lacking").read_text().replace("[metadata]", '[metadata]\ndependencies = ["no-such-recipe"]')
    undeclared.write_text(lacking + '[[steps]]\naction = "group_add"\ngroup = "a"\n')
    assert "no-such-recipe" in podman_cli("build", undeclared, code=3).stderr


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="says the same on another architecture")
def test_another_architecture_is_refused_with_the_reason(podman_cli: Cli) -> None:
    told = podman_cli("build", "jq", "--arch", "arm64", code=4).stderr
    assert "no emulator for arm64" in told


def test_a_build_that_takes_too_long(engine: Engine, recipe: WriteRecipe) -> None:
    from tsandbox.errors import TimedOut

    with pytest.raises(TimedOut) as raised:
        ensure_image(engine, spec_of(recipe("cowsay", name="slow")), BuildOptions(no_cache=True, timeout=0.5))
    assert raised.value.stage == "build"
    assert "--timeout" in (raised.value.hint or "")


def _unique(salt: str = "") -> str:
    """A step without packages: such an image takes a moment, and nobody else has the same."""
    return f'[[steps]]\naction = "env_set"\nname = "UNIQUE"\nvalue = "{time.time_ns()}{salt}"\n'
