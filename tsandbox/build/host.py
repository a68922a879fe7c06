"""What a build needs of this host, for the time of its steps only: mirror, proxy, CA bundle and fetched packages.

None of it is part of an image or its key. Podman gets the files as mounts; docker's BuildKit as secrets and a cache,
which the `RUN` lines of the Dockerfile that it is given (not of the one that is shown and hashed) ask for.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from tsandbox import settings
from tsandbox.build import archive
from tsandbox.derive import ContainerSpec, bases
from tsandbox.engine.protocol import BuildRequest, Engine, Mount
from tsandbox.errors import UsageError

# Mount points that builder.sh makes.
_CONF = "/etc/apt/apt.conf.d/99host"
_CA = "/etc/apt/host-ca.crt"
_HOOK = "/etc/apt/host-packages.sh"
_SOURCES = "/etc/apt/sources.list.d/debian.sources"
_SHARED = "/var/cache/apt/shared"
# Where the other families look for certificates: files that their images have.
_FAMILY_CA = {
    "rhel": "/etc/pki/tls/certs/ca-bundle.crt",
    "arch": "/etc/ssl/certs/ca-certificates.crt",
    "alpine": "/etc/ssl/certs/ca-certificates.crt",
    "suse": "/var/lib/ca-certificates/ca-bundle.pem",
}
_PROXIES = ("http_proxy", "https_proxy", "no_proxy")
_TUN = "/dev/net/tun"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_HOOKS = f"""\
APT::Update::Post-Invoke-Success {{ "sh {_HOOK} offer"; }};
DPkg::Pre-Install-Pkgs {{ "sh {_HOOK} take"; }};
DPkg::Post-Invoke {{ "sh {_HOOK} clear"; }};
"""


class HostSettings(Struct, frozen=True, kw_only=True):
    """Files to be seen by the steps, by their place in the container; `packages` is shared by all builds."""

    files: dict[str, Path]
    proxies: dict[str, str]
    packages: Path | None
    # A proxy or mirror on this machine's loopback address is out of reach from a network of the container's own.
    loopback: bool


def packages_dir() -> Path:
    """Packages that builds with podman share; docker keeps its own, as a cache of BuildKit's."""
    return settings.cache_dir() / "packages"


def proxies() -> dict[str, str]:
    """The proxy variables of this host, in the lower case that every program reads."""
    found = {name: os.environ.get(name) or os.environ.get(name.upper()) for name in _PROXIES}
    return {name: value for name, value in found.items() if value}


def ca_bundle() -> Path | None:
    chosen = settings.option("ca_bundle")
    if chosen is None:
        return None
    path = Path(chosen).expanduser().absolute()
    if not path.is_file():
        raise UsageError(f"TSANDBOX_CA_BUNDLE: {path} is not a file", hint="name a file of PEM certificates")
    return path


def host_settings(spec: ContainerSpec, work: Path) -> HostSettings:
    """The settings for a build of `spec`, with the files that they need written to `work`."""
    if not spec.packages and not spec.repositories:
        return HostSettings(files={}, proxies={}, packages=None, loopback=False)
    debian = spec.target.linux_family == "debian"
    files = dict(_apt_files(spec, work) if debian else _other_files(spec))
    return HostSettings(
        files=files,
        proxies=proxies(),
        packages=_made(packages_dir()) if debian else None,
        loopback=on_loopback(mirror=debian),
    )


def on_loopback(*, mirror: bool = True) -> bool:
    """Whether a proxy, or the mirror, is on this very machine."""
    found = archive.mirror() if mirror else None
    addresses = [*proxies().values(), *([found.main, found.security] if found else [])]
    return any(urlsplit(address).hostname in _LOOPBACK for address in addresses)


def request_for(
    engine: Engine, host: HostSettings, *, dockerfile: str, work: Path, request: BuildRequest
) -> BuildRequest:
    """`request` with the host's settings in the way that this engine takes them; writes the Dockerfile to `work`."""
    import msgspec

    by_mount = engine.name == "podman"
    path = work / "Dockerfile"
    if not engine.facts().buildkit:
        host = _without_files(host)
    path.write_text(dockerfile if by_mount else dressed(dockerfile, host), encoding="utf-8")
    both_cases = {spelt: value for name, value in host.proxies.items() for spelt in (name, name.upper())}
    return msgspec.structs.replace(
        request,
        dockerfile=path,
        build_args=both_cases,
        volumes=tuple(_volumes(host)) if by_mount else (),
        secrets={} if by_mount else {_id(target): source for target, source in host.files.items()},
        network="host" if host.loopback or _no_network_of_its_own(engine) else request.network,
    )


