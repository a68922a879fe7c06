"""Options that are amounts: `7d`, `90s`, `5G`. Each function is the type of a click option."""

import re

import click

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_BYTES = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}


def duration(text: str | float) -> float:
    """Seconds, from a number with a unit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([smhdw]?)", str(text).strip().lower())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a duration such as 90s, 30m, 12h or 7d")
    return float(match[1]) * _SECONDS[match[2]]


def size(text: str | int) -> int:
    """Bytes, from a number with a decimal unit, as engines print sizes."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kmgt]?)b?", str(text).strip().lower())
    if match is None:
        raise click.BadParameter(f"{text!r} is not a size such as 500M or 5G")
    return int(float(match[1]) * _BYTES[match[2]])
