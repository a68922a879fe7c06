"""`tsandbox doctor`: what this machine has and lacks."""

from collections import Counter
from typing import TYPE_CHECKING

import click

from tsandbox.cli.engines import engine_option, interruptible
from tsandbox.cli.output import Output, examples, output_options, safe
from tsandbox.errors import EngineUnavailable

if TYPE_CHECKING:
    from tsandbox.build.doctor import Check, Examination, State

_COLOURS: "dict[State, str]" = {"ok": "green", "warning": "yellow", "failed": "red", "info": "blue"}
_NAME_WIDTH = 14
_INDENT = " " * (2 + 8 + _NAME_WIDTH + 1)


@click.command(
    name="doctor",
    epilog=examples(
        "tsandbox doctor                         look at both engines and this machine",
        "tsandbox doctor --engine docker         only at docker",
        "tsandbox doctor --fix                   put right what needs no root",
        "tsandbox doctor --json                  for a script: exit code 0, or 5 when something is wrong",
    ),
)
@click.option("--fix", "wants_fix", is_flag=True, help="Put right what needs no root, then look again.")
@engine_option
@output_options
@click.pass_context
def command(ctx: click.Context, wants_fix: bool, engine: str | None) -> None:
    """Check this machine, and say how to fix what is wrong.

    Containers are really run: what is shown as enforced was read back from the kernel. Exit code 0 when tsandbox can
    do its work here, warnings or not, and 5 when it cannot.
    """
    from tsandbox.build.doctor import examine, fix

    output: Output = ctx.obj
    fixed: list[str] = []
    with interruptible():
        output.progress("running containers to see what works here…")
        found = examine(engine)
        if wants_fix:
            for done in fix(found.checks, watch=lambda progress: output.progress(safe(progress.what))):
                fixed.append(done)
                output.progress(safe(f"--fix: {done}"))
            if fixed:
                found = examine(engine)
    if output.json:
        _as_json(output, found, fixed)
    else:
        _as_text(output, found, fixed, wants_fix=wants_fix)
    ctx.exit(0 if found.sound else EngineUnavailable.exit_code)


def _as_json(output: Output, found: "Examination", fixed: list[str]) -> None:
    from tsandbox.report.result import error_record

    output.answer(
        0 if found.sound else EngineUnavailable.exit_code,
        engine=found.engine,
        checks=found.checks,
        fixed=fixed,
        error=error_record(found.error) if found.error else None,
    )


def _as_text(output: Output, found: "Examination", fixed: list[str], *, wants_fix: bool) -> None:
    about: str | None = ""
    for check in found.checks:
        if check.engine != about:
            output.say(("\n" if about != "" else "") + click.style(check.engine or "this machine", bold=True))
            about = check.engine
        _say(output, check)
    counts = Counter(check.state for check in found.checks)
    output.say("\n" + ", ".join(f"{counts[state]} {state}" for state in _COLOURS if counts[state]))
    if found.engine is None:
        output.say(click.style("No engine can be used: nothing can be built or proved here yet.", fg="red", bold=True))
    can_fix = any(check.remedy for check in found.checks if check.state != "ok")
    if can_fix and not wants_fix:
        output.say("Some of this needs no root: tsandbox doctor --fix")
    elif wants_fix and not fixed:
        output.say("There is nothing that could be fixed without root.")


def _say(output: Output, check: "Check") -> None:
    state = click.style(f"{check.state:8}", fg=_COLOURS[check.state], bold=check.state == "failed")
    output.say(f"  {state}{check.name:{_NAME_WIDTH}} {_wrapped(check.found)}")
    if check.meaning:
        output.say(_INDENT + click.style(_wrapped(check.meaning), dim=True))
    if check.fix:
        # Not wrapped: it is there to be copied.
        output.say(_INDENT + click.style("fix: ", fg="cyan") + safe(check.fix))


def _wrapped(text: str) -> str:
    import shutil
    import textwrap

    width = max(40, min(120, shutil.get_terminal_size((100, 24)).columns) - len(_INDENT))
    return f"\n{_INDENT}".join(textwrap.wrap(safe(text), width, break_long_words=False, break_on_hyphens=False))
