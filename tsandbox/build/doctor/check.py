"""One question about this machine and its answer."""

from typing import Literal

from msgspec import Struct

# failed: tsandbox cannot do its work; warning: it can, but worse than it should; info: good to know.
State = Literal["ok", "warning", "failed", "info"]
# What `tsandbox doctor --fix` can do about it, none of which needs root.
Remedy = Literal["directories", "base", "podman-migrate", "user-socket"]


class Check(Struct, frozen=True, kw_only=True):
    name: str
    state: State
    # What was found, in a few words.
    found: str
    # What it means for tsandbox; empty where `found` says it all.
    meaning: str = ""
    # A command to run or a setting to change; empty where nothing is to be done.
    fix: str = ""
    # The engine that it is about, if any.
    engine: str | None = None
    remedy: Remedy | None = None


def gigabytes(count: float) -> str:
    return f"{count / 1e9:.1f} GB"
