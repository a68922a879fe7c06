"""Podman through its command line: a local podman needs no service, and a remote one is reached the same way."""

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tsandbox.engine import building, diagnose, leftovers, oom, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.containers import CPU_PERIOD, ContainerOperations, bind, cpu_quota
from tsandbox.engine.images import ImageCommands
from tsandbox.engine.process import CommandFailed
from tsandbox.engine.protocol import (
    TRANSFER,
    BuildRequest,
    ContainerEnd,
    ContainerRequest,
    ContainerState,
    EngineFacts,
    Image,
    Mount,
    Sink,
    Stream,
)
from tsandbox.errors import UsageError

# Podman looks every quarter second unless told otherwise.
_WAIT_INTERVAL = "50ms"
# The exit status with which podman says that it failed itself, and not what it ran.
_PODMANS_OWN = 125
_LAST_WORDS = 4096


class Podman(ImageCommands, ContainerOperations):
    detached_signals = ("--sig-proxy=false",)

    def __init__(self, command: EngineCommand, facts: EngineFacts) -> None:
        self.command = command
        self._facts = facts

    @property
    def name(self) -> str:
        return self.command.name

    def facts(self) -> EngineFacts:
        return self._facts

    def build(self, request: BuildRequest, *, on_line: Sink) -> Image:
        volumes = [word for mount in request.volumes for word in ("--volume", _volume(mount))]
        with building.work_dir(self.name, self.clean_build) as work:
            env, marks = leftovers.prepare(work)
            # Failed steps keep their container otherwise, and every step leaves an image with neither a name nor our
            # labels. What a later build could reuse of them, it shares as packages.
            options = ("--force-rm", "--layers=false", *marks, *volumes)
            built = building.build(self.command, request, work, options=options, env=env, on_line=on_line)
        return self.found(built)

    def clean_build(self, work: Path) -> None:
        """Remove what an interrupted build in `work` left; a remote podman cleans up after its own clients."""
        if self._facts.remote:
            building.discard(work)
            return
        leftovers.clean(
            self.command,
            work,
            runtime=self._facts.runtime,
            storage=Path(self._facts.storage_root),
            rootless=self._facts.rootless,
        )

    def save(self, reference: str, archive: Path) -> None:
        self.command.call(
            "save",
            "--quiet",
            "--format",
            "oci-archive",
            "--output",
            str(archive),
            reference,
            doing=f"save of {reference}",
            timeout=None,
        )

    def load(self, archive: Path) -> Image:
        done = self.command.call("load", "--quiet", "--input", str(archive), doing=f"load of {archive}", timeout=None)
        return self.found(done.text.strip().rpartition(": ")[2] or done.text.strip())

    def push(self, reference: str, remote: str, *, timeout: float = TRANSFER) -> str:
        with building.work_dir(self.name) as work:
            digest = work / "digest"
            self.command.call(
                "push",
                "--quiet",
                *self.registry_options(remote),
                "--digestfile",
                str(digest),
                reference,
                remote,
                doing=f"push to {remote}",
                timeout=timeout,
            )
            return digest.read_text().strip()

    def registry_options(self, remote: str) -> tuple[str, ...]:
        return ("--tls-verify=false",) if on_loopback(remote) else ()

    def import_platform(self, platform: str) -> tuple[str, ...]:
        system, _, arch = platform.partition("/")
        return ("--os", system, "--arch", arch)

    def import_label(self, key: str, value: str) -> str:
        # Unlike docker, podman takes the rest of the line as it is, but for one pair of quotes around it.
        return f'LABEL {key}="{value}"'

    def create(self, request: ContainerRequest) -> str:
        plain, multiline = _split_environment(request.env)
        created = self.command.call(
            "create",
            *_create_options(request),
            "--env-file",
            "/dev/stdin",
            *[f"--env={name}" for name in multiline],
            request.image,
            *request.argv,
            doing=f"creation of a container from {request.image}",
            stdin=plain,
            secret_env=multiline,
        )
        return created.text.split()[-1]

    def run(self, request: ContainerRequest) -> Generator[tuple[Stream, bytes], None, ContainerEnd]:
        """One call of podman instead of four: each of them costs as much as a quarter of the container's life."""
        plain, multiline = _split_environment(request.env)
        words = ["run", "--rm", *self.detached_signals, *_create_options(request), "--env-file", "/dev/stdin"]
        argv = self.command.argv(*words, *[f"--env={name}" for name in multiline], request.image, *request.argv)
        # The name of such a directory ends with its last hyphen, see `oom.sweep`.
        noted = request.name.replace("-", "_")
        last, ran = b"", False
        try:
            with (
                self.command.explained("run of a container"),
                process.start(
                    argv, env=self.command.env, secret_env=multiline, stdin=plain, cwd=oom.start_in(noted)
                ) as child,
            ):
                for stream, chunk in process.output(child):
                    ran = ran or stream == "stdout"
                    last = last if stream == "stdout" else (last + chunk)[-_LAST_WORDS:]
                    yield stream, chunk
            code = child.popen.returncode
            if code == _PODMANS_OWN and not ran:
                said = last.decode(errors="replace")
                failed = CommandFailed("podman run failed", command=child.command, returncode=code, output=said)
                raise diagnose.explain("podman", failed, answered=self.command.answered, doing="run of a container")
            return ContainerEnd(exit_code=code, oom_killed=oom.noted(noted))
        finally:
            oom.forget(noted)

    def start_dir(self, container: str) -> Path:
        return oom.start_in(container)

    def state(self, container: str) -> ContainerState | None:
        state = super().state(container)
        if state is None or not oom.noted(state.id):
            return state
        return msgspec.structs.replace(state, oom_killed=True)

    def start(self, container: str) -> None:
        self.command.call("start", container, doing="start of a container", cwd=self.start_dir(container))

    def wait(self, container: str, *, timeout: float | None) -> int:
        argv = ("wait", "--interval", _WAIT_INTERVAL, container)
        return int(self.command.call(*argv, doing="wait for a container", timeout=timeout).text)

    def inspect_container(self, container: str) -> Mapping[str, Any] | None:
        found = self.command.look_up("container", "inspect", container, doing="look-up of a container")
        return found[0] if found else None

    def container_ids(self, label: str) -> list[str]:
        argv = ("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}")
        return self.command.call(*argv, doing="list of containers").text.split()

    def send_kill(self, container: str) -> None:
        self.command.call("kill", container, doing="kill of a container")

    def remove(self, container: str) -> None:
        """Remove it, running or not; one that is not there is no error."""
        self.command.call(
            "rm", "--force", "--ignore", "--volumes", "--time", "0", container, doing="removal of a container"
        )
        oom.forget(container)


