"""What tsandbox asks of a container engine, in the words that both adapters share."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

Sink = Callable[[str], None]
Stream = Literal["stdout", "stderr"]
# Seconds: moving whole images may take long on a slow disk or line, but never for ever.
TRANSFER = 1800.0


class EngineFacts(Struct, frozen=True, kw_only=True):
    """What a probe found out about an engine on this host."""

    name: Literal["podman", "docker"]
    version: str
    api: str
    rootless: bool
    storage_driver: str
    # Where the engine keeps images, on its own host.
    storage_root: str
    cgroups: str
    runtime: str
    # Settings this host needed before a container would run (such as a generated containers.conf), by name.
    adjustments: dict[str, str] = {}
    # Limits that this host accepts but does not enforce: "memory", "cpus", "pids".
    unenforced: tuple[str, ...] = ()
    # Steps of a build may use `RUN --mount` and secrets; docker's classic builder cannot.
    buildkit: bool = True
    # The engine runs elsewhere: paths and process ids that it names are not ours.
    remote: bool = False
    # Things a user should know about this engine, for people.
    notes: tuple[str, ...] = ()


class Image(Struct, frozen=True, kw_only=True):
    id: str
    tags: tuple[str, ...]
    labels: dict[str, str]
    size: int
    created: float
    digest: str | None = None


class BuildRequest(Struct, frozen=True, kw_only=True):
    context: Path
    dockerfile: Path
    tag: str
    labels: Mapping[str, str]
    platform: str
    # Settings of this host (mirror, proxy, CA bundle): used by the steps, never part of the image or its key.
    build_args: Mapping[str, str] = {}
    secrets: Mapping[str, Path] = {}
    volumes: Sequence["Mount"] = ()
    no_cache: bool = False
    network: Literal["default", "none", "host"] = "default"
    timeout: float | None = None


class Mount(Struct, frozen=True, kw_only=True):
    source: Path
    target: str
    read_only: bool = True


class ContainerRequest(Struct, frozen=True, kw_only=True):
    """A container as the sandbox wants it; an adapter that cannot do a part of it raises."""

    image: str
    argv: Sequence[str]
    name: str
    labels: Mapping[str, str]
    env: Mapping[str, str] = {}
    mounts: Sequence[Mount] = ()
    tmpfs: Mapping[str, str] = {}
    workdir: str = "/"
    user: str | None = None
    network: Literal["none", "egress"] = "none"
    memory: int | None = None
    cpus: float | None = None
    pids: int | None = None
    read_only_root: bool = False
    init: bool = True
    stdin: bool = False
    tty: bool = False


class EnforcedLimits(Struct, frozen=True, kw_only=True):
    """Limits read back from a live container's cgroup: None means that the kernel enforces none."""

    memory: int | None
    cpus: float | None
    pids: int | None


class ContainerState(Struct, frozen=True, kw_only=True):
    id: str
    running: bool
    exit_code: int | None
    oom_killed: bool
    labels: dict[str, str]
    created: float


class ContainerEnd(Struct, frozen=True, kw_only=True):
    """How a container ended that was run from beginning to end."""

    exit_code: int | None
    oom_killed: bool = False


class Engine(Protocol):
    """Methods raise `EngineUnavailable` or `BuildFailed`; a look-up that fails never answers 'not there'."""

    @property
    def name(self) -> str: ...
    def facts(self) -> EngineFacts: ...

    def build(self, request: BuildRequest, *, on_line: Sink) -> Image: ...
    def image(self, reference: str) -> Image | None: ...
    def images(self, label: str) -> list[Image]: ...
    def tag(self, image_id: str, reference: str) -> None: ...
    def remove_image(self, reference: str) -> None: ...
    def import_rootfs(self, tar: Path, reference: str, *, labels: Mapping[str, str], platform: str) -> Image: ...
    def save(self, reference: str, archive: Path) -> None: ...
    def load(self, archive: Path) -> Image: ...
    def push(self, reference: str, remote: str, *, timeout: float = TRANSFER) -> str: ...
    def pull(self, remote: str, *, timeout: float = TRANSFER) -> Image | None: ...

    def prepare(self) -> None:
        """A container will be run soon: load what that takes beside other work. Never needed, and never fails."""

    def run(self, request: ContainerRequest) -> Generator[tuple[Stream, bytes], None, ContainerEnd]:
        """Create, start, yield the output as it comes, and remove: the quickest way through a container's life.

        It is known by the request's name meanwhile. Whoever leaves before the end removes it by that name.
        """

    def create(self, request: ContainerRequest) -> str: ...
    def start(self, container: str) -> None: ...
    def attach(self, container: str, *, timeout: float | None) -> Iterator[tuple[Stream, bytes]]:
        """Start a created container and yield its output as it comes, until it ends.

        `TimedOut` leaves the container running: the caller kills and removes it, as in every other case.
        Following `logs` of a started container works too, but podman notices the end up to half a second late.
        """

    def wait(self, container: str, *, timeout: float | None) -> int: ...
    def logs(self, container: str) -> Iterator[tuple[Stream, bytes]]: ...
    def enforced_limits(self, container: str) -> EnforcedLimits: ...
    def state(self, container: str) -> ContainerState | None: ...
    def containers(self, label: str) -> list[ContainerState]: ...
    def copy_in(self, container: str, source: Path, target: str) -> None: ...
    def copy_out(self, container: str, source: str, target: Path) -> None: ...
    def kill(self, container: str) -> None: ...
    def remove(self, container: str) -> None: ...
    def interactive(self, request: ContainerRequest) -> int: ...
