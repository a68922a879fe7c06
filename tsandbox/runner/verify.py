"""The commands that verify an installation: run and recorded here, judged by the host."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tsandbox.runner.context import Options, Places, findings_of
from tsandbox.runner.diagnose import missing_command
from tsandbox.runner.events import Events
from tsandbox.runner.failures import Finding
from tsandbox.runner.libraries import not_installed
from tsandbox.runner.process import Ended, Processes

# Outside of single quotes these make a shell do more than split words.
_SHELL = re.compile(r"[|&;<>()$`\n*?\[\]#~]")
_NOT_FOUND = 127


class Verifier:
    def __init__(
        self,
        places: Places,
        options: Options,
        env: Mapping[str, str],
        events: Events,
        processes: Processes,
        *,
        tool: str,
    ) -> None:
        self._places = places
        self._work = places.out / "work" / tool
        self._options = options
        self._env = env
        self._events = events
        self._processes = processes

    def record(self, index: int, kind: str, command: str) -> dict[str, Any]:
        """Run one command and tell what came of it, good or bad."""
        evidence: dict[str, Any] = {"index": index, "kind": kind, "command": command}
        argv = _argv(command, self._options)
        if argv is None:
            message = f"{command!r} uses shell syntax, which is not run on the host unless allowed"
            self._events.warn(None, Finding("not_allowed", message, {"command": command}))
            evidence |= _nothing(message)
        else:
            evidence |= self._run(index, argv)
        self._events.emit("verify", **evidence)
        return evidence

    def _run(self, index: int, argv: list[str]) -> dict[str, Any]:
        try:
            ended = self._processes.run(
                argv,
                cwd=self._places.home,
                env=self._env,
                on_output=lambda stream, text: self._events.output(None, stream, text, verify=index),
            )
        except OSError as error:
            self._warn([missing_command(Path(argv[0]).name, needed_by="verify")])
            return {**_nothing(f"{argv[0]}: {error.strerror}"), "exit_code": _NOT_FOUND}
        self._warn(findings_of(ended, needed_by="verify", env=self._env, host=self._options.host))
        return _recorded(ended)

    def _warn(self, findings: list[Finding]) -> None:
        for finding in findings:
            self._events.warn(None, not_installed(finding, self._work) or finding)


def _argv(command: str, options: Options) -> list[str] | None:
    """In the sandbox the image's shell reads the command; on the host no shell does, unless that was allowed."""
    if not options.host or options.allow_run_command:
        return ["/bin/sh", "-c", command]
    if _SHELL.search(re.sub(r"'[^']*'", "", command)):
        return None
    try:
        return shlex.split(command) or None
    except ValueError:
        return None


def _recorded(ended: Ended) -> dict[str, Any]:
    return {
        "exit_code": ended.exit_code,
        "stdout": ended.stdout,
        "stderr": ended.stderr,
        "truncated": ended.truncated,
        "duration_ms": ended.duration_ms,
    }


def _nothing(reason: str) -> dict[str, Any]:
    return {"exit_code": None, "stdout": "", "stderr": reason, "truncated": False, "duration_ms": 0}