def _without_files(host: HostSettings) -> HostSettings:
    """For docker's classic builder, which can show a step no file that does not become part of the image."""
    import msgspec

    for name in ("apt_mirror", "ca_bundle"):
        if settings.option(name):
            raise UsageError(
                f"TSANDBOX_{name.upper()} is set, and docker's classic builder cannot apply it",
                hint="install docker's buildx plugin (docker-buildx-plugin or docker-buildx), or use --engine podman",
            )
    return msgspec.structs.replace(host, files={}, packages=None)


def _no_network_of_its_own(engine: Engine) -> bool:
    """Rootless podman makes a container's network with a tun device, which not every host lets its users open."""
    facts = engine.facts()
    return facts.rootless and facts.name == "podman" and not facts.remote and not os.access(_TUN, os.R_OK | os.W_OK)


def dressed(dockerfile: str, host: HostSettings) -> str:
    """The Dockerfile for BuildKit: every step may use the host's files and packages."""
    words = [
        f"--mount=type=secret,id={_id(target)},target={target},mode=0444,required=true" for target in sorted(host.files)
    ]
    if host.packages:
        # One per cache directory, as with podman: BuildKit's --no-cache empties it for all who use it.
        owner = hashlib.sha256(str(host.packages).encode()).hexdigest()[:12]
        words.append(f"--mount=type=cache,id=tsandbox-packages-{owner},target={_SHARED}")
    if not words:
        return dockerfile
    return re.sub(r"^RUN (?=\S)", f"RUN {' '.join(words)} ", dockerfile, flags=re.MULTILINE)


def _volumes(host: HostSettings) -> Iterator[Mount]:
    for target, source in sorted(host.files.items()):
        yield Mount(source=source, target=target)
    if host.packages:
        yield Mount(source=host.packages, target=_SHARED, read_only=False)


def _apt_files(spec: ContainerSpec, work: Path) -> Iterator[tuple[str, Path]]:
    yield _HOOK, _written(work, (Path(__file__).parent / "shared_packages.sh").read_text(encoding="utf-8"))
    bundle = ca_bundle()
    yield _CONF, _written(work, apt_conf(proxies(), ca=bundle is not None))
    if bundle:
        yield _CA, bundle
    if mirror := archive.mirror():
        made_from = bases.definition("builder", spec.target.arch)
        yield _SOURCES, _written(work, archive.sources(made_from, mirror))


def _other_files(spec: ContainerSpec) -> Iterator[tuple[str, Path]]:
    if bundle := ca_bundle():
        yield _FAMILY_CA[spec.target.linux_family or ""], bundle


def apt_conf(proxies: dict[str, str], *, ca: bool) -> str:
    """apt's settings: it reads no `https_proxy` in upper case, and looks for certificates in its own places."""
    lines = [
        f'Acquire::{scheme}::Proxy "{_checked(proxy, scheme)}";'
        for scheme in ("http", "https")
        if (proxy := proxies.get(f"{scheme}_proxy"))
    ]
    lines += [
        f'Acquire::{scheme}::Proxy::{host} "DIRECT";'
        for host in re.findall(r"[\w.:-]+", proxies.get("no_proxy", ""))
        for scheme in ("http", "https")
        if not host.startswith(".")
    ]
    if ca:
        lines.append(f'Acquire::https::CaInfo "{_CA}";')
    return "".join(f"{line}\n" for line in lines) + _HOOKS


def _checked(proxy: str, scheme: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]+://[^\s\"'\\]+", proxy):
        raise UsageError(f"{scheme}_proxy is not a URL that apt can use", hint=f"{scheme}_proxy=http://host:port")
    return proxy.rstrip("/")


def _written(work: Path, text: str) -> Path:
    """A private file: it may hold credentials. The mount decides who reads it in the container."""
    descriptor, name = tempfile.mkstemp(dir=work)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    # apt's own unprivileged user reads it in the container; `work` itself is closed to others.
    Path(name).chmod(0o644)
    return Path(name)


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _id(target: str) -> str:
    return "tsandbox-" + re.sub(r"[^a-z0-9]+", "-", target.lower()).strip("-")
