"""Loaded by the Python that runs pip on the host, before pip itself: pip may start no other program.

`--only-binary` does not hold for what a wheel depends on by address (`x @ git+https://…`, `x @ file:///…`): pip would
clone it and run its build. Both need another process, and what is fetched beforehand needs none.
"""

# ruff: noqa: INP001 - no package: this directory is put on the path of another Python.
import os
import sys

_STARTS = frozenset({"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
# What pip asks about this host, to tell an index of it: it does without an answer.
_ASKED = frozenset({"lsb_release", "rustc", "uname"})


def _refuse(event: str, args: tuple[object, ...]) -> None:
    if event not in _STARTS:
        return
    program = os.path.basename(str(args[0] if args else event))  # noqa: PTH119 - pathlib is slow to load
    # keyring is the user's own program, from which pip can be told to take the password of an index.
    if program == "keyring":
        return
    if program not in _ASKED:
        # Said here, because pip tells what it did not expect as a traceback.
        sys.stderr.write(f"ERROR: not a wheel: pip would have to run {program} on this host to get or build it\n")
    raise PermissionError(f"{program} is not run on this host")


sys.addaudithook(_refuse)
