"""From install guides to structured steps."""

import tomllib
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsandbox.errors import InvalidInput
from tsandbox.recipe import darwin, linux, load_recipe
from tsandbox.recipe.actions import Manual, RequireSystem
from tsandbox.recipe.lint import check_text
from tsandbox.recipe.migrate import migrate
from tsandbox.recipe.migrate.layout import inline
from tsandbox.recipe.target import FAMILIES, Target

HEAD = '[metadata]\nname = "x"\n\n[[steps]]\naction = "require_system"\ncommand = "x"\n'


def guide(**texts: str) -> str:
    return HEAD + f"install_guide = {inline(texts)}\n"


def steps(text: str) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = tomllib.loads(migrate(text).after)["steps"]
    return made


def asked(text: str, target: Target) -> list[dict[str, Any]]:
    """What the migrated recipe does on a target, as primitives."""
    found = []
    for step in load_recipe(migrate(text).after).steps:
        if step.applies(target) and isinstance(step.does, RequireSystem):
            by_manager = step.does.by_manager()
            found += [by_manager[name].as_primitive() for name in by_manager if _at_home(name, target)]
            found += [each.as_primitive() for each in step.does.in_order()]
    made: list[dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(found))
    return made


def _at_home(manager: str, target: Target) -> bool:
    return manager == target.package_manager or (manager == "brew_cask" and target.os == "darwin")


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("sudo apt-get install -y a b", linux("debian"), [{"apt": ["a", "b"]}]),
        ("apt install x", linux("debian"), [{"apt": ["x"]}]),
        ("sudo apt-get update && sudo apt-get install -y x", linux("debian"), [{"apt": ["x"]}]),
        ("sudo apt update; sudo apt install x y", linux("debian"), [{"apt": ["x", "y"]}]),
        ("Debian/Ubuntu: sudo apt install x", linux("debian"), [{"apt": ["x"]}]),
        ("- sudo apt install x\n- sudo apt install y", linux("debian"), [{"apt": ["x", "y"]}]),
        ("apt-get install --no-install-recommends x", linux("debian"), [{"apt": ["x"]}]),
        ("sudo dnf install -y x", linux("rhel"), [{"dnf": ["x"]}]),
        ("sudo yum install x", linux("rhel"), [{"dnf": ["x"]}]),
        ("sudo dnf install @development-tools", linux("rhel"), [{"dnf": ["@development-tools"]}]),
        ("sudo pacman -S x", linux("arch"), [{"pacman": ["x"]}]),
        ("sudo pacman -Syu --noconfirm x y", linux("arch"), [{"pacman": ["x", "y"]}]),
        ("apk add --no-cache x", linux("alpine"), [{"apk": ["x"]}]),
        ("sudo zypper --non-interactive in x", linux("suse"), [{"zypper": ["x"]}]),
        (
            "sudo apt install x && sudo systemctl enable --now x && sudo usermod -aG x $USER",
            linux("debian"),
            [{"apt": ["x"]}, {"service_enable": "x"}, {"service_start": "x"}, {"group_add": {"group": "x"}}],
        ),
        ("apt install a, dnf install b or apk add c", linux("rhel"), [{"dnf": ["b"]}]),
        ("apt-get install -y \\\n  x \\\r\n  y", linux("debian"), [{"apt": ["x", "y"]}]),
        ("$ sudo apt-get update\n$ sudo apt-get -yq install x", linux("debian"), [{"apt": ["x"]}]),
        ("DEBIAN_FRONTEND=noninteractive apt-get install x", linux("debian"), [{"apt": ["x"]}]),
        ("sudo DEBIAN_FRONTEND=noninteractive apt-get install -y x", linux("debian"), [{"apt": ["x"]}]),
        ("dnf install --setopt=install_weak_deps=False --nodocs x", linux("rhel"), [{"dnf": ["x"]}]),
    ],
)
def test_a_command_that_is_understood_becomes_data(text: str, target: Target, expected: list[dict[str, Any]]) -> None:
    assert asked(guide(linux=text), target) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("brew install x", [{"brew": ["x"]}]),
        ("brew install --cask docker", [{"brew_cask": ["docker"]}]),
        ("brew cask install docker", [{"brew_cask": ["docker"]}]),
        ("brew install owner/tap/x", [{"brew": {"packages": ["x"], "tap": "owner/tap"}}]),
    ],
)
def test_homebrew_is_understood_too(text: str, expected: list[dict[str, Any]]) -> None:
    assert asked(guide(darwin=text), darwin()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "See https://example.com/install",
        "curl -fsSL https://example.com/install.sh | sh",
        "sudo apt install x | tee log",
        "sudo apt install $(cat list)",
        "sudo apt install x > /dev/null",
        "sudo apt install -t bookworm-backports x",
        "sudo apt install ./x.deb",
        "sudo apt remove x",
        "sudo apt install x && make install",
        "apt install 'x",
        "xcode-select --install",
        "sudo pacman -R x",
        "sudo dnf --enablerepo=crb install x",
        "sudo systemctl restart x",
        "install x with your package manager",
        "apt install",
        "apt install --install-recommends x",
        "apt-get -o=Some::Option=1 install x",
        "DEBIAN_FRONTEND=readline apt-get install x",
        "sudo pacman -S --overwrite y x",
        "apt install x && systemctl --user enable x",
        "dnf install --nogpgcheck x",
        "\x1b[31mapt install x",
    ],
)
def test_what_is_not_understood_to_the_last_word_is_kept_as_it_is_and_listed(text: str) -> None:
    migration = migrate(guide(linux=text))
    assert [kept.text for kept in migration.kept] == [text]
    [step] = load_recipe(migration.after).steps
    assert isinstance(step.does, RequireSystem)
    assert step.does.in_order() == [Manual(text=text)]


