"""Containers as the sandbox asks for them: limits, isolation, output, files and their end, on each real engine."""

import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tsandbox.engine import Engine, Image, Mount
from tsandbox.errors import EngineLookupFailed, EngineUnavailable, TimedOut, UsageError

from .conftest import LABEL, Create, command_lines

Run = Callable[..., str]


def test_output_comes_on_its_own_stream_and_the_exit_code_is_kept(engine: Engine, create: Create) -> None:
    container = create("/bin/sh", "-c", "echo out; echo err >&2; exit 7")
    streams: dict[str, bytes] = {}
    for name, chunk in engine.attach(container, timeout=60):
        streams[name] = streams.get(name, b"") + chunk
    assert streams == {"stdout": b"out\n", "stderr": b"err\n"}
    assert engine.wait(container, timeout=60) == 7
    state = engine.state(container)
    assert state is not None
    assert (state.running, state.exit_code, state.oom_killed) == (False, 7, False)
    assert state.id == container
    assert dict(engine.logs(container)) == streams


def test_output_streams_while_the_container_runs(engine: Engine, create: Create) -> None:
    container = create("/bin/sh", "-c", "echo first; while ! test -e /tmp/go; do /bin/sleep 0.1; done; echo last")
    chunks = engine.attach(container, timeout=120)
    assert next(chunks) == ("stdout", b"first\n")
    running = engine.state(container)
    assert running is not None
    assert running.running
    assert running.exit_code is None
    engine.kill(container)
    assert b"last" not in b"".join(chunk for _, chunk in chunks)


def test_logs_follow_a_started_container(engine: Engine, create: Create) -> None:
    container = create("/bin/sh", "-c", "echo one; /bin/sleep 1; echo two")
    engine.start(container)
    assert b"".join(chunk for _, chunk in engine.logs(container)) == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("memory", "cpus", "pids"), [(96 << 20, 0.75, 33), (2 << 30, 2, 100)], ids=["small", "the default of a sandbox"]
)
def test_limits_hold_in_the_control_group_of_the_live_container(
    engine: Engine, create: Create, memory: int, cpus: float, pids: int
) -> None:
    container = create("/bin/sleep", "300", memory=memory, cpus=cpus, pids=pids)
    engine.start(container)
    found = engine.enforced_limits(container)
    assert (found.memory, found.cpus, found.pids) == (memory, cpus, pids)
    assert engine.facts().unenforced == ()


def test_swap_does_not_widen_the_memory_limit(engine: Engine, run: Run) -> None:
    """Read inside, where both engines mount the container's own control group."""
    script = "cat /sys/fs/cgroup/memory/memory.memsw.limit_in_bytes /sys/fs/cgroup/memory.swap.max 2>/dev/null || true"
    limits = run(script, memory=64 << 20).split()
    if not limits:
        pytest.fail("this kernel accounts for no swap: the test needs to look elsewhere")
    assert limits[0] in {str(64 << 20), "0"}


