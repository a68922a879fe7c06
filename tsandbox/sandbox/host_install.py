"""Installing on this host: below one directory of the user's, switched in one step, never as root.

`tools/NAME-VERSION` holds a tool, complete or not there for anybody: only a finished one has a receipt. `current/NAME`
leads to the version in use and is replaced in one step; `bin/PROGRAM` leads through it.
"""

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tsandbox import settings
from tsandbox.build.locking import locked
from tsandbox.derive.guide import guide, guide_text
from tsandbox.engine import process
from tsandbox.errors import InstallFailed, Interrupted, NotSupported, TimedOut, TsandboxError, UsageError
from tsandbox.plan import Plan
from tsandbox.plan.select import platform_of
from tsandbox.recipe.target import Target, linux
from tsandbox.runner.executable import SYSTEM
from tsandbox.runner.run import RECEIPT
from tsandbox.sandbox import downloads, pip, support, verify
from tsandbox.sandbox.downloads import Download
from tsandbox.sandbox.failure import step_failed
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.logs import Log, log_of
from tsandbox.sandbox.news import Fetching, Listener, Said, nobody
from tsandbox.sandbox.outcome import CheckOutcome, Finding, Outcome
from tsandbox.sandbox.place import PLAN, Place, fill
from tsandbox.sandbox.resolve import needed, resolve
from tsandbox.sandbox.secrets import Masker

_FAMILIES = {
    "debian": ("debian", "ubuntu"),
    "rhel": ("rhel", "fedora", "centos"),
    "arch": ("arch",),
    "alpine": ("alpine",),
    "suse": ("suse", "opensuse", "sles"),
}


class Installed(Struct, frozen=True, kw_only=True):
    """A tool on this host."""

    name: str
    version: str
    path: Path
    # Program → path inside of the tool's directory.
    binaries: dict[str, str] = {}
    dependencies: tuple[str, ...] = ()
    current: bool = False


def host_target() -> Target:
    """This machine as a target; the family is the one whose packages it uses."""
    if sys.platform != "linux":
        raise NotSupported("tools are installed on Linux hosts only", hint="`tsandbox guide` tells a person what to do")
    ids = _os_release()
    for family, names in _FAMILIES.items():
        if any(each.startswith(names) for each in ids):
            return linux(family)
    raise NotSupported(
        f"this distribution ({' '.join(ids) or 'unknown'}) belongs to no family that tsandbox knows",
        hint="prove the recipe in a container: --sandbox",
    )


def install(
    plan: Plan,
    target: Target,
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    offline: bool = False,
    listener: Listener | None = None,
) -> Outcome:
    """Install `plan` for this user. What goes wrong is in the outcome, and what was installed before still works."""
    return _HostRun(plan, target, env or {}, timeout, offline, listener or nobody).outcome()


def installed() -> list[Installed]:
    """Every finished tool on this host, by name."""
    found = [_read(path) for path in sorted(_tools().glob(f"[!.]*/{RECEIPT}"))]
    return [tool for tool in found if tool is not None and not _mark(tool.path).exists()]


def remove(name: str) -> list[Installed]:
    """Remove a tool in all its versions; one that others need stays, and the error says who needs it."""
    with locked("host-install"):
        every = installed()
        gone = [tool for tool in every if tool.name == name]
        if not gone:
            from tsandbox.recipe.near import did_you_mean

            guess = did_you_mean(name, [tool.name for tool in every])
            raise UsageError(f"{name} is not installed{guess}", hint="tsandbox list --installed")
        directories = {tool.path.name for tool in gone}
        needing = [tool.name for tool in every if tool not in gone and directories & set(tool.dependencies)]
        if needing:
            raise UsageError(
                f"{name} is needed by {', '.join(needing)}", hint=f"first: tsandbox remove {' '.join(needing)}"
            )
        _unlink_programs(name)
        (_current() / name).unlink(missing_ok=True)
        for tool in gone:
            _delete(tool.path)
        return gone


