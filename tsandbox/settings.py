"""Where tsandbox keeps things and what the user configured: environment first, then the configuration file."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from tsandbox.errors import UsageError

_PACKAGE = Path(__file__).parent


def shipped(name: str) -> Path:
    """A directory that travels with tsandbox (`recipes`, `images`), in a wheel as well as in a checkout."""
    installed = _PACKAGE / "_shipped" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def state_dir() -> Path:
    """What is remembered between runs and may be deleted: locks, logs, engine probes, last use of images."""
    return _home("TSANDBOX_STATE_DIR", "XDG_STATE_HOME", ".local/state")


def cache_dir() -> Path:
    """What can be made again: downloads, bases, runners, package indexes."""
    return _home("TSANDBOX_CACHE_DIR", "XDG_CACHE_HOME", ".cache")


def data_dir() -> Path:
    """Tools installed on the host (`tsandbox install` without `--sandbox`)."""
    return _home("TSANDBOX_HOME", "XDG_DATA_HOME", ".local/share")


def config_file() -> Path:
    return _home("TSANDBOX_CONFIG_DIR", "XDG_CONFIG_HOME", ".config") / "config.toml"


def option(name: str) -> str | None:
    """The user's setting `name`: `TSANDBOX_<NAME>` in the environment, else `name` in the configuration file."""
    value = os.environ.get(f"TSANDBOX_{name.upper()}") or _config().get(name)
    return None if value is None else str(value)


def _home(own: str, xdg: str, default: str) -> Path:
    if path := os.environ.get(own):
        return Path(path)
    root = os.environ.get(xdg)
    return (Path(root) if root else Path.home() / default) / "tsandbox"


@cache
def _config() -> dict[str, Any]:
    path = config_file()
    if not path.is_file():
        return {}
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: the configuration file cannot be read: {error}", file=str(path)) from error
