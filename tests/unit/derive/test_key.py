"""The key: every input of the preimage changes it, and nothing else does."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.made_plans import plan, recipe, step
from tsandbox.derive import ContainerSpec, define_image, derive, image_key
from tsandbox.derive import bases as room_of_bases
from tsandbox.derive.bases import Base
from tsandbox.derive.key import tag_of
from tsandbox.plan import select
from tsandbox.recipe import linux
from tsandbox.recipe.target import FAMILIES

TEXT = """
[sandbox]
network = "none"
limits = { memory = "1g", pids = 50 }

[[steps]]
action = "require_system"
command = "made"
primitives = [
  { apt_repo = { url = "https://packages.example.com/debian", suite = "bookworm", components = ["main"], key_url = "https://packages.example.com/key.asc", key_sha256 = "%s" } },
  { apt = ["made", "other"] },
  { group_add = { group = "made" } },
  { env_set = { name = "MADE", value = "1" } },
  { file_write = { path = "/etc/made", content = "x", mode = "0640" } },
]

[verify]
command = "made --version"
""" % ("ab" * 32)  # noqa: E501 - as people write it


def made(text: str = TEXT, family: str = "debian", arch: str = "amd64") -> ContainerSpec:
    target = linux(family, arch)
    return derive(select(recipe(text), target), target)


# --- The contract


def test_the_key_is_the_sha256_of_a_canonical_preimage() -> None:
    image = define_image(made())
    assert image.key == "sha256:" + hashlib.sha256(image.preimage.encode()).hexdigest()
    assert image.tag == f"sandbox-cache:{image.key.removeprefix('sha256:')[:32]}"
    preimage = json.loads(image.preimage)
    assert sorted(preimage) == ["base", "dockerfile", "files", "platform", "profile", "schema"]
    canonical = json.dumps(preimage, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # A label with a dollar sign would be expanded by a builder, and the preimage is one.
    assert "$" in canonical
    assert image.preimage == canonical.replace("$", "\\u0024")


def test_the_preimage_holds_the_dockerfile_the_base_and_every_file_of_the_context() -> None:
    spec = made()
    image = define_image(spec)
    preimage = json.loads(image.preimage)
    assert preimage["dockerfile"] == image.dockerfile
    assert preimage["base"] == spec.base.digest
    assert preimage["platform"] == "linux/amd64"
    assert preimage["files"] == {
        path: "sha256:" + hashlib.sha256(file.content).hexdigest() for path, file in image.files.items()
    }


def test_a_tag_is_32_hex_digits() -> None:
    assert re.fullmatch(r"sandbox-cache:[0-9a-f]{32}", tag_of(image_key(made())))


# --- What changes the key

CHANGES = {
    "a package": ('"other"]', '"another"]'),
    "one package less": (', "other"]', "]"),
    "a repository's url": ("example.com/debian", "example.com/ubuntu"),
    "a repository's suite": ('"bookworm"', '"trixie"'),
    "a repository's components": ('["main"]', '["main", "extra"]'),
    "a key's url": ("key.asc", "key2.asc"),
    "a key's sha256": ("abab", "cdab"),
    "a group": ('group = "made"', 'group = "others"'),
    "a variable's name": ('"MADE"', '"MAKE"'),
    "a variable's value": ('value = "1"', 'value = "2"'),
    "a file's path": ("/etc/made", "/etc/make"),
    "a file's content": ('content = "x"', 'content = "y"'),
    "a file's mode": ("0640", "0644"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_goes_into_the_image_changes_the_key(change: str) -> None:
    before, after = CHANGES[change]
    assert before in TEXT
    assert image_key(made(TEXT.replace(before, after, 1))) != image_key(made())


def test_the_architecture_changes_the_key() -> None:
    assert image_key(made(arch="arm64")) != image_key(made())


def test_the_profile_changes_the_key() -> None:
    target = linux("debian", "amd64")
    bare = plan(step("apt_install", packages=["jq"]))
    assert image_key(derive(bare, target, profile="full")) != image_key(derive(bare, target, profile="minimal"))


def test_the_profile_changes_the_key_even_of_an_equal_dockerfile() -> None:
    spec = made('[[steps]]\naction = "chmod"\n')
    assert image_key(msgspec.structs.replace(spec, profile="full")) != image_key(spec)


def test_the_family_changes_the_key() -> None:
    text = '[[steps]]\naction = "group_add"\ngroup = "made"\n'
    assert len({image_key(made(text, family)) for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize("which", ["base", "builder"])
def test_a_base_changes_the_key(which: str) -> None:
    other = Base(name="other", image="localhost/other:1", digest="sha256:" + "0" * 64)
    assert image_key(msgspec.structs.replace(made(), **{which: other})) != image_key(made())


def test_the_digest_of_a_base_changes_the_key_alone() -> None:
    spec = made()
    moved = msgspec.structs.replace(spec, base=msgspec.structs.replace(spec.base, digest="sha256:" + "0" * 64))
    assert image_key(moved) != image_key(spec)


def test_the_epoch_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = []
    for epoch in ("2026-01-01", "2026-01-02"):
        monkeypatch.setenv("TSANDBOX_EPOCH", epoch)
        keys.append(image_key(made()))
    assert keys[0] != keys[1]


def test_the_closure_scripts_change_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = define_image(made())
    changed = {
        **before.files,
        "closure/closure.sh": msgspec.structs.replace(before.files["closure/closure.sh"], content=b""),
    }
    monkeypatch.setattr("tsandbox.derive.key.context_files", lambda _: changed)
    assert define_image(made()).key != before.key


def test_the_definition_of_a_base_changes_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every script that makes a base, and its lists, are part of its identity."""
    original = room_of_bases.directory()
    digests = {room_of_bases.base("runtime", "amd64").digest}
    edits = {"bases.toml": ('"netbase", ', ""), "runtime.sh": ("umask", "umask "), "prune.sh": ("set -eu", "set -ue")}
    for i, (name, (before, after)) in enumerate(edits.items()):
        copy = tmp_path / str(i) / "images/minimal"
        shutil.copytree(original, copy)
        text = (copy / name).read_text()
        assert before in text
        (copy / name).write_text(text.replace(before, after, 1))
        monkeypatch.setattr(room_of_bases, "directory", lambda copy=copy: copy)
        forget_bases()
        digests.add(room_of_bases.base("runtime", "amd64").digest)
    monkeypatch.undo()
    forget_bases()
    assert len(digests) == 1 + len(edits)


