"""The exclusions file: cells that are left out for a while, by somebody, for a reason."""

import datetime as dt
import tomllib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from tsandbox.errors import InvalidInput, Problem

# Beside the recipes and hidden, so that it is not taken for one of them.
DEFAULT_NAME = ".exclusions.toml"
_KEYS = ("cells", "reason", "owner", "link", "expires")


class Exclusion(Struct, frozen=True, kw_only=True):
    cells: tuple[str, ...]
    reason: str
    expires: dt.date
    owner: str | None = None
    link: str | None = None

    def matches(self, cell: str) -> bool:
        return any(fnmatchcase(cell, pattern) for pattern in self.cells)


def read_exclusions(path: Path, today: dt.date) -> tuple[Exclusion, ...]:
    """All entries; every fault is told at once, and an entry whose day has passed is a fault."""
    try:
        text = path.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: the exclusions cannot be read: {error}", file=str(path)) from None
    entries = raw.get("exclude", [])
    problems = [Problem(str(path), None, key, "unknown table: use [[exclude]]") for key in raw if key != "exclude"]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        problems, entries = [Problem(str(path), None, "exclude", "expected [[exclude]] tables")], []
    lines = list(_table_lines(text))
    for number, entry in enumerate(entries):
        line = lines[number] if number < len(lines) else None
        problems += (Problem(str(path), line, f"exclude[{number}]", fault) for fault in _faults(entry, today))
    if problems:
        hint = 'an entry: cells = ["jq-linux-suse-*"], reason, owner or link, expires = 2030-01-31'
        raise InvalidInput(str(problems[0]), problems=problems, hint=hint)
    return tuple(_exclusion(entry) for entry in entries)


def _table_lines(text: str) -> Iterator[int]:
    return (number for number, line in enumerate(text.splitlines(), 1) if line.strip().startswith("[[exclude]]"))


def _faults(entry: dict[str, Any], today: dt.date) -> Iterator[str]:
    yield from (f"unknown key {key!r}" for key in entry if key not in _KEYS)
    cells = entry.get("cells")
    if not isinstance(cells, list) or not cells or not all(isinstance(cell, str) and cell for cell in cells):
        yield "cells: name at least one cell or pattern"
    for key in ("reason", "owner", "link"):
        if key in entry and not _text(entry[key]):
            yield f"{key}: expected text"
    if "reason" not in entry:
        yield "reason: say why these cells are left out"
    if "owner" not in entry and "link" not in entry:
        yield "owner or link: say who looks after it, or where it is discussed"
    yield from _expiry_faults(entry.get("expires"), today)


def _expiry_faults(expires: object, today: dt.date) -> Iterator[str]:
    # A TOML date-time is a date too, for Python; its hours would say nothing here.
    if not isinstance(expires, dt.date) or isinstance(expires, dt.datetime):
        yield "expires: give a date, as in expires = 2030-01-31"
    elif expires < today:
        yield f"expired on {expires}: repair the cells and remove the entry, or renew it on purpose"


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _exclusion(entry: dict[str, Any]) -> Exclusion:
    return Exclusion(
        cells=tuple(entry["cells"]),
        reason=entry["reason"],
        expires=entry["expires"],
        owner=entry.get("owner"),
        link=entry.get("link"),
    )


def find_exclusion(cell: str, exclusions: Iterable[Exclusion]) -> Exclusion | None:
    return next((exclusion for exclusion in exclusions if exclusion.matches(cell)), None)


def unused(exclusions: Iterable[Exclusion], cells: Iterable[str]) -> Iterator[str]:
    """Patterns that match no cell: misspelt, or about recipes that are gone."""
    names = tuple(cells)
    for exclusion in exclusions:
        for pattern in exclusion.cells:
            if not any(fnmatchcase(name, pattern) for name in names):
                yield pattern
