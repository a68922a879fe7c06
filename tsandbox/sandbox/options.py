"""How a run may differ from what the recipe says of itself."""

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from tsandbox.build import BuildOptions
from tsandbox.derive.spec import ContainerSpec, Profile
from tsandbox.sandbox.outcome import Limits

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_AMOUNT = re.compile(r"(\d+)([kmgb]?)(?:i?b)?", re.IGNORECASE)
# Where the recipe does not say how much it may write: more than any honest one does, less than most disks.
DISK = 10 << 30


class RunOptions(Struct, frozen=True, kw_only=True):
    profile: Profile | None = None
    # Given by the user for this run: their values are secrets.
    env: Mapping[str, str] = {}
    # Those that are set replace the recipe's.
    limits: Limits = Limits()
    offline: bool = False
    # The user has agreed to commands that the recipe itself runs.
    allow_run_command: bool = False
    keep: bool = False
    # Stop before this step, and verify nothing.
    stop_before: int | None = None
    build: BuildOptions = BuildOptions()


Network = Literal["none", "egress"]


def limits_of(spec: ContainerSpec, asked: Limits) -> Limits:
    """The recipe's limits with those that the user asked for."""
    declared = Limits(
        memory=amount(spec.limits.memory),
        cpus=spec.limits.cpus,
        pids=spec.limits.pids,
        timeout=spec.limits.timeout,
        disk=amount(spec.limits.disk) if spec.limits.disk else DISK,
    )
    changed = {name: value for name, value in msgspec.structs.asdict(asked).items() if value is not None}
    return msgspec.structs.replace(declared, **changed)


def amount(text: str) -> int:
    """Bytes in `512m` or `2g`; the loader has checked what a recipe says."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no amount such as 512m or 2g")
    return int(match[1]) * _UNITS[match[2].lower()]


def written_as(count: int) -> str:
    """Bytes in the form in which limits are written: 512m, 2g."""
    for unit in ("g", "m", "k"):
        if count and count % _UNITS[unit] == 0:
            return f"{count // _UNITS[unit]}{unit}"
    return str(count)
