"""From a missing file to the package that holds it, and to the line to write."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tsandbox.derive import derive
from tsandbox.plan import Plan, load, select
from tsandbox.recipe import Recipe
from tsandbox.recipe.target import linux
from tsandbox.sandbox import change, contents, missing
from tsandbox.sandbox.contents import Index
from tsandbox.sandbox.outcome import Advice, Finding

CONTENTS = """\
usr/bin/git                                             vcs/git
usr/bin/gcc                                             devel/gcc,devel/pentium-builder
usr/lib/icecc/bin/gcc                                   devel/icecc
bin/ping                                                net/inetutils-ping,net/iputils-ping
usr/lib/x86_64-linux-gnu/libssl.so.3                    libs/libssl3
usr/lib/x86_64-linux-gnu/primus/libGL.so.1              libs/primus-libs
usr/lib/x86_64-linux-gnu/libGL.so.1                     libs/libgl1
usr/lib/debug/libssl.so.3                               debug/libssl3-dbg
usr/include/x86_64-linux-gnu/curl/curl.h                libdevel/libcurl4-gnutls-dev,libdevel/libcurl4-openssl-dev
usr/include/openssl/ssl.h                               libdevel/libssl-dev
usr/lib/x86_64-linux-gnu/pkgconfig/libssl.pc            libdevel/libssl-dev
usr/lib/x86_64-linux-gnu/perl5/5.36/JSON/XS.pm          perl/libjson-xs-perl
usr/include/python3.11/Python.h                         libdevel/libpython3.11-dev
usr/include/glib-2.0/glib.h                             libdevel/libglib2.0-dev
usr/lib/x86_64-linux-gnu/cmake/fmt/fmt-config.cmake     libdevel/libfmt-dev
usr/lib/x86_64-linux-gnu/cmake/Qt5/Qt5Config.cmake      libdevel/qtbase5-dev
usr/lib/python3/dist-packages/yaml/__init__.py          python/python3-yaml
usr/lib/python3/dist-packages/six.py                    python/python3-six
usr/lib/python3.11/ensurepip/__init__.py                python/python3.11-venv
usr/share/doc/with a space/bin/x                        doc/spaced
usr/share/doc/git/README                                vcs/git
"""
PACKAGES = """\
Package: iputils-ping
Priority: important

