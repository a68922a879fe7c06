"""The standard streams as every command may rely on them, whatever the caller did with them."""

import io
import os
import sys


def make_usable() -> None:
    """All three are there, and take every character."""
    # In the order of their numbers: each gets its own number back, and no file opened later is taken for it.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        # A recipe's text may hold what the terminal's encoding has no bytes for.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon() -> None:
    """Python must not complain once more, while it shuts down, that nobody takes what is left."""
    sys.stdout = None
