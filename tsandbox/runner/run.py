"""Running a plan: every tool's steps in order, dependencies first, then the commands that verify it."""

import errno
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tsandbox.runner.actions import ACTIONS
from tsandbox.runner.context import Context, Effect, Options, Places
from tsandbox.runner.environment import with_path
from tsandbox.runner.events import Events
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.libraries import scan
from tsandbox.runner.params import Params
from tsandbox.runner.plan import Plan, Step, Tool
from tsandbox.runner.process import Processes
from tsandbox.runner.substitute import substitute

# Written into an install directory when it is complete, and only then.
RECEIPT = ".tsandbox.json"


class StopHere(Exception):
    """`--stop-before` has been reached."""


@dataclass(kw_only=True)
class State:
    """What the steps so far have brought about."""

    env: dict[str, str]
    binaries: dict[str, Path] = field(default_factory=dict)
    own_env: dict[str, str] = field(default_factory=dict)
    installed: dict[str, Path] = field(default_factory=dict)
    services: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, effect: Effect) -> None:
        self.binaries |= effect.binaries
        self.own_env |= effect.env
        self.env |= effect.env
        self.services += [asdict(service) for service in effect.services]
        if effect.note:
            self.notes.append(effect.note)


class Run:
    def __init__(
        self,
        plan: Plan,
        places: Places,
        options: Options,
        *,
        env: Mapping[str, str],
        events: Events,
        processes: Processes,
    ) -> None:
        self.plan = plan
        self.places = places
        self.options = options
        self.events = events
        self.processes = processes
        self.state = State(env=dict(env))
        self._finished: set[Path] = set()

    def install(self) -> None:
        """All steps. Raises StepFailed at the first that fails, after its error event."""
        self.places.bin.mkdir(parents=True, exist_ok=True)
        (self.places.out / "tmp").mkdir(parents=True, exist_ok=True)
        for tool in self.plan.tool.in_order():
            directory = self.places.tools / tool.directory
            if directory in self._finished:
                self._pass_over(tool)
            elif self.options.host and (directory / RECEIPT).is_file():
                # In a sandbox nothing is there from before: a receipt there is the work of a program of the recipe.
                self._reuse(tool, directory)
            else:
                self._install(tool, directory)
            self._finished.add(directory)
            self.state.installed[tool.name] = directory

    def env(self, tool: Tool) -> dict[str, str]:
        """PATH: what was offered by name, then the bin directories of this tool and of those before it."""
        roots = [self.places.tools / tool.directory, *reversed(self.state.installed.values())]
        return with_path(self.state.env, [self.places.bin, *(root / "bin" for root in roots)])

    def variables(self, tool: Tool, params: Mapping[str, Any]) -> dict[str, str | None]:
        plan = self.plan
        mapped_os = (params.get("os_mapping") or {}).get(plan.os, plan.os)
        mapped_arch = (params.get("arch_mapping") or {}).get(plan.arch, plan.arch)
        return {
            "name": tool.name,
            "version": tool.version,
            "os": mapped_os,
            "arch": mapped_arch,
            "install_dir": str(self.places.tools / tool.directory),
            "libs_dir": str(self.places.tools),
            "work_dir": str(self.places.out / "work" / tool.name),
            **{f"deps.{name}.version": version for name, version in plan.versions.items()},
        }

    def _install(self, tool: Tool, directory: Path) -> None:
        before = set(self.state.binaries)
        self._prepare(tool, directory)
        for step in tool.steps:
            self._stop(step)
            self._step(tool, step)
        self._offer_declared(tool, directory)
        self._scan(tool, directory)
        _write_receipt(tool, directory, self.state, before)

    def _prepare(self, tool: Tool, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        work = self.places.out / "work" / tool.name
        work.mkdir(parents=True, exist_ok=True)
        # Recipes call the install directory so, as a part of the work directory.
        if not (work / ".install").is_symlink():
            (work / ".install").symlink_to(directory)

    def _pass_over(self, tool: Tool) -> None:
        for step in tool.steps:
            self._stop(step)
            self._start(tool, step)
            self._end(tool, step, ok=True, began=time.monotonic(), note="already installed")

    def _reuse(self, tool: Tool, directory: Path) -> None:
        """A tool that an earlier run has installed."""
        self._pass_over(tool)
        receipt = json.loads((directory / RECEIPT).read_text())
        binaries = {name: directory / path for name, path in receipt["binaries"].items()}
        self._take(Effect(binaries=binaries, env=receipt["env"]))

    def _stop(self, step: Step) -> None:
        if self.options.stop_before is not None and step.number >= self.options.stop_before:
            raise StopHere

    def _step(self, tool: Tool, step: Step) -> None:
        self._start(tool, step)
        began = time.monotonic()
        try:
            effect = self._execute(tool, step)
        except StepFailed as failure:
            self.events.error(step.number, failure.finding)
            self._end(tool, step, ok=False, began=began, note=failure.finding.message)
            if self.options.keep_going:
                return
            raise
        self._take(effect)
        self._end(tool, step, ok=True, began=began, note=effect.note)

    def _execute(self, tool: Tool, step: Step) -> Effect:
        action = ACTIONS.get(step.action)
        if action is None:
            message = f"the action {step.action} cannot be executed by tsandbox"
            raise StepFailed("unsupported", message, action=step.action)
        params = substitute(dict(step.params), self.variables(tool, step.params))
        context = Context(
            plan=self.plan,
            tool=tool,
            step=step,
            places=self.places,
            options=self.options,
            env=self.env(tool),
            events=self.events,
            processes=self.processes,
            installed=self.state.installed,
        )
        try:
            return action(context, Params(step.action, params))
        except OSError as error:
            kind = "no_space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "file_error"
            raise StepFailed(kind, f"{step.action}: {error}", path=str(error.filename or "")) from error

    def _take(self, effect: Effect) -> None:
        self.state.add(effect)
        for name, target in effect.binaries.items():
            link = self.places.bin / name
            link.unlink(missing_ok=True)
            link.symlink_to(target)

    def _offer_declared(self, tool: Tool, directory: Path) -> None:
        """`binaries` of the recipe's metadata that no step has offered."""
        paths = [directory / name for name in tool.binaries]
        fresh = {path.name: path for path in paths if path.is_file() and path.name not in self.state.binaries}
        self._take(Effect(binaries=fresh))

    def _scan(self, tool: Tool, directory: Path) -> None:
        libraries = tuple(root / "lib" for root in self.state.installed.values())
        last = tool.steps[-1].number if tool.steps else None
        for finding in scan(directory, self.env(tool), libraries=libraries):
            self.events.warn(last, finding)

    def _start(self, tool: Tool, step: Step) -> None:
        self.events.emit(
            "start", step=step.number, tool=tool.name, action=step.action, line=step.line, source=step.source
        )

    def _end(self, tool: Tool, step: Step, *, ok: bool, began: float, note: str | None) -> None:
        duration = round((time.monotonic() - began) * 1000)
        result = {"step": step.number, "ok": ok, "duration_ms": duration, "note": note}
        where = {"tool": tool.name, "action": step.action, "line": step.line, "source": step.source}
        self.state.steps.append({**result, **where})
        self.events.emit("end", **result)


def _write_receipt(tool: Tool, directory: Path, state: State, before: set[str]) -> None:
    own = {name: path for name, path in state.binaries.items() if name not in before}
    inside = {name: path for name, path in own.items() if path.is_relative_to(directory)}
    receipt = {
        "tool": tool.name,
        "version": tool.version,
        "binaries": {name: str(path.relative_to(directory)) for name, path in sorted(inside.items())},
        "env": state.own_env,
        "dependencies": sorted(each.directory for each in tool.in_order() if each is not tool),
    }
    write_json(directory / RECEIPT, receipt)


def write_json(path: Path, value: object) -> None:
    """Whole or not at all: a reader never sees a half-written file."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    fresh.replace(path)
