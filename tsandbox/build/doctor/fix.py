"""What can be put right without root: each remedy is a function that says what it did, or raises why it could not."""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tsandbox import settings
from tsandbox.build.base import ensure_base
from tsandbox.build.doctor.check import Check, Remedy
from tsandbox.build.progress import Watch
from tsandbox.derive import bases
from tsandbox.engine import connect, process
from tsandbox.errors import TsandboxError
from tsandbox.recipe.target import host_arch

_PATIENCE = 60.0


def fix(checks: Iterable[Check], *, watch: Watch | None = None) -> Iterator[str]:
    """Apply the remedies that the checks name, each once; yields what was done, or why it could not be."""
    wanted = {(check.remedy, check.engine): check.name for check in checks}
    for (remedy, engine), name in wanted.items():
        if remedy is None:
            continue
        try:
            yield from REMEDIES[remedy](engine, watch)
        except (TsandboxError, OSError) as error:
            yield f"could not fix {name}: {error}"


def _directories(engine: str | None, watch: Watch | None) -> Iterator[str]:  # noqa: ARG001
    for path in (settings.state_dir(), settings.cache_dir()):
        path.mkdir(parents=True, exist_ok=True)
        if path.stat().st_uid == os.geteuid() and not os.access(path, os.W_OK | os.X_OK):
            path.chmod(path.stat().st_mode | 0o700)
            yield f"made {path} writable"


def _base(engine: str | None, watch: Watch | None) -> Iterator[str]:
    using = connect(engine)
    for name in bases.MADE_HERE:
        ensure_base(using, name, host_arch(), watch=watch)
    yield f"made the bases {' and '.join(bases.MADE_HERE)} in {using.name}"


def _podman_migrate(engine: str | None, watch: Watch | None) -> Iterator[str]:  # noqa: ARG001
    """Sub-ids that were given to this user are not seen while an old user namespace is kept open."""
    if os.geteuid() == 0:
        return
    _run("podman", "system", "migrate")
    yield "podman system migrate: rootless podman takes this user's sub-ids into account"


def _user_socket(engine: str | None, watch: Watch | None) -> Iterator[str]:  # noqa: ARG001
    """A service of the user's own can be started by the user."""
    unit = {"podman": "podman.socket", "docker": "docker.service"}[engine or "podman"]
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if os.geteuid() == 0 or not runtime or not Path(runtime, "systemd").is_dir() or not shutil.which("systemctl"):
        return
    _run("systemctl", "--user", "start", unit)
    yield f"started {unit} of this user"


def _run(*argv: str) -> None:
    process.run(argv, timeout=_PATIENCE)


REMEDIES: dict[Remedy, Callable[[str | None, Watch | None], Iterator[str]]] = {
    "directories": _directories,
    "base": _base,
    "podman-migrate": _podman_migrate,
    "user-socket": _user_socket,
}