Package: gcc-user
Priority: optional
Depends: gcc (>= 12), libc6
"""
DEBIAN = linux("debian", "amd64")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    path = tmp_path_factory.mktemp("contents") / "bookworm-amd64.sqlite"
    return contents.build(path, CONTENTS.splitlines(), PACKAGES.splitlines(), told=lambda _: None)


@pytest.mark.parametrize(
    ("kind", "name", "packages"),
    [
        ("command", "git", ["git"]),
        # what others depend on first; a file outside the search path last
        ("command", "gcc", ["gcc", "pentium-builder", "icecc"]),
        # an important package before an optional one
        ("command", "ping", ["iputils-ping", "inetutils-ping"]),
        ("library", "libssl.so.3", ["libssl3", "libssl3-dbg"]),
        ("library", "libGL.so.1", ["libgl1", "primus-libs"]),
        ("header", "openssl/ssl.h", ["libssl-dev"]),
        ("header", "curl/curl.h", ["libcurl4-gnutls-dev", "libcurl4-openssl-dev"]),
        ("pkgconfig", "libssl.pc", ["libssl-dev"]),
        ("perl", "JSON/XS.pm", ["libjson-xs-perl"]),
        # deeper than a compiler looks by itself
        ("header", "glib.h", ["libglib2.0-dev"]),
        ("header", "lib_.h", []),
        # in any mixture of cases
        ("cmake", "FMT", ["libfmt-dev"]),
        ("cmake", "qt5", ["qtbase5-dev"]),
        ("python", "yaml", ["python3-yaml"]),
        ("python", "six", ["python3-six"]),
        ("command", "README", []),
        ("command", "no-such", []),
    ],
)
def test_the_best_package_comes_first(index: Index, kind: contents.Kind, name: str, packages: list[str]) -> None:
    assert [found.package for found in index.look_up(kind, name)] == packages


def finding(kind: str, **data: str) -> Finding:
    return Finding(kind=kind, message="", data={**data, "needed_by": "bin/tool"})


def test_each_missing_thing_is_told_once(index: Index) -> None:
    findings = [
        finding("missing_command", command="git"),
        finding("command_failed"),
        finding("missing_command", command="git"),
    ]
    [advice] = missing.advise(findings, DEBIAN, lambda: index)
    assert advice == Advice(kind="command", name="git", packages=("git",), needed_by="bin/tool")
    assert missing.describe(advice) == "the command git is in the package git"


def test_alternatives_are_known_although_no_file_has_that_name(index: Index) -> None:
    [advice] = missing.advise([finding("missing_command", command="cc")], DEBIAN, lambda: index)
    assert advice.packages == ("gcc",)


def test_what_is_split_off_is_declared_by_the_package_that_people_know(index: Index) -> None:
    wanted = [
        finding("missing_python_module", module="ensurepip"),
        finding("missing_header", header="Python.h"),
        finding("missing_cmake_package", cmake="openssl"),
    ]
    found = [advice.packages[0] for advice in missing.advise(wanted, DEBIAN, lambda: index)]
    assert found == ["python3-venv", "python3-dev", "libssl-dev"]


def test_the_preferred_of_several_packages_comes_first(index: Index) -> None:
    [advice] = missing.advise([finding("missing_header", header="curl/curl.h")], DEBIAN, lambda: index)
    assert advice.packages == ("libcurl4-openssl-dev", "libcurl4-gnutls-dev")


def test_without_an_index_the_note_says_why_and_what_to_ask() -> None:
    [advice] = missing.advise([finding("missing_library", library="libssl.so.3")], DEBIAN, lambda: None)
    assert advice.packages == ()
    assert "offline" in (advice.note or "")
    assert "apt-file search libssl.so.3" in (advice.note or "")


def test_other_families_get_the_question_for_their_own_manager() -> None:
    [advice] = missing.advise([finding("missing_command", command="git")], linux("rhel", "amd64"), lambda: None)
    assert "dnf provides '*/bin/git'" in (advice.note or "")


def test_a_program_for_musl_is_not_a_missing_package(index: Index) -> None:
    [advice] = missing.advise([finding("missing_library", library="ld-musl-x86_64.so.1")], DEBIAN, lambda: index)
    assert advice.packages == ()
    assert "musl" in (advice.note or "")


def test_nothing_missing_opens_no_index() -> None:
    def never() -> Index | None:
        raise AssertionError

    assert missing.advise([finding("checksum")], DEBIAN, never) == ()


def plan_of(tmp_path: Path, steps: str) -> Plan:
    path = tmp_path / "tool.toml"
    path.write_text(f'[metadata]\nname = "tool"\n\n{steps}', encoding="utf-8")
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    return select(recipe, DEBIAN)


SSL = Advice(kind="library", name="libssl.so.3", packages=("libssl3",))
GIT = Advice(kind="command", name="git", packages=("git",))


@pytest.mark.parametrize(
    ("step", "line", "toml"),
    [
        ('action = "apt_install"\npackages = ["curl"]', 6, ['packages = ["curl", "libssl3"]']),
        ('action = "apt_install"\npackages = ["curl",]  # x', 6, ['packages = ["curl", "libssl3",]  # x']),
        ('action = "apt_install"\npackages = [\n  "curl",\n  "jq"\n]', 8, ['"jq",', '"libssl3"']),
        ('action = "apt_install"\npackages = [\n  "curl", # x\n]', 7, ['"curl",', '"libssl3", # x']),
        (
            'action = "apt_install"\nparams = { packages = ["curl"] }',
            6,
            ['params = { packages = ["curl", "libssl3"] }'],
        ),
        (
            'action = "require_system"\npackages = { apt = ["curl"], dnf = ["curl"] }',
            6,
            ['packages = { apt = ["curl", "libssl3"], dnf = ["curl"] }'],
        ),
        ('action = "require_system"\npackages.apt = ["curl"]', 6, ['packages.apt = ["curl", "libssl3"]']),
        ('action = "require_system"\n[steps.packages]\ndnf = ["c"]\napt = ["c"]', 8, ['apt = ["c", "libssl3"]']),
        (
            'action = "require_system"\nprimitives = [\n  { group_add = { group = "g" } },\n  { apt = ["curl"] },\n]',
            8,
            ['{ apt = ["curl", "libssl3"] },'],
        ),
        (
            'action = "require_system"\nprimitives = [{ apt = { packages = ["curl"] } }, { manual = "x" }]',
            6,
            ['primitives = [{ apt = { packages = ["curl", "libssl3"] } }, { manual = "x" }]'],
        ),
    ],
)
def test_the_step_that_has_packages_gets_one_more(tmp_path: Path, step: str, line: int, toml: list[str]) -> None:
    plan = plan_of(tmp_path, f"[[steps]]\n{step}\n")
    proposed = change.propose(plan, [SSL], DEBIAN)
    assert proposed is not None
    assert (proposed.line, proposed.toml.splitlines(), proposed.replaces) == (line, toml, True)
    # Written as it says, the recipe is one that declares it.
    path = Path(proposed.file)
    lines = path.read_text().splitlines()
    lines[line - 1 : line] = proposed.toml.splitlines()
    path.write_text("\n".join(lines))
    recipe = load(path)
    assert isinstance(recipe, Recipe)
    assert "libssl3" in derive(select(recipe, DEBIAN), DEBIAN).packages["apt"]


def test_what_is_declared_already_is_not_proposed(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, '[[steps]]\naction = "apt_install"\npackages = ["git"]\n')
    assert change.propose(plan, [GIT], DEBIAN) is None


def test_the_change_is_for_the_recipe_whose_step_lacked_it(tmp_path: Path) -> None:
    step = '[[steps]]\naction = "chmod"\nfiles = ["x"]\n'
    inner = plan_of(tmp_path, step)
    outer = replace(inner, tool="outer", file="outer.toml", dependencies=(inner,))
    for number, file in ((1, inner.file), (2, "outer.toml"), (None, "outer.toml")):
        proposed = change.propose(outer, [replace(GIT, step=number)], DEBIAN)
        assert proposed is not None
        assert proposed.file == file


def test_a_recipe_without_packages_gets_a_step(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, '[[steps]]\naction = "chmod"\nfiles = ["x"]\n')
    one = change.propose(plan, [GIT], DEBIAN)
    assert one is not None
    assert one.toml.splitlines() == [
        "[[steps]]",
        'action = "require_system"',
        'command = "git"',
        'packages = { apt = ["git"] }',
        'when = { linux_family = "debian" }',
    ]
    assert (one.line, one.replaces) == (4, False)
    two = change.propose(plan, [GIT, SSL], DEBIAN)
    assert two is not None
    assert two.toml == '[[steps]]\naction = "apt_install"\npackages = ["git", "libssl3"]'


@pytest.mark.parametrize("advice", [GIT, SSL])
def test_what_is_proposed_can_be_pasted(tmp_path: Path, advice: Advice) -> None:
    proposed = change.propose(plan_of(tmp_path, '[[steps]]\naction = "chmod"\nfiles = ["x"]\n'), [advice], DEBIAN)
    assert proposed is not None
    assert plan_of(tmp_path, proposed.toml).steps[0].does.describe()


def test_without_a_package_there_is_nothing_to_propose(tmp_path: Path) -> None:
    unknown = Advice(kind="command", name="x")
    assert change.propose(plan_of(tmp_path, '[[steps]]\naction = "chmod"\n'), [unknown], DEBIAN) is None
