"""The index of Debian's files, fetched through apt: its sources, proxies and signature checks are those of the host."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from tsandbox import settings
from tsandbox.engine import process
from tsandbox.errors import DownloadFailed
from tsandbox.sandbox.contents import Index, build

# Raised with what the index holds: an old one cannot answer new questions.
_FORM = 2
_FRESH_FOR = 30 * 24 * 3600
_TIMEOUT = 600.0
_HELPER = "/usr/lib/apt/apt-helper"
# What apt-file would add to apt's configuration, without needing apt-file; and nothing of the host's state.
_CONFIGURATION = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets::deb::Contents-deb;
#clear Acquire::IndexTargets::deb::Contents-deb-legacy;
Acquire::IndexTargets::deb::Contents-deb {{
  MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)";
  ShortDescription "Contents-$(ARCHITECTURE)";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Contents (deb)";
  KeepCompressed "true";
}};
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::Languages "none";
Acquire::Retries "3";
Dir::State::Lists "{lists}";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
APT::Architecture "{arch}";
#clear APT::Architectures;
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "";
"""


class _Target(Struct, frozen=True, kw_only=True):
    """An index file that apt fetched."""

    created_by: str
    origin: str
    codename: str
    path: Path


def index(suite: str, arch: str, *, offline: bool = False, say: Callable[[str], None] = lambda _: None) -> Index | None:
    """The index of a suite; made where there is none or an old one, or None where it cannot be made now."""
    path = settings.cache_dir() / "contents" / f"{suite}-{arch}.{_FORM}.sqlite"
    if path.is_file() and (offline or time.time() - path.stat().st_mtime < _FRESH_FOR):
        return Index(path)
    if offline or settings.option("no_contents") is not None or not Path(_HELPER).exists():
        return None
    try:
        return _make(path, suite, arch, say)
    except (DownloadFailed, process.CommandFailed):
        # An old answer is better than none, and none must not hide the failure that asked for it.
        return Index(path) if path.is_file() else None


def _make(path: Path, suite: str, arch: str, say: Callable[[str], None]) -> Index:
    say(f"reading which package holds which file in Debian {suite} (once; about 50 MB)")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="apt-", dir=path.parent) as work:
        env = _configure(Path(work), arch)
        process.run(["apt-get", "--quiet=2", "update"], env=env, timeout=_TIMEOUT)
        targets = [each for each in _targets(env) if each.origin == "Debian" and each.codename.startswith(suite)]
        contents = [each.path for each in targets if each.created_by == "Contents-deb"]
        if not contents:
            raise DownloadFailed(f"the host's apt sources have no Contents of Debian {suite}")
        packages = [each.path for each in targets if each.created_by == "Packages"]
        return build(path, _lines(contents, env), _lines(packages, env), told=lambda _: None)


def _configure(work: Path, arch: str) -> dict[str, str | None]:
    lists = work / "lists"
    (lists / "partial").mkdir(parents=True)
    configuration = work / "apt.conf"
    configuration.write_text(_CONFIGURATION.format(lists=lists, arch=arch), encoding="utf-8")
    return {"APT_CONFIG": str(configuration), "LC_ALL": "C.UTF-8"}


def _targets(env: dict[str, str | None]) -> Iterator[_Target]:
    form = "$(CREATED_BY)\t$(ORIGIN)\t$(CODENAME)\t$(FILENAME)"
    for line in process.run(["apt-get", "indextargets", "--format", form], env=env, timeout=60).text.splitlines():
        created_by, origin, codename, path = line.split("\t")
        if Path(path).is_file():
            yield _Target(created_by=created_by, origin=origin, codename=codename, path=Path(path))


def _lines(paths: list[Path], env: dict[str, str | None]) -> Iterator[str]:
    """The lines of compressed index files; apt itself knows how each is compressed."""
    for path in paths:
        with process.start([_HELPER, "cat-file", path], env=env) as child:
            rest = b""
            for stream, chunk in process.output(child, timeout=_TIMEOUT):
                if stream == "stdout":
                    *lines, rest = (rest + chunk).split(b"\n")
                    yield from (line.decode("utf-8", "replace") for line in lines)
