"""Versions compared part by part, as people mean them: 1.10 is newer than 1.9, 2.0-rc1 is older than 2.0."""

import re
from itertools import zip_longest

# A part is a number, or letters together with whether a number follows: `rc1`, but the `w` of `1.1.1w`.
_PARTS = re.compile(r"(\d+)|([A-Za-z]+)(?=(\d?))")
_Part = tuple[int, int, str]
_END: _Part = (1, 0, "")


def at_least(found: str, wanted: str) -> bool:
    return compare(found, wanted) >= 0


def compare(left: str, right: str) -> int:
    """Negative, zero or positive, as `left` is older than, as old as or newer than `right`."""
    for one, other in zip_longest(_parts(left), _parts(right), fillvalue=_END):
        if one != other:
            return -1 if one < other else 1
    return 0


def _parts(version: str) -> list[_Part]:
    # What follows a plus is build metadata: it says which build, not which version.
    text = version.strip().lstrip("vV").split("+")[0]
    return [_part(*match.groups()) for match in _PARTS.finditer(text)]


def _part(number: str | None, word: str | None, next_digit: str | None) -> _Part:
    if number is not None:
        return (1, int(number), "")
    assert word is not None
    # 1.0b2 comes before 1.0; 1.1.1w (a letter release) and 9.2p1 (a patch) come after 1.1.1 and 9.2.
    before = len(word) > 1 or (word in "abc" and bool(next_digit))
    return (0 if before else 2, 0, word.lower())
