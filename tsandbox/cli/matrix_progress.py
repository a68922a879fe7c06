"""How a run of the matrix looks while it goes on: a moving bar on a terminal, a line per cell everywhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tsandbox.cli.output import Output, safe
from tsandbox.matrix.run import Progress
from tsandbox.report.result import Result, State
from tsandbox.report.run import BAD
from tsandbox.report.text import failure_lines
from tsandbox.report.words import duration, plural

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import RenderableType

_COLOURS: dict[State, str] = {
    "passed": "green",
    "flaky": "yellow",
    "failed": "red",
    "error": "red",
    "timeout": "red",
    "skipped": "yellow",
}
_NAMED = 3


@contextmanager
def shown(output: Output, total: int) -> "Iterator[Callable[[Progress], None]]":
    """A function that shows where the run stands; failures are told at once, with the line to see them again."""
    if output.quiet:
        yield lambda progress: _tell_failure(progress.result, named=True)
    elif output.live:
        with _moving(total) as update:
            yield update
    else:
        yield lambda progress: _tell_line(progress, output)


def _tell_line(progress: Progress, output: Output) -> None:
    if progress.result is None:
        return
    output.progress(_cell_line(progress.result, progress.done, progress.total))
    _tell_failure(progress.result)


def _cell_line(result: Result, done: int, total: int) -> str:
    width = len(str(total))
    state = click.style(f"{result.state:7}", fg=_COLOURS[result.state], bold=result.state in BAD)
    image = {True: "  cache hit", False: "  built", None: ""}[result.cached]
    return f"[{done:{width}}/{total}] {state} {safe(result.cell)}  {duration(result.duration_ms)}{image}"


def _tell_failure(result: Result | None, *, named: bool = False) -> None:
    """Where a line for the cell stands above, its name need not be said again."""
    if result is not None and result.state in BAD:
        for line in list(failure_lines(result))[0 if named else 1 :]:
            click.echo(line, err=True)


@contextmanager
def _moving(total: int) -> "Iterator[Callable[[Progress], None]]":
    # Late: a run in CI shows lines and needs none of it.
    from rich.console import Console
    from rich.live import Live

    state = _Moving(total)
    console = Console(stderr=True, highlight=False)
    with Live(console=console, refresh_per_second=8, transient=True, get_renderable=state.render) as live:

        def update(progress: Progress) -> None:
            state.now(progress)
            result = progress.result
            if result is not None and result.state != "passed":
                for line in _finished_lines(result, progress):
                    live.console.print(line, markup=False, soft_wrap=True, style=_style(result.state))

        yield update


def _finished_lines(result: Result, progress: Progress) -> Iterator[str]:
    yield click.unstyle(_cell_line(result, progress.done, progress.total))
    if result.state in BAD:
        yield from list(failure_lines(result))[1:]


def _style(state: State) -> str:
    return {"flaky": "yellow", "skipped": "yellow"}.get(state, "red")


class _Moving:
    """What the moving part shows, drawn anew as time passes."""

    def __init__(self, total: int) -> None:
        import time

        self.clock = time.monotonic
        self.began = self.clock()
        self.progress = Progress(total=total, done=0, running=0, counts={}, hits=0)
        self.running: dict[str, float] = {}

    def now(self, progress: Progress) -> None:
        self.progress = progress
        if progress.started:
            self.running[progress.started] = self.clock()
        if progress.result is not None and progress.result.cell:
            self.running.pop(progress.result.cell, None)

    def render(self) -> "RenderableType":
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        progress = self.progress
        head = Table.grid(padding=(0, 1))
        bar = ProgressBar(total=max(progress.total, 1), completed=progress.done, width=30)
        head.add_row(bar, Text(f"{progress.done:,}/{progress.total:,}"), self._numbers())
        oldest = sorted(self.running.items(), key=lambda each: each[1])
        rows = [
            Text(f"  {safe(cell)}  {duration(round((self.clock() - began) * 1000))}", style="dim", no_wrap=True)
            for cell, began in oldest[:_NAMED]
        ]
        if len(oldest) > _NAMED:
            rows.append(Text(f"  and {plural(len(oldest) - _NAMED, 'cell')} more", style="dim"))
        return Group(head, *rows)

    def _numbers(self) -> "RenderableType":
        from rich.text import Text

        progress = self.progress
        text = Text(no_wrap=True, overflow="ellipsis")
        for state, count in sorted(progress.counts.items()):
            text.append(f"{count:,} {state}", style=_COLOURS[state]).append(" · ")
        text.append(f"{progress.running:,} running · {plural(progress.hits, 'cache hit')}")
        spent = round((self.clock() - self.began) * 1000)
        text.append(f" · {duration(spent)}")
        if progress.eta_s is not None and progress.done < progress.total:
            about = duration(round(progress.eta_s) * 1000).replace(".0 s", " s")
            text.append(f" · about {about} left")
        return text
