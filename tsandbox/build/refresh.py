"""Moving the epoch of the bases: from then on all keys are new, and bases are made from the archive of that moment."""

import time

import tomli_w

from tsandbox.derive.bases import epoch, epoch_file


def move_epoch() -> str:
    """To this very second; the answer is what is in force, which `TSANDBOX_EPOCH` may decide otherwise."""
    path = epoch_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_suffix(f".{time.monotonic_ns()}")
    temporary.write_text(tomli_w.dumps({"epoch": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}), encoding="utf-8")
    temporary.replace(path)
    return epoch()
