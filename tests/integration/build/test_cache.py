"""`tsandbox cache`: what is there, why something is not, sharing without a registry, cleaning up nothing foreign."""

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from tsandbox.build import collect, ensure_base, ensure_image
from tsandbox.build.base import archive_of
from tsandbox.build.cache import entries
from tsandbox.build.image import KEY
from tsandbox.derive import bases
from tsandbox.engine import BuildRequest, Engine, connect
from tsandbox.recipe.target import host_arch

from ..conftest import Cli, run_with
from .conftest import WriteRecipe, run_in, spec_of


def unique(name: str = "UNIQUE") -> str:
    return f'[[steps]]\naction = "env_set"\nname = "{name}"\nvalue = "{time.time_ns()}"\n'


def test_listed_explained_and_verified(cli: Cli, engine: Engine, recipe: WriteRecipe) -> None:
    path = recipe(name="explained", extra=unique())
    missed = json.loads(cli("cache", "explain", path, "--json").stdout)
    assert missed["hit"] is False
    built = ensure_image(engine, spec_of(path))
    row = next(row for row in json.loads(cli("cache", "ls", "--json").stdout)["images"] if row["key"] == built.key)
    assert (row["tool"], row["profile"], row["asked"]) == ("explained", "minimal", {"explained": str(path)})
    told = cli("cache", "explain", path).stdout
    assert told.startswith("hit")
    assert f"asked for by explained ({path})" in told
    # One line of the Dockerfile is different now, and the nearest image is the one that we know.
    path.write_text(path.read_text() + unique("MORE"))
    missed = json.loads(cli("cache", "explain", path, "--json").stdout)
    assert missed["nearest"]["key"] == built.key
    [difference] = missed["differences"]
    assert difference["field"] == "dockerfile"
    assert "MORE=" in difference["here"]
    assert "MORE=" not in difference["there"]
    assert "MORE=" in cli("cache", "explain", path).stdout
    usage = json.loads(cli("cache", "du", "--json").stdout)
    assert usage["total"] == sum(each["size"] for each in usage["usage"])
    # Somebody changes the image and gives it the old name: its label still says the old key.
    changed = _changed(engine, built.reference, path.parent)
    faults = json.loads(cli("cache", "verify", "--json", code=6).stdout)["faults"]
    assert [fault["problem"] for fault in faults if fault["image"] == built.reference] == [
        "its content is not what was built or imported under this key"
    ]
    engine.remove_image(changed)
    engine.remove_image(built.id)


