"""Checks of the engines themselves: is it there, does it run a container, and what of a sandbox does it really do?"""

from collections.abc import Iterator
from typing import Literal

from tsandbox import settings
from tsandbox.build.doctor.check import Check, Remedy
from tsandbox.engine import Engine, EngineFacts, cgroup, connect, docker_host, podman_host, probe
from tsandbox.errors import (
    EngineLost,
    EngineNotInstalled,
    EngineNotRunning,
    EnginePermission,
    EngineUnavailable,
    TsandboxError,
)

Name = Literal["podman", "docker"]
_OLDEST = {"podman": podman_host.OLDEST, "docker": docker_host.OLDEST}
_FAST_STORAGE = {"overlay", "overlay2", "btrfs", "zfs"}
_UNIFIED = "boot with the unified hierarchy (kernel option systemd.unified_cgroup_hierarchy=1)"


def open_engine(name: Name) -> Engine | TsandboxError:
    """The engine after a new probe, or why there is none."""
    try:
        return connect(name, fresh=True)
    except TsandboxError as error:
        return error
    except OSError as error:
        # What a probe finds out is written down: a full disk is told, not the end of the examination.
        return EngineUnavailable(
            f"{name} could not be tried: {error.filename or settings.state_dir()}: {error.strerror}",
            hint="make room there, or set TSANDBOX_STATE_DIR to another directory",
        )


def unusable(name: Name, error: TsandboxError, *, needed: bool) -> Check:
    """An engine that is not needed, because another one works, is only something to know."""
    state: Literal["failed", "warning", "info"] = "failed"
    if not needed:
        state = "info" if isinstance(error, EngineNotInstalled | EngineNotRunning) else "warning"
    said = [line for line in error.details if not line.startswith("$ ")][-2:]
    return Check(
        name="engine",
        engine=name,
        state=state,
        found=error.message,
        meaning="; ".join(said),
        fix=error.hint or "",
        remedy=_remedy(name, error),
    )


def _remedy(name: Name, error: TsandboxError) -> Remedy | None:
    match error:
        case EngineNotRunning() | EngineLost():
            return "user-socket"
        case EnginePermission() if name == "podman":
            return "podman-migrate"
    return None


def usable(engine: Engine, *, chosen: bool) -> Iterator[Check]:
    facts = engine.facts()
    yield Check(
        name="engine",
        engine=facts.name,
        state="ok",
        found=f"{facts.name} runs containers" + (", and is the one that is used" if chosen else ""),
        meaning="" if chosen else f"used with `--engine {facts.name}` or TSANDBOX_ENGINE={facts.name}",
    )
    yield version(facts)
    yield rootless(facts)
    yield storage(facts)
    yield limits(facts)
    yield from adjustments(facts)
    yield builder(facts)
    yield network(engine)


def version(facts: EngineFacts) -> Check:
    oldest = ".".join(map(str, _OLDEST[facts.name]))
    where = " on another machine or behind a service" if facts.remote else ""
    return Check(
        name="version",
        engine=facts.name,
        state="ok",
        found=f"{facts.version}, API {facts.api}{where} ({oldest} or newer is needed)",
    )


def rootless(facts: EngineFacts) -> Check:
    if facts.rootless:
        return Check(name="rootless", engine=facts.name, state="ok", found="runs without root")
    if facts.name == "podman":
        meaning = "you are root: what breaks out of a container is root too; podman of an ordinary user is safer"
        return Check(name="rootless", engine=facts.name, state="info", found="runs as root", meaning=meaning)
    return Check(
        name="rootless",
        engine=facts.name,
        state="info",
        found="its daemon runs as root",
        meaning=docker_host.GROUP_NOTE,
        fix="use --engine podman as an ordinary user, or a rootless docker daemon",
    )


def storage(facts: EngineFacts) -> Check:
    own = facts.adjustments.get("storage")
    found = f"{facts.storage_driver} in {facts.storage_root}"
    if facts.storage_driver in _FAST_STORAGE:
        meaning = "tsandbox's own, because that of this user copies every file of every layer" if own else ""
        return Check(name="storage driver", engine=facts.name, state="ok", found=found, meaning=meaning)
    return Check(
        name="storage driver",
        engine=facts.name,
        state="warning",
        found=found,
        meaning="slow: builds take several times as long as with overlay",
        fix='set driver = "overlay" in ~/.config/containers/storage.conf, then `podman system reset`'
        if facts.name == "podman"
        else 'set "storage-driver": "overlay2" in /etc/docker/daemon.json and restart docker',
    )


def limits(facts: EngineFacts) -> Check:
    """Read back from the control group of a container that ran a moment ago, not from what the engine accepted."""
    held = [name for name in ("memory", "cpus", "pids") if name not in facts.unenforced]
    here = "" if facts.remote else f", this host {cgroup.version()}"
    found = f"cgroups {facts.cgroups}{here}; enforced: {', '.join(held) or 'none'}"
    if not facts.unenforced:
        return Check(name="cgroups", engine=facts.name, state="ok", found=found)
    lost = ", ".join(facts.unenforced)
    rootful = f"run as root, or {_UNIFIED}" if facts.rootless else _UNIFIED
    return Check(
        name="cgroups",
        engine=facts.name,
        state="warning",
        found=found,
        meaning=f"{lost}: accepted and not enforced, so a runaway installation is stopped by its time limit only",
        fix=rootful,
    )


def adjustments(facts: EngineFacts) -> Iterator[Check]:
    if path := facts.adjustments.get("CONTAINERS_CONF"):
        yield Check(
            name="host settings",
            engine=facts.name,
            state="info",
            found="this host needs settings of its own for podman; tsandbox made them and uses them",
            meaning=f"{facts.adjustments.get('settings', '')} in {path}",
        )
    if words := facts.adjustments.get("ulimits"):
        yield Check(
            name="host settings",
            engine=facts.name,
            state="info",
            found=f"containers get resource limits that this host allows: {words}",
        )


def builder(facts: EngineFacts) -> Check:
    if facts.buildkit:
        client = facts.adjustments.get("client", "")
        found = "cache mounts and secrets work" + (f" with {client}" if client else "")
        return Check(name="builder", engine=facts.name, state="ok", found=found)
    return Check(
        name="builder",
        engine=facts.name,
        state="warning",
        found="only the classic builder",
        meaning="packages are fetched again for every image; a mirror or CA bundle of yours cannot be applied",
        fix="sudo apt-get install docker-buildx-plugin (or docker-buildx)",
    )


def network(engine: Engine) -> Check:
    try:
        probe.run_with_network(engine)
    except TsandboxError as error:
        said = [line for line in error.details if not line.startswith("$ ")][-1:]
        return Check(
            name="network",
            engine=engine.name,
            state="warning",
            found="a container cannot have a network of its own",
            meaning=f'builds that fetch packages, and recipes with network = "egress", fail: {" ".join(said)}',
            fix=error.hint or "",
        )
    return Check(
        name="network", engine=engine.name, state="ok", found="a container can have a network of its own, or none"
    )