def forget_bases() -> None:
    for remembered in (room_of_bases._pins, room_of_bases._made, room_of_bases._definition):
        remembered.cache_clear()


# --- What does not

SAME = {
    "a comment": lambda text: "# written by somebody\n" + text,
    "the order of keys": lambda text: text.replace('name = "MADE", value = "1"', 'value = "1", name = "MADE"'),
    "the order of packages": lambda text: text.replace('["made", "other"]', '["other", "made"]'),
    "a package twice": lambda text: text.replace('["made", "other"]', '["made", "other", "made"]'),
    "the order of tables": lambda text: text[text.index("[[steps]]") :] + text[: text.index("[[steps]]")],
    "limits": lambda text: text.replace("1g", "3g").replace("50", "60"),
    "the network": lambda text: text.replace('"none"', '"egress"'),
    "the verification": lambda text: text.replace("--version", "--help"),
    "the command that is checked": lambda text: text.replace('command = "made"\n', 'command = "make"\n'),
    "a step that installs nothing": lambda text: text + '\n[[steps]]\naction = "chmod"\n',
    "a note for people": lambda text: text + '\n[[steps]]\naction = "manual"\ntext = "smile"\n',
    "the case of a checksum": lambda text: text.replace("ab" * 32, "AB" * 32),
}


@pytest.mark.parametrize("change", SAME)
def test_what_does_not_go_into_the_image_does_not_change_the_key(change: str) -> None:
    changed = SAME[change](TEXT)
    assert changed != TEXT
    assert image_key(made(changed)) == image_key(made())


def test_the_name_version_and_place_of_the_recipe_do_not_change_the_key() -> None:
    spec = made()
    for change in ({"tool": "other"}, {"version": "9"}, {"source": "/elsewhere/x.toml"}, {"origins": {}}):
        assert image_key(msgspec.structs.replace(spec, **change)) == image_key(spec)  # type: ignore[arg-type]


def test_a_dependencys_packages_count_as_ones_own() -> None:
    target = linux("debian", "amd64")
    needed = plan(step("apt_install", packages=["b"]), tool="needed")
    nested = plan(step("apt_install", packages=["a"]), dependencies=(needed,))
    flat = plan(step("apt_install", packages=["a", "b"]))
    assert image_key(derive(nested, target)) == image_key(derive(flat, target))


SCRIPT = """
import sys
from tsandbox import derive, image_key, load, select
from tsandbox.recipe import linux
target = linux("debian", "amd64")
print(image_key(derive(select(load(sys.argv[1]), target), target)))
"""


def test_nothing_around_the_process_changes_the_key(tmp_path: Path) -> None:
    """Working directory, time zone, locale, hash seed, user's name and home, umask and the chosen engine."""
    file = tmp_path / "made.toml"
    file.write_text('[metadata]\nname = "made"\ndescription = "made"\n' + TEXT)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "made.toml").write_text(file.read_text())
    os.utime(elsewhere / "made.toml", (0, 0))
    surroundings = [
        (tmp_path, file, {}),
        (elsewhere, Path("made.toml"), {"PYTHONHASHSEED": "1"}),
        (Path("/"), file, {"PYTHONHASHSEED": "4242", "TZ": "Asia/Tokyo", "SOURCE_DATE_EPOCH": "1"}),
        (tmp_path, file, {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "PYTHONUTF8": "0"}),
        (tmp_path, file, {"LC_ALL": "C", "PYTHONOPTIMIZE": "1"}),
        (tmp_path, file, {"USER": "somebody", "LOGNAME": "somebody", "HOME": str(elsewhere)}),
        (tmp_path, file, {"TSANDBOX_ENGINE": "docker", "DOCKER_HOST": "tcp://example.com:1"}),
    ]
    keys = set()
    for directory, path, extra in surroundings:
        environment = {"PATH": os.environ["PATH"], "TSANDBOX_EPOCH": "2026-01-01", "HOME": str(tmp_path), **extra}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path)],
            cwd=directory, env=environment, capture_output=True, text=True, check=True, umask=0o077 if extra else 0o022,
        )  # fmt: skip
        keys.add(done.stdout)
    assert len(keys) == 1
