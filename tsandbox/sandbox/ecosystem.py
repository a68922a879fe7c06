"""Packages of language ecosystems: chosen, locked and fetched on the host by their own clients, installed offline.

A step that is locked carries exact versions and digests in its parameters (`locked_requirements`, `package_lock`).
What a lock names is fetched into a directory of the cache that is named by the lock, and linked into the inputs.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from tsandbox import settings
from tsandbox.engine import process
from tsandbox.errors import DownloadFailed, InvalidInput, NotSupported, Problem
from tsandbox.plan import Plan, PlanStep, Platform
from tsandbox.printable import one_line
from tsandbox.runner.executable import ECOSYSTEMS
from tsandbox.sandbox import npm, pip

TIMEOUT = 600.0
# What an unlocked requirement led to is asked again after a day: new versions of what it depends on come out.
_FRESH_FOR = 24 * 3600
_EGRESS = 'or let the recipe fetch during the installation: [sandbox] network = "egress"'

Say = Callable[[str], None]
Params = Mapping[str, Any]


class Client(Protocol):
    """What is asked of an ecosystem's client; `pip` and `npm` are the modules that do it."""

    LOCK: str

    def latest_version(self, package: str) -> str: ...
    def wanted(self, params: Params, version: str | None) -> str | None: ...
    def resolve(self, wanted: str, platform: Platform, into: Path) -> str: ...
    def fetch(self, lock: str, platform: Platform, into: Path) -> None:
        """What the lock names; a ValueError says what is wrong with a lock that may not be given to the client."""


CLIENTS: dict[str, Client] = {"pip": pip, "npm": npm}


def online(plan: Plan) -> bool:
    return any(part.sandbox.network == "egress" for part in plan.with_dependencies())


def check(plan: Plan) -> None:
    """An ecosystem whose packages cannot be fetched beforehand needs the network, and the recipe must say so."""
    for step in _steps(plan):
        if ECOSYSTEMS[step.action] not in CLIENTS and not online(plan):
            raise NotSupported(
                f"{step.place}: {step.action}: its packages cannot be fetched beforehand, and the sandbox is offline",
                hint='let the recipe say so: [sandbox] network = "egress"; the result will record it',
                file=step.file,
                line=step.line,
            )


def latest_version(step: PlanStep, *, offline: bool) -> str:
    """The newest version of the package that a step installs."""
    name = ECOSYSTEMS[step.action]
    package = str(step.params.get("package") or "")
    if name not in CLIENTS or not package:
        raise DownloadFailed(f"{step.action}: the version is not known", hint='write [version] pin = "…"')
    if offline:
        raise DownloadFailed(
            f"--offline: which version of {package} is the latest is not known", hint='write [version] pin = "…"'
        )
    with _explained(name, f"the latest version of {package}"):
        return CLIENTS[name].latest_version(package)


def lock(step: PlanStep, version: str | None, platform: Platform, *, offline: bool, say: Say) -> dict[str, Any]:
    """The step's parameters with a lock in them: all packages that it needs, by version and digest."""
    name = ECOSYSTEMS[step.action]
    client = CLIENTS.get(name)
    wanted = client.wanted(step.params, version) if client else None
    if client is None or wanted is None or client.LOCK in step.params:
        return dict(step.params)
    remembered = _home(name) / "locks" / _key(wanted, platform)
    if not (remembered.is_file() and (offline or time.time() - remembered.stat().st_mtime < _FRESH_FOR)):
        if offline:
            raise _not_cached(step, wanted)
        say(f"{step.place}: {name} fetches {wanted}")
        _resolve(client, name, wanted, platform, remembered)
    return {**step.params, client.LOCK: remembered.read_text(encoding="utf-8")}


