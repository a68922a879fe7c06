"""What engines print, and the error that each of it stands for."""

import pytest

from tsandbox.engine import building, diagnose
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.process import CommandFailed, ProgramMissing
from tsandbox.errors import (
    BuildFailed,
    EngineLookupFailed,
    EngineLost,
    EngineNotInstalled,
    EngineNotRunning,
    EnginePermission,
    EngineTooOld,
    EngineUnavailable,
    NoSpace,
    TsandboxError,
)


def failed(output: str, returncode: int = 125) -> CommandFailed:
    return CommandFailed("podman ended with status 125", command="podman x", returncode=returncode, output=output)


COMPLAINTS = [
    (
        "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
        EngineNotRunning,
        "systemctl start docker",
    ),
    (
        "error during connect: Get http://127.0.0.1:2375/v1.41/info: dial tcp: connect: connection refused",
        EngineNotRunning,
        "DOCKER_HOST",
    ),
    ("Cannot connect to Podman. Please verify your connection to the Linux system", EngineNotRunning, "podman.socket"),
    (
        "Got permission denied while trying to connect to the Docker daemon socket: dial unix /x: permission denied",
        EnginePermission,
        "docker group",
    ),
    ("Error: cannot find UID/GID for user x: no subuid ranges found for user", EnginePermission, "--add-subuids"),
    (
        "potentially insufficient UIDs or GIDs available in user namespace (requested 0:42 for /etc/gshadow)",
        EnginePermission,
        "podman system migrate",
    ),
    (
        "Error response from daemon: client version 1.47 is too new. Maximum supported API version is 1.41",
        EngineTooOld,
        "",
    ),
    (
        "ERROR: BuildKit is enabled but the buildx component is missing or broken.",
        EngineTooOld,
        "buildx plugin",
    ),
    ("write /var/lib/x: no space left on device", NoSpace, "cache gc"),
    ("copying: Disk quota exceeded", NoSpace, "cache gc"),
    ("crun: cgroups in hybrid mode not supported, drop all controllers from cgroupv2", EngineUnavailable, "runc"),
    (
        "runc: setrlimit `RLIMIT_NOFILE`: Operation not permitted: OCI permission denied",
        EngineUnavailable,
        "doctor --fix",
    ),
    (
        "Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit",
        EngineUnavailable,
        "catatonit",
    ),
    ("Error: failed to read from slirp4netns sync pipe: EOF", EngineUnavailable, "/dev/net/tun"),
]


@pytest.mark.parametrize(("output", "kind", "hint"), COMPLAINTS, ids=[line[:40] for line, _, _ in COMPLAINTS])
def test_a_complaint_is_an_error_of_its_own_with_a_fix(output: str, kind: type[TsandboxError], hint: str) -> None:
    engine = "podman" if "Podman" in output else "docker"
    error = diagnose.explain(engine, failed(output), answered=False, doing="first contact")
    assert type(error) is kind
    assert hint in (error.hint or "")
    assert "first contact" in error.message
    assert error.details[0] == "$ podman x"


def test_an_engine_that_answered_before_was_lost() -> None:
    output = "Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?"
    error = diagnose.explain("docker", failed(output), answered=True, doing="look-up of image x", lookup=True)
    assert type(error) is EngineLost
    assert error.temporary


def test_an_engine_command_that_was_killed_was_lost() -> None:
    error = diagnose.explain("podman", failed("", -9), answered=True, doing="list of images")
    assert type(error) is EngineLost


def test_what_nobody_knows_is_never_not_found() -> None:
    error = diagnose.explain("podman", failed("odd"), answered=True, doing="look-up of image x", lookup=True)
    assert type(error) is EngineLookupFailed
    assert not diagnose.not_found("odd")
    assert not diagnose.not_found("Cannot connect to the Docker daemon: no such file or directory")
    assert not diagnose.not_found("dial unix /run/docker.sock: connect: no such file or directory")


@pytest.mark.parametrize(
    "text",
    [
        "Error: inspecting object: localhost/x: image not known",
        "Error: No such image: x",
        "Error: No such object: x",
        "Error: no such container x",
        'Error: inspecting object: no such container "x"',
        'Error: no container with name or ID "x" found: no such container',
    ],
)
def test_what_engines_say_of_things_that_are_not_there(text: str) -> None:
    assert diagnose.not_found(text)


def test_a_program_that_is_not_there_is_an_engine_that_is_not_installed() -> None:
    missing = ProgramMissing("docker: cannot be run", command="docker", returncode=127, output="")
    error = diagnose.explain("docker", missing, answered=False, doing="first contact")
    assert type(error) is EngineNotInstalled
    assert "docker.io" in (error.hint or "")


ALIVE = EngineCommand("docker", "true")
DEAD = EngineCommand("docker", "false")


def test_what_a_step_prints_is_not_the_engines_word() -> None:
    for line in ("connect: connection refused", "unknown flag: --x", "got permission denied while trying to connect"):
        assert type(building.build_error(ALIVE, failed(line), steps_ran=True)) is BuildFailed


def test_a_full_disk_is_told_whoever_says_so() -> None:
    error = building.build_error(ALIVE, failed("E: write error: No space left on device"), steps_ran=True)
    assert type(error) is NoSpace
    assert error.exit_code == 6


def test_before_the_first_step_the_client_speaks() -> None:
    error = building.build_error(ALIVE, failed("unknown flag: --secret"), steps_ran=False)
    assert type(error) is EngineTooOld


def test_a_registry_that_does_not_answer_is_not_the_engine() -> None:
    said = "failed to create LLB definition: failed to do request: dial tcp 127.0.0.1:80: connect: connection refused"
    error = building.build_error(ALIVE, failed(said), steps_ran=False)
    assert type(error) is BuildFailed
    assert "is not there" in error.message


def test_an_engine_that_does_not_answer_after_a_failed_build_was_lost() -> None:
    assert type(building.build_error(DEAD, failed("server did not provide an image ID"), steps_ran=True)) is EngineLost
    assert type(building.build_error(DEAD, failed("whatever"), steps_ran=True)) is EngineLost


def test_an_old_complaint_far_above_the_end_is_a_steps_output() -> None:
    output = "No space left on device\n" + "more output\n" * 20
    assert type(building.build_error(ALIVE, failed(output), steps_ran=True)) is BuildFailed


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("STEP 1/3: FROM localhost/x", True),
        ("[1/2] STEP 1/3: FROM localhost/x", True),
        ("Step 1/3 : FROM x", True),
        ("#5 [2/3] RUN apt-get update", True),
        ("#1 [internal] load build definition from Dockerfile", False),
        ("unknown flag: --progress", False),
    ],
)
def test_the_first_step_is_noticed(line: str, begins: bool) -> None:
    seen: list[str] = []
    watch = building.StepWatch(seen.append)
    watch(line)
    assert watch.seen is begins
    assert seen == [line]
