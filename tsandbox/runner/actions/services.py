"""Services: enabling is noted, starting runs the service beside the verification, under the runner's eyes."""

import time
from pathlib import Path

from tsandbox.runner.context import Context, Effect, Service
from tsandbox.runner.failures import StepFailed
from tsandbox.runner.params import Params
from tsandbox.runner.units import Unit, find_unit

# Long enough for a daemon with a wrong configuration to give up.
_SETTLE = 1.0
_POLL = 0.05
ROOT = Path("/")


def service_enable(_: Context, params: Params) -> Effect:
    service = params.text("service")
    note = f"{service}: enabled at boot where there is one; a container has none"
    return Effect(note=note, services=[Service(service=service, started=False, note=note)])


def service_start(context: Context, params: Params) -> Effect:
    service = params.text("service")
    started, why = _start(context, service)
    note = f"{service}: {why if started else f'not started: {why}'}"
    return Effect(note=note, services=[Service(service=service, started=started, note=note)])


def _start(context: Context, service: str) -> tuple[bool, str]:
    if context.options.host:
        return False, "services of the host are not touched"
    unit = find_unit(service, ROOT)
    if unit is None:
        return False, "the image has no systemd unit and no init script that names its program"
    try:
        _prepare(context, unit)
        log = context.places.out / f"service-{service.replace('/', '_')}.log"
        child = context.processes.start_service(
            unit.argv, cwd=context.places.out, env={**context.env, **dict(unit.env)}, log=log
        )
    except (OSError, StepFailed) as error:
        return False, str(error)
    until = time.monotonic() + _SETTLE
    while child.poll() is None and time.monotonic() < until:
        time.sleep(_POLL)
    code = child.poll()
    if code is None or (code == 0 and unit.forking):
        return True, f"runs as {unit.argv[0]}"
    return False, f"{unit.argv[0]} ended with status {code}: {_tail(log)}"


def _prepare(context: Context, unit: Unit) -> None:
    for name in unit.runtime_directories:
        (ROOT / "run" / name).mkdir(parents=True, exist_ok=True)
    for argv in unit.before:
        context.run(argv, env=dict(unit.env), check=False)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"
