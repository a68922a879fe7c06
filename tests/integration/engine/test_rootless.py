"""Rootless podman, as a real unprivileged user: with a storage and settings of tsandbox's own, out of the box."""

import json
import os
from pathlib import Path

import pytest

from tsandbox.engine import Engine

from ..conftest import Cli
from .users import User

pytestmark = pytest.mark.xdist_group("users")

# What the user runs, in a process of its own: import, build, run with limits and a network, and tell what was found.
WORK = """
import json, sys, os
from pathlib import Path
import msgspec
from tsandbox.engine import BuildRequest, ContainerRequest, connect
from tsandbox.engine.probe import native_platform

engine = connect("podman")
home, rootfs = Path(os.environ["HOME"]), Path(sys.argv[1])
base, tag = "localhost/tsandbox-test:base", "localhost/tsandbox-test:built"
engine.import_rootfs(rootfs, base, labels={"a": "b"}, platform=native_platform())
(home / "context").mkdir()
(home / "Dockerfile").write_text(f'FROM {base}\\nRUN ["/bin/sh", "-c", "/bin/touch /data/x && /bin/id -u"]\\n')
built = engine.build(BuildRequest(context=home / "context", dockerfile=home / "Dockerfile", tag=tag, labels={},
                                  platform=native_platform()), on_line=lambda line: print(line, file=sys.stderr))

def run(script, **fields):
    request = ContainerRequest(image=tag, argv=["/bin/sh", "-c", script], name="tsandbox-test", labels={"t": "1"},
                               env={"PATH": "/bin"}, **fields)
    container = engine.create(request)
    try:
        output = b"".join(chunk for _, chunk in engine.attach(container, timeout=120)).decode()
        return [engine.wait(container, timeout=60), output]
    finally:
        engine.remove(container)

container = engine.create(ContainerRequest(image=tag, argv=["/bin/sleep", "100"], name="tsandbox-test-limits",
                                           labels={}, memory=64 << 20, cpus=0.5, pids=30))
engine.start(container)
limits = engine.enforced_limits(container)
engine.kill(container)
engine.remove(container)
found = {
    "facts": engine.facts(),
    "limits": limits,
    "none": run("ls /sys/class/net; id -u", read_only_root=True),
    "egress": run("ls /sys/class/net; readlink /proc/self/ns/net", network="egress"),
    "status": run("cat /proc/self/status"),
    "containers": len(engine.containers("t=1")),
    "host_net": os.readlink("/proc/self/ns/net"),
}
engine.remove_image(tag)
engine.remove_image(base)
print(msgspec.json.encode(found).decode())
"""


@pytest.fixture(scope="module")
def found(user: User, rootfs: Path) -> dict[str, object]:
    shared = user.home.parent / "rootfs.tar"
    shared.write_bytes(rootfs.read_bytes())
    done = user.python(WORK, str(shared))
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def test_it_is_rootless_and_fast(found: dict[str, dict[str, object]]) -> None:
    assert found["facts"]["rootless"]
    assert found["facts"]["storage_driver"] == "overlay"


def test_limits_that_the_kernel_does_not_enforce_are_told(found: dict[str, dict[str, object]]) -> None:
    """On cgroup v1 podman accepts them and does nothing; whatever the host does, facts and kernel agree."""
    wanted = {"memory": 64 << 20, "cpus": 0.5, "pids": 30}
    held = {name for name, value in wanted.items() if found["limits"][name] == value}
    assert found["facts"]["unenforced"] == [name for name in wanted if name not in held]
    if found["facts"]["cgroups"] == "v1":
        assert held == set()


def test_containers_run_isolated(found: dict[str, list[object]]) -> None:
    assert found["none"] == [0, "lo\n0\n"]
    code, text = found["egress"]
    assert code == 0
    assert "tap0" in str(text) or "eth0" in str(text)
    assert str(found["host_net"]) not in str(text)
    assert "NoNewPrivs:\t1" in str(found["status"][1])
    assert "CapEff:\t0000000000000000" in str(found["status"][1])
    assert found["containers"] == 0


