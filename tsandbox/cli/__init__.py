"""The command line: the only room that prints, asks or ends the process."""

import gc

# Modules and models are made once and stay: looking through them for garbage every 700 objects finds none.
gc.set_threshold(20_000)

from tsandbox.cli.entry import main  # noqa: E402 - all that follows is imported under the threshold above

__all__ = ["main"]
