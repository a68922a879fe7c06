"""The end of an installation on one screen: what came of it, why, what it ran on, and what to do next."""

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tsandbox.cli.output import safe
from tsandbox.errors import DownloadFailed, TsandboxError
from tsandbox.printable import one_line
from tsandbox.report.words import duration, size
from tsandbox.sandbox.options import written_as
from tsandbox.sandbox.outcome import CheckOutcome, Outcome, StepOutcome

_LABEL = 9
# More steps than this do not fit on a screen beside the rest: passed ones in the middle are left out.
_MOST_STEPS = 12
_WIDTH = 100
# Of the terminal, for a single line of quoted output.
_MOST_ROWS = 4
_COLOURS = {"passed": "green", "failed": "red", "error": "red", "timeout": "red", "skipped": "yellow"}


def summary(outcome: Outcome, name: str, *, kept: bool, capsule: Path | None = None, shell: bool = False) -> str:
    """The screen after `install --sandbox`."""
    rows = [
        ("image", list(_image(outcome))),
        ("steps", list(_steps(outcome.steps))),
        ("verify", [line for check in outcome.checks for line in _check(check)]),
        ("limits", list(_limits(outcome))),
        ("note", [safe(note) for note in outcome.notes]),
        ("warning", list(_warnings(outcome))),
        ("log", [_path(outcome.log)] if outcome.log else []),
        ("files", [_path(Path(path)) for path in outcome.kept.values() if kept]),
        ("capsule", [_path(capsule)] if capsule else []),
        ("next", list(_next(outcome, name, shell=shell))),
    ]
    return _screen(outcome, rows, done="passed")


def host_summary(outcome: Outcome) -> str:
    """The screen after an installation on the host."""
    rows = [
        ("steps", list(_steps(outcome.steps))),
        ("verify", [line for check in outcome.checks for line in _check(check)]),
        ("note", [safe(note) for note in outcome.notes]),
        ("warning", list(_warnings(outcome))),
        ("tool", [_path(Path(path)) for path in outcome.kept.values()]),
        ("log", [_path(outcome.log)] if outcome.log else []),
    ]
    return _screen(outcome, rows, done="installed" if outcome.kept else "is ready")


def _screen(outcome: Outcome, rows: Sequence[tuple[str, list[str]]], *, done: str) -> str:
    width = _width()
    lines = [*_wrapped("", _headline(outcome, done), width, "  "), ""]
    if outcome.error:
        lines += [*_error(outcome.error, width), ""]
    for label, texts in rows:
        for number, text in enumerate(texts):
            lines += _wrapped(_label(label if number == 0 else ""), text, width, " " * (_LABEL + 5))
    return "\n".join(lines)


