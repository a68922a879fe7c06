"""Where in a TOML file a value stands.

tomllib tells no positions, so this walks the text once more, knowing that it is valid TOML. It is needed only to point
at a fault or to show where a package was asked for, so nothing here runs for a recipe that is merely derived.
"""

import re
from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple

Path = tuple[str | int, ...]

_STEP_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*steps[ \t]*\]\]", re.MULTILINE)
_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\]|\\.)*\"|'[^']*'")
_STRING = re.compile(r"\"\"\"(?:[^\\]|\\.)*?\"\"\"+|'''.*?'''+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")


# tomllib needs time that grows with the square of a key's parts: 100 is far beyond what anyone writes.
_MANY_DOTS = 100
_DEEP_KEY = re.compile(
    r"(?:^|[{,])[ \t]*\[{0,2}[ \t]*(?:(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')[ \t]*\.[ \t]*){%d}" % _MANY_DOTS  # noqa: UP031
)


class Statement(NamedTuple):
    """A table header or an assignment, from its first character to behind its last."""

    path: Path
    start: int
    end: int
    is_header: bool


class Array(NamedTuple):
    """An array: its opening bracket, and the end of its last value, or of the bracket where it has none."""

    start: int
    last: int
    is_empty: bool


def deep_key(text: str) -> int | None:
    """The line of a key with absurdly many parts (`a.a.a.…`), or None."""
    if text.count(".") < _MANY_DOTS:
        return None
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= _MANY_DOTS and _DEEP_KEY.search(line):
            return number
    return None


def statements(text: str) -> list[Statement]:
    """The statements of a valid TOML text in order; none where its layout is not understood."""
    try:
        return _Walk(text).statements
    except (IndexError, ValueError, RecursionError):
        return []


class Lines:
    """Line numbers of one TOML text, by path: ("steps", 1, "packages", "apt", 0)."""

    def __init__(self, text: str) -> None:
        self._text = text

    def of(self, *path: str | int) -> int | None:
        """The line of `path`, or of the nearest thing around it that has one."""
        for end in range(len(path), 0, -1):
            if line := self._index.get(path[:end]):
                return line
        return None

    def of_steps(self, count: int) -> list[int | None]:
        # The headers alone are found at the speed of one regex; only unusual layouts need the walk.
        headers: list[int | None] = []
        line, seen = 1, 0
        for match in _STEP_HEADER.finditer(self._text):
            line, seen = line + self._text.count("\n", seen, match.start()), match.start()
            headers.append(line)
        if len(headers) == count:
            return headers
        return [self.of("steps", i) for i in range(count)]

    def array(self, *path: str | int) -> Array | None:
        """Where the array at `path` stands."""
        return self._walk.arrays.get(path) if self._walk else None

    @property
    def _index(self) -> dict[Path, int]:
        return self._walk.index if self._walk else {}

    @cached_property
    def _walk(self) -> "_Walk | None":
        try:
            return _Walk(self._text)
        except (IndexError, ValueError, RecursionError):
            # A layout that the walk does not understand costs the line number, never the message.
            return None


class _Walk:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.index: dict[Path, int] = {}
        self.arrays: dict[Path, Array] = {}
        self.counts: dict[Path, int] = {}
        self.statements: list[Statement] = []
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        table: Path = ()
        while self._skip(_BLANK) < len(text):
            start = self.at
            if is_header := text[start] == "[":
                path = table = self._header()
            else:
                path = self._assignment(table)
            self.statements.append(Statement(path, start, self.at, is_header))

    def _skip(self, pattern: re.Pattern[str]) -> int:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return self.at

    def _note(self, path: Path, position: int) -> None:
        self.index.setdefault(path, bisect_right(self.starts, position))

    def _header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 2 if is_array else 1
        keys = self._keys()
        self.at = self.text.index("]", self.at) + (2 if is_array else 1)
        path: Path = ()
        for i, key in enumerate(keys):
            path = (*path, key)
            if is_array and i == len(keys) - 1:
                self.counts[path] = self.counts.get(path, -1) + 1
                self._note(path, start)
            if path in self.counts:
                path = (*path, self.counts[path])
        self._note(path, start)
        return path

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip(_SPACE)
            match = _KEY_PART.match(self.text, self.at)
            if match is None:
                return keys
            self.at = match.end()
            keys.append(match.group().strip("\"'"))
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _assignment(self, table: Path) -> Path:
        start = self.at
        path: Path = table
        for key in self._keys():
            path = (*path, key)
            self._note(path, start)
        if self.at == start:
            raise IndexError(start)
        self.at = self.text.index("=", self.at) + 1
        self._skip(_SPACE)
        self._value(path)
        return path

    def _value(self, path: Path) -> None:
        char = self.text[self.at]
        if char == "[":
            self._array(path)
        elif char == "{":
            self._inline_table(path)
        elif match := (_STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)):
            self.at = match.end()
        else:
            raise IndexError(self.at)

    def _array(self, path: Path) -> None:
        start = self.at
        self.at = last = start + 1
        position = 0
        while self.text[self._skip(_BLANK)] != "]":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._note((*path, position), self.at)
            self._value((*path, position))
            last = self.at
            position += 1
        self.arrays[path] = Array(start, last, position == 0)
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        while self.text[self._skip(_BLANK)] != "}":
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self._assignment(path)
        self.at += 1
