"""Bases: small, bit-identical wherever they are made, made once, and refreshed on demand."""

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from tsandbox.build import ensure_base
from tsandbox.build.base import archive_of
from tsandbox.build.make_base import make_base
from tsandbox.build.workplace import workplace
from tsandbox.derive import bases
from tsandbox.engine import Engine
from tsandbox.recipe.target import host_arch

from ..conftest import Cli
from ..engine.users import unprivileged
from .conftest import WriteRecipe, run_in

MEGABYTE = 1000 * 1000
LARGEST = {"runtime": 11 * MEGABYTE, "builder": 65 * MEGABYTE}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def first_made(engine: Engine, name: str) -> Path:
    """The archive that the engine's base came from; the engine may have kept the base and the disk not the archive."""
    wanted = bases.base(name, host_arch())
    tar = archive_of(name, wanted.digest)
    if not tar.exists():
        engine.remove_image(wanted.image)
    ensure_base(engine, name, host_arch())
    return tar


def test_made_twice_it_is_the_same_to_the_last_bit(podman: Engine) -> None:
    """The builder, which takes longer, is made again in the next test."""
    first = first_made(podman, "runtime")
    with workplace(podman) as place:
        again = make_base(podman, bases.definition("runtime", host_arch()), place)
        assert sha256(again) == sha256(first)


@pytest.mark.parametrize("name", bases.MADE_HERE)
def test_made_in_a_container_they_are_the_same(name: str, podman: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on hosts that are not Debian; the Debian image is our own builder base."""
    first, builder = first_made(podman, name), bases.base("builder", host_arch())
    ensure_base(podman, "builder", host_arch())
    monkeypatch.setenv("TSANDBOX_BASE_MAKER", "container")
    monkeypatch.setenv("TSANDBOX_DEBIAN_IMAGE", builder.image)
    with workplace(podman) as place:
        assert sha256(make_base(podman, bases.definition(name, host_arch()), place)) == sha256(first)
    assert first.stat().st_size <= LARGEST[name]


def test_made_by_an_unprivileged_user_they_are_the_same(podman: Engine) -> None:
    first = first_made(podman, "runtime")
    code = """
import hashlib, sys
from pathlib import Path
from tsandbox.build.make_base import _make_here, host_can
from tsandbox.derive import bases
work = Path(sys.argv[1]); work.mkdir()
made_from = bases.definition("runtime", sys.argv[2])
assert host_can(made_from)
print(hashlib.sha256(_make_here(made_from, work, None).read_bytes()).hexdigest())
"""
    with unprivileged() as user:
        done = user.python(code, str(user.home / "work"), host_arch())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == sha256(first)


def test_sizes_suites_and_packages_are_listed(cli: Cli, engine: Engine) -> None:
    for name in bases.MADE_HERE:
        ensure_base(engine, name, host_arch())
    listed = json.loads(cli("base", "ls", "--json").stdout)["bases"]
    current = {base.image.rpartition(":")[2]: base.name for base in (bases.base(n, host_arch()) for n in LARGEST)}
    rows = {row["name"]: row for row in listed if row["image"].rpartition(":")[2] in current}
    assert set(rows) == {"runtime", "builder"}
    for name, row in rows.items():
        assert row["size"] <= LARGEST[name]
        assert (row["suite"], row["epoch"]) == (bases.default_suite(), bases.epoch())
        assert row["packages"] > 8
        assert row["current"]
    told = json.loads(cli("base", "inspect", "runtime", "--json").stdout)
    assert {"libc6", "busybox", "tzdata", "ca-certificates"} <= {package["name"] for package in told["packages"]}
    assert "SIZE" in cli("base", "ls").stdout


def test_trixie(podman_cli: Cli, podman: Engine) -> None:
    podman_cli("base", "build", "--suite", "trixie")
    runtime = bases.base("runtime", host_arch(), "trixie").image
    assert "13" in run_in(podman, runtime, ["cat", "/etc/debian_version"])
    builder = bases.base("builder", host_arch(), "trixie").image
    images = {"runtime": podman.image(runtime), "builder": podman.image(builder)}
    assert all(image is not None and image.size <= LARGEST[name] for name, image in images.items())
    said = run_in(
        podman, builder, ["sh", "-c", "apt-get --version | head -n 1; cat /etc/apt/sources.list.d/*; dpkg --audit"]
    )
    assert said.startswith("apt 3.")
    assert "trixie-security" in said


def test_images_are_made_of_the_suite_that_is_chosen(
    podman_cli: Cli, podman: Engine, recipe: WriteRecipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = recipe("jq")
    usual = json.loads(podman_cli("spec", str(path), "--format", "json").stdout)
    built = json.loads(podman_cli("build", str(path), "--json", env={"TSANDBOX_SUITE": "trixie"}).stdout)
    assert built["key"] != usual["key"]
    monkeypatch.setenv("TSANDBOX_SUITE", "trixie")
    said = run_in(podman, built["image"], ["sh", "-c", "cat /etc/debian_version && jq --null-input 6*7"])
    assert said.startswith("13.")
    assert said.endswith("42\n")
    told = json.loads(podman_cli("sbom", built["image"]).stdout)
    assert {"distro=trixie"} == {
        word for part in told["components"] for word in part["purl"].split("?")[1].split("&") if "distro" in word
    }


def test_the_security_pocket_is_part_of_a_base(podman: Engine) -> None:
    with tarfile.open(first_made(podman, "builder")) as tar:
        member = tar.extractfile("./etc/apt/sources.list.d/debian.sources")
        assert member is not None
        sources = member.read().decode()
    assert f"Suites: {bases.default_suite()}-security" in sources
    assert "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg" in sources


def test_an_unsigned_archive_is_refused(podman_cli: Cli, tmp_path: Path, unsigned_archive: str) -> None:
    env = {"TSANDBOX_APT_MIRROR": unsigned_archive, "TSANDBOX_EPOCH": "2001-01-01", "TSANDBOX_CACHE_DIR": str(tmp_path)}
    told = podman_cli("base", "build", "runtime", env=env, code=6).stderr
    assert "could not be made" in told
    assert "is not signed" in told


def test_refreshing_moves_every_key(podman_cli: Cli, tmp_path: Path) -> None:
    """With an engine that is never asked: only the epoch moves."""
    env = {"TSANDBOX_STATE_DIR": str(tmp_path)}
    before = json.loads(podman_cli("spec", "jq", "--format", "json", env=env).stdout)
    (tmp_path / "epoch.toml").write_text('epoch = "2026-11-19T01:02:03Z"\n')
    after = json.loads(podman_cli("spec", "jq", "--format", "json", env=env).stdout)
    assert before["base"]["digest"] != after["base"]["digest"]
    assert before["key"] != after["key"]