def test_the_kernel_ends_what_uses_too_much_memory(
    engine: Engine, create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    # A shell variable that doubles: nothing but the shell is needed to fill memory.
    container = create("/bin/sh", "-c", "x=0123456789abcdef; while :; do x=$x$x; done", memory=32 << 20, cpus=1)
    for _ in engine.attach(container, timeout=120):
        pass
    state = engine.state(container)
    assert state is not None
    assert state.exit_code == 137
    assert state.oom_killed
    assert list(tmp_path.iterdir()) == [], "podman's monitor left its note where the user stands"


def test_what_is_killed_for_another_reason_was_not_out_of_memory(engine: Engine, create: Create) -> None:
    container = create("/bin/sh", "-c", "kill -KILL $$", memory=32 << 20)
    for _ in engine.attach(container, timeout=60):
        pass
    state = engine.state(container)
    assert state is not None
    assert (state.exit_code, state.oom_killed) == (137, False)


def test_no_more_processes_than_allowed(engine: Engine, create: Create) -> None:
    script = "i=0; while test $i -lt 40; do /bin/sleep 30 & i=$((i+1)); done; echo all started"
    container = create("/bin/sh", "-c", script, pids=16)
    output = b"".join(chunk for _, chunk in engine.attach(container, timeout=120))
    assert b"ork" in output  # "Cannot fork", "Resource temporarily unavailable"
    assert b"all started" not in output


def test_limits_of_a_container_that_does_not_run_cannot_be_read(engine: Engine, create: Create) -> None:
    with pytest.raises(EngineLookupFailed):
        engine.enforced_limits(create("/bin/sleep", "1"))


def test_without_a_network_there_is_only_loopback(engine: Engine, run: Run) -> None:
    assert run("ls /sys/class/net", network="none").split() == ["lo"]


def test_egress_is_a_network_of_its_own_and_not_the_hosts(engine: Engine, run: Run) -> None:
    text = run("readlink /proc/self/ns/net; ls /sys/class/net; cat /proc/net/route", network="egress")
    assert str(Path("/proc/self/ns/net").readlink()) not in text
    assert "eth0" in text or "tap0" in text
    # A default route: destination 0 on that interface.
    assert any(line.split()[1:2] == ["00000000"] for line in text.splitlines())


def test_no_capability_is_left_and_none_can_be_gained(engine: Engine, run: Run) -> None:
    status = dict(line.split(":\t", 1) for line in run("cat /proc/self/status").splitlines() if ":\t" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_a_read_only_root_refuses_writes_but_not_on_a_tmpfs(engine: Engine, run: Run) -> None:
    script = (
        "touch /data/x 2>/dev/null && echo root; touch /tmp/x && echo tmp; touch /run/x /dev/shm/x; cat /proc/mounts"
    )
    text = run(script, read_only_root=True, tmpfs={"/tmp": "rw,size=1m,mode=1777"})
    assert "root\n" not in text
    assert text.startswith("tmp\n") or "\ntmp\n" in text
    assert any(" /tmp tmpfs " in line and "size=1024k" in line for line in text.splitlines())


def test_a_root_that_is_not_read_only_can_be_written(run: Run) -> None:
    assert run("touch /data/x && echo written") == "written\n"


def test_an_init_is_process_one_and_reaps(engine: Engine, run: Run) -> None:
    assert "sh" not in run("cat /proc/1/comm", init=True)
    assert run("cat /proc/1/comm", init=False) in {"sh\n", "cat\n"}


def test_the_user_and_working_directory_are_those_asked_for(run: Run) -> None:
    assert run("id -u; readlink /proc/self/cwd", user="1234:1234", workdir="/data").split() == ["1234", "/data"]
    assert run("id -u") == "0\n"


def test_the_environment_is_the_one_given_and_nothing_else(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.com")
    monkeypatch.setenv("http_proxy", "http://proxy.example.com")
    given = {"PATH": "/bin", "LINES": "one\ntwo", "QUOTES": "a \"b\" 'c' $HOME \\ #x", "EMPTY": ""}
    text = run("cat /proc/self/environ", env=given).rstrip("\0")
    found = dict(entry.partition("=")[::2] for entry in text.split("\0"))
    # Both engines name the container's host, podman also itself and the home of the user.
    extra = {"HOSTNAME", "HOME", "container", "TERM", "PWD", "OLDPWD", "_", "SHLVL"}
    assert {name: value for name, value in found.items() if name in given} == given
    assert set(found) - set(given) <= extra


def test_a_secret_in_the_environment_is_in_no_command_line_and_no_label(engine: Engine, create: Create) -> None:
    secret = "s3cret-" + secrets.token_hex(12)
    several = secret + "\nsecond line"
    seen: list[str] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.extend(command_lines(containing=secret))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        container = create("/bin/sh", "-c", "echo $TOKEN $KEY", env={"TOKEN": secret, "KEY": several})
        output = b"".join(chunk for _, chunk in engine.attach(container, timeout=60))
    finally:
        done.set()
        watcher.join()
    assert output.count(secret.encode()) == 2
    assert seen == []
    assert secret not in repr(engine.state(container))


def test_mounts_are_read_only_unless_asked(run: Run, tmp_path: Path) -> None:
    inputs, outputs = tmp_path / "in", tmp_path / "out"
    inputs.mkdir()
    outputs.mkdir()
    (inputs / "file").write_text("given")
    mounts = [
        Mount(source=inputs, target="/data/in"),
        Mount(source=outputs, target="/data/out", read_only=False),
    ]
    script = "cat /data/in/file > /data/out/copy; touch /data/in/x 2>/dev/null || echo refused"
    assert run(script, mounts=mounts) == "refused\n"
    assert (outputs / "copy").read_text() == "given"
    assert not (inputs / "x").exists()


def test_a_mount_of_nothing_is_an_error(create: Create, tmp_path: Path) -> None:
    with pytest.raises(EngineUnavailable):
        create("/bin/sleep", "1", mounts=[Mount(source=tmp_path / "nothing", target="/data/in")])


def test_a_path_that_would_change_the_mount_is_refused(engine_name: str, create: Create, tmp_path: Path) -> None:
    odd = tmp_path / "a,readonly=false"
    odd.mkdir()
    mount = Mount(source=odd, target="/data/in")
    if engine_name == "podman":
        with pytest.raises(UsageError):
            create("/bin/sleep", "1", mounts=[mount])
    else:
        create("/bin/sleep", "1", mounts=[mount])


def test_arguments_reach_the_program_as_they_are(engine: Engine, create: Create) -> None:
    words = ["a b", "$HOME", "--help", "'", '"', "*", "-it", ""]
    container = create("/bin/sh", "-c", 'for x in "$@"; do echo "<$x>"; done', "sh", *words)
    output = b"".join(chunk for _, chunk in engine.attach(container, timeout=60)).decode()
    assert output.splitlines() == [f"<{word}>" for word in words]


def test_files_are_copied_in_and_out(engine: Engine, create: Create, tmp_path: Path) -> None:
    source = tmp_path / "given"
    source.write_text("content")
    container = create("/bin/sh", "-c", "cat /data/given > /data/made; echo more >> /data/made")
    engine.copy_in(container, source, "/data/given")
    for _ in engine.attach(container, timeout=60):
        pass
    engine.copy_out(container, "/data/made", tmp_path / "made")
    assert (tmp_path / "made").read_text() == "contentmore\n"
    with pytest.raises(EngineUnavailable):
        engine.copy_out(container, "/data/nothing", tmp_path / "nothing")


def test_a_container_that_takes_too_long_is_left_to_its_owner(engine: Engine, create: Create) -> None:
    container = create("/bin/sh", "-c", "trap '' TERM; while :; do /bin/sleep 1; done")
    with pytest.raises(TimedOut) as late:
        for _ in engine.attach(container, timeout=2):
            pass
    assert late.value.exit_code == 9
    state = engine.state(container)
    assert state is not None
    assert state.running
    with pytest.raises(TimedOut):
        engine.wait(container, timeout=1)
    engine.kill(container)
    assert engine.wait(container, timeout=60) == 137
    engine.kill(container)  # one that has ended is no error
    engine.remove(container)
    assert engine.state(container) is None
    engine.remove(container)  # nor is one that is gone


def test_containers_are_found_by_label_running_or_not(engine: Engine, create: Create) -> None:
    mine = secrets.token_hex(8)
    labels = {LABEL: mine, "io.tsandbox.text": 'a "b" c=d, e'}
    made = {create("/bin/sleep", "300", labels=labels) for _ in range(2)}
    create("/bin/sleep", "300")
    engine.start(next(iter(made)))
    found = engine.containers(f"{LABEL}={mine}")
    assert {state.id for state in found} == made
    assert all(state.labels.items() >= labels.items() for state in found)
    assert sorted(state.running for state in found) == [False, True]
    assert all(abs(state.created - time.time()) < 600 for state in found)


def test_a_program_that_is_not_there_is_told_with_its_reason(engine: Engine, create: Create) -> None:
    container = create("/no/such/program", init=False)
    with pytest.raises(EngineUnavailable) as error:
        list(engine.attach(container, timeout=60))
    assert "/no/such/program" in error.value.message + "".join(error.value.details)


def test_an_image_that_is_not_there_is_an_error_and_no_pull(engine: Engine, create: Create) -> None:
    with pytest.raises(EngineUnavailable) as error:
        create("/bin/sh", image="localhost/tsandbox-test:nothing")
    assert "localhost/tsandbox-test:nothing" in error.value.message + "".join(error.value.details)


def test_an_interactive_container_takes_our_input_and_is_gone_afterwards(engine: Engine, image: Image) -> None:
    code = (
        "import sys\n"
        "from tsandbox.engine import ContainerRequest, connect\n"
        "request = ContainerRequest(image=sys.argv[2], argv=['/bin/sh'], name=sys.argv[3], stdin=True,\n"
        "                           labels={'io.tsandbox.test': sys.argv[3]}, env={'PATH': '/bin'})\n"
        "sys.exit(connect(sys.argv[1]).interactive(request))\n"
    )
    name = f"tsandbox-test-{secrets.token_hex(8)}"
    done = subprocess.run(
        [sys.executable, "-c", code, engine.name, image.id, name],
        input="echo typed $((6 * 7))\nexit 4\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "typed 42\n", done.stderr
    assert done.returncode == 4
    assert engine.containers(f"{LABEL}={name}") == []
