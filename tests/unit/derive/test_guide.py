"""Instructions for people: in order, numbered, and really copy-pasteable."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.made_plans import PACKAGE_ACTIONS, REPOSITORY, REPOSITORY_ACTIONS, plan, recipe, step
from tsandbox import Recipe, load, select
from tsandbox.derive.guide import guide, guide_text
from tsandbox.errors import NotSupported
from tsandbox.plan import Plan
from tsandbox.plan.files import files_below
from tsandbox.recipe import Target, darwin, linux
from tsandbox.recipe.model import Check, Verify
from tsandbox.recipe.target import FAMILIES

ROOT = Path(__file__).parents[3]
DEBIAN = linux("debian", "amd64")
SHIPPED = list(files_below(ROOT / "recipes", [".toml"]))
TARGETS = [*(linux(family, "amd64") for family in FAMILIES), darwin("arm64")]


def commands(made: Plan, target: Target = DEBIAN) -> list[str]:
    return [command for each in guide(made, target) for command in each.commands]


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_command_for_a_shipped_recipe_is_one_that_a_shell_can_read(path: Path, target: Target) -> None:
    found = load(path)
    assert isinstance(found, Recipe)
    try:
        made = guide(select(found, target), target)
    except NotSupported:
        return
    text = guide_text(made)
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(i + 1) for i in range(len(made))]
    for each in made:
        for command in each.commands:
            # As it is shown, indented: that is what is copied.
            shown = "       " + command.replace("\n", "\n       ")
            assert shown in text
            subprocess.run(["sh", "-n"], input=shown, text=True, check=True)


@pytest.mark.parametrize(("family", "expected"), [
    ("debian", "sudo apt-get install --yes --no-install-recommends jq"),
    ("rhel", "sudo dnf install --assumeyes jq"),
    ("arch", "sudo pacman -Syu --needed jq"),
    ("alpine", "sudo apk add jq"),
    ("suse", "sudo zypper install jq"),
])  # fmt: skip
def test_packages(family: str, expected: str) -> None:
    assert commands(plan(step(PACKAGE_ACTIONS[family], packages=["jq"])), linux(family, "amd64"))[-1] == expected


def test_packages_on_a_mac() -> None:
    made = plan(
        step("brew_install", packages=["jq"], tap="owner/tap"),
        step("brew_cask", packages=["docker"]),
    )
    assert commands(made, darwin()) == ["brew tap owner/tap", "brew install jq", "brew install --cask docker"]


@pytest.mark.parametrize(("target", "expected"), [
    (DEBIAN, ["sudo systemctl enable made", "sudo systemctl start made"]),
    (linux("alpine", "amd64"), ["sudo rc-update add made", "sudo rc-service made start"]),
    (darwin(), ["brew services start made"]),
])  # fmt: skip
def test_services(target: Target, expected: list[str]) -> None:
    made = plan(step("service_enable", service="made"), step("service_start", service="made"))
    assert commands(made, target) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_a_repository_is_one_chain_that_ends_at_a_wrong_key(family: str) -> None:
    made = plan(step(REPOSITORY_ACTIONS[family], **REPOSITORY))
    [chain] = commands(made, linux(family, "amd64"))
    fetch, check, *trust = chain.split(" \\\n  && ")
    assert fetch.startswith("curl -fsSL --proto =https")
    assert "sha256sum -c -" in check
    assert trust


@pytest.mark.parametrize(
    "content", ["a\n", "a", "a\nb", "a\n\nb\n", "", "\n", "it's $HOME `id`\n  indented\n", "\\n%s\n"]
)
def test_a_file_arrives_as_it_was_written_when_the_page_is_copied(content: str, tmp_path: Path) -> None:
    made = guide(plan(step("file_write", path="/etc/made.conf", content=content)), DEBIAN)
    lines = guide_text(made).splitlines(keepends=True)
    copied = "".join(lines[1:]).replace("sudo mkdir -p /etc", ":").replace("sudo tee /etc/made.conf", "tee made.conf")
    subprocess.run(["sh", "-eu"], input=copied, text=True, check=True, cwd=tmp_path)
    assert (tmp_path / "made.conf").read_text() == content


def test_a_repository_description_survives_copying() -> None:
    [chain] = commands(plan(step("apt_repo", **REPOSITORY, suite="stable")))
    printed = chain.split(" \\\n  && ")[-1].rpartition(" | sudo tee ")[0].replace("\n", "\n       ")
    done = subprocess.run(["sh"], input=printed, text=True, capture_output=True, check=True)
    assert all(re.match(r"[A-Z][A-Za-z-]*: ", line) for line in done.stdout.splitlines())


def test_two_repositories_of_one_host_do_not_overwrite_each_other() -> None:
    first, second = (step("apt_repo", **{**REPOSITORY, "url": f"https://packages.example.com/{name}"}) for name in "ab")
    files = [re.findall(r"tee (\S+)", command) for command in commands(plan(first, second))]
    assert files[0] != files[1]


def test_values_with_spaces_and_quotes_are_one_word() -> None:
    [export] = commands(plan(step("env_set", name="A", value="it's $HOME")))
    done = subprocess.run(["sh"], input=f'{export}\nprintf %s "$A"', text=True, capture_output=True, check=True)
    assert done.stdout == "it's $HOME"


def test_dependencies_come_first_and_each_thing_once() -> None:
    needed = plan(step("apt_install", packages=["needed"]), tool="needed")
    twice = step("apt_install", packages=["made"])
    found = commands(plan(twice, twice, dependencies=(needed,)))
    assert [command.split()[-1] for command in found if "install" in command] == ["needed", "made"]


def test_the_check_comes_last_with_what_it_prints() -> None:
    made = plan(step("apt_install", packages=["jq"]), verify=Verify(command="jq --version", pattern="jq-1"))
    last = guide(made, DEBIAN)[-1]
    assert (last.commands, last.note) == (("jq --version",), "It prints 'jq-1'.")


def test_several_checks_say_which_of_them_prints_what() -> None:
    more = (Check(command="jq -n 1", patterns=("1", "one")), Check(command="jq", exit_code=2), Check(command="jq -h"))
    verify = Verify(command="jq --version", pattern="jq-{version}", additional=more)
    last = guide(plan(step("apt_install", packages=["jq"]), verify=verify), DEBIAN)[-1]
    assert last.commands == ("jq --version", "jq -n 1", "jq", "jq -h")
    assert last.note.splitlines() == [
        "`jq --version` prints 'jq-VERSION'.",
        "`jq -n 1` prints '1' and 'one'.",
        "`jq` ends with exit code 2.",
    ]


def test_what_a_new_mac_lacks_is_made_first() -> None:
    made = plan(step("install_binaries", binaries=["x"]))
    assert guide(made, darwin())[0].commands == (
        "sudo mkdir -p /usr/local/bin && sudo install -m 0755 x /usr/local/bin/",
    )


@pytest.mark.parametrize(
    ("action", "params", "expected"),
    [
        ("pipx_install", {"package": "black", "version": "24.1"}, "pipx install black==24.1"),
        ("npm_install", {"package": "semver"}, "npm install --global semver"),
        ("download_file", {"url": "https://example.com/x.tar.gz"}, "curl -fL -o x.tar.gz https://example.com/x.tar.gz"),
        ("extract", {"archive": "x.tar.gz", "strip_dirs": 1}, "tar -xf x.tar.gz --strip-components=1"),
        ("extract", {"archive": "x.zip", "format": "zip"}, "unzip x.zip"),
        ("install_binaries", {"binaries": ["a b"]}, "sudo install -m 0755 'a b' /usr/local/bin/"),
        ("run_command", {"command": "make"}, "make"),
        ("homebrew", {"formula": "cairo"}, "brew install cairo"),
        ("chmod", {"files": ["a b"], "mode": "0755"}, "chmod 0755 'a b'"),
        (
            "download_file",
            {"url": "https://example.com/{os}-{arch}", "arch_mapping": {"amd64": "x86_64"}},
            "curl -fL -o linux-x86_64 https://example.com/linux-x86_64",
        ),
    ],
)
def test_steps_of_tools(action: str, params: dict[str, Any], expected: str) -> None:
    assert commands(plan(step(action, **params))) == [expected]


@pytest.mark.parametrize(
    ("params", "bits"),
    [
        ({"checksum": "sha256:" + "a" * 64}, 256),
        ({"checksum": "a" * 64}, 256),
        ({"checksum": "sha512:" + "a" * 128}, 512),
        ({"checksum": "A" * 96, "checksum_algo": "sha384"}, 384),
    ],
)
def test_a_checksum_is_checked_with_what_the_system_has(params: dict[str, str], bits: int) -> None:
    made = plan(step("download_file", url="https://example.com/x", **params))
    [on_linux], [on_mac] = guide(made, DEBIAN)[0].commands, guide(made, darwin())[0].commands
    assert on_linux.endswith(f"aaa  x' | sha{bits}sum -c -")
    assert on_mac.endswith(f"aaa  x' | shasum -a {bits} -c -")


def test_an_archive_is_downloaded_unpacked_and_installed() -> None:
    found = commands(plan(step("download_archive", url="https://example.com/x.zip", binaries=["bin/x"])))
    assert found == [
        "curl -fL -o x.zip https://example.com/x.zip",
        "unzip x.zip",
        "sudo install -m 0755 bin/x /usr/local/bin/",
    ]


def test_a_release_on_github_is_named_with_its_page() -> None:
    [only] = guide(plan(step("github_archive", repo="o/r", asset_pattern="r-{arch}.tar.gz", binaries=["r"])), DEBIAN)
    assert "r-amd64.tar.gz" in only.text
    assert "https://github.com/o/r/releases" in only.text
    assert only.note == "Put r from it on your PATH."


def test_what_a_build_installs_is_not_installed_again_and_the_shell_stays_where_it_is() -> None:
    [build] = commands(plan(step("configure_make", source_dir="x"), step("install_binaries", outputs=["bin/x"])))
    assert build.startswith("(cd x ")
    assert build.endswith("sudo make install)")


def test_an_action_that_we_do_not_know_is_told_and_not_left_out() -> None:
    [only] = guide(plan(step("future_action", colour="red")), DEBIAN)
    assert only.text == 'future_action: {"colour": "red"}'


def test_require_system_without_a_way_for_the_platform_says_so() -> None:
    made = recipe('[[steps]]\naction = "require_system"\ncommand = "x"\npackages = { apt = ["x"] }\n')
    target = linux("suse", "amd64")
    assert "does not say how on linux/suse/amd64" in guide(select(made, target), target)[0].text


def test_a_recipe_with_nothing_for_the_platform_is_refused() -> None:
    with pytest.raises(NotSupported, match="no step of made applies to darwin/arm64"):
        guide(plan(), darwin())
