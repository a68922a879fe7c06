"""What podman needs on this host: found by running the tiny program, changing only what its complaint names."""

import hashlib
import os
import re
import resource
import shutil
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from tsandbox.engine import diagnose, probe, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.podman import Podman
from tsandbox.engine.protocol import EngineFacts
from tsandbox.engine.ulimits import ulimits
from tsandbox.errors import EngineTooOld, EngineUnavailable

OLDEST = (4, 3)
# containers.conf files in the order in which podman reads them; ours must repeat them, for it replaces them all.
_CONFIGURATION = (
    Path("/usr/share/containers/containers.conf"),
    Path("/etc/containers/containers.conf"),
    Path("~/.config/containers/containers.conf"),
)
_STORAGE_CONFIGURATION = (Path("/etc/containers/storage.conf"), Path("~/.config/containers/storage.conf"))
_FILE_VARIABLES = ("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF")
_VARIABLES = (
    *("CONTAINER_HOST", "CONTAINER_CONNECTION", "STORAGE_DRIVER", "STORAGE_OPTS"),
    *("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "HOME"),
    *_FILE_VARIABLES,
)


def connect(*, fresh: bool = False) -> Podman:
    """The podman of this host, local or named by CONTAINER_HOST, probed once, or again if `fresh`."""
    program = shutil.which("podman")
    if program is None:
        raise diagnose.not_installed("podman")
    facts = probe.remembered("podman", _host(program), lambda: _probe(program), fresh=fresh)
    return Podman(_command(program, facts.adjustments), facts)


def _host(program: str) -> list[object]:
    """What the answer of a probe depends on; all of it is known without running podman."""
    uname = os.uname()
    configuration = [probe.program_facts(str(path.expanduser())) for path in _CONFIGURATION + _STORAGE_CONFIGURATION]
    runtimes = [probe.program_facts(shutil.which(name) or name) for name in ("crun", "runc", "catatonit")]
    limits = [resource.getrlimit(name) for name in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)]
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    named = [probe.program_facts(path) for name in _FILE_VARIABLES if (path := variables[name])]
    return [
        probe.program_facts(program),
        uname.release,
        os.geteuid(),
        limits,
        configuration,
        runtimes,
        variables,
        named,
    ]


def _probe(program: str) -> EngineFacts:
    adjustments: dict[str, str] = {}
    facts = _facts(_command(program, adjustments), adjustments)
    if _slow_storage(facts):
        adjustments = _own_storage(program, adjustments)
        facts = _facts(_command(program, adjustments), adjustments)
    changes: dict[str, dict[str, Any]] = {}
    while True:
        engine = Podman(_command(program, adjustments), facts)
        try:
            unenforced = probe.run_one(engine)
        except EngineUnavailable as error:
            changed = _merged(changes, _remedy(str(error) + "\n".join(error.details)))
            if changed == changes:
                raise
            changes = changed
            if superseded := adjustments.get("CONTAINERS_CONF"):
                Path(superseded).unlink(missing_ok=True)
            made = {"CONTAINERS_CONF": str(_write_configuration(changes)), "settings": _described(changes)}
            adjustments = {**adjustments, **made}
            facts = _facts(_command(program, adjustments), adjustments)
        else:
            return msgspec.structs.replace(facts, unenforced=unenforced)


def _command(program: str, adjustments: Mapping[str, str]) -> EngineCommand:
    arguments: list[str] = []
    if storage := adjustments.get("storage"):
        run = Path(adjustments["run"])
        arguments = ["--root", storage, "--runroot", str(run / "run"), "--tmpdir", str(run / "tmp")]
        arguments += ["--storage-driver", "overlay"]
    env = {name: value for name, value in adjustments.items() if name.isupper()}
    return EngineCommand("podman", program, arguments=arguments, env=env)


def _facts(command: EngineCommand, adjustments: Mapping[str, str]) -> EngineFacts:
    info = msgspec.json.decode(command.call("info", "--format", "json", doing="first contact").stdout)
    host, store, version = info["host"], info["store"], info["version"]["Version"]
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST:
        raise EngineTooOld(f"podman {version} is too old", hint="podman 4.3 or newer is needed; or `--engine docker`")
    return EngineFacts(
        name="podman",
        version=version,
        api=info["version"]["APIVersion"],
        rootless=host["security"]["rootless"],
        storage_driver=store["graphDriverName"],
        storage_root=store["graphRoot"],
        cgroups=host["cgroupVersion"],
        runtime=host["ociRuntime"]["path"] or host["ociRuntime"]["name"],
        adjustments=dict(adjustments),
        remote=bool(host.get("serviceIsRemote")),
    )


def _remedy(complaint: str) -> dict[str, dict[str, Any]]:
    """The change of configuration that answers a runtime's complaint; empty when none is known."""
    if re.search(r"rlimit", complaint, re.IGNORECASE):
        return {"containers": {"default_ulimits": ulimits()}}
    if re.search(r"crun: .*cgroup|hybrid mode not supported", complaint) and shutil.which("runc"):
        return {"engine": {"runtime": "runc"}}
    return {}


def _write_configuration(changes: Mapping[str, Mapping[str, Any]]) -> Path:
    merged: dict[str, Any] = {}
    own = os.environ.get("CONTAINERS_CONF")
    for path in [Path(own)] if own else _CONFIGURATION:
        with suppress(OSError, tomllib.TOMLDecodeError):
            merged = _merged(merged, tomllib.loads(path.expanduser().read_text()))
    text = "# Made by tsandbox for its own use of podman; deleting it is safe.\n" + tomli_w.dumps(
        _merged(merged, changes)
    )
    # Named by its content: what another environment of this user needs stands beside it.
    path = probe.engine_dir() / f"containers-{hashlib.sha256(text.encode()).hexdigest()[:12]}.conf"
    probe.write(path, text.encode())
    return path


def _described(changes: Mapping[str, Mapping[str, Any]]) -> str:
    """For people: what was set, in one line."""
    words = [(name, value) for table in changes.values() for name, value in table.items()]
    return ", ".join(f"{name} = {' '.join(value) if isinstance(value, list) else value}" for name, value in words)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {**base, **{name: {**base.get(name, {}), **table} for name, table in changes.items()}}


def _slow_storage(facts: EngineFacts) -> bool:
    """Rootless podman of some distributions chooses vfs, which copies every file of every layer."""
    named = any(os.environ.get(name) for name in ("CONTAINERS_STORAGE_CONF", "STORAGE_DRIVER"))
    chosen = named or any(path.expanduser().exists() for path in _STORAGE_CONFIGURATION)
    return facts.rootless and facts.storage_driver == "vfs" and not chosen and not facts.remote


def _own_storage(program: str, adjustments: Mapping[str, str]) -> dict[str, str]:
    """A storage of our own with native overlay where the kernel has it: the user's vfs storage cannot be changed."""
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR")
    run = Path(runtime_dir) / "tsandbox" if runtime_dir else probe.engine_dir() / "run"
    storage = probe.engine_dir() / "storage"
    for path in (run, storage):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    changed = {**adjustments, "storage": str(storage), "run": str(run)}
    works = process.run(_command(program, changed).argv("info"), check=False, timeout=60).returncode == 0
    return changed if works else dict(adjustments)
