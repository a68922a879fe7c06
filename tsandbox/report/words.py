"""Numbers as people read them."""

_SECOND = 1000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_STEP = 1000


def duration(ms: int) -> str:
    """850 ms, 12.3 s, 4 min 05 s, 1 h 02 min."""
    if ms < _SECOND:
        return f"{ms} ms"
    if ms < _MINUTE:
        return f"{ms / _SECOND:.1f} s"
    if ms < _HOUR:
        return f"{ms // _MINUTE} min {ms % _MINUTE // _SECOND:02} s"
    return f"{ms // _HOUR} h {ms % _HOUR // _MINUTE:02} min"


def size(count: int) -> str:
    """Decimal units, as engines print image sizes."""
    if count < _STEP:
        return f"{count} B"
    value = count / _STEP
    for unit in ("kB", "MB"):
        if value < _STEP:
            return f"{value:.1f} {unit}"
        value /= _STEP
    return f"{value:.1f} GB"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
