"""Before a local recipe runs commands of its own or reaches the network, a person says yes."""

import sys

import click

from tsandbox.cli.output import Output, safe
from tsandbox.errors import UsageError
from tsandbox.plan import Plan
from tsandbox.sandbox.consent import wishes


def ask(plan: Plan, *, yes: bool, output: Output) -> bool:
    """Whether commands of the recipe may run. Shipped recipes have been looked at; others are asked about."""
    wanted = wishes(plan)
    if not wanted or yes:
        return yes
    lines = [safe(wish) for wish in wanted]
    if output.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"{plan.tool}: the recipe wants what needs your consent, and nobody can be asked here",
            hint="look at it, then agree with --yes",
            file=plan.file,
            details=lines,
        )
    click.echo(f"{click.style(safe(plan.tool), bold=True)} wants, in its sandbox:", err=True)
    for line in lines:
        click.echo(f"  {line}", err=True)
    try:
        allowed = click.confirm("Allow it?", default=False, err=True)
    except click.Abort:
        # The terminal stands behind the question, and ^C.
        click.echo(err=True)
        raise
    if not allowed:
        raise UsageError("not allowed: nothing was installed", file=plan.file)
    return True
