"""Plain columns for people: they survive `| grep` and `| less`."""

from collections.abc import Sequence

import click

from tsandbox.cli.output import safe

_AGES = ((86400 * 7 * 8, 86400 * 7, "weeks"), (86400 * 2, 86400, "days"), (7200, 3600, "hours"), (120, 60, "minutes"))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns as wide as they need to be."""
    shown = [[safe(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(heads), *shown]) for i in range(len(heads))]
    lines = [_line(heads, widths), *(_line(row, widths) for row in shown)]
    return "\n".join([click.style(lines[0], bold=True), *lines[1:]])


def age(seconds: float) -> str:
    """In the largest unit that leaves more than one of it."""
    for least, unit, name in _AGES:
        if seconds >= least:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds)} s"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
