"""What Dockerfiles say, per family and profile."""

import configparser
import json
import re
from typing import Any

import pytest

from tests.made_plans import PACKAGE_ACTIONS, REPOSITORY, REPOSITORY_ACTIONS, SHA, plan, step
from tsandbox.derive import ContainerSpec, derive, render, spec_object
from tsandbox.derive.context import context_files
from tsandbox.derive.quoting import only_ready, word
from tsandbox.errors import NotSupported
from tsandbox.recipe import linux
from tsandbox.recipe.target import FAMILIES

EVERYTHING = [("debian", "minimal"), *((family, "full") for family in FAMILIES)]


def whole(family: str, profile: str | None = None, *, repositories: int = 1, **repository: Any) -> ContainerSpec:
    """A spec with something of every concern."""
    fields = {**REPOSITORY, **repository}
    steps = [
        step(REPOSITORY_ACTIONS[family], **{**fields, "url": f"{fields['url']}/{i}"} if i else fields)
        for i in range(repositories)
    ]
    steps += [
        step(PACKAGE_ACTIONS[family], packages=["made"]),
        step("group_add", group="made"),
        step("file_write", path="/etc/made", content="x"),
        step("env_set", name="MADE", value="1"),
    ]
    return derive(plan(*steps), linux(family, "amd64"), profile=profile)  # type: ignore[arg-type]


@pytest.mark.parametrize(("family", "profile"), EVERYTHING)
def test_only_what_all_builders_understand(family: str, profile: str) -> None:
    text = render(whole(family, profile))
    assert "<<" not in text
    assert not re.search(r"^#\s*(syntax|escape)\s*=", text, re.MULTILINE | re.IGNORECASE)
    assert "--mount" not in text
    assert "--link" not in text
    assert "--chmod" not in text
    kinds = set(re.findall(r"^([A-Z]+) ", text, re.MULTILINE))
    assert kinds <= {"FROM", "COPY", "RUN", "ENV"}


@pytest.mark.parametrize(("family", "profile"), EVERYTHING)
def test_stable_layers_come_first(family: str, profile: str) -> None:
    text = render(whole(family, profile))
    marks = [REPOSITORY["key_url"], " made \\\n", '"/etc/made"]', "ENV MADE=1"]
    if family == "alpine":
        marks[1] = "--no-cache made\n"
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)


@pytest.mark.parametrize(("family", "profile"), EVERYTHING)
def test_one_layer_per_concern_however_many_things(family: str, profile: str) -> None:
    one, three = (render(whole(family, profile, repositories=count)) for count in (1, 3))
    assert [line.split()[0] for line in one.splitlines() if line[:1].isupper()] == [
        line.split()[0] for line in three.splitlines() if line[:1].isupper()
    ]
    assert three.count(SHA) == 3


@pytest.mark.parametrize(("family", "profile"), EVERYTHING)
def test_a_key_is_checked_before_it_is_used(family: str, profile: str) -> None:
    text = render(whole(family, profile))
    fetched, checked = text.index(REPOSITORY["key_url"]), text.index(SHA)
    assert fetched < checked < text.index("made \\\n" if family != "alpine" else "--no-cache made")
    assert "apt-key" not in text
    assert "add-apt-repository" not in text
    assert "--allow-unauthenticated" not in text
    assert "gpg-auto-import" not in text
    assert "nogpgcheck" not in text
    assert "--allow-untrusted" not in text


def test_apt_installs_what_was_asked_for_and_leaves_nothing_behind() -> None:
    for profile in ("minimal", "full"):
        [install] = re.findall(r"^RUN apt-get .*(?:\n .*)*", render(whole("debian", profile)), re.MULTILINE)
        assert "--no-install-recommends" in install
        assert install.count("Acquire::Retries=3") == 2
        assert install.endswith("&& rm -rf /var/lib/apt/lists/*")


def test_a_minimal_image_ends_on_the_runtime_base_and_a_full_one_on_the_builder() -> None:
    minimal, full = whole("debian", "minimal"), whole("debian", "full")
    assert render(minimal).startswith(f"FROM {minimal.base.image} AS runtime\n")
    assert "\nFROM runtime\nCOPY --from=builder" in render(minimal)
    assert render(full).startswith(f"FROM {minimal.builder.image}\n")
    assert render(full).count("FROM") == 1


def test_an_image_that_needs_nothing_is_its_base() -> None:
    spec = derive(plan(step("chmod")), linux("debian", "amd64"))
    assert render(spec) == f"FROM {spec.base.image}\n"
    assert context_files(spec) == {}


