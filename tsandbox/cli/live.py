"""How an installation looks while it goes on: a moving picture on a terminal, a line per event everywhere else."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from tsandbox.cli.output import Output, safe
from tsandbox.printable import one_line
from tsandbox.report.words import duration, size
from tsandbox.sandbox.news import (
    Building,
    Built,
    Checking,
    Fetching,
    Listener,
    News,
    Said,
    StepBegan,
    StepEnded,
)
from tsandbox.sandbox.news import Output as StepOutput

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from tsandbox.build import Progress

_TAIL = 4
# Fits a small terminal together with the line that moves and its tail.
_DONE = 12


@contextmanager
def watching(output: Output, tool: str) -> Iterator[Listener]:
    """A listener that shows what happens, in the way that fits where it is shown."""
    if output.quiet:
        yield lambda _: None
    elif output.live and not output.verbose:
        with _moving(tool) as listener:
            yield listener
    else:
        yield Lines(output, tool)


class Lines:
    """One line per thing that is finished; with `--verbose` all that programs print."""

    def __init__(self, output: Output, tool: str) -> None:
        self._output = output
        self._tool = tool
        self._began: StepBegan | None = None
        self._fetched: set[str] = set()
        self._building = ""
        self._stages: set[str] = set()

    def __call__(self, news: News) -> None:
        match news:
            case Said(text=text):
                self._say(text)
            case Fetching(name=name) if name not in self._fetched:
                self._fetched.add(name)
                self._say(f"fetching {name}")
            case Building(progress=progress):
                self._build(progress)
            case Built():
                self._say(built_line(news))
            case StepBegan():
                self._began = news
            case StepEnded():
                self._ended(news)
            case Checking(commands=commands):
                self._say(f"verifying: {len(commands)} command{'' if len(commands) == 1 else 's'}")
            case StepOutput(text=text):
                for line in text.splitlines():
                    self._output.detail(f"    {safe(line)}")
            case _:
                pass

    def _build(self, progress: "Progress") -> None:
        # Every package is news on a terminal; in a log of CI the steps are enough, each once.
        if self._output.verbose:
            if progress.what != self._building:
                self._building = progress.what
                self._say(progress.what)
        elif (stage := _stage(progress)) and stage not in self._stages:
            self._stages.add(stage)
            self._say(stage)

    def _ended(self, news: StepEnded) -> None:
        began = self._began
        if began is None:
            return
        mark = click.style("ok", fg="green") if news.ok else click.style("failed", fg="red", bold=True)
        where = f"[{news.number}/{began.of}] {began.action}  {began.place}"
        self._say(f"{safe(where)}  {mark} ({duration(news.duration_ms)})", ready=True)

    def _say(self, text: str, *, ready: bool = False) -> None:
        self._output.progress(f"{safe(self._tool)}: {text if ready else safe(text)}")


def _stage(progress: "Progress") -> str | None:
    """What goes on for long enough that somebody who waits wants to read it."""
    if progress.package:
        return None
    if progress.step is None:
        return progress.what
    if progress.total:
        return f"fetching packages, {size(progress.total)}"
    return f"building the image, step {progress.step}/{progress.steps}"


def built_line(news: Built) -> str:
    image = news.image
    how = (
        "cached" if image.cached else "pulled" if image.pulled else f"built in {duration(round(image.seconds * 1000))}"
    )
    return f"image {image.reference.partition(':')[2][:12]} {how}, {size(image.size)}"


@contextmanager
def _moving(tool: str) -> Iterator[Listener]:
    # Late: what is shown in lines needs none of it.
    from rich.console import Console
    from rich.live import Live

    picture = _Picture(tool)
    console = Console(stderr=True, highlight=False)
    # Transient: the summary that follows says all of this again, and more.
    with Live(console=console, refresh_per_second=10, transient=True, get_renderable=picture.render):
        yield picture.hear


class _Picture:
    """What is done, a line each; what goes on, as one line that moves, with the end of its output."""

    def __init__(self, tool: str) -> None:
        from rich.spinner import Spinner

        self._tool = tool
        self._spinner = Spinner("dots", style="cyan")
        self._what = "preparing"
        self._detail = ""
        self._since = time.monotonic()
        self._tail: list[str] = []
        self._began: StepBegan | None = None
        self._done: list[Text] = []

    def hear(self, news: News) -> None:
        match news:
            case Said(text=text):
                self._now(text)
            case Fetching(name=name, got=got, total=total):
                self._now(f"fetching {name}", f"{size(got)} of {size(total)}" if total else size(got))
            case Building(progress=progress):
                counted = f"{progress.step}/{progress.steps} " if progress.step else ""
                fetched = (
                    f"{size(progress.bytes)} of {size(progress.total)}" if progress.bytes and progress.total else ""
                )
                self._now("building the image", f"{counted}{progress.what}  {fetched}".rstrip())
            case Built():
                self._keep("[green]✓[/]", built_line(news))
                self._now("starting the container")
            case StepBegan():
                self._began = news
                self._now(f"{news.number}/{news.of} {news.action}", news.place)
            case StepOutput(text=text):
                self._tail = [*self._tail, *text.splitlines()][-_TAIL:]
            case StepEnded():
                self._ended(news)
            case Checking():
                self._now("verifying")

    def _ended(self, news: StepEnded) -> None:
        began = self._began
        assert began is not None
        mark = "[green]✓[/]" if news.ok else "[red]✗[/]"
        self._keep(mark, f"{began.action:20}  {began.place}  {duration(news.duration_ms)}")
        self._now("continuing" if news.ok else "stopping")

    def _now(self, what: str, detail: str = "") -> None:
        if what != self._what:
            self._since = time.monotonic()
            self._tail = []
        self._what, self._detail = what, detail

    def _keep(self, mark: str, text: str) -> None:
        from rich.text import Text

        line = Text.from_markup(f"{mark} ") + Text(one_line(text))
        line.no_wrap, line.overflow = True, "ellipsis"
        self._done = [*self._done, line][-_DONE:]

    def render(self) -> "RenderableType":
        from rich.console import Group
        from rich.text import Text

        elapsed = duration(round((time.monotonic() - self._since) * 1000)) if self._since else ""
        line = Text.assemble(
            (one_line(self._tool), "bold"), "  ", one_line(self._what), "  ", (one_line(self._detail), "dim"),
            "  ", (elapsed, "cyan"),
            no_wrap=True, overflow="ellipsis",
        )  # fmt: skip
        self._spinner.update(text=line)
        tail = [Text(f"  │ {one_line(each)}", style="dim", no_wrap=True, overflow="ellipsis") for each in self._tail]
        return Group(*self._done, self._spinner, *tail)
