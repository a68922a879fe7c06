"""A file's digest as recipes write it: bare, or behind the name of its algorithm."""

import re
from typing import NamedTuple

# Hexadecimal digits of each algorithm that a recipe may name.
LENGTHS = {"md5": 32, "sha1": 40, "sha224": 56, "sha256": 64, "sha384": 96, "sha512": 128}


class Digest(NamedTuple):
    algorithm: str
    value: str


def read_digest(text: str, algorithm: str | None = None) -> Digest:
    """The digest in `text`, in lower case; a ValueError says what is wrong with it."""
    before, colon, after = text.partition(":")
    named = (algorithm or (before if colon else "sha256")).lower().replace("-", "")
    value = (after if colon else text).lower()
    if named not in LENGTHS:
        raise ValueError(f"{named!r} is no algorithm that is known here: {', '.join(LENGTHS)}")
    if len(value) != LENGTHS[named] or not re.fullmatch("[0-9a-f]*", value):
        raise ValueError(f"is not a {named}: {LENGTHS[named]} hexadecimal digits")
    return Digest(named, value)
