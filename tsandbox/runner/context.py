"""What an action gets to work with, and what it gives back."""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tsandbox.runner import cgroup
from tsandbox.runner.diagnose import diagnose, missing_command
from tsandbox.runner.events import Events
from tsandbox.runner.failures import Finding, StepFailed
from tsandbox.runner.libraries import behind
from tsandbox.runner.plan import Plan, Step, Tool
from tsandbox.runner.process import Ended, Processes

Argv = list[str | Path]


@dataclass(frozen=True, kw_only=True)
class Options:
    host: bool = False
    online: bool = False
    allow_run_command: bool = False
    stop_before: int | None = None
    keep_going: bool = False


@dataclass(frozen=True, kw_only=True)
class Places:
    inputs: Path
    out: Path
    tools: Path

    @property
    def home(self) -> Path:
        return self.out / "home"

    @property
    def bin(self) -> Path:
        return self.home / "bin"

    def ecosystem(self, name: str) -> Path:
        return self.inputs / "ecosystem" / name


@dataclass(frozen=True, kw_only=True)
class Service:
    service: str
    started: bool
    note: str


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What a step changed for the steps after it and for the verification."""

    note: str | None = None
    binaries: Mapping[str, Path] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    services: Sequence[Service] = ()


@dataclass(frozen=True, kw_only=True)
class Context:
    plan: Plan
    tool: Tool
    step: Step
    places: Places
    options: Options
    env: Mapping[str, str]
    events: Events
    processes: Processes
    # Install directories of this run's tools that are complete, by name.
    installed: Mapping[str, Path] = field(default_factory=dict)

    @property
    def work_dir(self) -> Path:
        return self.places.out / "work" / self.tool.name

    @property
    def install_dir(self) -> Path:
        return self.places.tools / self.tool.directory

    @property
    def tmp_dir(self) -> Path:
        return self.places.out / "tmp"

    def path(self, text: str) -> Path:
        """A path of the recipe, which may lie in the work or install directory and nowhere else."""
        path = Path(os.path.normpath(self.work_dir / text))
        real = Path(os.path.realpath(path))
        roots = (Path(os.path.realpath(root)) for root in (self.work_dir, self.install_dir))
        if not any(real.is_relative_to(root) for root in roots):
            message = f"{text!r} lies outside of the work and install directories"
            raise StepFailed("invalid", message, path=text)
        return path

    def existing(self, text: str) -> Path:
        path = self.path(text)
        if not path.exists():
            raise StepFailed("file_error", f"{text!r} is not there{self._nearby(path)}", path=text)
        return path

    def which(self, command: str) -> str | None:
        return shutil.which(command, path=self.env.get("PATH", ""))

    def need(self, command: str) -> str:
        """The program that an action works with; it must have been declared."""
        if found := self.which(command):
            return found
        finding = missing_command(command, needed_by=self.step.action)
        raise StepFailed(finding.kind, finding.message, **finding.data)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
        check: bool = True,
    ) -> Ended:
        words = [str(word) for word in argv]
        try:
            ended = self.processes.run(
                words,
                cwd=cwd or self.work_dir,
                env={**self.env, **(env or {})},
                on_output=lambda stream, text: self.events.output(self.step.number, stream, text),
                stdin=stdin,
            )
        except OSError as error:
            raise cannot_start(words[0], error) from error
        if check and ended.exit_code:
            self._fail(words, ended)
        return ended

    def _fail(self, argv: Sequence[str], ended: Ended) -> None:
        name = Path(argv[0]).name
        message = f"{name} ended with {how_it_ended(ended.exit_code)}"
        data: dict[str, object] = {"argv": list(argv), "exit_code": ended.exit_code}
        findings = findings_of(ended, needed_by=name, env=self.env, host=self.options.host)
        if not findings:
            raise StepFailed("command_failed", message, **data)
        for finding in findings[1:]:
            self.events.warn(self.step.number, finding)
        first = findings[0]
        raise StepFailed(first.kind, f"{message}: {first.message}", **first.data, **data)

    def _nearby(self, path: Path) -> str:
        """What is in the deepest directory of `path` that exists: most often a wrong strip_dirs shows there."""
        parent = path.parent
        while not parent.is_dir():
            parent = parent.parent
        names = sorted(each.name for each in parent.iterdir() if each.name != ".install")[:8]
        where = os.path.relpath(parent, self.work_dir)
        return f"; {'the work directory' if where == '.' else where} holds {', '.join(names) or 'nothing'}"


def cannot_start(program: str, error: OSError) -> StepFailed:
    if isinstance(error, FileNotFoundError) and not Path(program).exists():
        finding = missing_command(Path(program).name, needed_by="this step")
        return StepFailed(finding.kind, finding.message, **finding.data)
    reason = error.strerror
    if isinstance(error, FileNotFoundError):
        # The file is there: what the kernel did not find is its interpreter or loader.
        reason = "its interpreter is not there"
    return StepFailed("command_failed", f"{program} cannot be run: {reason}", argv=[program], exit_code=None)


def how_it_ended(exit_code: int) -> str:
    return f"signal {-exit_code}" if exit_code < 0 else f"status {exit_code}"


def findings_of(ended: Ended, *, needed_by: str, env: Mapping[str, str], host: bool) -> list[Finding]:
    """Why a program failed: a limit of the container first, because what it met explains what the program says."""
    if not ended.exit_code:
        return []
    met = [] if host else cgroup.reached(ended.exit_code)
    said = diagnose(f"{ended.stderr}\n{ended.stdout}", needed_by=needed_by)
    return [*met, *(found for finding in said for found in behind(finding, env))]
