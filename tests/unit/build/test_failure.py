"""The common causes of a failed build, told from the output of real package managers."""

from collections import deque
from pathlib import Path

import pytest

from tsandbox.build.failure import cause_of, explain, unknown_packages
from tsandbox.build.names import near_names
from tsandbox.build.progress import Step
from tsandbox.derive import ContainerSpec, derive
from tsandbox.errors import BuildFailed, EngineLost, NoSpace
from tsandbox.plan import Catalog, load, select
from tsandbox.recipe import Recipe, linux

CAUSES = {
    "E: Release file for http://mirror.example.com/debian/dists/x/InRelease is expired (invalid since 3d).": "expired",
    "E: Release file for http://m.example.com/x/InRelease is not valid yet (invalid for another 2h).": "not yet valid",
    "  Temporary failure resolving 'mirror.example.com'": "cannot be reached",
    "curl: (6) Could not resolve host: example.com": "cannot be reached",
    "Err:1 http://mirror.example.com x InRelease\n  Could not connect to mirror.example.com:80": "cannot be reached",
    "dpkg: error processing archive: No space left on device": "disk is full",
    "E: You don't have enough free space in /var/cache/apt/archives/.": "disk is full",
    "W: GPG error: https://example.com stable InRelease: NO_PUBKEY 1234": "not signed with the key",
    "W: GPG error: https://m.example.com x InRelease: The following signatures were invalid: BADSIG 1": "was changed",
    "E: The repository 'https://example.com stable InRelease' is not signed.": "not signed with the key",
    "E: Failed to fetch https://example.com/key.asc  Hash Sum mismatch": "sha256 differs",
    "sha256sum: WARNING: 1 computed checksum did NOT match": "sha256 differs",
    "E: Failed to fetch http://m.example.com/pool/j/jq.deb  Hash Sum mismatch": "does not have what its index promises",
    "E: Failed to fetch http://m.example.com/pool/j/jq.deb  404  Not Found": "does not have what its index promises",
    "E: The repository 'https://example.com/x none Release' does not have a Release file.": "does not have this suite",
    "  Certificate verification failed: The certificate is NOT trusted.": "certificate is not trusted",
    "Err:1 http://x.example.com InRelease\n  407  Proxy Authentication Required": "proxy wants a password",
    "tsandbox: the shared package jq_1.deb is damaged and was removed": "was damaged",
    "E: Version '9.9' for 'jq' was not found": "in the version that the recipe asks for",
    "E: Unable to correct problems, you have held broken packages.": "do not fit together",
}


@pytest.mark.parametrize(("output", "told"), CAUSES.items())
def test_a_common_cause_is_recognised(output: str, told: str) -> None:
    cause = cause_of(output)
    assert cause is not None
    assert told in cause.message
    assert cause.hint


def test_what_is_not_common_has_no_cause() -> None:
    assert cause_of("Setting up jq (1.6-2.1) ...\nsegmentation fault") is None


@pytest.mark.parametrize(
    ("output", "names"),
    [
        ("E: Unable to locate package jqq\nE: Unable to locate package foo", ["jqq", "foo"]),
        ("E: Package 'old' has no installation candidate", ["old"]),
        ("No match for argument: jqq\nError: Unable to find a match: jqq", ["jqq"]),
        ("error: target not found: jqq", ["jqq"]),
        ("No provider of 'jqq' found.", ["jqq"]),
        ("ERROR: unable to select packages:\n  jqq (no such package):\n    required by: world[jqq]", ["jqq"]),
        ("all is well", []),
    ],
)
def test_every_manager_names_the_package_that_it_does_not_know(output: str, names: list[str]) -> None:
    assert unknown_packages(output) == names


@pytest.fixture
def spec(tmp_path: Path) -> ContainerSpec:
    path = tmp_path / "tool.toml"
    path.write_text(
        '[metadata]\nname = "tool"\ndescription = "d"\n\n[[steps]]\naction = "apt_install"\npackages = ["jqq"]\n'
    )
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    return derive(select(recipe, linux("debian"), catalog=Catalog([])), linux("debian"))


def step(*lines: str) -> Step:
    return Step(number=4, of=5, instruction="RUN apt-get install -- jqq", tail=deque(lines))


def nobody(_: object) -> dict[str, list[str]]:
    return {}


def test_an_unknown_package_names_the_line_of_the_recipe_and_near_names(spec: ContainerSpec) -> None:
    told = explain(
        BuildFailed("podman could not build the image"),
        step("E: Unable to locate package jqq", "Error: building at STEP 4"),
        spec,
        Path("/log"),
        lambda names: {name: ["jq"] for name in names},
    )
    assert (told.file, told.line) == (spec.source, 7)
    assert told.message == f"{spec.source}:7: no package is called 'jqq' in Debian and the declared repositories"
    assert told.hint == "jqq: did you mean jq?"
    assert told.details == ("step 4/5: RUN apt-get install -- jqq", "E: Unable to locate package jqq", "log: /log")


def test_where_the_recipe_cannot_be_read_any_more_the_step_is_named(spec: ContainerSpec) -> None:
    Path(spec.source).unlink()
    told = explain(BuildFailed("x"), step("E: Unable to locate package jqq"), spec, Path("/log"), nobody)
    assert told.line == 5


def test_a_package_is_not_unknown_when_the_index_could_not_be_had(spec: ContainerSpec) -> None:
    lines = ("  Temporary failure resolving 'mirror.example.com'", "E: Unable to locate package jqq")
    told = explain(BuildFailed("x"), step(*lines), spec, Path("/log"), nobody)
    assert "cannot be reached" in told.message
    assert told.temporary


def test_a_full_disk_is_an_error_of_its_own(spec: ContainerSpec) -> None:
    told = explain(BuildFailed("x"), step("cp: error writing: No space left on device"), spec, Path("/log"), nobody)
    assert isinstance(told, NoSpace)


def test_a_lost_engine_stays_a_lost_engine(spec: ContainerSpec) -> None:
    lost = EngineLost("podman: gone", details=["$ podman build", "(Reading database ... 5%"])
    assert explain(lost, step("Setting up jq"), spec, Path("/log"), nobody) is lost
    assert lost.details == ("$ podman build", "step 4/5: RUN apt-get install -- jqq", "Setting up jq", "log: /log")


def test_before_any_step_the_engine_has_the_word(spec: ContainerSpec) -> None:
    failed = BuildFailed("docker could not build the image", details=["it said why"])
    told = explain(failed, None, spec, Path("/log"), nobody)
    assert told is failed
    assert told.details == ("it said why", "log: /log")


def test_control_characters_of_a_step_are_shown_not_obeyed(spec: ContainerSpec) -> None:
    told = explain(BuildFailed("x"), step("\x1b[2Jgone"), spec, Path("/log"), nobody)
    assert "\\e[2Jgone" in told.details


@pytest.mark.parametrize(
    ("word", "expected"),
    [("jqq", ["jq"]), ("pyhton3", ["python3"]), ("node", ["nodejs"]), ("zzzzzz", []), ("docker", ["docker.io"])],
)
def test_near_names(word: str, expected: list[str]) -> None:
    known = ["jq", "python3", "python2", "nodejs", "docker.io", "git", "postgresql"]
    assert near_names(word, known)[:1] == expected
