"""Making a base from Debian's packages: with this host's apt where it is Debian, else inside a container that is."""

import os
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tsandbox import settings
from tsandbox.build import archive
from tsandbox.build.host import ca_bundle, proxies
from tsandbox.build.platform import refuse_foreign
from tsandbox.build.progress import Watch, tell
from tsandbox.build.workplace import AS_ROOT, Workplace
from tsandbox.derive import bases
from tsandbox.derive.bases import Definition
from tsandbox.engine import orphans, process
from tsandbox.engine.protocol import Engine
from tsandbox.errors import BuildFailed, NoSpace

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_TOOLS = ("apt-get", "dpkg-deb", "tar", "find", "sha256sum", "awk")
# A slow mirror is slow, but one that needs an hour for 60 MB is not there.
_TIMEOUT = 3600.0
# What making a base takes up on the way: measured, and half as much again.
_MEGABYTES = {"runtime": 75, "builder": 275}


def make_base(engine: Engine, made_from: Definition, place: Workplace, watch: Watch | None = None) -> Path:
    """The base as a tar archive in `place`."""
    if settings.option("base_maker") == "container" or not host_can(made_from):
        from tsandbox.build.make_inside import make_inside

        return make_inside(engine, made_from, place, watch)
    return _make_here(made_from, place.directory, watch)


def steps(made_from: Definition, scripts: str, work: str) -> list[list[str]]:
    """The commands that make a base, wherever they run."""
    how = "exact" if made_from.name == "runtime" else "closure"
    return [
        ["sh", f"{scripts}/fetch.sh", work, how, *made_from.packages],
        ["sh", f"{scripts}/{made_from.name}.sh", work],
    ]


def environment(made_from: Definition) -> dict[str, str]:
    """What the scripts know; the mirror, which may hold credentials, is not among it."""
    return {
        "ARCH": made_from.arch,
        "TRIPLET": made_from.triplet,
        "POCKETS": " ".join(made_from.pockets),
        "SECURITY": made_from.security,
        "APPLETS": " ".join(made_from.applets),
        "EXCLUDE": " ".join(made_from.exclude),
        "INCLUDE": " ".join(made_from.include),
        "KEYRING": str(KEYRING),
        "SOURCE_DATE_EPOCH": str(epoch_seconds(made_from.epoch)),
        "LC_ALL": "C",
    }


def mirror_environment() -> dict[str, str]:
    found = archive.mirror()
    mirrors = {} if found is None else {"MIRROR": found.main, "SECURITY_MIRROR": found.security}
    return mirrors | proxies()


def epoch_seconds(epoch: str) -> int:
    moment = datetime.fromisoformat(epoch)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def run_step(argv: Sequence[str], made_from: Definition, env: dict[str, str], secret: dict[str, str]) -> None:
    try:
        process.run(argv, env=env, secret_env=secret, timeout=_TIMEOUT)
    except process.CommandFailed as failed:
        raise base_error(made_from, failed) from failed


def base_error(made_from: Definition, failed: process.CommandFailed) -> BuildFailed:
    from tsandbox.build.failure import cause_of

    cause = cause_of(failed.output)
    return BuildFailed(
        f"the base {made_from.name} ({made_from.suite}, {made_from.arch}) could not be made"
        + (f": {cause.message}" if cause else ""),
        hint=cause.hint if cause else "run `tsandbox doctor`, and look at the output above",
        details=failed.details,
        temporary=cause.temporary if cause else None,
    )


def _make_here(made_from: Definition, work: Path, watch: Watch | None) -> Path:
    _require_room(made_from, work)
    env = environment(made_from) | orphans.mark(work)
    secret = mirror_environment()
    if bundle := ca_bundle():
        env["CA_BUNDLE"] = str(bundle)
    for what, argv in zip(_told(made_from), steps(made_from, str(bases.directory()), str(work)), strict=True):
        tell(watch, what)
        wrapped = AS_ROOT if made_from.name == "builder" and os.geteuid() and argv[1].endswith("builder.sh") else ()
        run_step([*wrapped, *argv], made_from, env, secret)
    return work / "base.tar"


def _require_room(made_from: Definition, work: Path) -> None:
    """Asked before, for apt waits on a full disk for minutes, and does not say what for."""
    free, needed = shutil.disk_usage(work).free // 10**6, _MEGABYTES[made_from.name]
    if free < needed:
        raise NoSpace(
            f"making the base {made_from.name} takes {needed} MB, and {settings.state_dir()} has room for {free} MB",
            hint="free space with `tsandbox cache gc --older-than 7d`, or set TSANDBOX_STATE_DIR to a larger place",
        )


def _told(made_from: Definition) -> Iterator[str]:
    yield f"base {made_from.name}: fetching the packages of {made_from.suite}"
    yield f"base {made_from.name}: putting them together"


def host_can(made_from: Definition) -> bool:
    if not archive.is_debian() or not KEYRING.is_file() or any(shutil.which(tool) is None for tool in _TOOLS):
        return False
    if made_from.name == "runtime":
        return True
    # The builder's install scripts are programs of its own architecture.
    refuse_foreign(made_from.arch)
    return os.geteuid() == 0 or process.run([*AS_ROOT, "true"], check=False, timeout=30).returncode == 0
