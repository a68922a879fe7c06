"""All checks, in the order in which a person reads them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tsandbox import settings
from tsandbox.build.doctor import contents, engines, host, outside
from tsandbox.build.doctor.check import Check
from tsandbox.engine import Engine
from tsandbox.engine.connection import ENGINES, wanted_engine
from tsandbox.errors import TsandboxError

Told = Callable[[Check], None]


class Examination(Struct, frozen=True, kw_only=True):
    """`engine` is the one that commands would use; None: there is none."""

    engine: str | None
    checks: tuple[Check, ...]
    # Why no engine can be used.
    error: TsandboxError | None = None

    @property
    def sound(self) -> bool:
        return all(check.state != "failed" for check in self.checks)


def examine(choice: str | None, told: Told = lambda _: None) -> Examination:
    """Look at everything; `told` hears of each check as it is made, for some of them take seconds."""
    names = _wanted(choice)
    opened = {name: engines.open_engine(name) for name in names}
    working = {name: engine for name, engine in opened.items() if not isinstance(engine, TsandboxError)}
    chosen = next(iter(working.values()), None)
    checks: list[Check] = []
    for check in _all(opened, chosen):
        checks.append(check)
        told(check)
    errors = [engine for engine in opened.values() if isinstance(engine, TsandboxError)]
    return Examination(
        engine=chosen.name if chosen else None,
        checks=tuple(checks),
        error=None if chosen else errors[0],
    )


def _wanted(choice: str | None) -> list[Literal["podman", "docker"]]:
    wanted = wanted_engine(choice)
    return list(ENGINES) if wanted == "auto" else [wanted]


def _all(opened: dict[Literal["podman", "docker"], Engine | TsandboxError], chosen: Engine | None) -> Iterator[Check]:
    for name, engine in opened.items():
        if isinstance(engine, TsandboxError):
            yield engines.unusable(name, engine, needed=chosen is None)
        else:
            yield from engines.usable(engine, chosen=engine is chosen)
        if chosen is not None and engine is chosen:
            yield from _looked("base", chosen, contents.base)
            yield from _looked("cache", chosen, contents.images)
    yield host.ulimits()
    yield host.sub_ids()
    yield host.directories()
    yield from host.disk(_places(opened))
    yield outside.proxy()
    yield outside.certificates()
    yield outside.mirror()
    if registry := outside.registry():
        yield registry


def _looked(name: str, engine: Engine, look: Callable[[Engine], Check]) -> Iterator[Check]:
    """A question that cannot be answered is an answer about this machine too."""
    try:
        yield look(engine)
    except TsandboxError as error:
        yield Check(name=name, engine=engine.name, state="failed", found=error.message, fix=error.hint or "")


def _places(opened: dict[Literal["podman", "docker"], Engine | TsandboxError]) -> dict[str, Path]:
    places = {"state": settings.state_dir(), "cache": settings.cache_dir()}
    for name, engine in opened.items():
        if not isinstance(engine, TsandboxError) and not engine.facts().remote:
            places[f"images of {name}"] = Path(engine.facts().storage_root)
    return places
