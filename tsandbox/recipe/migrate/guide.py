"""An install guide with its texts per platform, read for every platform that it speaks of."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from tsandbox.recipe.actions import InstallPackages, Manual
from tsandbox.recipe.migrate.guide_text import Ask, read_guide
from tsandbox.recipe.target import ARCHES, FAMILIES, FAMILY_OF, Target, linux
from tsandbox.recipe.when import When

PLATFORMS: tuple[Target, ...] = (
    *(linux(family, arch) for family in FAMILIES for arch in ARCHES),
    *(Target(os="darwin", arch=arch) for arch in ARCHES),
)
_NAMES = {
    "ubuntu": "debian",
    "fedora": "rhel",
    "centos": "rhel",
    "opensuse": "suse",
    "archlinux": "arch",
    "macos": "darwin",
    "default": "fallback",
}

# What is to be done on one platform, as primitives in order.
Outcome = tuple[Ask | Manual, ...]


class Unread(Struct, frozen=True, kw_only=True):
    """A text that no machine can carry out: kept for people."""

    key: str
    text: str


class Read(Struct, frozen=True, kw_only=True):
    outcomes: tuple[tuple[Target, Outcome], ...]
    unread: tuple[Unread, ...]
    # Texts for platforms that the step's own `when` rules out.
    unreachable: tuple[Unread, ...]


def normal_keys(guide: object) -> dict[str, str]:
    """The texts by platform: `os/arch`, a family, an os, or `fallback`; a guide that is one text is a fallback."""
    if isinstance(guide, str):
        return {"fallback": guide}
    if not isinstance(guide, Mapping):
        return {}
    texts: dict[str, str] = {}
    for name, text in _flat(guide):
        key = _normal_key(name)
        # Two names of one place, as `debian` and `ubuntu`: both texts hold there, and none is lost.
        texts[key] = f"{texts[key]}\n{text}" if texts.get(key, text) != text else text
    return texts


def _normal_key(key: str) -> str:
    """`Linux.Ubuntu`, `linux/debian` and `debian` are the same place; so are `x86_64` and `amd64`."""
    name = key.lower().replace("x86_64", "amd64").replace("aarch64", "arm64").replace(".", "/")
    parts = [_NAMES.get(part, part) for part in name.split("/")]
    if len(parts) > 1 and parts[-1] == "fallback":
        return "/".join(parts[:-1])
    return parts[-1] if parts[-1] in FAMILIES else "/".join(parts)


def _flat(guide: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in guide.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}/{inner}", text) for inner, text in _flat(value))
        else:
            yield str(key), "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def read_platforms(guide: Mapping[str, str], when: When) -> Read:
    """The outcome on every platform on which the step applies and the guide says something."""
    asks = {key: read_guide(text) for key, text in guide.items()}
    outcomes: list[tuple[Target, Outcome]] = []
    manual: dict[str, None] = {}
    used: set[str] = set()
    for target in PLATFORMS:
        key = _key_for(target, guide)
        if key is None or not when.matches(target):
            continue
        used.add(key)
        outcome = _outcome(asks[key], target)
        if outcome is None and asks[key] is not None and "fallback" in guide:
            # The text is for another family: here the guide has nothing better than its fallback.
            key = "fallback"
            used.add(key)
            outcome = _outcome(asks[key], target)
        if outcome is None:
            manual[key] = None
        outcomes.append((target, outcome or (Manual(text=guide[key]),)))
    return Read(
        outcomes=tuple(outcomes),
        unread=tuple(Unread(key=key, text=guide[key]) for key in manual),
        unreachable=tuple(Unread(key=key, text=text) for key, text in guide.items() if key not in used),
    )


def _key_for(target: Target, guide: Mapping[str, str]) -> str | None:
    keys = (target.platform, target.linux_family, target.os, "fallback")
    return next((key for key in keys if key is not None and key in guide), None)


def _outcome(asks: list[Ask] | None, target: Target) -> Outcome | None:
    """The part of the text that is for this platform; None where that is not the whole of what it needs."""
    if asks is None:
        return None
    installs = [ask for ask in asks if isinstance(ask, InstallPackages) and _is_home(ask, target)]
    others = [ask for ask in asks if not isinstance(ask, InstallPackages)]
    return (*_joined(installs), *others) if installs else None


def _is_home(ask: InstallPackages, target: Target) -> bool:
    if ask.manager in FAMILY_OF:
        return FAMILY_OF[ask.manager] == target.linux_family
    return target.os == "darwin"


def _joined(installs: list[InstallPackages]) -> list[InstallPackages]:
    """Two plain installs with one manager are one."""
    plain: dict[type[InstallPackages], list[str]] = {}
    tapped = []
    for ask in installs:
        if ask.tap is None:
            plain.setdefault(type(ask), []).extend(ask.packages)
        else:
            tapped.append(ask)
    return [*tapped, *(kind(packages=tuple(dict.fromkeys(names))) for kind, names in plain.items())]
