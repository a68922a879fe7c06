"""Builds as people see them: progress while they run, a line for each, a summary of many."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tsandbox.build import BuildOptions, BuiltImage, Progress, Watch, ensure_image
from tsandbox.cli.output import Output, safe
from tsandbox.derive import ContainerSpec, image_key
from tsandbox.engine import Engine
from tsandbox.errors import TsandboxError
from tsandbox.report.result import Result, TargetRecord, encode, from_error
from tsandbox.report.words import plural, size

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_WIDTH = 100


class Wanted(NamedTuple):
    """One input for one target: its spec, or why there is none."""

    source: str
    spec: ContainerSpec | TsandboxError


Watching = Callable[[str], Watch]
_Outcome = BuiltImage | TsandboxError


def build_all(engine: Engine, wanted: list[Wanted], options: BuildOptions, jobs: int | None, output: Output) -> int:
    """Every distinct image once, in parallel; the exit code is that of the worst."""
    outcomes = _outcomes(engine, wanted, options, jobs, output)
    results = [_result(each, outcomes[i]) for i, each in enumerate(wanted)]
    code = _exit_code(results)
    if output.json:
        output.answer(code, stage="build", why=_counted(results), results=results)
    _summary(results, output)
    return code


def tell(spec: ContainerSpec, built: BuiltImage, output: Output) -> None:
    if output.json:
        output.data(encode(_passed(spec, built)) + b"\n")
    how = _how(built)
    name = click.style(safe(spec.tool), bold=True)
    output.say(f"{name} {built.reference}  {size(built.size)}  {how}")
    for note in built.notes:
        output.warn(safe(note))
    if built.log:
        output.detail(f"log: {built.log}")


def _how(built: BuiltImage) -> str:
    if built.pulled:
        return f"pulled in {built.seconds:.1f} s"
    return "reused" if built.cached else f"built in {built.seconds:.1f} s"


def _outcomes(
    engine: Engine, wanted: list[Wanted], options: BuildOptions, jobs: int | None, output: Output
) -> dict[int, _Outcome]:
    """By position in `wanted`; inputs with the same key share one build."""
    import os
    from concurrent.futures import ThreadPoolExecutor, as_completed

    outcomes: dict[int, _Outcome] = {}
    positions: dict[str, list[int]] = {}
    for i, each in enumerate(wanted):
        if isinstance(each.spec, TsandboxError):
            outcomes[i] = each.spec
        else:
            positions.setdefault(image_key(each.spec), []).append(i)
    with (
        shown(output) as watch,
        ThreadPoolExecutor(jobs or os.cpu_count() or 1, thread_name_prefix="build") as pool,
    ):
        running: dict[Future[BuiltImage], list[int]] = {}
        for same in positions.values():
            spec = wanted[same[0]].spec
            assert isinstance(spec, ContainerSpec)
            running[pool.submit(ensure_image, engine, spec, options, watch=watch(spec.tool))] = same
        try:
            for future in as_completed(running):
                for i in running[future]:
                    outcomes[i] = _outcome(future)
                    _told(wanted[i], outcomes[i], output)
        except KeyboardInterrupt:
            _stop(pool)
            raise
    return outcomes


def _outcome(future: "Future[BuiltImage]") -> _Outcome:
    try:
        return future.result()
    except TsandboxError as error:
        return error


def _stop(pool: "ThreadPoolExecutor") -> None:
    """End the builds in all threads; each cleans up after itself."""
    from tsandbox.engine.process import stop_all

    pool.shutdown(wait=False, cancel_futures=True)
    stop_all()


def _told(wanted: Wanted, outcome: _Outcome, output: Output) -> None:
    """A line for each as it ends; on stderr, for what follows is the summary."""
    if isinstance(outcome, TsandboxError):
        return
    how = _how(outcome)
    output.progress(f"{click.style('✓', fg='green')} {safe(wanted.source)}  {outcome.reference}  {how}")


def _result(wanted: Wanted, outcome: _Outcome) -> Result:
    known = {} if isinstance(wanted.spec, TsandboxError) else _about(wanted.spec)
    if isinstance(outcome, TsandboxError):
        return from_error(outcome, **{"source": wanted.source, **known})
    assert isinstance(wanted.spec, ContainerSpec)
    return _passed(wanted.spec, outcome)


def _passed(spec: ContainerSpec, built: BuiltImage) -> Result:
    took = round(built.seconds * 1000)
    return Result(
        status="passed",
        exit_code=0,
        stage="build",
        image=built.reference,
        cached=built.cached,
        key=built.key,
        image_size=built.size,
        duration_ms=took,
        build_ms=took,
        log=str(built.log) if built.log else None,
        **_about(spec),
    )


def _about(spec: ContainerSpec) -> dict[str, Any]:
    target = TargetRecord(
        os=spec.target.os,
        arch=spec.target.arch,
        linux_family=spec.target.linux_family,
        libc=spec.target.libc,
        gpu=spec.target.gpu,
    )
    return {
        "tool": spec.tool,
        "version": spec.version,
        "source": spec.source,
        "target": target,
        "profile": spec.profile,
    }


def _exit_code(results: list[Result]) -> int:
    """Of an invalid input before all others, as everywhere."""
    codes = {result.exit_code for result in results}
    return 3 if 3 in codes else max(codes, default=0)


def _summary(results: list[Result], output: Output) -> None:
    from tsandbox.cli.entry import tell as tell_error

    for result in results:
        if result.error is not None:
            error = TsandboxError(result.error.message, hint=result.error.hint, details=result.error.details)
            tell_error(error)
    output.say(_counted(results))


def _counted(results: list[Result]) -> str:
    built = sum(result.cached is False for result in results)
    reused = sum(result.cached is True for result in results)
    failed = sum(result.error is not None for result in results)
    distinct = len({result.key for result in results if result.key})
    words = [f"{built} built", f"{reused} reused", f"{failed} failed"]
    return f"{plural(len(results), 'input')}, {plural(distinct, 'image')}: {', '.join(words)}"


@contextmanager
def shown(output: Output) -> Iterator[Watching]:
    """A function that, given a tool's name, watches its build: moving lines on a terminal, plain ones elsewhere."""
    if output.quiet:
        yield lambda _: _ignore
    elif output.live:
        with _moving() as watching:
            yield watching
    else:
        yield lambda tool: lambda progress: _plain(tool, progress, output)


def _ignore(progress: Progress) -> None:
    """`--quiet`."""


def _plain(tool: str, progress: Progress, output: Output) -> None:
    """Steps and what takes long; every package only with `--verbose`."""
    line = f"{safe(tool)}: {_text(progress)}"
    if progress.package is None:
        output.progress(line)
    else:
        output.detail(line)


@contextmanager
def _moving() -> Iterator[Watching]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    now: dict[str, str] = {}
    with Live(console=Console(stderr=True), refresh_per_second=8, transient=True) as live:

        def watching(tool: str) -> Watch:
            def watch(progress: Progress) -> None:
                now[tool] = _text(progress)
                live.update(Text("\n".join(f"{safe(name)}: {text}" for name, text in list(now.items())[-12:])))

            return watch

        yield watching


def _text(progress: Progress) -> str:
    what = safe(progress.what)
    step = f"[{progress.step}/{progress.steps}] " if progress.step else ""
    if progress.total:
        what += f"  {size(progress.bytes or 0)} of {size(progress.total)}"
    return f"{step}{what if len(what) <= _WIDTH else what[: _WIDTH - 1] + '…'}"
