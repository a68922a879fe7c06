"""This machine as a target: the family is the one whose packages it uses."""

import sys
from pathlib import Path

from tsandbox.errors import NotSupported
from tsandbox.recipe.target import Target, linux

_FAMILIES = {
    "debian": ("debian", "ubuntu"),
    "rhel": ("rhel", "fedora", "centos"),
    "arch": ("arch",),
    "alpine": ("alpine",),
    "suse": ("suse", "opensuse", "sles"),
}


def host_target() -> Target:
    if sys.platform != "linux":
        raise NotSupported("tools are installed on Linux hosts only", hint="`tsandbox guide` tells a person what to do")
    ids = _os_release()
    for family, names in _FAMILIES.items():
        if any(each.startswith(names) for each in ids):
            return linux(family)
    raise NotSupported(
        f"this distribution ({' '.join(ids) or 'unknown'}) belongs to no family that tsandbox knows",
        hint="prove the recipe in a container: --sandbox",
    )


def _os_release() -> list[str]:
    """ID and ID_LIKE, as freedesktop's os-release names a distribution and its relatives."""
    for path in (Path("/etc/os-release"), Path("/usr/lib/os-release")):
        if path.is_file():
            lines = (line.partition("=") for line in path.read_text(encoding="utf-8", errors="replace").splitlines())
            values = {key: value.strip("\"'") for key, _, value in lines}
            return f"{values.get('ID', '')} {values.get('ID_LIKE', '')}".split()
    return []
