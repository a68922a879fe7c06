"""The platform that a recipe is read for, and the Linux families with what follows from each."""

import os
from typing import Literal, get_args

from msgspec import Struct

from tsandbox.errors import UsageError

Os = Literal["linux", "darwin"]
Arch = Literal["amd64", "arm64"]
Family = Literal["debian", "rhel", "arch", "alpine", "suse"]
Libc = Literal["glibc", "musl"]
Gpu = Literal["nvidia", "amd", "intel", "apple", "none"]
Manager = Literal["apt", "dnf", "pacman", "apk", "zypper", "brew"]

FAMILIES: tuple[Family, ...] = get_args(Family)
ARCHES: tuple[Arch, ...] = get_args(Arch)
MANAGER_OF: dict[Family, Manager] = {
    "debian": "apt",
    "rhel": "dnf",
    "arch": "pacman",
    "alpine": "apk",
    "suse": "zypper",
}
FAMILY_OF: dict[str, Family] = {manager: family for family, manager in MANAGER_OF.items()}

_ARCH_NAMES: dict[str, Arch] = {"amd64": "amd64", "x86_64": "amd64", "arm64": "arm64", "aarch64": "arm64"}


class Target(Struct, frozen=True, kw_only=True):
    os: Os = "linux"
    arch: Arch = "amd64"
    linux_family: Family | None = None
    libc: Libc | None = None
    gpu: Gpu | None = None

    @property
    def platform(self) -> str:
        return f"{self.os}/{self.arch}"

    @property
    def package_manager(self) -> Manager | None:
        if self.os == "darwin":
            return "brew"
        return MANAGER_OF[self.linux_family] if self.linux_family else None

    def __str__(self) -> str:
        return f"{self.os}/{self.linux_family}/{self.arch}" if self.linux_family else self.platform


def linux(family: str = "debian", arch: str | None = None, gpu: Gpu | None = None) -> Target:
    """The Linux target of a family; libc follows the family."""
    if family not in MANAGER_OF:
        raise UsageError(f"unknown Linux family {family!r}", hint=f"one of: {', '.join(FAMILIES)}")
    return Target(
        os="linux",
        arch=normal_arch(arch) if arch else host_arch(),
        linux_family=family,
        libc="musl" if family == "alpine" else "glibc",
        gpu=gpu,
    )


def darwin(arch: str | None = None) -> Target:
    return Target(os="darwin", arch=normal_arch(arch) if arch else "arm64")


def normal_arch(name: str) -> Arch:
    if name not in _ARCH_NAMES:
        raise UsageError(f"unknown architecture {name!r}", hint=f"one of: {', '.join(_ARCH_NAMES)}")
    return _ARCH_NAMES[name]


def host_arch() -> Arch:
    return normal_arch(os.uname().machine)
