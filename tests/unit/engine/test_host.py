"""What is found out about a host: endpoints, remembered probes, settings, owners, the tiny program."""

import json
import os
import resource
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tsandbox.engine import docker_endpoint, oom, orphans, owner, podman_host, probe, tiny
from tsandbox.engine.protocol import EngineFacts
from tsandbox.engine.ulimits import ulimits
from tsandbox.errors import EngineUnavailable, NotSupported, TsandboxError


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "state"))
    return tmp_path / "state"


def context(config: Path, name: str, host: str) -> None:
    meta = config / "contexts" / "meta" / sha256(name.encode()).hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(json.dumps({"Name": name, "Endpoints": {"docker": {"Host": host}}}))


def addresses(env: dict[str, str]) -> list[str]:
    return [endpoint.address for endpoint in docker_endpoint.candidates(env)]


def test_the_host_variable_wins_over_a_context(tmp_path: Path) -> None:
    context(tmp_path, "work", "ssh://build.example.com")
    env = {"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "work"}
    assert addresses(env) == ["ssh://build.example.com"]
    assert addresses({**env, "DOCKER_HOST": "tcp://10.0.0.1:2376"}) == ["tcp://10.0.0.1:2376"]


def test_the_current_context_counts_unless_it_is_the_default(tmp_path: Path) -> None:
    context(tmp_path, "work", "unix:///run/work.sock")
    env = {"DOCKER_CONFIG": str(tmp_path)}
    assert addresses(env) == [docker_endpoint.DEFAULT]
    (tmp_path / "config.json").write_text('{"currentContext": "work"}')
    assert addresses(env) == ["unix:///run/work.sock"]
    (tmp_path / "config.json").write_text('{"currentContext": "default"}')
    assert addresses(env) == [docker_endpoint.DEFAULT]


def test_a_rootless_daemon_is_tried_first_where_its_socket_is(tmp_path: Path) -> None:
    env = {"DOCKER_CONFIG": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    assert addresses(env) == [docker_endpoint.DEFAULT]
    (tmp_path / "docker.sock").touch()
    rootless, system = docker_endpoint.candidates(env)
    assert rootless.env == {"DOCKER_HOST": f"unix://{tmp_path}/docker.sock"}
    assert system.address == docker_endpoint.DEFAULT


def test_a_configuration_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{ half")
    with pytest.raises(EngineUnavailable, match=r"config\.json"):
        addresses({"DOCKER_CONFIG": str(tmp_path)})


FACTS = EngineFacts(
    name="podman", version="4.3.1", api="4.3.1", rootless=False, storage_driver="overlay", storage_root="/x",
    cgroups="v2", runtime="crun",
)  # fmt: skip


def test_a_probe_is_asked_once_per_host() -> None:
    asked: list[str] = []

    def ask() -> EngineFacts:
        asked.append("")
        return FACTS

    assert probe.remembered("podman", ["a"], ask) == FACTS
    assert probe.remembered("podman", ["a"], ask) == FACTS
    assert len(asked) == 1
    probe.remembered("podman", ["another version"], ask)
    assert len(asked) == 2
    probe.remembered("podman", ["a"], ask, fresh=True)
    assert len(asked) == 3


def test_a_probe_that_fails_is_not_remembered() -> None:
    def fail() -> EngineFacts:
        raise EngineUnavailable("no")

    with pytest.raises(EngineUnavailable):
        probe.remembered("podman", ["a"], fail)
    assert probe.remembered("podman", ["a"], lambda: FACTS) == FACTS


def test_a_state_directory_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TSANDBOX_STATE_DIR", str(tmp_path / "file" / "state"))
    with pytest.raises(TsandboxError, match="cannot be written") as error:
        probe.remembered("podman", ["a"], lambda: FACTS)
    assert "TSANDBOX_STATE_DIR" in (error.value.hint or "")


def test_our_configuration_repeats_the_users(own_state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tomllib

    users = tmp_path / "containers.conf"
    users.write_text('[containers]\npids_limit = 7\n[engine]\nruntime = "crun"\nevents_logger = "file"\n')
    monkeypatch.setenv("CONTAINERS_CONF", str(users))
    (own_state / "engine").mkdir(parents=True)
    made = podman_host._write_configuration(
        {"engine": {"runtime": "runc"}, "containers": {"default_ulimits": ["a=1:1"]}}
    )
    assert tomllib.loads(made.read_text()) == {
        "containers": {"pids_limit": 7, "default_ulimits": ["a=1:1"]},
        "engine": {"runtime": "runc", "events_logger": "file"},
    }
    assert made.is_relative_to(own_state)


def test_only_a_known_complaint_has_a_remedy() -> None:
    assert podman_host._remedy("crun: setrlimit `RLIMIT_NOFILE`: Operation not permitted") == {
        "containers": {"default_ulimits": ulimits()}
    }
    assert podman_host._remedy("something else") == {}


def test_ulimits_are_within_what_this_host_allows() -> None:
    found = dict(word.partition("=")[::2] for word in ulimits())
    assert found.keys() == {"nofile", "nproc"}
    for name, number in (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC)):
        soft, _, hard = found[name].partition(":")
        allowed = resource.getrlimit(number)[1]
        assert soft == hard
        assert allowed == resource.RLIM_INFINITY or int(hard) <= allowed


def test_an_owner_lives_as_long_as_its_process() -> None:
    assert owner.lives(owner.mine())
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name = f"{child.pid}-{owner.started(child.pid)}"
        assert owner.lives(name)
        child.kill()
        # A zombie, which nobody has waited for yet, does not live either.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not owner.lives(name)
    assert not owner.lives(name)


def test_a_pid_that_was_used_again_is_another_process() -> None:
    pid, _, start = owner.mine().partition("-")
    assert not owner.lives(f"{pid}-{int(start) + 1}")


@pytest.mark.parametrize("name", ["", "1", "1-", "abc-def", "99999999-1", "-"])
def test_what_is_no_name_of_a_process_belongs_to_nobody(name: str) -> None:
    assert not owner.lives(name)


def test_notes_of_processes_that_are_gone_are_swept(own_state: Path) -> None:
    (oom.start_in("mine") / "oom").touch()
    gone = own_state / "engine" / "starts" / "99999999-1-abc"
    gone.mkdir()
    oom.sweep()
    assert not gone.exists()
    assert oom.noted("mine")
    assert not oom.noted("another")
    oom.forget("mine")
    assert not oom.noted("mine")


def test_programs_of_a_work_are_ended_and_no_others(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"]
    children = []
    for work in (tmp_path / "a", tmp_path / "ab"):
        env = {**os.environ, **orphans.mark(work)}
        child = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout
        child.stdout.readline()
        children.append(child)
    orphans.end(tmp_path / "a")
    assert children[0].wait(10) == -9
    assert children[1].poll() is None
    orphans.end(tmp_path / "ab")
    assert children[1].wait(10) == -9
    for child in children:
        assert child.stdout
        child.stdout.close()


def test_the_tiny_program_runs_on_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "probe"
    path.write_bytes(tiny.program(os.uname().machine))
    path.chmod(0o755)
    with subprocess.Popen([path], stdout=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stdout.read(3) == b"ok\n"
        assert running.poll() is None, "it waits to be killed"
        running.kill()


def test_both_architectures_have_a_tiny_program_and_others_are_refused() -> None:
    for machine, number in (("x86_64", 62), ("aarch64", 183)):
        program = tiny.program(machine)
        assert program.startswith(b"\x7fELF")
        assert int.from_bytes(program[18:20], "little") == number
    with pytest.raises(NotSupported):
        tiny.program("sparc64")
