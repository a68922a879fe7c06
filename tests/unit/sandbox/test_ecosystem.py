"""Locking and fetching, with clients that are programs of this test: which are run, with what, and how often."""

import json
import os
import stat
from pathlib import Path

import pytest

from tests.unit.sandbox.plans import DEBIAN, plan_of
from tsandbox.errors import DownloadFailed, InvalidInput
from tsandbox.plan.select import platform_of
from tsandbox.sandbox import ecosystem, npm, npm_lock, pip, pip_lock
from tsandbox.sandbox.resolve import resolve

PIPX = '[version]\npin = "1.5"\n[[steps]]\naction = "pipx_install"\npackage = "tool"\n'
NPM = '[version]\npin = "1.5"\n[[steps]]\naction = "npm_install"\npackage = "tool"\n'
FAKE_PIP = """#!/bin/sh
echo "$@" >> "$CALLS"
case "$*" in *fails*) echo "ERROR: No matching distribution found for fails" >&2; exit 1;; esac
while [ $# -gt 0 ]; do [ "$1" = --dest ] && into=$2; shift; done
echo wheel > "$into/tool-1.5-py3-none-any.whl"
echo other > "$into/other-0.1-py3-none-any.whl"
echo pip > "$into/pip-24.0-py3-none-any.whl"
"""
FAKE_NPM = """#!/bin/sh
echo "$@" >> "$CALLS"
for word in "$@"; do
  cache=${word#--cache=}
  [ "$cache" = "$word" ] || { mkdir -p "$cache/_cacache"; echo x > "$cache/_cacache/x"; }
done
[ "$1" = install ] && echo "$LOCK" > package-lock.json
[ "$1" = view ] && echo "\\"$(pwd)\\""
exit 0
"""


