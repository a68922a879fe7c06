"""Where Debian's packages come from: a mirror of the user's, or that of the Debian system we run on."""

import re
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tsandbox import settings
from tsandbox.derive.bases import Definition, suites
from tsandbox.errors import UsageError

_APT = Path("/etc/apt")
_OS_RELEASE = Path("/etc/os-release")
_URL = re.compile(r"https?://[^\s\"'\\]+")
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Mirror(Struct, frozen=True, kw_only=True):
    """Two URLs, which may hold credentials: they are used, and never shown or stored."""

    main: str
    security: str


def mirror(apt: Path = _APT, os_release: Path = _OS_RELEASE) -> Mirror | None:
    """`TSANDBOX_APT_MIRROR`, else the host's own sources where it is Debian; None leaves it to the base, which has
    Debian's default."""
    if chosen := settings.option("apt_mirror"):
        main = _checked(chosen, "TSANDBOX_APT_MIRROR")
        security = settings.option("apt_security_mirror") or f"{main}-security"
        return Mirror(main=main, security=_checked(security, "TSANDBOX_APT_SECURITY_MIRROR"))
    if not is_debian(os_release):
        return None
    found = dict(reversed([(_pocket(suite), url.rstrip("/")) for url, suite in _host_sources(apt) if _pocket(suite)]))
    if "main" not in found:
        return None
    return Mirror(main=found["main"], security=found.get("security", f"{found['main']}-security"))


def is_debian(os_release: Path = _OS_RELEASE) -> bool:
    try:
        return re.search(r"^ID=\"?debian\"?$", os_release.read_text(encoding="utf-8"), re.MULTILINE) is not None
    except OSError:
        return False


def sources(made_from: Definition, mirror: Mirror) -> str:
    """The Debian sources of a suite on a mirror, to be mounted over those of the builder while it works."""
    places = ((mirror.main, " ".join(made_from.pockets)), (mirror.security, made_from.security))
    return "\n".join(
        f"Types: deb\nURIs: {url}\nSuites: {pockets}\nComponents: main\nSigned-By: {_KEYRING}\n"
        for url, pockets in places
    )


def _checked(url: str, name: str) -> str:
    if not _URL.fullmatch(url):
        raise UsageError(f"{name} is not a URL that apt can use", hint=f"{name}=https://mirror.example.com/debian")
    return url.rstrip("/")


def _pocket(suite: str) -> str:
    """Which of the two archives a suite of the host's sources belongs to, if any."""
    name, _, rest = suite.partition("-")
    if name not in {*suites(), "stable", "oldstable", "testing", "sid", "unstable"}:
        return ""
    return {"": "main", "security": "security"}.get(rest, "")


def _host_sources(apt: Path) -> Iterator[tuple[str, str]]:
    """URL and suite of every enabled binary source of the host that has a plain web address."""
    for path in [apt / "sources.list", *sorted(apt.glob("sources.list.d/*"))]:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if path.suffix == ".sources":
            yield from _deb822(text)
        elif path.suffix == ".list":
            yield from _one_line(text)


def _one_line(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        if match := re.match(r"\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)", line):
            url, suite = match.groups()
            if _URL.fullmatch(url):
                yield url, suite


def _deb822(text: str) -> Iterator[tuple[str, str]]:
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line for line in paragraph.splitlines() if not line.startswith("#")]
        fields = dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", "\n".join(lines), re.MULTILINE))
        named = {name.lower(): value.split() for name, value in fields.items()}
        if named.get("enabled") == ["no"] or "deb" not in named.get("types", ()):
            continue
        yield from ((url, suite) for url in named.get("uris", ()) if _URL.fullmatch(url) for suite in named["suites"])
