"""Which base an image stands on, and the digest that identifies it: no engine is asked."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from tsandbox import settings
from tsandbox.errors import NotSupported, UsageError

REPOSITORY = "localhost/tsandbox-base"
MADE_HERE = ("runtime", "builder")
_EPOCH = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?")


class Base(Struct, frozen=True, kw_only=True):
    name: str
    image: str
    digest: str


class Definition(Struct, frozen=True, kw_only=True):
    """All that goes into a base made from Debian's packages; `digest` covers every field and every file."""

    name: str
    suite: str
    arch: str
    epoch: str
    triplet: str
    pockets: tuple[str, ...]
    security: str
    packages: tuple[str, ...]
    applets: tuple[str, ...]
    exclude: tuple[str, ...]
    include: tuple[str, ...]
    files: dict[str, str]


def base(name: str, arch: str, suite: str | None = None) -> Base:
    """The base `runtime` or `builder` of a Debian suite, or the pinned image of another family."""
    if name in MADE_HERE:
        return _made(name, arch, suite or default_suite(), epoch())
    return _pinned(name, arch)


def definition(name: str, arch: str, suite: str | None = None) -> Definition:
    return _definition(name, arch, suite or default_suite(), epoch())


def default_suite() -> str:
    """The Debian that images are made of: `TSANDBOX_SUITE`, or the shipped choice."""
    return settings.option("suite") or str(_pins()["default_suite"])


def suites() -> tuple[str, ...]:
    return tuple(_pins()["suites"])


def families() -> tuple[str, ...]:
    return tuple(_pins()["families"])


def directory() -> Path:
    """Where the definitions and the scripts that make the bases live."""
    return settings.shipped("images") / "minimal"


@cache
def closure_files() -> dict[str, bytes]:
    """What the builder stage of a closure image needs in its build context, by path."""
    scripts = sorted((directory() / "closure").iterdir())
    return {f"closure/{script.name}": script.read_bytes() for script in scripts}


def epoch_file() -> Path:
    return settings.state_dir() / "epoch.toml"


def epoch() -> str:
    """The day the bases stand for: `TSANDBOX_EPOCH`, the last `base build --refresh`, or the shipped one."""
    chosen = settings.option("epoch") or _refreshed_epoch() or str(_pins()["epoch"])
    if not _EPOCH.fullmatch(chosen):
        raise UsageError(
            f"the epoch {chosen!r} is not a date",
            hint="write it as 2026-01-31 or 2026-01-31T12:00:00Z (TSANDBOX_EPOCH, `epoch` in the config)",
        )
    return chosen


def _refreshed_epoch() -> str | None:
    path = epoch_file()
    try:
        return str(tomllib.loads(path.read_text(encoding="utf-8"))["epoch"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"{path}: the epoch of the bases cannot be read: {error}", file=str(path), hint="delete the file"
        ) from error


@cache
def _made(name: str, arch: str, suite: str, epoch: str) -> Base:
    made_from = _definition(name, arch, suite, epoch)
    digest = _digest(made_from)
    return Base(name=name, image=f"{REPOSITORY}:{name}-{digest[:32]}", digest=f"sha256:{digest}")


@cache
def _definition(name: str, arch: str, suite: str, epoch: str) -> Definition:
    pins = _pins()
    if suite not in pins["suites"]:
        raise NotSupported(
            f"there is no base for the Debian suite {suite!r}",
            hint=f"choose one of {', '.join(pins['suites'])} (--suite, TSANDBOX_SUITE, `suite` in the config)",
        )
    if arch not in pins["architectures"]:
        raise NotSupported(f"there is no base for the architecture {arch!r}", hint=_one_of(pins["architectures"]))
    about, kind = pins["suites"][suite], pins[name]
    return Definition(
        name=name,
        suite=suite,
        arch=arch,
        epoch=epoch,
        triplet=pins["architectures"][arch],
        pockets=tuple(about["pockets"]),
        security=about["security"],
        packages=tuple(kind["packages"]),
        applets=tuple(kind.get("applets", ())),
        exclude=(*pins["omit"]["exclude"], *kind.get("exclude", ())),
        include=tuple(pins["omit"]["include"]),
        files={file: _sha256(directory() / file) for file in kind["files"]},
    )


def _pinned(family: str, arch: str) -> Base:
    pins = _pins()["families"]
    if family not in pins:
        raise NotSupported(f"there is no base named {family!r}", hint=f"bases: {', '.join((*MADE_HERE, *pins))}")
    pin = pins[family]
    if arch not in pin.get("arch", (arch,)):
        raise NotSupported(
            f"the {family} base {pin['image']} is not published for {arch}",
            hint=f"use --arch {pin['arch'][0]}, or another --family",
        )
    return Base(name=family, image=f"{pin['image']}@{pin['digest']}", digest=pin["digest"])


def _one_of(names: Iterable[str]) -> str:
    return f"choose one of {', '.join(names)}"


def _digest(made_from: Definition) -> str:
    fields = {field: getattr(made_from, field) for field in made_from.__struct_fields__}
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _pins() -> dict[str, Any]:
    return tomllib.loads((directory() / "bases.toml").read_text(encoding="utf-8"))
