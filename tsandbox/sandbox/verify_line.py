"""The line of a recipe that says what a verification did not find: reports point to it."""

from pathlib import Path

from tsandbox.plan import Plan
from tsandbox.recipe.lines import Lines
from tsandbox.sandbox.outcome import CheckOutcome


def line_of(plan: Plan, number: int, check: CheckOutcome) -> int | None:
    """Of the pattern that was not found, or else of the command; None where there is no recipe to point to."""
    if not plan.file.endswith(".toml"):
        return None
    try:
        lines = Lines(Path(plan.file).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    table = _tables(plan)[number]
    ended_well = check.exit_code == check.expected_exit_code
    keys = ("pattern", "patterns") if ended_well and check.expected else ("command",)
    around = lines.of(*table)
    # A key that is not written has the line of its table; the other spelling of it may have one of its own.
    return next((line for key in keys if (line := lines.of(*table, key)) != around), around)


def _tables(plan: Plan) -> list[tuple[str | int, ...]]:
    """Where each check is written, in the order in which they are judged: those without a command are none."""
    main = [("verify",)] if plan.verify.command else []
    more = [("verify", "additional", index) for index, check in enumerate(plan.verify.additional) if check.command]
    return [*main, *more]