@pytest.mark.parametrize("text", ["brew install --HEAD x", "brew install x --with-y", "brew install --cask --force x"])
def test_an_option_that_changes_what_homebrew_installs_is_not_lost(text: str) -> None:
    assert [kept.text for kept in migrate(guide(darwin=text)).kept] == [text]


def test_each_platform_gets_its_own_text_and_the_others_the_fallback() -> None:
    text = guide(darwin="brew install x", debian="apt install y", linux="dnf install z", fallback="See the website")
    assert asked(text, darwin()) == [{"brew": ["x"]}]
    assert asked(text, linux("debian")) == [{"apt": ["y"]}]
    assert asked(text, linux("rhel")) == [{"dnf": ["z"]}]
    for family in ("arch", "alpine", "suse"):
        assert asked(text, linux(family)) == [{"manual": "See the website"}]


def test_two_names_of_one_family_lose_none_of_their_texts() -> None:
    both = guide(debian="apt install x", ubuntu="apt install y")
    assert asked(both, linux("debian")) == [{"apt": ["x", "y"]}]
    assert asked(guide(debian="apt install x", ubuntu="apt install x"), linux("debian")) == [{"apt": ["x"]}]
    unclear = guide(debian="apt install x", ubuntu="See the website")
    assert asked(unclear, linux("debian")) == [{"manual": "apt install x\nSee the website"}]


@pytest.mark.parametrize(
    "written",
    [
        'install_guide = { ubuntu = "apt install y" }',
        'install_guide = { "linux.debian" = "apt install y" }',
        'install_guide = { "Linux/Ubuntu" = "apt install y" }',
        'install_guide = { linux = { debian = "apt install y" } }',
        'install_guide.linux.debian = "apt install y"',
        'params = { install_guide = { debian = "apt install y" } }',
        '[steps.install_guide]\ndebian = "apt install y"',
        '[steps.install_guide.linux]\ndebian = "apt install y"',
        '[steps.params.install_guide]\ndebian = "apt install y"',
        'install_guide = "apt install y"',
        'install_guide = { debian = ["apt update", "apt install y"] }',
    ],
)
def test_a_guide_is_read_wherever_and_however_it_is_written(written: str) -> None:
    assert asked(HEAD + written + "\n", linux("debian")) == [{"apt": ["y"]}]


def test_what_stood_beside_the_guide_in_params_stays() -> None:
    text = HEAD + 'params = { version_flag = "-V", install_guide = "apt install y" }\n'
    assert all(step["version_flag"] == "-V" and "params" not in step for step in steps(text))


@pytest.mark.parametrize("key", ["linux/amd64", "linux/x86_64", "linux.x86_64"])
def test_a_guide_for_one_architecture_is_for_that_one(key: str) -> None:
    text = guide(**{key: "apt install a", "linux": "apt install b"})
    assert asked(text, linux("debian", "amd64")) == [{"apt": ["a"]}]
    assert asked(text, linux("debian", "arm64")) == [{"apt": ["b"]}]


def test_the_conditions_of_the_step_still_hold() -> None:
    text = guide(linux="apt install x", darwin="brew install x") + 'when = { os = ["linux"] }\n'
    migration = migrate(text)
    assert [(kept.platform, kept.dropped) for kept in migration.kept if kept.dropped] == [("darwin", True)]
    assert asked(text, darwin()) == []
    assert asked(text, linux("debian")) == [{"apt": ["x"]}]


def test_a_gpu_condition_is_carried_over() -> None:
    made = steps(guide(linux="apt install x") + 'when = { os = "linux", gpu = ["nvidia"] }\n')
    assert all(step["when"]["gpu"] == ["nvidia"] for step in made)


def test_what_is_structured_already_stays_and_only_loses_its_guide() -> None:
    [step] = steps(guide(linux="apt install other") + 'packages = { apt = ["x"] }\n')
    assert step == {"action": "require_system", "command": "x", "packages": {"apt": ["x"]}}


