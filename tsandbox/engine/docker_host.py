"""Which docker this host has, whether it runs a container, and what it needed for that."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from tsandbox.engine import diagnose, docker_endpoint, probe, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.docker import Docker
from tsandbox.engine.docker_endpoint import Endpoint
from tsandbox.engine.protocol import EngineFacts
from tsandbox.engine.ulimits import ulimits
from tsandbox.errors import EngineTooOld, EngineUnavailable

OLDEST = (20, 10)
GROUP_NOTE = "whoever may use this docker daemon can become root on its host; rootless podman avoids that"
CLASSIC_NOTE = "only docker's classic builder is there: packages are fetched again for every image"
_BUILDKIT_WITHOUT_PLUGIN = 22
_VARIABLES = ("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


def connect(*, fresh: bool = False) -> Docker:
    """The docker that this user's environment names, probed once per version of it, or again if `fresh`."""
    clients = _clients()
    if not clients:
        raise diagnose.not_installed("docker")
    endpoint, version = _answering(docker_endpoint.candidates())
    host = _host(clients, endpoint, version)
    facts = probe.remembered("docker", host, lambda: _probe(clients, endpoint), fresh=fresh)
    command = EngineCommand("docker", facts.adjustments["client"], env=endpoint.env)
    return Docker(command, facts, socket=endpoint.socket_path)


def _answering(endpoints: list[Endpoint]) -> tuple[Endpoint, str]:
    """The first daemon that answers; if none does, the error of the one that stands for the system."""
    for endpoint in endpoints[:-1]:
        with suppress(EngineUnavailable):
            return endpoint, docker_endpoint.identity(endpoint)
    return endpoints[-1], docker_endpoint.identity(endpoints[-1])


def _clients() -> list[str]:
    """Every docker in PATH: the first may be one that cannot build."""
    found = (shutil.which("docker", path=directory) for directory in os.get_exec_path())
    return list(dict.fromkeys(path for path in found if path))


def _host(clients: list[str], endpoint: Endpoint, version: str) -> list[object]:
    config = probe.program_facts(str(docker_endpoint.config_file()))
    variables = {name: os.environ.get(name) for name in _VARIABLES}
    programs = [probe.program_facts(path) for path in clients]
    return [programs, config, variables, endpoint, version, os.uname().release, os.geteuid()]


def _probe(clients: list[str], endpoint: Endpoint) -> EngineFacts:
    client = next((path for path in clients if _drives_buildkit(path)), None)
    adjustments = {"client": client or clients[0]}
    command = EngineCommand("docker", adjustments["client"], env=endpoint.env)
    facts = _facts(command, endpoint, adjustments, buildkit=client is not None)
    while True:
        try:
            unenforced = probe.run_one(Docker(command, facts, socket=endpoint.socket_path))
        except EngineUnavailable as error:
            complaint = f"{error} {error.details}"
            if "rlimit" not in complaint.lower() or "ulimits" in adjustments:
                raise
            adjustments = {**adjustments, "ulimits": " ".join(ulimits())}
            facts = msgspec.structs.replace(facts, adjustments=adjustments)
        else:
            return msgspec.structs.replace(facts, unenforced=unenforced)


def _drives_buildkit(client: str) -> bool:
    """Clients up to version 22 have BuildKit built in, later ones need the buildx plugin."""
    version = process.run([client, "--version"], check=False, timeout=30).text
    major = int((re.findall(r"\d+", version) or ["0"])[0])
    if major <= _BUILDKIT_WITHOUT_PLUGIN:
        return major > 0
    return process.run([client, "buildx", "version"], check=False, timeout=30).returncode == 0


def _facts(
    command: EngineCommand, endpoint: Endpoint, adjustments: Mapping[str, str], *, buildkit: bool
) -> EngineFacts:
    version = msgspec.json.decode(command.call("version", "--format", "{{json .Server}}", doing="first contact").stdout)
    info = msgspec.json.decode(command.call("info", "--format", "{{json .}}", doing="first contact").stdout)
    if tuple(map(int, re.findall(r"\d+", version["Version"])[:2])) < OLDEST:
        raise EngineTooOld(
            f"docker {version['Version']} is too old", hint="docker 20.10 or newer is needed; or `--engine podman`"
        )
    if info.get("ServerErrors"):
        raise EngineUnavailable("docker: " + "; ".join(info["ServerErrors"]), hint="run `docker info`")
    rootless = any("rootless" in option for option in info["SecurityOptions"] or ())
    notes = {GROUP_NOTE: not rootless, CLASSIC_NOTE: not buildkit}
    return EngineFacts(
        name="docker",
        version=version["Version"],
        api=version["ApiVersion"],
        rootless=rootless,
        storage_driver=info["Driver"],
        storage_root=info["DockerRootDir"],
        cgroups=f"v{info['CgroupVersion']}",
        runtime=info["DefaultRuntime"],
        adjustments=dict(adjustments),
        buildkit=buildkit,
        # On this very machine its process ids and control groups are ours to read.
        remote=endpoint.socket_path is None or info["Name"] != os.uname().nodename,
        notes=tuple(note for note, holds in notes.items() if holds),
    )