def test_what_tsandbox_makes_lies_in_its_own_directories(found: object, user: User) -> None:
    """Podman itself touches its own places when it is asked who it is; nothing else appears in the user's home."""
    names = {path.name for path in user.home.iterdir()}
    skeleton = {path.name for path in Path("/etc/skel").iterdir()}
    assert names - skeleton <= {"run", "state", "cache", "context", "Dockerfile", ".local", ".config", ".cache"}
    configured = user.home / ".config" / "containers"
    assert not configured.exists() or list(configured.iterdir()) == []


def test_an_ordinary_user_proves_a_recipe(user: User, podman: Engine, podman_cli: Cli) -> None:
    """From the command to the verified tool: build, offline run, result. Bases and runner were made before."""
    podman_cli("install", "jq", "--sandbox", "--json")
    user.take_cached("bases", "runner", "packages")
    done = user.tsandbox("install", "jq", "--sandbox", "--json", "--engine", "podman")
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    assert result["status"] == "passed"
    assert result["verify"]["ok"]
    assert result["install"]["network"] == "none"
    again = json.loads(user.tsandbox("install", "jq", "--sandbox", "--json", "--engine", "podman").stdout)
    assert (again["status"], again["cached"], again["key"]) == ("passed", True, result["key"])


KILLED = """
import os, signal, subprocess, sys, time
from pathlib import Path
from tsandbox.engine import building, connect
from tsandbox.engine.probe import native_platform

BUILD = '''
import sys
from pathlib import Path
from tsandbox.engine import BuildRequest, connect
from tsandbox.engine.probe import native_platform
place = Path(sys.argv[1])
request = BuildRequest(context=place, dockerfile=place / "Dockerfile", tag="localhost/tsandbox-test:killed",
                       labels={}, platform=native_platform())
connect("podman").build(request, on_line=str)
'''

def steps():
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes() == b"/bin/sleep\\x00300.4711\\x00":
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found

def left(engine):
    command = engine.command
    containers = subprocess.run(command.argv("ps", "--all", "--external", "--quiet"), env={**os.environ, **command.env},
                                capture_output=True, text=True, check=True).stdout.split()
    return [containers, [str(path) for path in building.builds_dir("podman").glob("*")], steps()]

engine = connect("podman")
engine.import_rootfs(Path(sys.argv[1]), "localhost/tsandbox-test:base", labels={}, platform=native_platform())
place = Path(os.environ["HOME"]) / "killed"
place.mkdir()
(place / "Dockerfile").write_text('FROM localhost/tsandbox-test:base\\nRUN ["/bin/sleep", "300.4711"]\\n')
before = left(engine)
child = subprocess.Popen([sys.executable, "-c", BUILD, str(place)])
while not steps():
    assert child.poll() is None
    time.sleep(0.05)
during = left(engine)
child.kill()
child.wait()
after = left(connect("podman"))
engine.remove_image("localhost/tsandbox-test:base")
print(during != before, after == before, after)
"""


def test_a_killed_build_leaves_nothing_of_a_user_either(user: User, rootfs: Path) -> None:
    shared = user.home.parent / "rootfs.tar"
    shared.write_bytes(rootfs.read_bytes())
    done = user.python(KILLED, str(shared))
    assert done.stdout.startswith("True True"), done.stdout + done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take sub-ids away")
def test_a_user_without_sub_ids_is_told_how_to_get_them(user: User) -> None:
    before = {path: path.read_text() for path in (Path("/etc/subuid"), Path("/etc/subgid"))}
    code = (
        "from tsandbox.engine import connect\nfrom tsandbox.errors import TsandboxError\n"
        "try:\n    connect('podman')\n    print('works')\n"
        "except TsandboxError as error:\n    print(type(error).__name__, error.exit_code, error.hint)\n"
    )
    # Its running user namespace would answer in place of a new one.
    for path in user.home.joinpath("run").rglob("pause.pid"):
        path.unlink()
    try:
        for path, text in before.items():
            path.write_text("".join(line for line in text.splitlines(True) if not line.startswith(f"{user.name}:")))
        done = user.python(code, TSANDBOX_STATE_DIR=str(user.home / "state" / "again"))
    finally:
        for path, text in before.items():
            path.write_text(text)
    assert done.stdout.startswith("EnginePermission 5"), done.stdout + done.stderr
    assert "usermod --add-subuids" in done.stdout