def _create_options(request: ContainerRequest) -> list[str]:
    words = [
        "--name",
        request.name,
        "--network",
        "none" if request.network == "none" else "private",
        "--workdir",
        request.workdir,
        # Podman hands its own proxy settings to containers unless told not to.
        "--http-proxy=false",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--pull=never",
        "--entrypoint=",
        "--image-volume=ignore",
    ]
    for key, value in sorted(request.labels.items()):
        words += ["--label", f"{key}={value}"]
    for mount in request.mounts:
        words += ["--mount", bind(mount)]
    for target, options in sorted(request.tmpfs.items()):
        words += ["--tmpfs", f"{target}:{options}" if options else target]
    return [*words, *_limits(request), *_switches(request)]


def _limits(request: ContainerRequest) -> list[str]:
    words: list[str] = []
    if request.memory is not None:
        words += ["--memory", str(request.memory), "--memory-swap", str(request.memory)]
    if request.cpus is not None:
        words += ["--cpu-period", str(CPU_PERIOD), "--cpu-quota", str(cpu_quota(request.cpus))]
    if request.pids is not None:
        words += ["--pids-limit", str(request.pids)]
    return words


def _switches(request: ContainerRequest) -> list[str]:
    words = ["--user", request.user] if request.user else []
    if request.read_only_root:
        words += ["--read-only", "--read-only-tmpfs=false"]
    chosen = {"--init": request.init, "--interactive": request.stdin, "--tty": request.tty}
    return [*words, *[word for word, wanted in chosen.items() if wanted]]


def _split_environment(env: Mapping[str, str]) -> tuple[bytes, dict[str, str]]:
    """One line each for the file on stdin; a value of several lines is inherited from the client's environment."""
    multiline = {name: value for name, value in env.items() if "\n" in value}
    lines = [f"{name}={value}\n" for name, value in env.items() if name not in multiline]
    return "".join(lines).encode(), multiline


def _volume(mount: Mount) -> str:
    for path in (str(mount.source), mount.target):
        if ":" in path:
            raise UsageError(f"{path!r}: a path with a colon cannot be mounted", hint="use another directory")
    return f"{mount.source}:{mount.target}" + (":ro" if mount.read_only else "")


def on_loopback(remote: str) -> bool:
    """A registry on this very machine may speak plain http."""
    host = remote.partition("/")[0].rpartition(":")[0] or remote.partition("/")[0]
    return host in {"localhost", "127.0.0.1", "[::1]"}
