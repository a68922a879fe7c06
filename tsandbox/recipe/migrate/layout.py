"""Editing a TOML text by its statements, so that comments and layout of everything else stay as they are."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tsandbox.recipe.lines import Statement

Span = tuple[int, int]


def inline(value: Any) -> str:
    """A value as TOML on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _string(value)
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(inline, value)) + "]"
        case _:
            return str(value)


def assignments(values: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {inline(value)}" for key, value in values.items()]


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else _string(key)


def _string(text: str) -> str:
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(named.get(char) or _escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if char < " " or "\x7f" <= char < "\xa0" else char


def whole_lines(text: str, statement: Statement) -> Span:
    """The lines that a statement takes, with a comment behind it."""
    start = text.rfind("\n", 0, statement.start) + 1
    end = text.find("\n", statement.end)
    return start, len(text) if end < 0 else end + 1


def apply(text: str, removals: Iterable[Span], insertions: Sequence[tuple[int, str]]) -> str:
    """`text` without the removed spans and with the inserted texts; all positions are those of `text`."""
    edits = [*((start, end, "") for start, end in removals), *((at, at, new) for at, new in insertions)]
    # By place only: what is inserted at one place stays in the order in which it was given.
    edits.sort(key=lambda edit: edit[:2])
    made, position = [], 0
    for start, end, new in edits:
        made.append(text[position : max(start, position)])
        made.append(new)
        position = max(position, end)
    return "".join(made) + text[position:]


def without_gaps(text: str, removals: Iterable[Span]) -> list[Span]:
    """Removed blocks take the blank line before them along where another follows, so that no double gap stays."""
    joined: list[Span] = []
    for start, end in sorted(removals):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return [_with_blank_line(text, span) for span in joined]


def _with_blank_line(text: str, span: Span) -> Span:
    start, end = span
    line = text.rfind("\n", 0, max(start - 1, 0)) + 1
    follows = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)]
    if start > 0 and not text[line:start].strip() and not follows.strip():
        return line, end
    return span