def _width() -> int | None:
    """Of the terminal; what goes elsewhere is not wrapped, for programs may look for its words."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _wrapped(head: str, text: str, width: int | None, indent: str) -> list[str]:
    """`text` behind `head` in lines of at most `width` columns, the later ones behind `indent`.

    No word is cut, for paths are copied, and the first one stays beside `head`.
    """
    if width is None or len(click.unstyle(head + text)) <= width or not text.strip(" "):
        return [head + text]
    (gap, word), *rest = re.findall(r"( *)([^ ]+)", text)
    lines = [head + gap + word]
    for gap, word in rest:
        if len(click.unstyle(lines[-1] + gap + word)) > width:
            lines.append(indent + word)
        else:
            lines[-1] += gap + word
    return lines


def _headline(outcome: Outcome, done: str) -> str:
    status = outcome.status
    mark = {"passed": "✓", "skipped": "-"}.get(status, "✗")
    word = {"passed": done, "timeout": "timed out"}.get(status, "failed")
    if outcome.exit_code == 130:
        word = "interrupted"
    version = f" {outcome.plan.version}" if outcome.plan.version else ""
    what = click.style(safe(f"{mark} {outcome.plan.tool}{version} {word}"), fg=_COLOURS[status], bold=True)
    time = "in" if status == "passed" else "after"
    code = f" (exit code {outcome.exit_code})" if outcome.error else ""
    return f"{what} on {outcome.target} {time} {duration(outcome.duration_ms)}{code}"


def _error(error: TsandboxError, width: int | None) -> Iterator[str]:
    yield from _wrapped("  ", safe(_placed(error)), width, "  ")
    for detail in error.details:
        # A line without end would push all else off the screen; the log has it whole.
        part = _cut(safe(detail), _MOST_ROWS * width) if width else safe(detail)
        yield from (click.style(line, dim=True) for line in _wrapped("  │ ", part, width, "  │   "))
    if error.hint:
        first, *rest = safe(error.hint).splitlines()
        yield from _wrapped(f"  {click.style('→', fg='cyan', bold=True)} ", first, width, "    ")
        for line in rest:
            # What is to be written into a file stands as it is to be written.
            written = line.startswith("    ")
            yield from [f"    {click.style(line, fg='green')}"] if written else _wrapped("    ", line, width, "    ")


def _placed(error: TsandboxError) -> str:
    """What could not be fetched has a step, and its message does not say where that stands."""
    known = isinstance(error, DownloadFailed) and error.file and error.line
    return f"{error.file}:{error.line}: {error.message}" if known else error.message


def _image(outcome: Outcome) -> Iterator[str]:
    if outcome.image:
        how = "cached" if outcome.cached else f"built in {duration(outcome.build_ms or 0)}"
        what = "not built" if outcome.image_size is None else f"{how}, {size(outcome.image_size)}"
        profile = f", {outcome.spec.profile}" if outcome.spec else ""
        yield f"{outcome.image}  {what} ({outcome.engine}{profile})"


def _steps(steps: Sequence[StepOutcome]) -> Iterator[str]:
    left_out = 0
    for step in steps:
        if len(steps) > _MOST_STEPS and step.status != "failed" and 3 < step.number <= len(steps) - 3:
            left_out += 1
            continue
        if left_out:
            yield click.style(f"  … {left_out} more", dim=True)
            left_out = 0
        yield _step(step)
    if left_out:
        yield click.style(f"  … {left_out} more", dim=True)


def _step(step: StepOutcome) -> str:
    mark, colour = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not_run": ("·", "yellow")}[step.status]
    place = f"{step.file}:{step.line}" if step.file and step.line else step.file or ""
    untimed = "cut off" if step.status == "failed" else "not run"
    took = duration(step.duration_ms) if step.duration_ms is not None else untimed
    text = f"{step.number} {step.action:18} {place}  {took}"
    note = f"  {one_line(step.note)}" if step.note and step.status == "passed" else ""
    return f"{click.style(mark, fg=colour)} {safe(text)}{click.style(_cut(note, _WIDTH - len(text)), dim=True)}"


def _check(check: CheckOutcome) -> Iterator[str]:
    mark = click.style("✓", fg="green") if check.ok else click.style("✗", fg="red")
    first = next((line.strip() for line in check.output.splitlines() if line.strip()), "")
    said = click.style(f"  {_cut(one_line(first), 60)}", dim=True) if first else ""
    yield f"{mark} {safe(one_line(check.command))}{said}"


def _limits(outcome: Outcome) -> Iterator[str]:
    limits = outcome.limits
    if limits is None or not outcome.steps:
        return
    words = [
        f"{written_as(limits.memory)} memory" if limits.memory else "",
        f"{limits.cpus:g} cpus" if limits.cpus else "",
        f"{limits.pids} processes" if limits.pids else "",
        f"{limits.timeout:g} s" if limits.timeout else "",
        "no network" if outcome.network == "none" else click.style("network: egress", fg="yellow"),
    ]
    yield ", ".join(word for word in words if word)
    if outcome.unenforced:
        names = ", ".join(outcome.unenforced)
        yield click.style(f"not enforced by this host: {names}", fg="yellow")


def _warnings(outcome: Outcome) -> Iterator[str]:
    """What was found and did not make it fail; what made it fail stands above."""
    if outcome.error is None:
        yield from (safe(finding.message) for finding in outcome.findings if not finding.fatal)


def _next(outcome: Outcome, name: str, *, shell: bool) -> Iterator[str]:
    word = shlex.quote(name)
    if name == "-":
        return
    if outcome.error is None:
        yield f"tsandbox install {word}  {click.style('on this host', dim=True)}"
    elif outcome.change:
        again = click.style("after the change above", dim=True)
        yield f"tsandbox install {word} --sandbox  {again}"
    # Whoever interrupts it knows where it was, and a shell that was asked for opens now.
    elif outcome.steps and outcome.exit_code != 130 and not shell:
        look = click.style("look around where it failed", dim=True)
        yield f"tsandbox install {word} --sandbox --shell-on-fail  {look}"


def _label(label: str) -> str:
    colour = "yellow" if label == "warning" else "cyan"
    return f"  {click.style(label, fg=colour)}{' ' * (_LABEL - len(label) + 1)}"


def _path(path: Path) -> str:
    try:
        return safe(f"~/{path.relative_to(Path.home())}")
    except (ValueError, RuntimeError):
        return safe(path)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= max(width, 20) else f"{text[: max(width, 20) - 1]}…"