def program(name: str) -> Path | None:
    """Where a program, or the tool of that name, lies."""
    link = bin_dir() / name
    if link.exists():
        return link.resolve()
    directory = _current() / name
    return directory.resolve() if directory.exists() else None


def bin_dir() -> Path:
    return settings.data_dir() / "bin"


class _HostRun:
    def __init__(
        self, plan: Plan, target: Target, env: Mapping[str, str], timeout: float | None, offline: bool, tell: Listener
    ) -> None:
        self.plan, self.target, self.env, self.timeout, self.offline = plan, target, env, timeout, offline
        self.tell = tell
        self.masker = Masker(env.values())
        self.known: dict[str, Any] = {"started": time.time(), "stage": "derive"}

    def outcome(self) -> Outcome:
        began = time.monotonic()
        error: TsandboxError | None = None
        try:
            self._install()
        except TsandboxError as failed:
            error = failed
            self.known["stage"] = failed.stage or self.known["stage"]
        except KeyboardInterrupt:
            error = Interrupted(f"{self.plan.tool}: interrupted; what was installed before is unchanged")
        return Outcome(
            plan=self.plan,
            target=self.target,
            error=error,
            duration_ms=round((time.monotonic() - began) * 1000),
            network="egress",
            **self.known,
        )

    def _install(self) -> None:
        _refuse(self.plan)
        self.known["stage"] = "install"
        with locked("host-install"), log_of(self.plan.tool) as log:
            self.known["log"] = log.path
            self._check_system(log)
            inputs = self._fetch()
            with _staging(self.plan) as place:
                fill(place, self.plan, inputs)
                if any(step.action.startswith("pip") for part in self.plan.with_dependencies() for step in part.steps):
                    pip.offer_itself(place.inputs / "ecosystem/pip")
                journal = self._run(place, log)
                self._verify(journal)
                _switch(self.plan)
        if _directory(self.plan).is_dir():
            self.known["kept"] = {"directory": str(_directory(self.plan))}
        if not _on_path(bin_dir()) and any(bin_dir().glob("*")):
            self.known["notes"] = (*self.known["notes"], f'put it on your PATH: export PATH="{bin_dir()}:$PATH"')

    def _check_system(self, log: Log) -> None:
        """What the system must have, all of it at once and before anything is fetched."""
        wanted = _system_part(self.plan)
        if not any(part.steps for part in wanted.with_dependencies()):
            return
        with _place() as place:
            fill(place, wanted, {})
            journal = Journal(wanted, self.masker, log, nobody)
            self._execute(place, place.directory / "tools", journal, "--keep-going")
        missing = [finding for finding in journal.findings if finding.fatal]
        if missing:
            self.known |= {"steps": journal.steps, "findings": tuple(journal.findings)}
            raise _system_missing(self.plan, wanted, self.target, missing)

    def _fetch(self) -> dict[str, downloads.Fetched]:
        def progress(wanted: Download, got: int, total: int | None) -> None:
            self.tell(Fetching(name=wanted.name, got=got, total=total))

        platform = replace(platform_of(self.target))
        self.plan = resolve(
            replace(self.plan, platform=platform),
            offline=self.offline,
            online=True,
            on_progress=lambda text: self.tell(Said(text)),
            on_bytes=progress,
        )
        fetched = downloads.fetch_all(needed(self.plan), offline=self.offline, progress=progress)
        return {each.sha256: each for each in fetched.values()}

    def _run(self, place: Place, log: Log) -> Journal:
        journal = Journal(self.plan, self.masker, log, self.tell)
        try:
            self._execute(place, _tools(), journal, *(() if self.offline else ("--online",)))
        finally:
            self.known |= {
                "steps": journal.steps,
                "findings": tuple(journal.findings),
                "notes": tuple(journal.notes),
                "head": log.head,
                "tail": log.tail,
            }
        if fatal := next((finding for finding in journal.findings if finding.fatal), None):
            raise step_failed(self.plan, journal, fatal, (*log.head, *log.tail))
        if not journal.done:
            raise InstallFailed(f"{self.plan.tool}: the runner ended without a result", details=journal.stray)
        return journal

    def _execute(self, place: Place, tools: Path, journal: Journal, *options: str) -> None:
        argv = [sys.executable, "-P", "-m", "tsandbox.runner", "run", "--host", "--plan", str(place.inputs / PLAN)]
        argv += ["--inputs", str(place.inputs), "--out", str(place.out), "--tools", str(tools), *options]
        # The runner must find this tsandbox, also where that is a checkout which is not installed.
        own = {"PYTHONPATH": str(Path(__file__).parent.parent.parent)}
        try:
            with process.start(argv, env=own, secret_env=dict(self.env)) as child:
                for stream, chunk in process.output(child, timeout=self.timeout):
                    journal.feed(stream, chunk)
        except TimedOut as slow:
            raise TimedOut(
                f"{self.plan.tool}: not done after {self.timeout:g} s; it was stopped",
                hint="give it more time with --timeout SECONDS",
                file=self.plan.file,
                stage="install",
            ) from slow
        journal.end()

    def _verify(self, journal: Journal) -> None:
        self.known["stage"] = "verify"
        judged = verify.judge(self.plan, journal.records, str(_directory(self.plan)))
        self.known["checks"] = tuple(_shown(check, self.masker) for check in judged)
        if failed := verify.failure(self.known["checks"], self.plan):
            raise failed


