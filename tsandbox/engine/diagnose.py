"""What an engine's complaint means: which error it is and what the user does about it."""

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

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


class Complaint(Struct, frozen=True, kw_only=True):
    pattern: str
    error: type[TsandboxError]
    message: str
    hint: str


# Read from top to bottom, the first that matches wins. The patterns are what podman 4-5, docker 20-28 and their
# runtimes print; text that a build step prints is only searched for NO_SPACE and UNREACHABLE.
NO_SPACE = Complaint(
    pattern=r"no space left on device|disk quota exceeded",
    error=NoSpace,
    message="the disk is full",
    hint="free space with `tsandbox cache gc --older-than 7d`, then see `df -h`",
)
UNREACHABLE = Complaint(
    pattern=r"cannot connect to the docker daemon|is the docker daemon running|error during connect|"
    r"cannot connect to podman|unable to connect to podman|failed to connect: dial|dial unix .*: connect: |"
    r"connection refused|connection reset by peer|connection aborted|error reading from server: eof|"
    r"transport is closing|broken pipe",
    error=EngineNotRunning,
    message="the engine does not answer",
    hint="see `tsandbox doctor`",
)
_START = {
    "docker": "start it: `sudo systemctl start docker`, and check DOCKER_HOST and the docker context",
    "podman": "start its service: `systemctl --user start podman.socket`; without CONTAINER_HOST podman needs none",
}
# A builder looks in a registry for a base that it does not have; in words of its own, which no step prints.
BASE_GONE = Complaint(
    pattern=r"llb definition: failed to do request|llb definition: .*: not found|failed to resolve source metadata|"
    r"pull access denied for |creating build container: .*(initializing source|registry)",
    error=BuildFailed,
    message="an image that the Dockerfile stands on is not there, and no registry has it",
    hint="another process may have removed it; run the same command again, which makes or fetches it anew",
)
# A daemon that went away in the middle of a build, in words that no step prints.
HUNG_UP = msgspec.structs.replace(
    UNREACHABLE,
    pattern=r"server did not provide an image id|rpc error: code = unavailable|error reading from server: eof",
)
NO_PERMISSION = Complaint(
    pattern=r"permission denied while trying to connect|got permission denied|"
    r"(dial unix|connect).*permission denied",
    error=EnginePermission,
    message="this user may not talk to the engine",
    hint="use rootless podman (`--engine podman`), or join the docker group (`sudo usermod -aG docker $USER`, "
    "then log in again); membership in that group is as good as root",
)
TOO_OLD = Complaint(
    pattern=r"client version .* is too (new|old)|minimum supported api version|unknown flag: --|"
    r"the --mount option requires buildkit|buildkit is enabled but the buildx component is missing",
    error=EngineTooOld,
    message="this engine or its client is too old, or lacks BuildKit",
    hint="podman 4.3 or newer, or docker 20.10 or newer is needed; "
    "docker clients from version 23 on need the buildx plugin",
)
# Said by podman about a step or a container that was to have a network, never by the step itself.
NO_USER_NETWORK = Complaint(
    pattern=r"slirp4netns sync pipe|slirp4netns failed|setting up pasta|could not find pasta|"
    r"slirp4netns.*not found|could not find slirp4netns",
    error=EngineUnavailable,
    message="this host does not let a user's containers have a network",
    hint="sudo apt-get install slirp4netns && sudo chmod 666 /dev/net/tun; recipes that need no network run without",
)
COMPLAINTS = (
    NO_SPACE,
    NO_USER_NETWORK,
    NO_PERMISSION,
    UNREACHABLE,
    Complaint(
        pattern=r"no subuid ranges|no subgid ranges|newuidmap|newgidmap|insufficient uids or gids|"
        r"cannot set up namespace|user namespaces are not enabled",
        error=EnginePermission,
        message="this user has no sub-ids for rootless containers",
        hint="sudo apt-get install uidmap && "
        "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $USER && podman system migrate",
    ),
    TOO_OLD,
    Complaint(
        pattern=r"container-init binary|catatonit|docker-init|init binary",
        error=EngineUnavailable,
        message="the engine's init helper is missing",
        hint="sudo apt-get install catatonit (podman) or tini (docker)",
    ),
    Complaint(
        pattern=r"setrlimit|rlimit",
        error=EngineUnavailable,
        message="this host does not let the engine set its usual resource limits",
        hint="run `tsandbox doctor --fix`, which finds limits that this host allows",
    ),
    Complaint(
        pattern=r"cgroups? in hybrid mode not supported|cgroup.*(read-only|not supported)",
        error=EngineUnavailable,
        message="the engine's runtime cannot use this host's control groups",
        hint="sudo apt-get install runc, then `tsandbox doctor --fix`",
    ),
)
# What the client says before any step runs.
CLIENT_REFUSALS = (NO_PERMISSION, TOO_OLD)
_NOT_FOUND = re.compile(
    r"no such (image|object|container|manifest)|image not known|no such id|"
    r"no container with (name or )?id|no container with name|does not exist in (local storage|database)",
    re.IGNORECASE,
)


def not_found(text: str) -> bool:
    """The engine itself says that there is no such thing: the only way in which a look-up answers 'not there'."""
    return bool(_NOT_FOUND.search(text))


def in_flux(text: str) -> bool:
    """The storage is being changed by another process, and an image is half there."""
    return "consider removing the image to resolve the issue" in text


def explain(engine: str, failed: CommandFailed, *, answered: bool, doing: str, lookup: bool = False) -> TsandboxError:
    """The error that a failed engine command stands for; `answered`: it had worked before in this process."""
    if isinstance(failed, ProgramMissing):
        return not_installed(engine)
    if complaint := find(failed.output, COMPLAINTS):
        return as_error(engine, complaint, failed, answered=answered, doing=doing)
    if failed.returncode < 0:
        return EngineLost(f"{engine}: {doing}: {failed.message}", details=failed.details)
    kind = EngineLookupFailed if lookup else EngineUnavailable
    return kind(f"{engine}: {doing} failed", hint="run `tsandbox doctor`", details=failed.details)


def not_installed(engine: str) -> EngineNotInstalled:
    package = {"docker": "docker.io"}.get(engine, engine)
    return EngineNotInstalled(f"{engine} is not installed", hint=f"sudo apt-get install {package}")


def find(text: str, complaints: Iterable[Complaint]) -> Complaint | None:
    return next((c for c in complaints if re.search(c.pattern, text, re.IGNORECASE)), None)


def as_error(engine: str, complaint: Complaint, failed: CommandFailed, *, answered: bool, doing: str) -> TsandboxError:
    gone = complaint in {UNREACHABLE, HUNG_UP}
    hint = _START.get(engine, complaint.hint) if gone else complaint.hint
    if gone and answered:
        return EngineLost(
            f"{engine}: {doing}: the engine stopped answering",
            hint=f"it worked a moment ago; see its log, then run the same command again. If it is gone, {hint}",
            details=failed.details,
        )
    return complaint.error(f"{engine}: {doing}: {complaint.message}", hint=hint, details=failed.details)
