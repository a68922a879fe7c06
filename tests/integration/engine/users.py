"""A real unprivileged user who runs this very checkout, also where Python lies in a directory that only root enters."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent.parent


class User(NamedTuple):
    name: str
    uid: int
    gid: int
    home: Path

    def run(self, *argv: str, **env: str) -> "subprocess.CompletedProcess[str]":
        """A command as this user, with nothing of our environment but PATH."""
        own = {
            "HOME": str(self.home),
            "USER": self.name,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "TSANDBOX_STATE_DIR": str(self.home / "state"),
            "TSANDBOX_CACHE_DIR": str(self.home / "cache"),
        }
        return subprocess.run(
            [*self._prefix(), *argv],
            env={**own, **env},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def tsandbox(self, *argv: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-m", "tsandbox", *argv)

    def take_cached(self, *names: str) -> None:
        """Parts of the test home's cache, so that the user need not make them again."""
        for name in names:
            source, kept = Path(os.environ["TSANDBOX_CACHE_DIR"]) / name, self.home / "cache" / name
            if source.is_dir() and not kept.exists():
                shutil.copytree(source, kept, symlinks=True)
                for path in (kept, *kept.rglob("*")):
                    os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def python(self, code: str, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-c", code, *args, **env)

    def _prefix(self) -> list[str]:
        if os.geteuid() == self.uid:
            return []
        become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", "--clear-groups", "--"]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-ec", _opened_paths(), "sh", *become]


def _opened_paths() -> str:
    """Shell lines that, in a private mount namespace, show what this checkout needs of directories closed to others."""
    lines = ["t=$(mktemp -d)"]
    needed = sorted({Path(sys.base_prefix), Path(sys.prefix), ROOT}, key=lambda path: len(path.parts))
    closed = {path: gate for path in needed if (gate := _closed_gate(path))}
    for i, path in enumerate(closed):
        lines += [f"mkdir $t/{i}", f"mount --bind {path} $t/{i}"]
    lines += [f"mount -t tmpfs -o mode=755 closed {gate}" for gate in sorted(set(closed.values()))]
    for i, path in enumerate(closed):
        lines += [f"mkdir -p {path}", f"mount --bind $t/{i} {path}", f"umount $t/{i}", f"rmdir $t/{i}"]
    # Ordinary hosts let everybody open it: without it a user's containers have no network.
    lines += ["mknod -m 666 $t/tun c 10 200", "mount --bind $t/tun /dev/net/tun", "umount -l $t/tun 2>/dev/null || :"]
    return "\n".join([*lines, "rm $t/tun", "rmdir $t", 'exec "$@"'])


def _closed_gate(path: Path) -> Path | None:
    """The outermost directory on the way to `path` that others may not enter."""
    return next((part for part in reversed([path, *path.parents]) if not part.stat().st_mode & 0o001), None)


@contextmanager
def unprivileged() -> Iterator[User]:
    """A new user with sub-ids where we are root, and gone afterwards with all that ran for it; else ourselves."""
    # Sockets in it: a long path does not fit into their address.
    top = Path(tempfile.mkdtemp(prefix="tsb-", dir="/tmp"))
    top.chmod(0o755)
    home = top / "h"
    if os.geteuid() == 0:
        name = f"tsb{secrets.token_hex(3)}"
        subprocess.run(["useradd", "--create-home", "--home-dir", home, "--shell", "/bin/sh", name], check=True)
    else:
        name = pwd.getpwuid(os.geteuid()).pw_name
        home.mkdir()
    account = pwd.getpwnam(name)
    user = User(name, account.pw_uid, account.pw_gid, home)
    try:
        for directory in ("run", "state", "cache"):
            assert user.run("mkdir", "-m", "700", str(home / directory)).returncode == 0
        yield user
    finally:
        if os.geteuid() == 0:
            _end_processes(user)
            subprocess.run(["userdel", name], check=True)
        shutil.rmtree(top, ignore_errors=os.geteuid() != 0)


def _end_processes(user: User) -> None:
    """Rootless podman keeps a process that holds its user namespace open."""
    for _ in range(100):
        pids = [int(path.name) for path in Path("/proc").glob("[0-9]*") if _uid(path) == user.uid]
        if not pids:
            return
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _uid(process: Path) -> int | None:
    with suppress(OSError):
        return process.stat().st_uid
    return None
