"""Why a build failed, in words that help: the step, the end of its output, the line of the recipe, a way out."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from tsandbox.build.progress import Step
from tsandbox.derive import ContainerSpec
from tsandbox.errors import BuildFailed, EngineUnavailable, NoSpace, TsandboxError
from tsandbox.printable import one_line

_SHOWN = 20
# The engine repeats the whole step after its output.
_ENGINES_WORDS = re.compile(
    r"Error: building at STEP|ERROR: executor failed|executor failed running|------$| > \[|error: failed"
)

_HEADER = re.compile(r"\s*\[{1,2}[A-Za-z]")

# What the package managers say about a package that they do not know: apt, dnf, zypper, pacman, apk.
_UNKNOWN_PACKAGE = (
    re.compile(r"E: Unable to locate package (\S+)"),
    re.compile(r"E: Package '([^']+)' has no installation candidate"),
    re.compile(r"E: Couldn't find any package by (?:glob|regex) '([^']+)'"),
    re.compile(r"No match for argument: (\S+)"),
    re.compile(r"(?:No provider of |Package )'([^']+)' (?:found|not found)"),
    re.compile(r"error: target not found: (\S+)"),
    re.compile(r"^\s*(\S+) \(no such package\)", re.MULTILINE),
)


class Cause(Struct, frozen=True, kw_only=True):
    """A common reason: `pattern` is what the programs in the steps print."""

    pattern: str
    message: str
    hint: str
    temporary: bool = False
    error: type[BuildFailed] = BuildFailed


# The first that matches wins: what makes the others happen comes first.
_CAUSES = (
    Cause(
        pattern=r"No space left on device|You don't have enough free space|Disk quota exceeded",
        message="the disk is full",
        hint="free space with `tsandbox cache gc --older-than 7d`, then see `df -h`",
        error=NoSpace,
    ),
    Cause(
        pattern=r"Release file for .* is (expired|not valid yet)",
        message="the package index is expired or not yet valid",
        hint="check this machine's clock (`date`); if it is right, the mirror is out of date: choose another with "
        "TSANDBOX_APT_MIRROR",
    ),
    Cause(
        pattern=r"407 |Proxy Authentication Required|authentication required.*proxy",
        message="the proxy wants a password",
        hint="put it into the address: HTTP_PROXY=http://user:password@host:port",
    ),
    Cause(
        pattern=r"[Cc]ertificate verif(y|ication) failed|certificate is NOT trusted|self[- ]signed certificate|"
        r"SSL certificate problem|unable to get local issuer certificate",
        message="a server's certificate is not trusted",
        hint="behind a proxy that inspects TLS, name its certificates: TSANDBOX_CA_BUNDLE=/path/to/bundle.pem",
    ),
    Cause(
        pattern=r"Temporary failure resolving|Could not resolve( host)?|Name or service not known|"
        r"Temporary failure in name resolution|Could not connect to|Connection timed out|Connection failed|"
        r"Network is unreachable|Unable to connect to|Failed to connect to|bad address '",
        message="the network, or the server of the packages, cannot be reached",
        hint="check this machine's connection; behind a proxy set HTTP_PROXY and HTTPS_PROXY, for a mirror of your own "
        "TSANDBOX_APT_MIRROR; `tsandbox doctor` tests all three",
        temporary=True,
    ),
    Cause(
        pattern=r"Hash Sum mismatch[\s\S]*(keyrings|\.asc)|(keyrings|\.asc)[\s\S]*Hash Sum mismatch|"
        r"computed checksum did NOT match",
        message="a repository's key is not the one that the recipe names: its sha256 differs",
        hint="has the publisher changed its key? Compare with the publisher's page before you change key_sha256",
    ),
    Cause(
        pattern=r"BADSIG|signatures were invalid",
        message="a package index was changed after it was signed",
        hint="a mirror or proxy on the way damages or changes it: choose another mirror with TSANDBOX_APT_MIRROR",
    ),
    Cause(
        pattern=r"NO_PUBKEY|public key is not available|is not signed|signatures couldn't be verified|"
        r"GPG check FAILED|Signature verification failed|unknown trust|UNTRUSTED signature",
        message="a repository is not signed with the key that belongs to it",
        hint="key_url of a declared repository must name the key that signs its suite; if it is Debian's own, the "
        "mirror is not what it should be: choose another with TSANDBOX_APT_MIRROR",
    ),
    Cause(
        pattern=r"does not have a Release file|404 +Not Found.*Release|Unable to find expected entry",
        message="the repository does not have this suite or component",
        hint="check url, suite and components of the repository",
    ),
    Cause(
        pattern=r"Hash Sum mismatch|File has unexpected size|404 +Not Found|Failed to fetch",
        message="the mirror does not have what its index promises",
        hint="it is probably being updated; run the same command again in a few minutes, or choose another mirror",
        temporary=True,
    ),
    Cause(
        pattern=r"the shared package \S+ is damaged",
        message="a package fetched by an earlier build was damaged; it has been removed",
        hint="run the same command again",
        temporary=True,
    ),
    Cause(
        pattern=r"E: (Version|Release) '.*' for '.*' was not found",
        message="the archive does not have a package in the version that the recipe asks for",
        hint="Debian keeps the newest version of each package only: name the package without a version",
    ),
    Cause(
        pattern=r"Unable to correct problems|unmet dependencies",
        message="the declared packages do not fit together",
        hint="the lines above name the packages that conflict",
    ),
)


def cause_of(output: str) -> Cause | None:
    return next((cause for cause in _CAUSES if re.search(cause.pattern, output)), None)


def unknown_packages(output: str) -> list[str]:
    """The packages that the package manager does not know, as it spells them."""
    found = [match for pattern in _UNKNOWN_PACKAGE for match in pattern.findall(output)]
    return list(dict.fromkeys(name.rstrip(".,") for name in found))


def explain(
    failed: TsandboxError,
    step: Step | None,
    spec: ContainerSpec,
    log: Path,
    near_names: Callable[[Iterable[str]], dict[str, list[str]]],
) -> TsandboxError:
    """The error to tell instead of the engine's own. `near_names` is asked only for packages that do not exist."""
    if step is None:
        return _whole(failed, log)
    output = "\n".join(step.tail)
    cause = cause_of(output)
    if isinstance(failed, EngineUnavailable) and cause is None:
        failed.details = (*failed.details[:1], *_details(step, log))
        return failed
    unknown = unknown_packages(output)
    # A package is not unknown when the index could not be had.
    if unknown and cause is None:
        return _no_such_package(unknown, step, spec, log, near_names(unknown))
    made = cause.error if cause else BuildFailed
    at = f"step {step.number} of {step.of} failed"
    return made(
        f"{spec.source}: the image of {spec.tool} could not be built: {cause.message if cause else at}",
        hint=cause.hint if cause else f"the whole output is in {log}",
        file=spec.source,
        line=_line(_places(spec, spec.packages.get(spec.target.package_manager or "", ()))),
        details=_details(step, log),
        temporary=cause.temporary if cause else None,
    )


