"""What commands that use an engine share: which one, and a clean end when a signal comes."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tsandbox.cli.output import safe

if TYPE_CHECKING:
    from tsandbox.engine import Engine

F = TypeVar("F", bound=Callable[..., Any])


def engine_option(function: F) -> F:
    return click.option(
        "--engine",
        metavar="ENGINE",
        help="podman, docker or auto; by default TSANDBOX_ENGINE, then the first that works.",
    )(function)


def connected(choice: str | None) -> "Engine":
    """The engine, with what killed builds left in it cleaned up."""
    from tsandbox.build.workplace import reap

    engine = chosen_engine(choice)
    reap(engine)
    return engine


def chosen_engine(choice: str | None) -> "Engine":
    """The engine that was asked for, or the first that works: if that is docker, saying once what it means."""
    from tsandbox.engine import connect
    from tsandbox.engine.connection import wanted_engine

    engine = connect(choice)
    if engine.name == "docker" and wanted_engine(choice) == "auto":
        _note_once(engine)
    return engine


def _note_once(engine: "Engine") -> None:
    from tsandbox import settings

    told = settings.state_dir() / "engine" / "noted-docker"
    if told.exists():
        return
    told.touch()
    for note in engine.facts().notes:
        click.echo(f"{click.style('note', fg='blue', bold=True)}: docker is used; {safe(note)}", err=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """TERM and HUP end a command as Ctrl-C does: what runs, in any thread, is stopped and removed.

    Unless whoever started us had them ignored, as `nohup` does.
    """
    heard = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in heard}
    try:
        yield
    except KeyboardInterrupt:
        from tsandbox.engine.process import stop_all

        stop_all()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
