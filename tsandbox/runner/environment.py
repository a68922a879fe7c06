"""The environment of the programs that steps run."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tsandbox.runner.context import Places

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Variables that would make a recipe's Python find the runner's, or the virtual environment tsandbox runs in.
_OURS = ("PYTHON", "VIRTUAL_ENV", "_PYI_", "_MEIPASS", "_TSANDBOX_")


# Variables whose values are secrets, beside the plan: in the container's own environment the engine would show them.
SECRETS = "env.json"


def given_env(inputs: Path) -> dict[str, str]:
    """The variables that the host hands over by file, if it does."""
    try:
        given: dict[str, str] = json.loads((inputs / SECRETS).read_bytes())
    except FileNotFoundError:
        return {}
    return given


def base_env(environ: Mapping[str, str], places: Places, *, host: bool = False) -> dict[str, str]:
    env = {name: value for name, value in environ.items() if not name.startswith(_OURS)}
    if getattr(sys, "frozen", False):
        env = _unfrozen(env)
    env.setdefault("PATH", _SYSTEM_PATH)
    env.setdefault("LANG", "C.UTF-8")
    env["TMPDIR"] = str(places.out / "tmp")
    # On the host the clients of ecosystems need the user's own settings: registries, proxies, certificates.
    return env if host else {**env, "HOME": str(places.home)}


def _unfrozen(env: dict[str, str]) -> dict[str, str]:
    """The self-contained program points the loader at its own libraries; what it starts must not use those."""
    restored = {name: value for name, value in env.items() if not name.startswith("LD_LIBRARY_PATH")}
    if before := env.get("LD_LIBRARY_PATH_ORIG"):
        restored["LD_LIBRARY_PATH"] = before
    return restored


def with_path(env: Mapping[str, str], directories: list[Path]) -> dict[str, str]:
    """`env` with `directories` searched first."""
    known = [str(path) for path in directories if path.is_dir()]
    return {**env, "PATH": os.pathsep.join([*known, env.get("PATH", _SYSTEM_PATH)])}