LAYOUT = """\
# Copyright of somebody

[metadata]
name    = "x"   # aligned on purpose
description = '''
[[steps]]
'''

[[steps]]   # the first
action = "download_file"
url = "https://example.com/{version}"   # keep me

  # about the system
  [[steps]]
  action = "require_system"
  command = "x"         # the command
  version_flag = "-V"
  [steps.install_guide]
  linux = "apt install x"

# about the end
[[steps]]
action = "chmod"
files = [ "a",
          "b" ]

[verify]
command = "x -V"
"""


def test_comments_and_layout_of_the_rest_stay() -> None:
    before, after = LAYOUT.splitlines(), migrate(LAYOUT).after.splitlines()
    gone = [line for line in before if line not in after]
    assert gone == ["  [steps.install_guide]", '  linux = "apt install x"']
    following = iter(after)
    assert all(line in following for line in before if line not in gone), "lines are in another order"
    assert after.index("# about the end") < after.index('action = "chmod"')


def test_other_steps_and_tables_read_as_before() -> None:
    before, after = tomllib.loads(LAYOUT), tomllib.loads(migrate(LAYOUT).after)
    assert after["metadata"] == before["metadata"]
    assert after["verify"] == before["verify"]
    assert after["steps"][0] == before["steps"][0]
    assert after["steps"][-1] == before["steps"][-1]


@pytest.mark.parametrize(
    "text", [LAYOUT, LAYOUT.replace("\n", "\r\n"), LAYOUT.rstrip("\n"), guide(linux="apt install x")]
)
def test_migrating_twice_changes_nothing_the_second_time(text: str) -> None:
    once = migrate(text)
    assert once.changed
    twice = migrate(once.after)
    assert not twice.changed
    assert twice.after == once.after


def test_windows_line_ends_stay_windows_line_ends() -> None:
    after = migrate(LAYOUT.replace("\n", "\r\n")).after
    assert after.count("\n") == after.count("\r\n")


def test_a_recipe_without_a_guide_is_untouched_to_the_byte() -> None:
    text = (
        LAYOUT.replace("install_guide", "packages").replace('"apt install x"', "1").replace("linux = 1", 'apt = ["x"]')
    )
    assert migrate(text).after == text


def test_other_faults_are_told_with_the_lines_of_the_file_as_it_is() -> None:
    text = guide(linux="apt install x") + '\n[[steps]]\naction = "apt_install"\npackages = ["a b"]\n'
    with pytest.raises(InvalidInput) as caught:
        migrate(text, "f.toml")
    assert [str(problem) for problem in caught.value.problems] == [
        "f.toml:11: steps[1].packages[0]: 'a b' is not a package name that apt knows"
    ]


def test_steps_that_are_not_tables_of_their_own_are_refused_with_their_line() -> None:
    step = '{ action = "require_system", command = "x", install_guide = "apt install x" }'
    text = f'steps = [\n {step},\n]\n[metadata]\nname = "x"\n'
    with pytest.raises(InvalidInput, match=r"f.toml:2: steps\[0\]: is not a \[\[steps\]\] table"):
        migrate(text, "f.toml")


TEXTS = st.one_of(
    st.sampled_from(
        ["apt install x", "dnf install y && systemctl enable z", "See https://example.com", "brew install a"]
    ),
    st.text(max_size=40),
)
KEYS = st.sampled_from(
    ["linux", "darwin", "fallback", "debian", "rhel", "linux/arm64", "ubuntu", "nonsense", "linux.arch"]
)


@settings(max_examples=300)
@given(st.dictionaries(KEYS, TEXTS, max_size=5), st.sampled_from(["", "when = { os = ['linux'] }\n"]), st.booleans())
def test_whatever_the_guide_says_the_result_is_valid_loses_no_text_and_is_stable(
    texts: dict[str, str], when: str, as_table: bool
) -> None:
    written = "".join(f"{inline(key)} = {inline(text)}\n" for key, text in texts.items())
    text = HEAD + when + (f"[steps.install_guide]\n{written}" if as_table else f"install_guide = {inline(texts)}\n")
    tomllib.loads(text)
    migration = migrate(text)
    load_recipe(migration.after)
    assert "install_guide" not in tomllib.loads(migration.after)["steps"][0]
    assert migrate(migration.after).after == migration.after
    everything = str(tomllib.loads(migration.after))
    for kept in migration.kept:
        assert kept.dropped or repr(kept.text)[1:-1] in everything


def test_the_result_has_no_finding_that_the_guide_caused() -> None:
    text = guide(**{**dict.fromkeys(FAMILIES, "See https://example.com"), "debian": "apt install x"})
    found = {finding.rule for finding in check_text(migrate(text).after).findings}
    assert found <= {"TS001"}
