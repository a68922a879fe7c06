"""Installing on this host: fetched, installed and verified before it is switched to, and never as root."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tsandbox.build.locking import locked
from tsandbox.derive.guide import guide, guide_text
from tsandbox.engine import process
from tsandbox.errors import InstallFailed, Interrupted, NotSupported, TimedOut, TsandboxError
from tsandbox.plan import Plan
from tsandbox.plan.select import platform_of
from tsandbox.recipe.target import Target
from tsandbox.runner import seal
from tsandbox.runner.executable import SYSTEM
from tsandbox.sandbox import downloads, pip, shelf, support, verify
from tsandbox.sandbox.downloads import Download
from tsandbox.sandbox.failure import explained, step_failed
from tsandbox.sandbox.journal import Journal
from tsandbox.sandbox.logs import Log, log_of
from tsandbox.sandbox.news import Fetching, Listener, Said, nobody
from tsandbox.sandbox.outcome import CheckOutcome, Finding, Outcome
from tsandbox.sandbox.place import PLAN, Place, fill
from tsandbox.sandbox.resolve import needed, resolve
from tsandbox.sandbox.secrets import Masker


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
            was_there = shelf.is_installed(self.plan)
            with shelf.staging(self.plan) as place:
                fill(place, self.plan, inputs)
                if any(step.action.startswith("pip") for part in self.plan.with_dependencies() for step in part.steps):
                    pip.offer_itself(place.inputs / "ecosystem/pip")
                journal = self._run(place, log)
                self._verify(journal)
                shelf.switch(self.plan)
        if was_there:
            again = f"{self.plan.tool} was installed before, and was verified again; to install it anew, first:"
            self.known["notes"] = (*self.known["notes"], f"{again} tsandbox remove {self.plan.tool}")
        if shelf.directory_of(self.plan).is_dir():
            self.known["kept"] = {"directory": str(shelf.directory_of(self.plan))}
        if not _on_path(shelf.bin_dir()) and any(shelf.bin_dir().glob("*")):
            self.known["notes"] = (*self.known["notes"], f'put it on your PATH: export PATH="{shelf.bin_dir()}:$PATH"')

    def _check_system(self, log: Log) -> None:
        """What the system must have, all of it at once and before anything is fetched."""
        wanted = _system_part(self.plan)
        if not any(part.steps for part in wanted.with_dependencies()):
            return
        with shelf.work_place() as place:
            fill(place, wanted, {})
            journal = Journal(wanted, self.masker, log, nobody, key=seal.lay(place.out))
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
        journal = Journal(self.plan, self.masker, log, self.tell, key=seal.lay(place.out))
        try:
            self._execute(place, shelf.tools_dir(), journal, *(() if self.offline else ("--online",)))
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
        argv += ["--parent", str(os.getpid())]
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
        judged = verify.judge(self.plan, journal.records, str(shelf.directory_of(self.plan)))
        self.known["checks"] = tuple(_shown(check, self.masker) for check in judged)
        if failed := verify.failure(self.known["checks"], self.plan):
            raise explained(failed, self.known["findings"])


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


def _on_path(directory: Path) -> bool:
    return str(directory) in os.environ.get("PATH", "").split(os.pathsep)
