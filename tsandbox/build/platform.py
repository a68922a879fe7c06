"""Whether this machine can run programs of a target's architecture."""

from pathlib import Path

from tsandbox.errors import NotSupported
from tsandbox.recipe.target import host_arch

_BINFMT = Path("/proc/sys/fs/binfmt_misc")
_QEMU = {"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}


def runs_here(arch: str, binfmt: Path = _BINFMT) -> bool:
    """Natively, or with an emulator that the kernel knows of."""
    if arch == host_arch():
        return True
    try:
        return (binfmt / _QEMU.get(arch, arch)).read_text(encoding="utf-8").startswith("enabled")
    except OSError:
        return False


def refuse_foreign(arch: str) -> None:
    if not runs_here(arch):
        raise NotSupported(
            f"this machine is {host_arch()} and has no emulator for {arch}: install steps for {arch} cannot run here",
            hint=f"build on a machine with {arch}, or install one: sudo apt-get install qemu-user-static",
            stage="build",
        )
