"""What a killed `podman build` leaves behind, found and removed by ids that are surely our own.

Podman runs the steps of a build outside its own process: killing it, even with its whole group, leaves the running
step, its bundle, and a mounted working container per stage. Three marks tell ours from everybody else's:
the build's own TMPDIR holds the bundles, the runtime lists containers with their bundle, and an unused build secret
whose path lies in the build's directory is noted by buildah in every working container.
"""

import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tsandbox.engine import process
from tsandbox.engine.command import EngineCommand

MARK = "tsandbox-build"
_LIST_ATTEMPTS = 8
_LIST_PAUSE = 0.05


def prepare(work: Path) -> tuple[dict[str, str], tuple[str, ...]]:
    """Environment and options that make a podman build in `work` recognisable."""
    (work / "tmp").mkdir()
    (work / "mark").touch()
    return {"TMPDIR": str(work / "tmp")}, ("--secret", f"id={MARK},src={work / 'mark'}")


def clean(command: EngineCommand, work: Path, *, runtime: str, storage: Path, rootless: bool) -> None:
    """Remove every trace of the build in `work`; what is already gone is no error.

    What cannot be removed now (on a full disk podman cannot even forget) is left to the next command, with its mark.
    """
    inside = command.argv("unshare") if rootless else []
    for identifier in bundled_under(work, runtime=runtime, env=command.env) or ():
        process.run([*inside, runtime, "delete", "--force", identifier], env=command.env, check=False, timeout=60)
    _remove_tree(work / "tmp", inside, command)
    if containers := marked_with(work, storage):
        process.run(command.argv("rm", "--force", *containers), env=command.env, check=False, timeout=120)
    if bundled_under(work, runtime=runtime, env=command.env) == [] and not marked_with(work, storage):
        _remove_tree(work, inside, command)


def _remove_tree(path: Path, inside: list[str], command: EngineCommand) -> None:
    shutil.rmtree(path, ignore_errors=True)
    # Files that a step made as another user can only be removed from inside the user namespace.
    if path.exists() and inside:
        process.run([*inside, "rm", "-rf", "--", path], env=command.env, check=False, timeout=120)


def bundled_under(work: Path, *, runtime: str, env: dict[str, str | None]) -> list[str] | None:
    """Ids of the runtime's containers whose bundle lies in the build's own TMPDIR; None: the runtime cannot tell.

    It cannot while a container of anybody's goes away between its two looks at it, so it is asked again.
    """
    for _ in range(_LIST_ATTEMPTS):
        done = process.run([runtime, "list", "--format", "json"], env=env, check=False, timeout=60)
        with suppress(msgspec.DecodeError):
            if done.returncode == 0:
                listed: list[dict[str, Any]] = msgspec.json.decode(done.stdout or b"null") or []
                top = work.resolve() / "tmp"
                return [entry["id"] for entry in listed if Path(entry.get("bundle", "")).resolve().is_relative_to(top)]
        time.sleep(_LIST_PAUSE)
    return None


def marked_with(work: Path, storage: Path) -> list[str]:
    """Ids of the working containers that carry the build's mark."""
    mark = f"src={work / 'mark'}".encode()
    states = storage.glob("*-containers/*/userdata/buildah.json")
    return [path.parent.parent.name for path in states if mark in _bytes(path)]


def _bytes(path: Path) -> bytes:
    with suppress(OSError):
        return path.read_bytes()
    return b""