def _shown(check: CheckOutcome, masker: Masker) -> CheckOutcome:
    return verify.shortened(replace(check, command=masker.text(check.command), output=masker.text(check.output)))


def _refuse(plan: Plan) -> None:
    support.check_actions(plan)
    for part in plan.with_dependencies():
        if part.unsupported:
            raise NotSupported(f"{part.file}: {part.tool} is not supported here: {part.unsupported}", file=part.file)
    if not plan.steps:
        raise NotSupported(f"{plan.file}: no step of {plan.tool} applies to this host", file=plan.file)
    for step in support.commands(plan):
        raise NotSupported(
            f"{step.place}: run_command runs in the sandbox only, never on the host",
            hint="prove the recipe with --sandbox; on the host, use typed steps instead of a command",
            file=step.file,
            line=step.line,
        )


def _system_part(plan: Plan) -> Plan:
    """The same plan with nothing in it but what the system must have."""
    return replace(
        plan,
        steps=tuple(step for step in plan.steps if step.action in SYSTEM),
        dependencies=tuple(_system_part(nested) for nested in plan.dependencies),
        verify=type(plan.verify)(),
    )


def _system_missing(plan: Plan, wanted: Plan, target: Target, missing: Sequence[Finding]) -> InstallFailed:
    """What a person has to do first, in the words of `tsandbox guide`; tsandbox never becomes root itself."""
    places = [step for part in wanted.with_dependencies() for step in part.steps]
    first = places[(missing[0].step or 1) - 1]
    return InstallFailed(
        f"{plan.tool}: this host lacks {len(missing)} thing{'' if len(missing) == 1 else 's'} that the recipe needs",
        hint="do this, then run the same command again:\n" + guide_text(guide(wanted, target)).rstrip(),
        file=first.file,
        line=first.line,
        details=[finding.message for finding in missing],
    )


@contextmanager
def _place() -> Iterator[Place]:
    """Inputs and a scratch directory beside the tools, so that files can be moved there in one step."""
    home = settings.data_dir()
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".work-", dir=home) as name:
        place = Place(directory=Path(name), container="")
        (place.inputs / "downloads").mkdir(parents=True)
        place.out.mkdir()
        yield place


