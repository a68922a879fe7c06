"""What both engines do alike with containers; how each is asked is left to its adapter."""

import shlex
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from tsandbox.engine import cgroup, diagnose, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.images import bare_id, timestamp
from tsandbox.engine.process import CommandFailed
from tsandbox.engine.protocol import (
    ContainerEnd,
    ContainerRequest,
    ContainerState,
    EnforcedLimits,
    EngineFacts,
    Mount,
    Stream,
)
from tsandbox.errors import EngineLookupFailed, EngineUnavailable, UsageError

_NEVER_STARTED = {"created", "configured", "initialized"}
_LAST_WORDS = 4096
CPU_PERIOD = 100_000


class ContainerOperations:
    """The container half of an engine."""

    command: EngineCommand
    # Options of `start --attach` by which a signal to the client does not reach the container.
    detached_signals: tuple[str, ...] = ()

    def facts(self) -> EngineFacts:
        raise NotImplementedError

    def create(self, request: ContainerRequest) -> str:
        raise NotImplementedError

    def inspect_container(self, container: str) -> Mapping[str, Any] | None:
        raise NotImplementedError

    def container_ids(self, label: str) -> list[str]:
        raise NotImplementedError

    def send_kill(self, container: str) -> None:
        raise NotImplementedError

    def remove(self, container: str) -> None:
        raise NotImplementedError

    def start_dir(self, container: str) -> Path | None:  # noqa: ARG002  (podman's differs by container)
        """Where to stand when a container is started."""
        return None

    def attach(self, container: str, *, timeout: float | None) -> Iterator[tuple[Stream, bytes]]:
        argv = ("start", "--attach", *self.detached_signals, container)
        last = b""
        ran = False
        where = self.start_dir(container)
        for stream, chunk in self.command.stream(*argv, doing="start of a container", timeout=timeout, cwd=where):
            if stream == "stderr":
                last = (last + chunk)[-_LAST_WORDS:]
            else:
                # Engines complain on stderr: what printed this has started, and no look-up is needed.
                ran = True
            yield stream, chunk
        if ran:
            return
        found = self.inspect_container(container)
        if found is not None and found["State"]["Status"] in _NEVER_STARTED:
            # It printed nothing, then: what came is the engine's own complaint.
            said = f"{found['State'].get('Error') or ''}\n{last.decode(errors='replace')}".strip()
            command = shlex.join(self.command.argv(*argv))
            failed = CommandFailed("the container did not start", command=command, returncode=125, output=said)
            raise diagnose.explain(self.command.name, failed, answered=True, doing="start of a container")

    def prepare(self) -> None:
        return

    def run(self, request: ContainerRequest) -> Generator[tuple[Stream, bytes], None, ContainerEnd]:
        container = self.create(request)
        try:
            yield from self.attach(container, timeout=None)
            state = self.state(container)
        finally:
            self.remove(container)
        return ContainerEnd(
            exit_code=state.exit_code if state else None, oom_killed=state.oom_killed if state else False
        )

    def logs(self, container: str) -> Iterator[tuple[Stream, bytes]]:
        yield from self.command.stream("logs", "--follow", container, doing="logs of a container", timeout=None)

    def state(self, container: str) -> ContainerState | None:
        found = self.inspect_container(container)
        return None if found is None else parse_state(found)

    def containers(self, label: str) -> list[ContainerState]:
        states = [self.state(identifier) for identifier in self.container_ids(label)]
        # One that went away between the two questions is no longer there.
        return [state for state in states if state is not None]

    def enforced_limits(self, container: str) -> EnforcedLimits:
        found = self.inspect_container(container)
        if not found or not found["State"]["Pid"]:
            raise EngineLookupFailed(
                f"{self.command.name}: container {container} does not run: its limits cannot be read"
            )
        if self.facts().remote:
            return _configured_limits(found["HostConfig"])
        try:
            return cgroup.limits(found["State"]["Pid"])
        except OSError as error:
            raise EngineLookupFailed(
                f"{self.command.name}: container {container} ended before its limits could be read"
            ) from error

    def kill(self, container: str) -> None:
        """End it if it runs."""
        try:
            self.send_kill(container)
        except EngineUnavailable:
            state = self.state(container)
            if state is not None and state.running:
                raise

    def copy_in(self, container: str, source: Path, target: str) -> None:
        self.command.call("cp", str(source), f"{container}:{target}", doing="copy into a container", timeout=None)

    def copy_out(self, container: str, source: str, target: Path) -> None:
        self.command.call("cp", f"{container}:{source}", str(target), doing="copy from a container", timeout=None)

    def interactive(self, request: ContainerRequest) -> int:
        container = self.create(request)
        try:
            argv = self.command.argv("start", "--attach", "--interactive", container)
            return process.attach(argv, env=self.command.env, cwd=self.start_dir(container))
        finally:
            self.remove(container)


def parse_state(entry: Mapping[str, Any]) -> ContainerState:
    state = entry["State"]
    running = bool(state["Running"])
    return ContainerState(
        id=bare_id(entry["Id"]),
        running=running,
        exit_code=None if running else state["ExitCode"],
        oom_killed=bool(state.get("OOMKilled")),
        labels=(entry.get("Config") or {}).get("Labels") or {},
        created=timestamp(entry["Created"]),
    )


def cpu_quota(cpus: float) -> int:
    """Microseconds per period: the form of a CPU limit that no SDK or old engine drops in silence."""
    return round(cpus * CPU_PERIOD)


def bind(mount: Mount) -> str:
    for path in (str(mount.source), mount.target):
        if "," in path:
            raise UsageError(f"{path!r}: a path with a comma cannot be mounted", hint="use another directory")
    return f"type=bind,src={mount.source},dst={mount.target}" + (",ro" if mount.read_only else "")


def _configured_limits(host: Mapping[str, Any]) -> EnforcedLimits:
    """The kernel of a remote engine cannot be read from here; its word is the best there is."""
    quota, period = host.get("CpuQuota") or 0, host.get("CpuPeriod") or CPU_PERIOD
    return EnforcedLimits(
        memory=host.get("Memory") or None,
        cpus=quota / period if quota > 0 else None,
        pids=host.get("PidsLimit") or None,
    )
