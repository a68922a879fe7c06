"""The runner's command line: `run --plan FILE --inputs DIR --out DIR`, and how a run begins and ends."""

import argparse
import json
import os
import resource
import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from tsandbox.runner import cgroup, prctl, seal
from tsandbox.runner.context import Options, Places
from tsandbox.runner.environment import base_env, given_env
from tsandbox.runner.events import Events
from tsandbox.runner.failures import Finding, StepFailed, Stopped
from tsandbox.runner.plan import Plan, parse
from tsandbox.runner.process import Processes
from tsandbox.runner.run import Run, StopHere, write_json
from tsandbox.runner.substitute import substitute
from tsandbox.runner.verify import Verifier

DONE, STEP_FAILED, INTERNAL = 0, 7, 70
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(argv: list[str]) -> int:
    arguments = _parser().parse_args(argv)
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    places = Places(inputs=arguments.inputs.resolve(), out=out, tools=(arguments.tools or out / "home/tools").resolve())
    options = Options(
        host=arguments.host,
        online=arguments.online,
        allow_run_command=arguments.allow_run_command,
        stop_before=arguments.stop_before,
        keep_going=arguments.keep_going,
    )
    if arguments.disk:
        # The host watches the whole directory; this stops a single file that grows faster than it looks.
        resource.setrlimit(resource.RLIMIT_FSIZE, (arguments.disk, arguments.disk))
    if arguments.seconds:
        # Should the host die, nobody else would end this container.
        signal.alarm(arguments.seconds)
    prctl.close_memory()
    if arguments.parent:
        prctl.end_with(arguments.parent)
    with Events(1, out / "events.jsonl", key=seal.take(out)) as events:
        if not options.host:
            events.emit("limits", **cgroup.limits())
        return run(arguments.plan, places, options, events)


def run(plan_file: Path, places: Places, options: Options, events: Events) -> int:
    """The whole run; whatever happens, its processes are gone afterwards and the last event is `done`."""
    evidence: dict[str, Any] = {"schema": 1, "ok": False}
    code = INTERNAL
    processes = Processes()
    try:
        with _signals(processes):
            plan = parse(json.loads(plan_file.read_bytes()))
            code = _run(plan, places, options, events, processes, evidence)
    except Stopped as stopped:
        code = 128 + stopped.signal
        events.error(None, Finding("interrupted", str(stopped), {"signal": stopped.signal}))
    except StepFailed as failure:
        # Before the first step: the plan itself is wrong.
        code = STEP_FAILED
        events.error(None, failure.finding)
    except Exception as error:  # noqa: BLE001  the host must learn of a bug too
        data: dict[str, object] = {"traceback": traceback.format_exc()}
        events.error(None, Finding("internal", f"{type(error).__name__}: {error}", data))
    finally:
        processes.end()
    return _finish(code, places, events, evidence)


def _finish(code: int, places: Places, events: Events, evidence: dict[str, Any]) -> int:
    evidence |= {"ok": code == DONE, "findings": events.findings}
    try:
        write_json(places.out / "evidence.json", evidence)
    except OSError as error:
        events.error(None, Finding("no_space", f"the evidence cannot be written: {error}", {}))
        code = code or STEP_FAILED
    events.emit("done", ok=code == DONE, notes=_worth_telling(evidence))
    return code


def _worth_telling(evidence: dict[str, Any]) -> list[str]:
    """What a result says even of a run that passed: what became of services, and what is left to a person."""
    services = [service["note"] for service in evidence.get("services", ())]
    by_hand = [note for note in evidence.get("notes", ()) if note.startswith("by hand: ")]
    return list(dict.fromkeys([*services, *by_hand]))


def _run(
    plan: Plan,
    places: Places,
    options: Options,
    events: Events,
    processes: Processes,
    evidence: dict[str, Any],
) -> int:
    env = base_env({**os.environ, **given_env(places.inputs)}, places, host=options.host)
    running = Run(plan, places, options, env=env, events=events, processes=processes)
    tool = plan.tool
    evidence |= {
        "tool": tool.name,
        "version": tool.version,
        "install_dir": str(places.tools / tool.directory),
        "dependencies": {name: version for name, version in plan.versions.items() if name != tool.name},
        "stopped_before": None,
        "verify": [],
    }
    try:
        running.install()
        verifier = Verifier(places, options, running.env(tool), events, processes, tool=tool.name)
        variables = running.variables(tool, {})
        if tool.verify:
            # Said before: a command may end this very process.
            events.emit("verifying")
        for index, (kind, command) in enumerate(tool.verify):
            ready = substitute(command, variables, param="command")
            evidence["verify"].append(verifier.record(index, kind, ready))
    except StopHere:
        evidence["stopped_before"] = options.stop_before
    except StepFailed:
        return STEP_FAILED
    finally:
        evidence |= _outcome(running)
    return DONE


def _outcome(running: Run) -> dict[str, Any]:
    state = running.state
    return {
        "steps": state.steps,
        "binaries": {name: str(path) for name, path in state.binaries.items()},
        "env": state.own_env,
        "services": state.services,
        "notes": state.notes,
    }


@contextmanager
def _signals(processes: Processes) -> Iterator[None]:
    """A signal to the runner goes to what it runs, and ends the run."""

    def stop(number: int, _: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        processes.signal(number)
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tsandbox", description="tsandbox runner: executes a resolved plan.")
    command = parser.add_subparsers(required=True).add_parser("run", help="install and record the verification")
    command.add_argument("--plan", type=Path, required=True)
    command.add_argument("--inputs", type=Path, required=True)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--tools", type=Path)
    command.add_argument("--stop-before", type=int)
    command.add_argument("--disk", type=int, help="the largest file, in bytes")
    command.add_argument("--seconds", type=int, help="end after so many seconds, whatever happens")
    command.add_argument("--allow-run-command", action="store_true")
    command.add_argument("--keep-going", action="store_true", help="go on after a failed step, to find all that fail")
    command.add_argument("--online", action="store_true")
    command.add_argument("--host", action="store_true")
    command.add_argument("--parent", type=int, help="the process with which to end")
    return parser