@contextmanager
def _staging(plan: Plan) -> Iterator[Place]:
    """Leftovers of a killed install are cleared before; what this one began and did not prove is cleared after."""
    _tools().mkdir(parents=True, exist_ok=True)
    for work in settings.data_dir().glob(".work-*"):
        shutil.rmtree(work, ignore_errors=True)
    _clear_unproved()
    directories = [_directory(part) for part in plan.with_dependencies()]
    begun = [directory for directory in directories if not (directory / RECEIPT).is_file()]
    for directory in begun:
        # A receipt says that the steps are done; until the verification has passed, this says that it does not count.
        _mark(directory).touch()
        _delete(directory)
    try:
        with _place() as place:
            yield place
    except BaseException:
        _clear_unproved()
        raise
    for directory in begun:
        _mark(directory).unlink(missing_ok=True)


def _mark(directory: Path) -> Path:
    return directory.with_name(f".unproved-{directory.name}")


def _clear_unproved() -> None:
    for mark in _tools().glob(".unproved-*"):
        _delete(mark.with_name(mark.name.removeprefix(".unproved-")))
        mark.unlink(missing_ok=True)


def _delete(directory: Path) -> None:
    """First out of sight in one step, then file by file."""
    if not directory.exists():
        return
    grave = directory.with_name(f".gone-{directory.name}-{os.getpid()}-{time.monotonic_ns()}")
    directory.rename(grave)
    shutil.rmtree(grave, ignore_errors=True)


def _switch(plan: Plan) -> None:
    """Make the new version the one in use. One rename switches all its programs; the old version goes afterwards."""
    for part in plan.with_dependencies():
        _drop_empty(_directory(part))
        tool = _read(_directory(part) / RECEIPT)
        link = _current() / part.tool
        if tool is None or (part is not plan and link.exists()):
            continue
        before = link.resolve() if link.is_symlink() else None
        _point(link, Path("..") / "tools" / tool.path.name)
        for name, inside in tool.binaries.items():
            _point(bin_dir() / name, Path("..") / "current" / part.tool / inside)
        _drop_stale_programs(part.tool)
        if before is not None and before != tool.path.resolve() and before.is_dir():
            _delete_unless_needed(before)


def _drop_empty(directory: Path) -> None:
    """A recipe of system packages alone installs nothing of its own: there is nothing to list or to remove."""
    if (directory / RECEIPT).is_file() and not any(path.name != RECEIPT for path in directory.iterdir()):
        _delete(directory)


def _point(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def _drop_stale_programs(tool: str) -> None:
    """Programs that an earlier version brought and this one does not."""
    for link in _programs_of(tool):
        if not link.exists():
            link.unlink()


def _unlink_programs(tool: str) -> None:
    for link in _programs_of(tool):
        link.unlink()


def _programs_of(tool: str) -> list[Path]:
    prefix = ("..", "current", tool)
    links = [path for path in bin_dir().glob("*") if path.is_symlink()]
    return [link for link in links if link.readlink().parts[:3] == prefix]


def _delete_unless_needed(directory: Path) -> None:
    if not any(directory.name in tool.dependencies for tool in installed()):
        _delete(directory)


def _read(path: Path) -> Installed | None:
    if path.name != RECEIPT:
        path = path / RECEIPT
    try:
        receipt = json.loads(path.read_text(encoding="utf-8"))
        directory = path.parent
        current = _current() / receipt["tool"]
        return Installed(
            name=receipt["tool"],
            version=receipt["version"] or "unversioned",
            path=directory,
            binaries=receipt["binaries"],
            dependencies=tuple(receipt["dependencies"]),
            current=current.exists() and current.resolve() == directory.resolve(),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _directory(plan: Plan) -> Path:
    return _tools() / f"{plan.tool}-{plan.version or 'unversioned'}"


def _tools() -> Path:
    return settings.data_dir() / "tools"


def _current() -> Path:
    return settings.data_dir() / "current"


def _on_path(directory: Path) -> bool:
    return str(directory) in os.environ.get("PATH", "").split(os.pathsep)


def _os_release() -> list[str]:
    """ID and ID_LIKE, as freedesktop's os-release names a distribution and its relatives."""
    for path in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        if path.is_file():
            lines = (line.partition("=") for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
            values = {key: value.strip("\"'") for key, _, value in lines}
            return f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".split()
    return []
