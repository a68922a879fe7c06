"""Which engine: the one asked for, or the first that works of podman, rootless docker and docker."""

from collections.abc import Callable
from typing import Literal

from tsandbox import settings
from tsandbox.engine import building, oom
from tsandbox.engine.protocol import Engine
from tsandbox.errors import EngineNotInstalled, EngineUnavailable, UsageError

Choice = Literal["auto", "podman", "docker"]


def connect(choice: str | None = None, *, fresh: bool = False) -> Engine:
    """`choice` is `--engine`; then TSANDBOX_ENGINE and the configuration file decide, then `auto`.

    What an earlier probe found out is remembered; `fresh` probes again.
    """
    wanted = wanted_engine(choice)
    return _first_working(fresh) if wanted == "auto" else ENGINES[wanted](fresh)


def wanted_engine(choice: str | None = None) -> Choice:
    wanted = choice or settings.option("engine") or "auto"
    match wanted:
        case "auto" | "podman" | "docker":
            return wanted
    raise UsageError(f"unknown engine {wanted!r}", hint=f"choose auto, {' or '.join(ENGINES)}")


def _podman(fresh: bool) -> Engine:
    from tsandbox.engine import podman_host

    engine = podman_host.connect(fresh=fresh)
    building.sweep(engine.name, engine.clean_build)
    oom.sweep()
    return engine


def _docker(fresh: bool) -> Engine:
    from tsandbox.engine import docker_host

    engine = docker_host.connect(fresh=fresh)
    building.sweep(engine.name, building.discard)
    return engine


# In the order in which `auto` tries them; a rootless docker daemon comes before that of the system (docker_endpoint).
ENGINES: dict[Literal["podman", "docker"], Callable[[bool], Engine]] = {"podman": _podman, "docker": _docker}


def _first_working(fresh: bool) -> Engine:
    failures: list[EngineUnavailable] = []
    for open_engine in ENGINES.values():
        try:
            return open_engine(fresh)
        except EngineUnavailable as error:
            failures.append(error)
    # One that is there but does not work tells more than one that is not there.
    best = next((error for error in failures if not isinstance(error, EngineNotInstalled)), None)
    if best is not None and len(failures) > 1:
        others = [f"{error.message} ({error.hint})" for error in failures if error is not best]
        raise type(best)(best.message, hint=best.hint, details=[*best.details, *others]) from best
    raise EngineNotInstalled(
        "neither podman nor docker is installed", hint="sudo apt-get install podman; then run `tsandbox doctor`"
    )