def test_groups_alone_are_made_in_the_builder_stage() -> None:
    """A step in the final stage would leave the mount points of a build in the image."""
    spec = derive(plan(step("group_add", group="made")), linux("debian", "amd64"))
    last_stage = render(spec).rpartition("FROM runtime\n")[2]
    assert "RUN" not in last_stage
    assert "closure/closure.sh" in context_files(spec)


# --- Files of the build context


def repository_text(family: str, **repository: Any) -> str:
    spec = whole(family, **repository)
    [file] = [file for path, file in context_files(spec).items() if path.startswith("repositories/")]
    return file.content.decode()


def test_an_apt_repository_is_deb822() -> None:
    text = repository_text("debian", suite="stable", components=["main", "extra"])
    assert dict(line.split(": ", 1) for line in text.splitlines()) == {
        "Types": "deb",
        "URIs": REPOSITORY["url"],
        "Suites": "stable",
        "Components": "main extra",
        "Signed-By": "/etc/apt/keyrings/tsandbox-1.asc",
    }


def test_an_apt_repository_gets_the_suite_of_the_base_and_main() -> None:
    assert "Suites: bookworm\nComponents: main\n" in repository_text("debian")


def test_a_flat_apt_repository_has_no_components() -> None:
    text = repository_text("debian", suite="./")
    assert "Suites: ./\n" in text
    assert "Components" not in text


@pytest.mark.parametrize("family", ["rhel", "suse"])
def test_an_rpm_repository_demands_signed_packages(family: str) -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(repository_text(family, name="made-stable"))
    assert dict(parser["tsandbox-1"]) == {
        "name": "made-stable",
        "baseurl": REPOSITORY["url"],
        "enabled": "1",
        "gpgcheck": "1",
        "gpgkey": "file:///etc/pki/rpm-gpg/tsandbox-1.key",
    }


def test_a_pacman_repository_demands_signed_packages() -> None:
    assert repository_text("arch", name="made") == (
        f"[made]\nSigLevel = Required DatabaseOptional\nServer = {REPOSITORY['url']}\n"
    )


def test_a_pacman_repository_is_named_by_the_end_of_its_url() -> None:
    assert repository_text("arch").startswith("[stable]\n")


def test_a_pacman_repository_that_cannot_be_named_is_refused() -> None:
    with pytest.raises(NotSupported, match="needs a name"):
        context_files(whole("arch", url="https://packages.example.com/$repo"))


def test_an_apk_key_needs_a_file_name() -> None:
    with pytest.raises(NotSupported, match="does not end with a key file's name"):
        render(whole("alpine", key_url="https://packages.example.com/key?x=1"))


def test_the_mode_of_a_file_is_in_its_place_and_in_the_context() -> None:
    spec = derive(plan(step("file_write", path="/etc/made", content="ü", mode="600")), linux("debian", "amd64"))
    [(path, file)] = context_files(spec).items()
    assert (path, file.content, file.mode) == ("files/0600/1", "ü".encode(), 0o600)


# --- The wall


def test_a_template_cannot_print_what_was_not_quoted() -> None:
    assert only_ready(word("a b")) == "'a b'"
    for value in ("text", 1, None, ["x"]):
        with pytest.raises(TypeError, match="without quoting"):
            only_ready(value)


# --- The spec as data


@pytest.mark.parametrize(("family", "profile"), EVERYTHING)
def test_the_object_has_the_shape_of_the_contract(family: str, profile: str) -> None:
    found = spec_object(whole(family, profile))
    assert list(found)[:8] == ["schema", "tool", "version", "source", "target", "base", "profile", "packages"]
    assert set(found) == {
        "schema", "tool", "version", "source", "target", "base", "profile", "packages", "repositories", "primitives",
        "commands", "notes", "missing_dependencies", "blockers", "network", "limits", "dockerfile", "image", "key",
    }  # fmt: skip
    assert set(found["target"]) == {"os", "arch", "linux_family", "libc", "gpu"}
    assert set(found["base"]) == {"name", "image", "digest"}
    assert json.loads(json.dumps(found["limits"])) == {"memory": "2g", "cpus": 2, "pids": 100, "timeout": 120}
    assert {"manager", "url", "key_url", "key_sha256"} <= set(found["repositories"][0])
    assert found["image"] == f"sandbox-cache:{found['key'].removeprefix('sha256:')[:32]}"


def test_repositories_are_told_with_their_defaults_filled_in() -> None:
    [repository] = spec_object(whole("debian"))["repositories"]
    assert (repository["suite"], repository["components"]) == ("bookworm", ["main"])