def test_exported_and_imported_byte_for_byte(cli: Cli, engine: Engine, recipe: WriteRecipe, tmp_path: Path) -> None:
    path = recipe(name="shared", extra=unique())
    spec = spec_of(path)
    built = ensure_image(engine, spec)
    directory = tmp_path / "exports"
    cli("cache", "export", built.key, directory)
    [archive] = directory.glob("*.oci.tar")
    arch = spec.target.arch
    assert archive.name == f"shared-{built.key.removeprefix('sha256:')}-linux-{arch}.oci.tar"
    assert sorted(path.name for path in directory.iterdir()) == sorted([archive.name, "SHA256SUMS", "manifest.json"])
    engine.remove_image(built.reference)
    assert engine.image(built.reference) is None
    # A byte of the image, of the manifest or of the list: nothing is loaded.
    for name in (archive.name, "manifest.json", "SHA256SUMS"):
        damaged = tmp_path / f"damaged-{name}"
        shutil.copytree(directory, damaged)
        content = bytearray((damaged / name).read_bytes())
        content[len(content) // 2] ^= 1
        (damaged / name).write_bytes(content)
        refused = json.loads(cli("cache", "import", damaged, "--json", code=3).stdout)
        assert refused["status"] == "error", name
        assert engine.image(built.reference) is None
    [loaded] = json.loads(cli("cache", "import", directory, "--json").stdout)["images"]
    assert (loaded["image"], loaded["key"]) == (built.reference, built.key)
    image = engine.image(built.reference)
    assert image is not None
    assert image.labels[KEY] == built.key
    assert run_in(engine, built.reference, ["sh", "-c", "echo $UNIQUE"]).strip().isdecimal()
    assert json.loads(cli("build", path, "--json").stdout)["cached"] is True
    engine.remove_image(built.reference)


def test_an_archive_made_by_one_engine_is_read_by_the_other(
    request: pytest.FixtureRequest, recipe: WriteRecipe, tmp_path: Path
) -> None:
    from ..conftest import usable

    for name in ("podman", "docker"):
        usable(name, request)
    podman, docker = connect("podman"), connect("docker")
    built = ensure_image(docker, spec_of(recipe(name="travelling", extra=unique())))
    run_with("docker")("cache", "export", built.key, tmp_path / "exports")
    run_with("podman")("cache", "import", tmp_path / "exports")
    assert run_in(podman, built.reference, ["sh", "-c", "echo $UNIQUE"]) == run_in(
        docker, built.reference, ["sh", "-c", "echo $UNIQUE"]
    )
    for engine in (podman, docker):
        engine.remove_image(built.reference)


def test_gc_touches_nothing_foreign(
    engine: Engine, recipe: WriteRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = f'[[steps]]\naction = "file_write"\npath = "/opt/file"\ncontent = "{time.time_ns()}"\n'
    ours = ensure_image(engine, spec_of(recipe(name="garbage", extra=file)))
    # Built on ours by somebody else: it has our labels, but not our name.
    derived = _changed(engine, ours.reference, tmp_path, tag="localhost/somebody-elses:1")
    # Somebody else's name for the very image.
    engine.tag(ours.id, "localhost/somebody-elses:2")
    # Other tests use the same engine: of its images only this one is known to us.
    mine = [entry for entry in entries(engine) if entry.key == ours.key]
    monkeypatch.setattr(collect, "entries", lambda _: mine)
    monkeypatch.setattr(collect.base, "made_bases", lambda _: [])
    removed = collect.collect(engine, collect.Limits(max_size=0), dry_run=True)
    assert [each.what for each in removed if each.tool] == [ours.reference]
    assert engine.image(ours.reference) is not None
    collect.collect(engine, collect.Limits(max_size=0))
    assert engine.image(ours.reference) is None
    assert engine.image(derived) is not None
    assert engine.image("localhost/somebody-elses:2") is not None
    engine.remove_image(derived)
    engine.remove_image("localhost/somebody-elses:2")


def test_gc_on_the_command_line(podman: Engine, tmp_path: Path, recipe: WriteRecipe) -> None:
    """In a storage of its own: what is reachable stays, what is used least goes first, foreign images stay."""
    home = tmp_path / "own"
    home.mkdir()
    (home / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{home}/graph"\nrunroot = "{home}/run"\n'
    )
    ensure_base(podman, "runtime", host_arch())
    (home / "cache/bases").mkdir(parents=True)
    made = archive_of("runtime", bases.base("runtime", host_arch()).digest)
    (home / "cache/bases" / made.name).hardlink_to(made)
    env = {
        "CONTAINERS_STORAGE_CONF": str(home / "storage.conf"),
        "TSANDBOX_STATE_DIR": str(home / "state"),
        "TSANDBOX_CACHE_DIR": str(home / "cache"),
    }
    cli = run_with("podman")

    def images() -> set[str]:
        return {row["tool"] for row in json.loads(cli("cache", "ls", "--json", env=env).stdout)["images"]}

    try:
        paths = [recipe(name=name, extra=unique(name.upper())) for name in ("first", "second", "third")]
        for path in paths:
            cli("build", path, env=env)
        cli("build", paths[0], env=env)
        assert cli("cache", "gc", code=2, env=env).stderr.startswith("error: nothing says what may go")
        dry = json.loads(cli("cache", "gc", "--max-size", "0", "--dry-run", "--json", env=env).stdout)
        assert {row["tool"] for row in dry["removed"]} == {"first", "second", "third"}
        assert images() == {"first", "second", "third"}
        cli("cache", "gc", "--keep-reachable", paths[0], "--keep-reachable", paths[2], env=env)
        assert images() == {"first", "third"}
        cli("cache", "gc", "--max-size", "0", "--keep-reachable", paths[2], env=env)
        assert images() == {"third"}
        cli("cache", "gc", "--older-than", "0s", env=env)
        assert images() == set()
        assert json.loads(cli("base", "ls", "--json", env=env).stdout)["bases"] != []
        cli("cache", "gc", "--older-than", "0s", env={**env, "TSANDBOX_EPOCH": "2001-01-01"})
        assert json.loads(cli("base", "ls", "--json", env=env).stdout)["bases"] == []
    finally:
        _unmount(home)


def _unmount(home: Path) -> None:
    """Podman keeps its storage mounted on itself."""
    import subprocess

    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        point = line.split(" ")[4]
        if point.startswith(str(home)):
            subprocess.run(["umount", point], check=True)


def test_the_sbom_names_every_package(cli: Cli, engine: Engine, recipe: WriteRecipe, tmp_path: Path) -> None:
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    path = recipe("jq", name="billed")
    target = tmp_path / "jq.cdx.json"
    cli("sbom", path, "--output", target)
    text = target.read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    purls = {part["name"]: part["purl"] for part in bill["components"]}
    installed = run_in(
        engine, ensure_image(engine, spec_of(path)).reference, ["cat", "/usr/share/tsandbox/packages.tsv"]
    )
    assert set(purls) == {line.split("\t")[0] for line in installed.splitlines()}
    assert purls["jq"].startswith("pkg:deb/debian/jq@1.")
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    assert any("libjq1" in ref for ref in needs[purls["jq"]])
    # The same image, the same document.
    assert cli("sbom", path).stdout == text
    assert json.loads(cli("sbom", "runtime").stdout)["metadata"]["component"]["name"].endswith("tsandbox-base")


def _changed(engine: Engine, reference: str, directory: Path, tag: str | None = None) -> str:
    """The image with one file more, under the same name or another."""
    context = directory / f"context-{time.time_ns()}"
    context.mkdir()
    (context / "Dockerfile").write_text(f'FROM {reference}\nCOPY ["Dockerfile", "/changed"]\n')
    name = tag or reference
    arch = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    engine.build(
        BuildRequest(context=context, dockerfile=context / "Dockerfile", tag=name, labels={}, platform=f"linux/{arch}"),
        on_line=lambda _: None,
    )
    return name
