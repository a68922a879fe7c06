"""Docker: images and builds through its command line (only that drives BuildKit), containers through its SDK."""

import threading
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from tsandbox.engine import building, docker_endpoint, process
from tsandbox.engine.command import EngineCommand
from tsandbox.engine.containers import ContainerOperations
from tsandbox.engine.docker_api import DockerApi, container_config
from tsandbox.engine.images import ImageCommands, parse_image
from tsandbox.engine.protocol import TRANSFER, BuildRequest, ContainerRequest, EngineFacts, Image, Sink
from tsandbox.errors import BuildFailed, EngineLookupFailed, EngineTooOld, NotSupported

_OK, _NOT_FOUND = 200, 404
BUILDX = "sudo apt-get install docker-buildx-plugin (or docker-buildx), or use `--engine podman`"


class Docker(ImageCommands, ContainerOperations):
    def __init__(self, command: EngineCommand, facts: EngineFacts, *, socket: str | None = None) -> None:
        self.command = command
        self._socket = socket
        self._facts = facts
        self._api = DockerApi(command)

    @property
    def name(self) -> str:
        return self.command.name

    def facts(self) -> EngineFacts:
        return self._facts

    def image(self, reference: str) -> Image | None:
        """Asked of the daemon itself where it has a socket here: a cache hit is this one question."""
        doing = f"look-up of image {reference}"
        if self._socket is None:
            return super().image(reference)
        question = f"/images/{quote(reference, safe='/:@')}/json"
        answer = docker_endpoint.ask(self._socket, question, doing=doing, answered=self.command.answered)
        self.command.answered = True
        if answer.status == _NOT_FOUND:
            return None
        with suppress(msgspec.DecodeError):
            if answer.status == _OK:
                return parse_image(msgspec.json.decode(answer.body))
        said = answer.body.decode(errors="replace").strip()
        raise EngineLookupFailed(f"docker: {doing} failed", hint="run `tsandbox doctor`", details=[said])

    def build(self, request: BuildRequest, *, on_line: Sink) -> Image:
        if request.volumes:
            raise BuildFailed("docker cannot mount directories into a build", hint="use cache mounts or podman")
        if request.secrets and not self._facts.buildkit:
            raise EngineTooOld("this docker has only the classic builder, which knows no secrets", hint=BUILDX)
        # The classic builder, unlike BuildKit, keeps the container of a step that failed.
        options = ("--progress=plain",) if self._facts.buildkit else ("--force-rm",)
        env = {"DOCKER_BUILDKIT": "1" if self._facts.buildkit else "0"}
        # Killing the client cancels the build in the daemon: there is nothing else to clean up.
        with building.work_dir(self.name) as work:
            built = building.build(self.command, request, work, options=options, env=env, on_line=on_line)
        return self.found(built)

    def save(self, reference: str, archive: Path) -> None:
        """Docker writes a format of its own before version 25; skopeo turns it into an OCI archive."""
        with building.work_dir(self.name) as work:
            own = work / "image.tar"
            self.command.call("save", "--output", str(own), reference, doing=f"save of {reference}", timeout=None)
            _skopeo(f"docker-archive:{own}", f"oci-archive:{archive}:{reference}")

    def load(self, archive: Path) -> Image:
        with building.work_dir(self.name) as work:
            own = work / "image.tar"
            # The name is not part of what skopeo copies: the target has to be given it.
            name = oci_name(archive)
            _skopeo(f"oci-archive:{archive}", f"docker-archive:{own}" + (f":{name}" if name else ""))
            done = self.command.call("load", "--input", str(own), doing=f"load of {archive}", timeout=None)
        return self.found(done.text.strip().partition(": ")[2])

    def push(self, reference: str, remote: str, *, timeout: float = TRANSFER) -> str:
        self.tag(reference, remote)
        try:
            pushed = self.command.call("push", remote, doing=f"push to {remote}", timeout=timeout)
        finally:
            self.remove_image(remote)
        return "sha256:" + pushed.text.rpartition("digest: sha256:")[2].split()[0]

    def prepare(self) -> None:
        # The SDK takes 100 ms to import: as long as the look-ups before the first container wait for their answers.
        threading.Thread(target=import_module, args=("docker",), name="docker SDK", daemon=True).start()

    def create(self, request: ContainerRequest) -> str:
        config = container_config(request, ulimits=self._facts.adjustments.get("ulimits"))
        created = self._api.ask(
            lambda api: api.create_container_from_config(config, request.name),
            doing=f"creation of a container from {request.image}",
        )
        return str(created["Id"])

    def start(self, container: str) -> None:
        self._api.ask(lambda api: api.start(container), doing="start of a container")

    def wait(self, container: str, *, timeout: float | None) -> int:
        return self._api.wait(container, timeout)

    def inspect_container(self, container: str) -> Mapping[str, Any] | None:
        found: Mapping[str, Any] | None = self._api.look_up(
            lambda api: api.inspect_container(container), doing="look-up of a container"
        )
        return found

    def container_ids(self, label: str) -> list[str]:
        listed = self._api.ask(
            lambda api: api.containers(all=True, filters={"label": label}), doing="list of containers"
        )
        return [entry["Id"] for entry in listed]

    def send_kill(self, container: str) -> None:
        self._api.ask(lambda api: api.kill(container), doing="kill of a container")

    def remove(self, container: str) -> None:
        """Remove it, running or not; one that is not there is no error."""
        self._api.look_up(
            lambda api: api.remove_container(container, force=True, v=True), doing="removal of a container"
        )


def oci_name(archive: Path) -> str | None:
    """The reference under which an OCI archive holds its image."""
    import tarfile

    try:
        with tarfile.open(archive) as tar, suppress(KeyError):
            index = tar.extractfile("index.json")
            manifest = msgspec.json.decode(index.read() if index else b"null")["manifests"][0]
            name: str = manifest["annotations"]["org.opencontainers.image.ref.name"]
            return name
    except (tarfile.TarError, msgspec.DecodeError, TypeError, LookupError) as error:
        raise BuildFailed(f"{archive}: not an OCI archive: {error}", hint="was it written by `tsandbox`?") from error
    return None


def _skopeo(source: str, target: str) -> None:
    try:
        process.run(["skopeo", "copy", "--quiet", source, target])
    except process.ProgramMissing as error:
        raise NotSupported(
            "this docker reads and writes only its own archive format, and skopeo is not there to convert it",
            hint="sudo apt-get install skopeo, or use `--engine podman`",
        ) from error
    except process.CommandFailed as failed:
        raise BuildFailed("skopeo could not convert the image archive", details=failed.details) from failed