class Clients:
    def __init__(self, directory: Path) -> None:
        self.calls = directory / "calls"
        for name, text in (("pip3", FAKE_PIP), ("npm", FAKE_NPM)):
            path = directory / name
            path.write_text(text)
            path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def called(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clients:
    programs = tmp_path / "programs"
    programs.mkdir()
    made = Clients(programs)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(made.calls))
    monkeypatch.setenv("LOCK", '{"packages": {"": {"name": "sandbox"}}}')
    monkeypatch.setenv("TSANDBOX_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(pip, "find_spec", lambda _: None)
    return made


def test_pip_packages_are_locked_by_digest_and_fetched_once(clients: Clients, tmp_path: Path) -> None:
    plan = resolve(plan_of(tmp_path, PIPX))
    [step] = plan.steps
    lock = step.params["locked_requirements"]
    assert [line.split(" --hash=sha256:")[0] for line in lock.splitlines()] == ["other==0.1", "pip==24.0", "tool==1.5"]
    assert "tool==1.5" in clients.called[0]
    assert "--only-binary=:all:" in clients.called[0]
    before = len(clients.called)
    assert resolve(plan_of(tmp_path, PIPX), offline=True) == plan
    supplied = ecosystem.supplies(plan, platform_of(DEBIAN), offline=True, say=lambda _: None)
    assert len(clients.called) == before
    ecosystem.offer(supplied, tmp_path / "in")
    assert (tmp_path / "in/ecosystem/pip/tool-1.5-py3-none-any.whl").read_text() == "wheel\n"


def test_a_locked_plan_fetches_exactly_what_its_lock_names(clients: Clients, tmp_path: Path) -> None:
    lock = f"tool==1.5 --hash=sha256:{'0' * 64}"
    plan = plan_of(tmp_path, PIPX + f'locked_requirements = "{lock}"\n')
    assert resolve(plan).steps[0].params["locked_requirements"] == lock
    ecosystem.supplies(resolve(plan), platform_of(DEBIAN), offline=False, say=lambda _: None)
    assert "--require-hashes" in clients.called[0]


def test_npm_packages_get_a_lock_file_and_a_cache(clients: Clients, tmp_path: Path) -> None:
    plan = resolve(plan_of(tmp_path, NPM))
    assert json.loads(plan.steps[0].params["package_lock"]) == {"packages": {"": {"name": "sandbox"}}}
    assert all("--ignore-scripts" in call for call in clients.called)
    supplied = ecosystem.supplies(plan, platform_of(DEBIAN), offline=True, say=lambda _: None)
    [directory] = supplied["npm"]
    assert (directory / "cache/_cacache/x").is_file()
    assert [path.name for path in directory.iterdir()] == ["cache"]


def test_offline_without_a_cache_says_what_is_missing(clients: Clients, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"--offline: pipx_install: tool==1\.5 is not in the cache") as raised:
        resolve(plan_of(tmp_path, PIPX), offline=True)
    assert raised.value.line == 6
    assert clients.called == []


def test_what_a_client_says_is_told_and_nothing_is_left_behind(clients: Clients, tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match="No matching distribution found") as raised:
        resolve(plan_of(tmp_path, PIPX.replace('"tool"', '"fails"')))
    assert 'network = "egress"' in (raised.value.hint or "")
    assert list((tmp_path / "cache/ecosystem/pip").iterdir()) == []


def test_a_recipe_with_network_fetches_for_itself(clients: Clients, tmp_path: Path) -> None:
    plan = resolve(plan_of(tmp_path, PIPX + '[sandbox]\nnetwork = "egress"\n'))
    assert "locked_requirements" not in plan.steps[0].params
    assert plan.steps[0].params["version"] == "1.5"
    assert ecosystem.supplies(plan, platform_of(DEBIAN), offline=False, say=lambda _: None) == {}
    assert clients.called == []


def test_wheels_fit_the_python_of_the_image_or_have_no_compiled_parts(clients: Clients, tmp_path: Path) -> None:
    resolve(plan_of(tmp_path, PIPX))
    assert "--python-version=3.11" in clients.called[0]
    assert "--platform=manylinux_2_17_x86_64" in clients.called[0]
    assert "--platform=any" not in clients.called[0]


@pytest.mark.parametrize(
    "line",
    [
        "-e /srv/project",
        "--index-url https://evil.example/simple",
        "tool @ file:///srv/tool.whl",
        "tool==1.5",
        "tool>=1.5 --hash=sha256:" + "0" * 64,
        "tool==1.5 --hash=sha256:" + "0" * 64 + " --config-settings=x=y",
        "tool==1.5 ; python_version > '3' --global-option=x --hash=sha256:" + "0" * 64,
        "${HOME}==1.5 --hash=sha256:" + "0" * 64,
    ],
)
def test_a_lock_that_would_lead_pip_elsewhere_is_refused(clients: Clients, tmp_path: Path, line: str) -> None:
    plan = plan_of(tmp_path, PIPX + f"locked_requirements = {json.dumps(line)}\n")
    with pytest.raises(InvalidInput, match=r"is not of the form name==version") as raised:
        ecosystem.supplies(plan, platform_of(DEBIAN), offline=False, say=lambda _: None)
    assert raised.value.line == 6
    assert clients.called == []


def test_a_lock_as_other_tools_write_it_is_read() -> None:
    digest = "--hash=sha256:" + "a" * 64
    written = (
        f"# made by a tool\ntool[fast]==1.5 ; python_version >= '3.8' \\\n    {digest} \\\n    {digest}\n    # via x\n"
    )
    assert pip_lock.checked(written) == f"tool[fast]==1.5 ; python_version >= '3.8' {digest} {digest}\n"


def test_a_lock_of_blanks_is_read_in_no_time() -> None:
    # Takes minutes where blanks are searched for again from each of them.
    with pytest.raises(ValueError, match="is not of the form"):
        pip_lock.checked("tool" + " " * 1_000_000 + "other")


def npm_locked(place: str = "node_modules/tool", **changed: object) -> str:
    package = {"resolved": "https://registry.example/tool.tgz", "integrity": "sha512-x", "version": "1.5"} | changed
    return json.dumps({"packages": {"": {"dependencies": {"tool": "^1.5"}}, place: package}})


def test_a_lock_of_npm_is_passed_on_without_what_was_not_checked() -> None:
    written = json.loads(npm_locked(dependencies={"a": ">=1 <2 || ^3", "b": "npm:@o/c@~1.0"}))
    written["packages"]["node_modules/@o/c"] = {"version": "1.0.2-rc.1", "integrity": "sha512-x"}
    gitlab = "https://gitlab.com/api/v4/projects/1/packages/npm/d/-/d-1.tgz"
    written["packages"]["node_modules/d"] = {"name": "@o/d", "resolved": gitlab, "integrity": "sha512-x"}
    passed = npm_lock.checked(json.dumps(written | {"dependencies": {"old": {"version": "file:../x"}}}))
    assert passed["packages"] == written["packages"]
    assert "dependencies" not in passed


@pytest.mark.parametrize(
    ("lock", "fault"),
    [
        (npm_locked("../../outside"), "is not a place below node_modules"),
        (npm_locked("node_modules/../../outside"), "is not a place below node_modules"),
        (npm_locked(link=True), "is a link"),
        (npm_locked(resolved="git+ssh://git@host/x.git"), "something else than a registry"),
        (npm_locked(resolved="file:../x"), "something else than a registry"),
        (npm_locked(resolved=None, version="file:../x"), "something else than a registry"),
        (npm_locked(resolved=None, name="git+https://host.example/x.git#"), "a name that is none"),
        # npm knows these hosts and clones from them, whatever the address looks like.
        (npm_locked(resolved="https://github.com/owner/project"), "something else than a registry"),
        (npm_locked(resolved="http://www.GitHub.com/owner/project.git#main"), "something else than a registry"),
        (npm_locked(resolved="https://bitbucket.org/owner/project/-/x.tgz"), "something else than a registry"),
        (npm_locked(resolved="https://gitlab.com/owner/project"), "something else than a registry"),
        (npm_locked(resolved="https://github.com\\@registry.example/x.tgz"), "something else than a registry"),
        (npm_locked(integrity=None), "no digest"),
        (npm_locked(dependencies={"x": "git+file:///srv/x"}), "something else than its version"),
        (npm_locked(dependencies={"x": "owner/project"}), "something else than its version"),
        (npm_locked(optionalDependencies={"x": "../x"}), "something else than its version"),
        ('{"packages": {}}', "nothing of the package"),
        ('{"dependencies": {}}', "npm 7 or later"),
        ("[" * 100_000, "npm 7 or later"),
        ("x", "npm 7 or later"),
    ],
)
def test_a_lock_that_would_lead_npm_elsewhere_is_refused(
    clients: Clients, tmp_path: Path, lock: str, fault: str
) -> None:
    plan = plan_of(tmp_path, NPM + f"package_lock = {json.dumps(lock)}\n")
    with pytest.raises(InvalidInput, match=fault):
        ecosystem.supplies(plan, platform_of(DEBIAN), offline=False, say=lambda _: None)
    assert clients.called == []


def test_a_package_that_depends_on_a_repository_is_not_cloned(
    clients: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCK", npm_locked(dependencies={"x": "git+https://host.example/x.git"}))
    with pytest.raises(DownloadFailed, match=r"tool@1\.5 cannot be fetched beforehand: .*else than its version"):
        resolve(plan_of(tmp_path, NPM))
    assert [call.split()[0] for call in clients.called] == ["install"]


def test_npm_does_not_ask_where_somebody_else_may_have_configured_it(
    clients: Clients, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not Path(npm.latest_version("tool")).is_relative_to(tmp_path)
    assert clients.called


@pytest.mark.parametrize("version", ["file:x", "1.0/x", "npm:other"])
def test_a_version_that_a_client_reads_as_an_address_is_refused(clients: Clients, tmp_path: Path, version: str) -> None:
    with pytest.raises(DownloadFailed, match="is not a package's version") as raised:
        resolve(plan_of(tmp_path, NPM.replace('"1.5"', f'"{version}"')))
    assert raised.value.line == 6
    assert clients.called == []
