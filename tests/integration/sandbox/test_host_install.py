"""Installing on this host: switched in one step, and nothing that worked before stops working."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.sandbox.conftest import Served

RECIPE = """\
[metadata]
name = "greet"
description = "A script"
binaries = ["bin/greet"]

[version]
pin = "VERSION"

[[steps]]
action = "download_file"
url = "@SERVER@/greet-VERSION"
checksum = "@SHA256 greet-VERSION@"
dest = "greet"

[[steps]]
action = "install_binaries"
binaries = ["greet"]

[verify]
command = "greet"
pattern = "greet {version}"
"""


class Host:
    """`tsandbox` with a home of its own, and versions of one tool to install into it."""

    def __init__(self, tmp_path: Path, served: Served) -> None:
        self.home = tmp_path / "home"
        self._tmp, self._served = tmp_path, served

    def recipe(self, version: str, script: str | None = None, more: str = "") -> Path:
        self._served.add(f"greet-{version}", (script or f"#!/bin/sh\necho greet {version}\n").encode())
        path = self._tmp / f"greet-{version}.toml"
        path.write_text(self._served.fill_in(RECIPE.replace("VERSION", version) + more))
        return path

    def start(self, *args: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tsandbox", *map(str, args)],
            env={**os.environ, "TSANDBOX_HOME": str(self.home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str | Path, code: int = 0) -> str:
        child = self.start(*args)
        out, err = child.communicate(timeout=300)
        assert child.returncode == code, f"{out}\n{err}"
        return out

    def greeting(self) -> str:
        return subprocess.run([self.home / "bin/greet"], capture_output=True, text=True, check=True).stdout.strip()

    def tools(self) -> list[str]:
        """Everything in the directory of tools, leftovers too."""
        return sorted(path.name for path in (self.home / "tools").iterdir())


@pytest.fixture
def host(tmp_path: Path, served: Served) -> Host:
    return Host(tmp_path, served)


def test_installed_listed_found_and_removed(host: Host) -> None:
    result = json.loads(host.run("install", host.recipe("1.0"), "--json"))
    assert (result["status"], result["exit_code"], result["image"]) == ("passed", 0, None)
    assert host.greeting() == "greet 1.0"
    [row] = json.loads(host.run("list", "--installed", "--json"))["tools"]
    assert (row["name"], row["version"]) == ("greet", "1.0")
    assert host.run("which", "greet").strip() == str(host.home / "tools/greet-1.0/bin/greet")
    host.run("remove", "greet")
    assert host.tools() == []
    assert list((host.home / "bin").iterdir()) == []
    host.run("which", "greet", code=2)
    host.run("remove", "greet", code=2)


def test_a_new_version_takes_the_place_of_the_old(host: Host) -> None:
    host.run("install", host.recipe("1.0"))
    host.run("install", host.recipe("2.0"))
    assert host.greeting() == "greet 2.0"
    assert host.tools() == ["greet-2.0"]


def test_a_version_that_fails_its_verification_changes_nothing(host: Host) -> None:
    host.run("install", host.recipe("1.0"))
    result = json.loads(host.run("install", host.recipe("2.0", "#!/bin/sh\necho wrong\n"), "--json", code=8))
    assert result["stage"] == "verify"
    assert host.greeting() == "greet 1.0"
    assert host.tools() == ["greet-1.0"]


def test_a_killed_installation_leaves_the_version_before_it_working(host: Host) -> None:
    host.run("install", host.recipe("1.0"))
    slow = host.recipe("2.0", "#!/bin/sh\necho $$ > $TMPDIR/../pid\nsleep 300\n")
    with host.start("install", slow) as child:
        pid = wait_for_pid(host.home)
        child.send_signal(signal.SIGKILL)
        child.communicate()
    # What it ran has ended with it: nobody else would end it, and it must not write below the next installation.
    wait_for_end(pid)
    assert host.greeting() == "greet 1.0"
    assert [row["version"] for row in json.loads(host.run("list", "--installed", "--json"))["tools"]] == ["1.0"]
    # What it left unfinished is cleared by the next installation.
    host.run("install", host.recipe("2.0"))
    assert host.greeting() == "greet 2.0"
    assert host.tools() == ["greet-2.0"]


def wait_for_pid(home: Path) -> int:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for file in home.glob(".work-*/out/pid"):
            if text := file.read_text().strip():
                return int(text)
        time.sleep(0.05)
    raise AssertionError("the verification did not begin")


def wait_for_end(pid: int) -> None:
    until = time.monotonic() + 60
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < until, "it still runs"
        time.sleep(0.05)


def test_what_the_system_lacks_is_told_with_the_way_to_get_it(host: Host) -> None:
    more = '\n[[steps]]\naction = "require_system"\ncommand = "no-such-command"\n'
    more += 'packages = { apt = ["no-such-package"], dnf = ["no-such-package"] }\n'
    more += '\n[[steps]]\naction = "require_command"\ncommand = "neither-this"\n'
    result = json.loads(host.run("install", host.recipe("1.0", more=more), "--json", code=7))
    assert "lacks 2 things" in result["error"]["message"]
    assert any("no-such-package" in line for line in result["error"]["details"])
    assert any("neither-this" in line for line in result["error"]["details"])
    assert "install --yes" in result["error"]["hint"] or "install -y" in result["error"]["hint"]
    assert not (host.home / "bin/greet").exists()


def test_commands_of_a_recipe_never_run_on_the_host(host: Host) -> None:
    more = f'\n[[steps]]\naction = "run_command"\ncommand = "touch {host.home}-was-here"\n'
    result = json.loads(host.run("install", host.recipe("1.0", more=more), "--json", "--yes", code=4))
    assert "run_command" in result["error"]["message"]
    assert not Path(f"{host.home}-was-here").exists()


def test_options_of_the_sandbox_are_refused_without_it(host: Host) -> None:
    host.run("install", host.recipe("1.0"), "--limits", "memory=1g", code=2)
    host.run("install", host.recipe("1.0"), "--engine", "podman", code=2)


def test_what_is_installed_already_is_verified_again_and_says_so(host: Host) -> None:
    recipe = host.recipe("1.0")
    first, second = (json.loads(host.run("install", recipe, "--json"))["install"] for _ in range(2))
    assert not any("installed before" in note for note in first["notes"])
    assert any("tsandbox remove greet" in note for note in second["notes"])
    assert all(step["note"] == "already installed" for step in second["steps"])
