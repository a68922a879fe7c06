"""A lock for npm that a plan brings along, checked before npm sees it.

A lock can name directories of this host, repositories that npm would clone (and whose scripts it runs although it is
told not to) and places outside `node_modules`. Only packages from a registry's address, with a digest, in directories
of their own are passed on.
"""

import json
import re
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tsandbox.recipe import grammar

_NAME = r"(?:@[A-Za-z0-9~_-][A-Za-z0-9._~-]*/)?[A-Za-z0-9~_-][A-Za-z0-9._~-]*"
_PLACE = re.compile(rf"node_modules/{_NAME}(?:/node_modules/{_NAME})*")
# A range of versions, or another package's under this name.
_RANGE = re.compile(rf"(?:npm:{_NAME}@)?(?:[0-9A-Za-z*^~<>=|(][0-9A-Za-z.*+^~<>=|() -]*)?")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]*")
# npm takes a plain address at one of these for a repository to clone. GitLab's registry has /-/ in its addresses.
_REPOSITORIES = frozenset({"bitbucket.org", "gist.github.com", "git.sr.ht", "github.com", "gitlab.com"})


class _Package(Struct, frozen=True, kw_only=True, rename="camel"):
    """The fields that lead somewhere."""

    # Where it is not that of its directory: npm asks for NAME@VERSION, and reads an address there as one.
    name: str | None = None
    version: str = ""
    resolved: str | None = None
    integrity: str | None = None
    link: bool = False
    in_bundle: bool = False
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = {}
    optional_dependencies: dict[str, str] = {}
    peer_dependencies: dict[str, str] = {}


class _Lock(Struct, frozen=True, kw_only=True):
    packages: dict[str, _Package]


def checked(lock: str) -> dict[str, Any]:
    """The lock as npm may have it; a ValueError names what it must not be given."""
    try:
        packages = msgspec.json.decode(lock, type=_Lock).packages
        written = json.loads(lock)["packages"]
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"is not a lock file that npm 7 or later has written: {error}") from None
    if "" not in packages:
        raise ValueError("says nothing of the package that it was made for")
    for place, package in packages.items():
        if fault := _ranges_fault(package) or (_fault(place, package) if place else None):
            raise ValueError(f"packages: {place!r} {fault}")
    # The list that npm 6 left in such files says the same again and was not checked: npm shall not see it either.
    return {"name": "sandbox", "lockfileVersion": 3, "requires": True, "packages": written}


def root(lock: dict[str, Any]) -> dict[str, Any]:
    """The package.json that the lock was made from, of which no more is needed."""
    written = lock["packages"][""]
    wanted = ("name", "version", "dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
    return {key: written[key] for key in wanted if key in written}


def _fault(place: str, package: _Package) -> str | None:
    if not _PLACE.fullmatch(place):
        return "is not a place below node_modules"
    if package.link:
        return "is a link to a directory"
    if package.in_bundle:
        return None
    if package.name is not None and not re.fullmatch(_NAME, package.name):
        return "has a name that is none"
    # npm can be told to leave the address out: it then asks its registry for the version.
    if not (_in_registry(package.resolved) if package.resolved else _VERSION.fullmatch(package.version)):
        return "comes from something else than a registry"
    return None if re.match(r"sha(?:1|256|384|512)-", package.integrity or "") else "has no digest (integrity)"


def _in_registry(url: str) -> bool:
    if not url.startswith(("https://", "http://")) or grammar.download_url(url):
        return False
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.").rstrip(".")
    return host not in _REPOSITORIES or (host == "gitlab.com" and "/-/" in parts.path)


def _ranges_fault(package: _Package) -> str | None:
    wanted = (
        *package.dependencies.items(),
        *package.dev_dependencies.items(),
        *package.optional_dependencies.items(),
        *package.peer_dependencies.items(),
    )
    for name, versions in wanted:
        if not re.fullmatch(_NAME, name) or not _RANGE.fullmatch(versions):
            return f"asks for {name!r} by something else than its version: {versions!r}"
    return None
