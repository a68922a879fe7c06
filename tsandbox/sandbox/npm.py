"""Node packages through npm: a lock file that fixes every package, and a cache that holds what it names."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tsandbox.engine import process
from tsandbox.errors import DownloadFailed
from tsandbox.plan import Platform
from tsandbox.printable import one_line
from tsandbox.sandbox import npm_lock
from tsandbox.sandbox.pip import chosen_version, facts

LOCK = "package_lock"
_TIMEOUT = 600.0
# Scripts of packages run in the sandbox, never on the host.
_OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")


def latest_version(package: str) -> str:
    # Not in the directory that we are called in: npm obeys a `.npmrc` there, which can send our tokens anywhere.
    with tempfile.TemporaryDirectory() as empty:
        (Path(empty) / "package.json").write_text("{}", encoding="utf-8")
        said = process.run(["npm", "view", "--json", package, "version"], cwd=Path(empty), timeout=_TIMEOUT).text
    try:
        version = json.loads(said)
    except ValueError:
        version = None
    if not isinstance(version, str):
        raise DownloadFailed(
            f"npm does not say which version of {package} is the latest", hint="pin one: [version] pin"
        )
    return version


def wanted(params: Mapping[str, Any], version: str | None) -> str | None:
    package = params.get("package")
    if not isinstance(package, str):
        return None
    chosen = chosen_version(params, version)
    return f"{package}@{chosen}" if chosen else package


def resolve(wanted: str, platform: Platform, into: Path) -> str:
    """Fetch a package with all that it depends on; the lock file names every one by its digest."""
    name, _, version = wanted.rpartition("@") if "@" in wanted[1:] else (wanted, "", "*")
    manifest = {"name": "sandbox", "version": "0.0.0", "dependencies": {name: version}}
    work = into / "work"
    work.mkdir()
    (work / "package.json").write_text(json.dumps(manifest), encoding="utf-8")
    _npm("install", "--package-lock-only", *_target(platform), cache=into / "cache", cwd=work)
    lock = (work / "package-lock.json").read_text(encoding="utf-8")
    try:
        # What a package depends on is its author's word: it can name what npm would clone and build here.
        npm_lock.checked(lock)
    except ValueError as error:
        raise DownloadFailed(f"{wanted} cannot be fetched beforehand: {one_line(str(error))}") from None
    _fill(work, platform, into)
    return lock


def fetch(lock: str, platform: Platform, into: Path) -> None:
    checked = npm_lock.checked(lock)
    work = into / "work"
    work.mkdir()
    (work / "package.json").write_text(json.dumps(npm_lock.root(checked)), encoding="utf-8")
    (work / "package-lock.json").write_text(json.dumps(checked), encoding="utf-8")
    _fill(work, platform, into)


def _fill(work: Path, platform: Platform, into: Path) -> None:
    """Install beside the cache, so that the cache holds all that the lock names; then only the cache stays."""
    _npm("ci", *_target(platform), cache=into / "cache", cwd=work)
    shutil.rmtree(work)
    shutil.rmtree(into / "cache" / "_logs", ignore_errors=True)


def _npm(*words: str, cache: Path, cwd: Path) -> None:
    process.run(["npm", *words, *_OPTIONS, f"--cache={cache}"], cwd=cwd, timeout=_TIMEOUT)


def _target(platform: Platform) -> tuple[str, ...]:
    return ("--os=linux", f"--cpu={facts()['npm_cpu'].get(platform.arch, platform.arch)}")