def supplies(plan: Plan, platform: Platform, *, offline: bool, say: Say) -> dict[str, list[Path]]:
    """For each ecosystem the directories that hold what the plan's locks name, fetched where they are not there."""
    found: dict[str, list[Path]] = {}
    for step in [] if online(plan) else _steps(plan):
        name = ECOSYSTEMS[step.action]
        client = CLIENTS.get(name)
        locked = step.params.get(client.LOCK) if client else None
        if client is None or not isinstance(locked, str):
            continue
        directory = _directory(name, locked, platform)
        if not directory.is_dir():
            if offline:
                raise _not_cached(step, str(step.params.get("package") or "what its lock names"))
            say(f"{step.place}: {name} fetches what the plan has locked")
            try:
                _fetch(client, name, locked, platform, directory)
            except ValueError as error:
                fault = Problem(step.file or "-", step.line, client.LOCK, one_line(str(error)))
                raise InvalidInput(str(fault), problems=[fault]) from None
        found.setdefault(name, []).append(directory)
    return found


def offer(supplied: Mapping[str, list[Path]], inputs: Path) -> None:
    """Link what was fetched into the inputs of a run, where the runner looks for it."""
    for name, directories in supplied.items():
        for directory in directories:
            shutil.copytree(
                directory, inputs / "ecosystem" / name, copy_function=_link, dirs_exist_ok=True, symlinks=True
            )


def _link(source: str, target: str) -> None:
    if not os.path.lexists(target):
        try:
            os.link(source, target)
        except OSError:
            shutil.copy2(source, target)


def _steps(plan: Plan) -> Iterator[PlanStep]:
    return (step for part in plan.with_dependencies() for step in part.steps if step.action in ECOSYSTEMS)


def _resolve(client: Client, name: str, wanted: str, platform: Platform, remembered: Path) -> None:
    with _fresh(name) as work, _explained(name, wanted):
        locked = client.resolve(wanted, platform, work)
        _publish(work, _directory(name, locked, platform))
    remembered.parent.mkdir(parents=True, exist_ok=True)
    fresh = remembered.with_suffix(f".{os.getpid()}")
    fresh.write_text(locked, encoding="utf-8")
    fresh.replace(remembered)


def _fetch(client: Client, name: str, locked: str, platform: Platform, directory: Path) -> None:
    with _fresh(name) as work, _explained(name, "the locked packages"):
        client.fetch(locked, platform, work)
        _publish(work, directory)


def _publish(work: Path, directory: Path) -> None:
    """Whole or not at all; another process may have been faster, with the same result."""
    try:
        work.rename(directory)
    except OSError:
        if not directory.is_dir():
            raise


class _fresh:  # noqa: N801 - a context manager that reads as a word
    """A directory beside the finished ones, gone at the end unless it became one of them."""

    def __init__(self, name: str) -> None:
        home = _home(name)
        home.mkdir(parents=True, exist_ok=True)
        self._path = Path(tempfile.mkdtemp(prefix=".fetching-", dir=home))
        self._path.chmod(0o755)

    def __enter__(self) -> Path:
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


class _explained:  # noqa: N801
    """A client's failure as ours: what was wanted, the end of what it said, and the way out."""

    def __init__(self, name: str, wanted: str) -> None:
        self._name, self._wanted = name, wanted

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, process.ProgramMissing):
            raise DownloadFailed(
                f"{self._name} is not installed on this host, and {self._wanted} is fetched with it",
                hint=f"install {self._name}, {_EGRESS}",
            ) from error
        if isinstance(error, process.CommandFailed):
            raise DownloadFailed(
                f"{self._name} could not fetch {self._wanted}: {_reason(error.output)}",
                hint=f"check the name and the version, {_EGRESS}",
                details=error.details,
                temporary=any(sign in error.output for sign in _PASSING),
            ) from error


_PASSING = ("Temporary failure", "timed out", "ETIMEDOUT", "ECONNRESET", "EAI_AGAIN", "Connection reset", "503")


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if line.lower().startswith(("error", "npm err", "npm error"))]
    return (said or lines or ["it said nothing"])[0]


def _not_cached(step: PlanStep, wanted: str) -> DownloadFailed:
    return DownloadFailed(
        f"--offline: {step.action}: {wanted} is not in the cache",
        hint="run once without --offline; what is fetched is kept",
        file=step.file,
        line=step.line,
    )


def _home(name: str) -> Path:
    return settings.cache_dir() / "ecosystem" / name


def _directory(name: str, locked: str, platform: Platform) -> Path:
    return _home(name) / _key(locked, platform)


def _key(text: str, platform: Platform) -> str:
    words = (text, platform.os, platform.arch, platform.linux_family or "", platform.libc or "")
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