def _no_such_package(
    names: list[str], step: Step, spec: ContainerSpec, log: Path, near: dict[str, list[str]]
) -> BuildFailed:
    places = _places(spec, names)
    where = places[0] if places else spec.source
    listed = ", ".join(repr(name) for name in names)
    hints = [f"{name}: did you mean {' or '.join(near[name])}?" for name in names if near.get(name)]
    known = "Debian" if spec.target.linux_family == "debian" else f"the archive of {spec.target.linux_family}"
    return BuildFailed(
        f"{where}: no package is called {listed} in {known} and the declared repositories",
        hint=" ".join(hints) or "check the spelling, or declare the repository that has it",
        file=spec.source if not places else places[0].rpartition(":")[0] or spec.source,
        line=_line(places),
        details=_details(step, log),
    )


def _whole(failed: TsandboxError, log: Path) -> TsandboxError:
    """It failed before any step ran: what the engine says is all there is."""
    if isinstance(failed, BuildFailed):
        failed.details = (*failed.details, f"log: {log}")
        failed.hint = failed.hint or f"the whole output is in {log}"
    return failed


def _details(step: Step, log: Path) -> list[str]:
    own = [line for line in step.tail if not _ENGINES_WORDS.match(line)]
    tail = [one_line(line) for line in own[-_SHOWN:]]
    return [f"step {step.number}/{step.of}: {one_line(step.instruction)[:200]}", *tail, f"log: {log}"]


def _places(spec: ContainerSpec, names: Iterable[str]) -> list[str]:
    """Where the recipes ask for these packages."""
    manager = spec.target.package_manager
    found = [_exact(place, name) for name in names for place in spec.origins.get(f"{manager}:{name}", ())]
    return list(dict.fromkeys(found))


def _exact(place: str, name: str) -> str:
    """A place is that of the step; the line in it that names the package is the one to change."""
    file, _, number = place.rpartition(":")
    try:
        first, lines = int(number), Path(file).read_text(encoding="utf-8").splitlines()
    except (ValueError, OSError):
        return place
    for at, line in enumerate(lines[first - 1 :], first):
        if at > first and _HEADER.match(line):
            break
        if f'"{name}"' in line or f"'{name}'" in line:
            return f"{file}:{at}"
    return place


def _line(places: list[str]) -> int | None:
    number = places[0].rpartition(":")[2] if places else ""
    return int(number) if number.isdecimal() else None
